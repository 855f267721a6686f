"""My tasks: the next item of each task, and how far the person is."""

from __future__ import annotations

from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.db.access import Right
from themescope.db.records import ItemState
from themescope.jobs.services.tasks import work
from themescope.webapp.features.tasks.queries import checks_of
from themescope.webapp.features.tasks.state import ITEM, REFUSED
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.labelling import task_queries
from themescope.webapp.shared.labelling.task_queries import Task
from themescope.webapp.shared.people import current_person, may, shown
from themescope.webapp.shared.text import ago, count, ends, interval, plain, time_left


def show(corpus: CorpusRecord) -> None:
    """Draw the tasks of the person in this project."""
    person = current_person()
    found = [task for task in task_queries.tasks(corpus.id) if person in task.people]
    if not found:
        nothing("No tasks for you.", f"People who make tasks can give you some under the name “{person or 'me'}”.")
    for task in found:
        _task(task, person)


def _task(task: Task, person: str) -> None:
    own = task.of(person)
    done = sum(item.done is not None for item in own)
    state = work.due_state(task.record, own, datetime.now(UTC))
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(task.record.name)}**{f' :gray[· {state}]' if state else ''}", width="content")
            st.caption(f"by {shown(task.record.person)}, {ago(task.record.created)}")
        st.progress(done / len(own) if own else 1.0, text=f"{task_queries.counted(own)}{_speed(task, person)}")
        if task.record.instructions:
            st.text(task.record.instructions)
        _next(task, person)
        if task.record.settings.get("tell"):
            _told(task, person)
        _all(task, person)


def _speed(task: Task, person: str) -> str:
    (found,) = work.progress([person], task.items)
    if found.seconds_per_sentence is None or not found.remaining_s:
        return ""
    return f" · {found.seconds_per_sentence:.0f} s a sentence · {time_left(found.remaining_s)}"


def _next(task: Task, person: str) -> None:
    item = work.next_item(task.of(person))
    if task.record.closed is not None:
        return
    if item is None:
        st.caption("All items are done. Thank you.")
        return
    title = task_queries.titles([item])[item.id]
    with st.container(horizontal=True, vertical_alignment="center"):
        label = "Continue" if item.state is ItemState.STARTED else "Open next item"
        if st.button(
            label, type="primary", icon=":material/play_arrow:", key=f"{ITEM}_next_{task.record.id}",
            disabled=not may(Right.LABEL), help="You may view, but not label." if not may(Right.LABEL) else None,
        ):  # fmt: skip
            task_queries.open_item(item.id)
        st.caption(f"{plain(title)} · {count(item.sentences, 'sentence')}")


def _told(task: Task, person: str) -> None:
    """Say how the person's labels of gold items compare."""
    found = next((check for check in checks_of(task) if check.person == person), None)
    if found is not None and found.gold is not None:
        right = round(found.gold.value * found.gold.n)
        st.caption(
            f"{right:,} of {count(found.gold.n, 'sentence')} with known clusters are right: "
            f"{interval(found.gold.value, *ends(found.gold))}."
        )


def _all(task: Task, person: str) -> None:
    """Draw all items of the person, one of which can be opened."""
    own = task.of(person)
    if not own:
        return
    titles = task_queries.titles(own)
    with st.expander("All my items", icon=":material/list:"):
        st.dataframe(
            pd.DataFrame(
                {
                    "Item": [titles[item.id] for item in own],
                    "Sentences": [item.sentences for item in own],
                    "State": [item.state.value for item in own],
                    "Done": [ago(item.done) if item.done else "–" for item in own],
                }
            ),
            hide_index=True,
            height="content" if len(own) < 10 else 340,
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            key = f"{ITEM}_{task.record.id}"
            chosen = st.selectbox("Item", own, format_func=lambda item: titles[item.id], key=key)
            if chosen is not None and st.button("Open item", icon=":material/open_in_new:", key=f"{key}_open"):
                task_queries.open_item(chosen.id)
            if chosen is not None and chosen.done is not None and task.record.closed is None:
                st.button(
                    "Not done yet", icon=":material/undo:", key=f"{key}_reopen", on_click=_reopen, args=(chosen.id,),
                    help="Its sentences no longer count as judged, except those that you moved.",
                )  # fmt: skip


def _reopen(item_id: int) -> None:
    if refused := queries.write(lambda w: w.tasks.reopen(item_id)):
        st.session_state[REFUSED] = refused
