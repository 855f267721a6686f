"""All tasks: progress and checks of everybody, and, for the maker of a task and admins, its management."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from themescope.core.labelling.task_items import Drift
from themescope.core.records.stored import CorpusRecord
from themescope.db.store import Unit
from themescope.jobs.services.accounts.people import tidy
from themescope.jobs.services.tasks import checks, work
from themescope.jobs.services.tasks.checks import TaskCheck
from themescope.webapp.features.tasks.queries import checks_of, routed
from themescope.webapp.features.tasks.state import MESSAGE, NEW, REASSIGN, REFUSED, ROUTE, TASK
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import by_name, nothing
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.labelling import task_queries
from themescope.webapp.shared.labelling.task_queries import Task
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import UNNAMED, current_actor, shown
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.text import ago, count, ends, interval, p_text, plain, score, time_left

_MOST_SENT = 50


def show(corpus: CorpusRecord) -> None:
    """Draw the chosen task."""
    found = task_queries.tasks(corpus.id)
    if not found:
        nothing(
            "No tasks yet.", "A task gives articles to people, with overlap, order and quota.", "tasks", NEW,
            {"view": NEW},
        )  # fmt: skip
        return
    with st.container(width=400):
        task = by_name("Task", found, TASK, lambda one: one.record.name)
    owns = current_actor().owns(task.record.person)
    _facts(task)
    _progress(task)
    _checks(task, owns)
    with st.container(horizontal=True):
        page_link(
            "agreement", "Compare the labels", icon=":material/handshake:",
            view={"scope": f"{partition_queries.TASK}{task.record.name}"},
        )  # fmt: skip
    if owns:
        _routing(task)
        _reassignment(task)
        _ending(task)


def _facts(task: Task) -> None:
    record, settings = task.record, task.record.settings
    state = work.due_state(record, task.items, datetime.now(UTC))
    due = f" · due {record.due:%d %B %Y}" if record.due else ""
    st.markdown(
        f"Made by {shown(record.person)} {ago(record.created)}{due}{f' · **{state}**' if state else ''} · "
        f"{task_queries.counted([*task.items])}"
    )
    overlap = f"{settings['share']:.0%} of the items by {settings['several']} people" if settings["share"] else "none"
    blind = " · blind" if record.blind else ""
    st.caption(plain(f"Overlap: {overlap} · order: {settings['order']} · seed {settings['seed']}{blind}"))


def _progress(task: Task) -> None:
    found = work.progress(task.people, task.items)
    quotas = [member.quota for member in task.members]
    limits = {"Quota": quotas} if any(quota is not None for quota in quotas) else {}
    st.dataframe(
        pd.DataFrame(
            {
                "Person": [one.person or UNNAMED for one in found],
                **limits,
                "Done": [round(100 * one.done / one.items) if one.items else 100 for one in found],
                "Items": [f"{one.done:,} of {one.items:,}" for one in found],
                "Sentences": [f"{one.sentences_done:,} of {one.sentences:,}" for one in found],
                "Seconds a sentence": [one.seconds_per_sentence for one in found],
                "Remaining": [_remaining(one) for one in found],
                "Last item": [ago(one.last) if one.last else "–" for one in found],
            }
        ),
        hide_index=True,
        placeholder="–",
        column_config={
            "Done": st.column_config.ProgressColumn(format="%d %%", min_value=0, max_value=100),
            "Seconds a sentence": st.column_config.NumberColumn(
                format="%.1f", help="Median over the items that are done. Items that stayed open for 30 minutes or "
                "more do not count.",
            ),
        },
    )  # fmt: skip


def _remaining(one: work.TaskProgress) -> str:
    if one.items == one.done:
        return "done"
    return "–" if one.remaining_s is None else time_left(one.remaining_s)


# --- checks -----------------------------------------------------------------------------------------------------------


def _checks(task: Task, owns: bool) -> None:
    """Draw the checks: of everybody for the maker, and of nobody for others."""
    if not owns or not any(item.done for item in task.items):
        return
    found = checks_of(task)
    st.subheader("Checks", anchor=False)
    st.dataframe(
        pd.DataFrame(
            {
                "Person": [check.person or UNNAMED for check in found],
                "Right on gold": [interval(c.gold.value, *ends(c.gold)) if c.gold else "–" for c in found],
                "Gold sentences": [check.gold.n if check.gold else 0 for check in found],
                "Gold over time": [_drift(check.gold_drift) for check in found],
                "Agreement over time": [_drift(check.consensus_drift) for check in found],
            }
        ),
        hide_index=True,
        column_config={
            "Gold over time": st.column_config.TextColumn(help="Mean of the items before the last ones → of the last."),
            "Agreement over time": st.column_config.TextColumn(
                help="Probability that the person's judgements are right by the labels of the others."
            ),
        },
    )
    for check in found:
        _warn(check)
    st.caption(
        "Over time, the last 10 items are compared with those before by a one-sided permutation test of items, "
        "corrected for all people and both measures (Holm). At least 8 items are needed."
    )


def _drift(drift: Drift) -> str:
    if drift.before is None or drift.last is None or drift.p is None:
        return f"{count(drift.items, 'item')}, too few"
    return f"{score(drift.before)} → {score(drift.last)} (p = {p_text(drift.p)})".replace("= <", "<")


def _warn(check: TaskCheck) -> None:
    for drift, what in ((check.gold_drift, "labels of gold items"), (check.consensus_drift, "agreement with others")):
        if drift.found:
            st.warning(
                f"{shown(check.person)}: {what} became worse in the last items, {_drift(drift)}. Talk about the "
                "codebook, then look at these items again.",
                icon=":material/trending_down:",
            )


# --- management -------------------------------------------------------------------------------------------------------


def _routing(task: Task) -> None:
    """Draw the form that gives disputed items to another person."""
    with st.expander("Ask another person about disputed items", icon=":material/alt_route:"):
        left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
        person = left.selectbox("Person", task.people, format_func=lambda p: p or UNNAMED, key=f"{ROUTE}_person")
        most = middle.number_input("Items", 1, _MOST_SENT, 5, key=f"{ROUTE}_most")
        found, why = routed(task, person or "")
        if not found:
            st.caption(f"Nothing to ask, because {plain(why)}.")
            return
        chosen = found[: int(most)]
        if right.button("Give these items", type="primary", icon=":material/send:", key=f"{ROUTE}_send"):
            given = attempt(lambda: checks.send(queries.store(), task.record.id, person or "", chosen))
            if given is not None:
                _done(f"{count(given, 'item')} given to {person or UNNAMED}.")
        known = {item.range: item for item in task.items}
        titles = task_queries.titles([known[one.range] for one in chosen])
        st.dataframe(
            pd.DataFrame(
                {
                    "Item": [titles[known[one.range].id] for one in chosen],
                    "Disputed sentences": [one.disputed for one in chosen],
                    "Bits a label": [one.information for one in chosen],
                }
            ),
            hide_index=True,
            column_config={"Bits a label": st.column_config.NumberColumn(format="%.2f")},
        )
        st.caption(
            "Items with disputed sentences first, then those about which one label of this person is expected to tell "
            f"the most. {count(len(found), 'item')} in all."
        )


def _reassignment(task: Task) -> None:
    """Draw the forms that give items to others and add people."""
    with st.expander("Give items to somebody else", icon=":material/swap_horiz:"):
        left, middle, right, last = st.columns([2, 2, 1, 1], vertical_alignment="bottom")
        source = left.selectbox("From", task.people, format_func=lambda p: p or UNNAMED, key=f"{REASSIGN}_from")
        target = middle.selectbox(
            "To", task.people, format_func=lambda p: p or UNNAMED, key=f"{REASSIGN}_to", index=None
        )
        open_ones = [item for item in task.of(source or "") if item.done is None]
        most = right.number_input("Number", 1, max(len(open_ones), 1), max(len(open_ones), 1), key=f"{REASSIGN}_most")
        ready = target is not None and target != source and open_ones
        if last.button("Give", icon=":material/swap_horiz:", key=f"{REASSIGN}_give", disabled=not ready):
            ids = [item.id for item in open_ones[-int(most) :]]
            _change(
                lambda w: w.tasks.reassign(task.record.id, ids, target or ""), f"Items given to {target or UNNAMED}."
            )
        st.caption(
            f"Items of {shown(source or '')} that are not done: {len(open_ones):,}. The last ones are given first; "
            "those that the other person has already stay."
        )
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        wanted = tidy(left.text_input("New member", key=f"{REASSIGN}_name", max_chars=200) or "")
        if right.button("Add", icon=":material/person_add:", key=f"{REASSIGN}_add", disabled=not wanted):
            _change(lambda w: w.tasks.add_member(task.record.id, wanted), f"{wanted} is a member now.")


def _ending(task: Task) -> None:
    record = task.record
    with st.container(horizontal=True):
        closed = record.closed is not None
        label, icon = ("Open again", ":material/lock_open:") if closed else ("Close task", ":material/lock:")
        if st.button(label, icon=icon, help="People cannot mark items of a closed task as done."):
            _change(
                lambda w: w.tasks.close(record.id, not closed), f"{record.name} is {'open' if closed else 'closed'}."
            )
        if st.button("Delete task …", icon=":material/delete:", type="tertiary"):
            _confirm(task)


@st.dialog("Delete this task?")
def _confirm(task: Task) -> None:
    st.markdown(
        f"**{plain(task.record.name)}** with its items and their states will be deleted permanently. The labellings of "
        "its people stay."
    )
    st.button("Delete task", type="primary", icon=":material/delete:", on_click=_delete, args=(task,))


def _delete(task: Task) -> None:
    if refused := queries.write(lambda w: w.tasks.delete(task.record.id)):
        st.session_state[REFUSED] = refused
    else:
        st.session_state[MESSAGE] = f"{task.record.name} was deleted."


def _change(change: Callable[[Unit], object], message: str) -> None:
    refused = queries.write(change)
    if refused:
        st.error(plain(refused), icon=":material/error:")
    else:
        _done(message)


def _done(message: str) -> None:
    st.session_state[MESSAGE] = message
    st.rerun()
