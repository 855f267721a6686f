"""Tasks: the next item of each task of a person, and for all tasks progress, checks and management."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from themescope.core.labelling.task_items import Drift
from themescope.core.records.stored import CorpusRecord
from themescope.db.access import Right
from themescope.db.label_records import ItemState
from themescope.db.store import Unit
from themescope.jobs.services.accounts.people import tidy
from themescope.jobs.services.tasks import checks, work
from themescope.jobs.services.tasks.checks import GoldAnswer, Routed, TaskCheck
from themescope.jobs.services.tasks.samples import SAMPLE, DrawnSample
from themescope.webapp.features.tasks.state import MESSAGE, NEW, TASK
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import by_name, nothing
from themescope.webapp.shared.components import attempt, confirm, draw_table
from themescope.webapp.shared.labelling import task_queries
from themescope.webapp.shared.labelling.task_queries import Task
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import UNNAMED, current_actor, current_person, may, shown
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.text import ago, count, p_text, plain, score, time_left, with_interval

_MOST_SENT = 50
_VERSION: dict[str | type[Any], Callable[[Any], Any]] = {
    Task: lambda task: (task.record.id, [(item.id, item.person, item.done) for item in task.items])
}
"""What identifies a task until items are added, given to others, done or taken back (``hash_funcs``)."""


@st.cache_data(show_spinner="Checking labels …", ttl=60, max_entries=32, hash_funcs=_VERSION)
def checks_of(task: Task) -> list[TaskCheck]:
    """Return the checks of the people of a task. They take up to seconds, so that they are kept for a minute."""
    return checks.checks(queries.store(), task.record.id)


@st.cache_data(show_spinner="Checking labels …", ttl=60, max_entries=32, hash_funcs=_VERSION)
def _told(task: Task, person: str) -> list[GoldAnswer]:
    """Return what the person may know of the gold sentences, kept like the checks."""
    return checks.gold_answers(queries.store(), task.record.id, person)


@st.cache_data(show_spinner="Looking for disputed items …", ttl=60, max_entries=32, hash_funcs=_VERSION)
def routed(task: Task, person: str) -> tuple[list[Routed], str]:
    """Return the items about which to ask a person next, and why there are none; kept for a minute."""
    return checks.route(queries.store(), task.record.id, person, most=200)


def show(corpus: CorpusRecord) -> None:
    """Draw the chosen task."""
    found = task_queries.tasks(corpus.id)
    if not found:
        nothing(
            "No tasks yet.", "A task gives texts to people, with overlap, order and quotas.", "tasks", NEW,
            {"view": NEW},
        )  # fmt: skip
        return
    with st.container(width=400):
        task = by_name("Task", found, TASK, lambda one: one.record.name)
    owns = current_actor().owns(task.record.person)
    record, settings = task.record, task.record.settings
    state = work.due_state(record, task.items, datetime.now(UTC))
    due = f" · due {record.due:%d %B %Y}" if record.due else ""
    st.markdown(
        f"Made by {shown(record.person)} {ago(record.created)}{due}{f' · **{state}**' if state else ''} · "
        f"{task_queries.counted([*task.items])}"
    )
    overlap = f"{settings['share']:.0%} of the items by {settings['several']} people" if settings["share"] else "none"
    blind = " · blind" if record.blind else ""
    st.caption(
        plain(
            f"Unit of analysis: {corpus.unit.value} · overlap: {overlap} · order: {settings['order']} · "
            f"seed {settings['seed']}{blind}"
        )
    )
    if SAMPLE in settings:
        sample = DrawnSample.from_json(settings[SAMPLE])
        st.caption(f":material/casino: {plain(sample.text(corpus.unit.value))}")
        if sample.by is not None:
            _strata(sample, sample.by[1])
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
        with st.container(horizontal=True):
            closed = record.closed is not None
            label, icon = ("Open again", ":material/lock_open:") if closed else ("Close task", ":material/lock:")
            if st.button(label, icon=icon, help="People cannot mark items of a closed task as done."):
                now = f"{record.name} is {'open' if closed else 'closed'}."
                _change(lambda w: w.tasks.close(record.id, not closed), now)
            if st.button("Delete task …", icon=":material/delete:", type="tertiary"):
                _confirm(task)


def _strata(sample: DrawnSample, column: str) -> None:
    with st.expander("Sampling probabilities", icon=":material/percent:"):
        values, units, drawn = zip(*sample.strata, strict=True)
        draw_table(
            {
                column: [value or "no value" for value in values],
                "Could be drawn": units,
                "Drawn": drawn,
                "Probability": [part / whole for part, whole in zip(drawn, units, strict=True)],
            },
            column_config={"Probability": st.column_config.NumberColumn(format="%.4f")},
        )


def _progress(task: Task) -> None:
    found = work.progress(task.people, task.items)
    quotas = [member.quota for member in task.members]
    limits = {"Quota": quotas} if any(quota is not None for quota in quotas) else {}
    rate = st.column_config.NumberColumn(
        format="%.1f", help="Median over the items that are done. Items that stayed open for 30 minutes or more do not "
        "count.",
    )  # fmt: skip
    draw_table(
        {
            "Person": [one.person or UNNAMED for one in found],
            **limits,
            "Done": [round(100 * one.done / one.items) if one.items else 100 for one in found],
            "Items": [f"{one.done:,} of {one.items:,}" for one in found],
            "Sentences": [f"{one.sentences_done:,} of {one.sentences:,}" for one in found],
            "Seconds a sentence": [one.seconds_per_sentence for one in found],
            "Remaining": [_remaining(one) for one in found],
            "Last item": [ago(one.last) if one.last else "–" for one in found],
        },
        placeholder="–",
        column_config={
            "Done": st.column_config.ProgressColumn(format="%d %%", min_value=0, max_value=100),
            "Seconds a sentence": rate,
        },
    )


def _remaining(one: work.TaskProgress) -> str:
    if one.items == one.done:
        return "done"
    return "–" if one.remaining_s is None else time_left(one.remaining_s)


def _checks(task: Task, owns: bool) -> None:
    """Draw the checks: of everybody for the maker, and of nobody for others."""
    if not owns or not any(item.done for item in task.items):
        return
    found = checks_of(task)
    st.subheader("Checks", anchor=False)
    draw_table(
        {
            "Person": [check.person or UNNAMED for check in found],
            "Right on gold": [with_interval(c.gold) for c in found],
            "Gold sentences": [check.gold.n if check.gold else 0 for check in found],
            "Gold over time": [_drift(check.gold_drift) for check in found],
            "Agreement over time": [_drift(check.consensus_drift) for check in found],
        },
        column_config={
            "Gold over time": st.column_config.TextColumn(help="Mean of the items before the last ones → of the last."),
            "Agreement over time": st.column_config.TextColumn(
                help="Probability that the person's judgements are right by the labels of the others."
            ),
        },
    )
    for check in found:
        for drift, what in (
            (check.gold_drift, "labels of gold items"),
            (check.consensus_drift, "agreement with others"),
        ):
            if drift.found:
                st.warning(
                    f"{shown(check.person)}: {what} became worse in the last items, {_drift(drift)}. Talk about the "
                    "codebook, then look at these items again.",
                    icon=":material/trending_down:",
                )
    st.caption(
        "Over time, the last 10 items are compared with those before by a one-sided permutation test of items, "
        "corrected for all people and both measures (Holm). At least 8 items are needed."
    )


def _drift(drift: Drift) -> str:
    if drift.before is None or drift.last is None or drift.p is None:
        return f"{count(drift.items, 'item')}, too few"
    return f"{score(drift.before)} → {score(drift.last)} (p = {p_text(drift.p)})".replace("= <", "<")


# --- management -------------------------------------------------------------------------------------------------------


def _routing(task: Task) -> None:
    with st.expander("Ask another person about disputed items", icon=":material/alt_route:"):
        left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
        person = left.selectbox("Person", task.people, format_func=lambda p: p or UNNAMED, key="tasks_route_person")
        most = middle.number_input("Items", 1, _MOST_SENT, 5, key="tasks_route_most")
        found, why = routed(task, person or "")
        if not found:
            st.caption(f"Nothing to ask, because {plain(why)}.")
            return
        chosen = found[: int(most)]
        if right.button("Give these items", type="primary", icon=":material/send:", key="tasks_route_send"):
            given = attempt(lambda: checks.send(queries.store(), task.record.id, person or "", chosen))
            if given is not None:
                _done(f"{count(given, 'item')} given to {person or UNNAMED}.")
        known = {item.range: item for item in task.items}
        titles = task_queries.titles([known[one.range] for one in chosen])
        draw_table(
            {
                "Item": [titles[known[one.range].id] for one in chosen],
                "Disputed sentences": [one.disputed for one in chosen],
                "Bits a label": [one.information for one in chosen],
            },
            column_config={"Bits a label": st.column_config.NumberColumn(format="%.2f")},
        )
        st.caption(
            "Items with disputed sentences first, then those about which one label of this person is expected to tell "
            f"the most. {count(len(found), 'item')} in all."
        )


def _reassignment(task: Task) -> None:
    with st.expander("Give items to somebody else", icon=":material/swap_horiz:"):
        left, middle, right, last = st.columns([2, 2, 1, 1], vertical_alignment="bottom")
        source = left.selectbox("From", task.people, format_func=lambda p: p or UNNAMED, key="tasks_reassign_from")
        target = middle.selectbox(
            "To", task.people, format_func=lambda p: p or UNNAMED, key="tasks_reassign_to", index=None
        )
        open_ones = [item for item in task.of(source or "") if item.done is None]
        most = right.number_input(
            "Number", 1, max(len(open_ones), 1), max(len(open_ones), 1), key="tasks_reassign_most"
        )
        ready = target is not None and target != source and open_ones
        if last.button("Give", icon=":material/swap_horiz:", key="tasks_reassign_give", disabled=not ready):
            ids = [item.id for item in open_ones[-int(most) :]]
            _change(
                lambda w: w.tasks.reassign(task.record.id, ids, target or ""), f"Items given to {target or UNNAMED}."
            )
        st.caption(
            f"Items of {shown(source or '')} that are not done: {len(open_ones):,}. The last ones are given first; "
            "those that the other person has already stay."
        )
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        wanted = tidy(left.text_input("New member", key="tasks_reassign_name", max_chars=200) or "")
        if right.button("Add", icon=":material/person_add:", key="tasks_reassign_add", disabled=not wanted):
            _change(lambda w: w.tasks.add_member(task.record.id, wanted), f"{wanted} is a member now.")


def _confirm(task: Task) -> None:
    def delete() -> bool:
        done = queries.write(lambda w: w.tasks.delete(task.record.id))
        if done:
            st.session_state[MESSAGE] = f"{task.record.name} was deleted."
        return done

    about = "with its items and their states will be deleted permanently. The labellings of its people stay."
    confirm("Delete this task?", f"**{plain(task.record.name)}** {about}", "Delete task", delete)


def _change(change: Callable[[Unit], object], message: str) -> None:
    if queries.write(change):
        _done(message)


def _done(message: str) -> None:
    st.session_state[MESSAGE] = message
    st.rerun()


# --- mine -------------------------------------------------------------------------------------------------------------


def show_mine(corpus: CorpusRecord) -> None:
    """Draw the tasks of the person in this project."""
    person = current_person()
    found = [task for task in task_queries.tasks(corpus.id) if person in task.people]
    if not found:
        nothing(
            "No tasks for you.", f"People who make tasks can give you some under the name “{person or 'me'}”.", "tasks",
            NEW, {"view": NEW},
        )  # fmt: skip
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
            found = next((check for check in checks_of(task) if check.person == person), None)
            if found is not None and found.gold is not None:
                right = round(found.gold.value * found.gold.n)
                st.caption(
                    f"{right:,} of {count(found.gold.n, 'sentence')} with known clusters are right: "
                    f"{with_interval(found.gold)}."
                )
            _answers(_told(task, person))
        _all(task, person)


def _answers(found: Sequence[GoldAnswer]) -> None:
    """Draw the right codes of the gold sentences of items that are done, those of wrong answers first."""
    if not found:
        return
    texts = partition_queries.sentence_texts([answer.sentence for answer in found])
    with st.expander(f"Known codes ({sum(not answer.correct for answer in found)} of {len(found)} wrong)"):
        for answer in sorted(found, key=lambda answer: answer.correct):
            st.text(texts.get(answer.sentence, ""))
            said = f"Right: **{plain(answer.right)}**"
            st.markdown(said if answer.correct else f"You chose {plain(answer.given)}. {said}")
            if answer.explanation:
                st.caption(plain(answer.explanation))


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
            label, type="primary", icon=":material/play_arrow:", key=f"tasks_item_next_{task.record.id}",
            disabled=not may(Right.LABEL), help="You may view, but not label." if not may(Right.LABEL) else None,
        ):  # fmt: skip
            task_queries.open_item(item.id)
        st.caption(f"{plain(title)} · {count(item.sentences, 'sentence')}")


def _all(task: Task, person: str) -> None:
    own = task.of(person)
    if not own:
        return
    titles = task_queries.titles(own)
    with st.expander("All my items", icon=":material/list:"):
        draw_table(
            {
                "Item": [titles[item.id] for item in own],
                "Sentences": [item.sentences for item in own],
                "State": [item.state.value for item in own],
                "Done": [ago(item.done) if item.done else "–" for item in own],
            }
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            key = f"tasks_item_{task.record.id}"
            chosen = st.selectbox("Item", own, format_func=lambda item: titles[item.id], key=key)
            if chosen is not None and st.button("Open item", icon=":material/open_in_new:", key=f"{key}_open"):
                task_queries.open_item(chosen.id)
            if chosen is not None and chosen.done is not None and task.record.closed is None:
                st.button(
                    "Not done yet", icon=":material/undo:", key=f"{key}_reopen", on_click=_reopen, args=(chosen.id,),
                    help="Its sentences no longer count as judged, except those that you moved.",
                )  # fmt: skip


def _reopen(item_id: int) -> None:
    queries.write(lambda w: w.tasks.reopen(item_id))
