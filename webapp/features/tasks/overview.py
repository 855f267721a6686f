"""Tasks: the next item of each task of a person, and for all tasks progress, checks and management."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.columns import ColumnType
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Drift, Order
from themescope.core.records.stored import ColumnRecord, CorpusRecord, LabellingRecord
from themescope.db.access import Right
from themescope.db.label_records import ItemState
from themescope.db.store import Unit
from themescope.jobs.common import labelled
from themescope.jobs.common.importing.waves import is_list, waves_of
from themescope.jobs.services.accounts.people import tidy
from themescope.jobs.services.tasks import checks, making, work
from themescope.jobs.services.tasks.checks import GoldAnswer, Routed, TaskCheck
from themescope.jobs.services.tasks.making import TaskForm
from themescope.jobs.services.tasks.samples import SAMPLE, ColumnKey, DrawnSample, SampleForm, samples_of
from themescope.webapp.features.tasks import ALL, MESSAGE, NEW, TASK
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import by_name, nothing
from themescope.webapp.shared.components import attempt, confirm, draw_table
from themescope.webapp.shared.labelling import codebook_view
from themescope.webapp.shared.labelling.codebook_view import PLANNED, PlannedSample, Task
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import UNNAMED, current_actor, current_person, may, shown
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import ago, count, p_text, plain, score, shorten, time_left, with_interval

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
    found = codebook_view.tasks(corpus.id)
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
        f"{codebook_view.counted([*task.items])}"
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
            view={"scope": f"{compare_queries.TASK}{task.record.name}"},
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
        titles = codebook_view.titles([known[one.range] for one in chosen])
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
    found = [task for task in codebook_view.tasks(corpus.id) if person in task.people]
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
        st.progress(done / len(own) if own else 1.0, text=f"{codebook_view.counted(own)}{_speed(task, person)}")
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
    texts = compare_queries.sentence_texts([answer.sentence for answer in found])
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
    title = codebook_view.titles([item])[item.id]
    with st.container(horizontal=True, vertical_alignment="center"):
        label = "Continue" if item.state is ItemState.STARTED else "Open next item"
        if st.button(
            label, type="primary", icon=":material/play_arrow:", key=f"tasks_item_next_{task.record.id}",
            disabled=not may(Right.LABEL), help="You may view, but not label." if not may(Right.LABEL) else None,
        ):  # fmt: skip
            codebook_view.open_item(item.id)
        st.caption(f"{plain(title)} · {count(item.sentences, 'sentence')}")


def _all(task: Task, person: str) -> None:
    own = task.of(person)
    if not own:
        return
    titles = codebook_view.titles(own)
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
                codebook_view.open_item(chosen.id)
            if chosen is not None and chosen.done is not None and task.record.closed is None:
                st.button(
                    "Not done yet", icon=":material/undo:", key=f"{key}_reopen", on_click=_reopen, args=(chosen.id,),
                    help="Its sentences no longer count as judged, except those that you moved.",
                )  # fmt: skip


def _reopen(item_id: int) -> None:
    queries.write(lambda w: w.tasks.reopen(item_id))


# Form of a new task: which articles or sample, which people, how they share the items, and what they begin with

EVERY, FIRST, CHOSEN, WAVES = "All articles", "First articles", "Chosen articles", "Chosen waves"
RANDOM, UNITS = "Random articles", "Random {unit}s"
"""Samples, whose sampling probabilities are recorded."""
_ALLOCATIONS = {
    Allocation.PROPORTIONAL: "In proportion",
    Allocation.EQUAL: "The same number",
    Allocation.GIVEN: "Own numbers",
}
_MOST_VALUES = 40
"""Categories with more values get no number for each."""
NO_GOLD = "No gold items"
_LISTED = 2_000


def show_form(corpus: CorpusRecord) -> None:
    """Draw the form."""
    _plan_of_estimates(corpus)
    name = st.text_input("Name", key=_key("name"), max_chars=180, placeholder="Pilot")
    articles, sample = _what(corpus)
    longest = 0
    if sample is None or sample.whole_articles:
        whole = "article" if not is_list(corpus) else "wave" if corpus.articles > 1 else "list"
        longest = st.number_input(
            "Longest item", 0, 10_000, 0, 10, key=_key("longest"),
            help=f"Longer {whole}s are cut into equal items of this many {corpus.unit.value}s. 0: no {whole} is cut.",
        )  # fmt: skip
    plan = _plan(corpus, sample is not None)
    options: dict[str, tuple[str, int | None]] = {
        "Unassigned sentences": (making.START_NOTHING, None),
        **({"Sections": (making.START_SECTIONS, None)} if corpus.has_sections else {}),
    }
    for analysis in compare_queries.analyses(corpus.id):
        options[f"Themes: {analysis.name}"] = (making.START_RUN, analysis.run.id)
    for record in compare_queries.labellings(corpus.id):
        options[f"Clusters and codebook of {record.name}"] = (making.START_CLUSTERS, record.id)
        options[f"Labelling: {record.name}"] = (making.START_LABELLING, record.id)
    chosen = st.selectbox(
        "People begin with", list(options), key=_key("start"), help="Everybody gets a labelling of their own."
    )
    start, start_id = options[chosen or "Unassigned sentences"]
    gold_id, gold_share, tell = _gold(corpus)
    left, right = st.columns(2)
    due = left.date_input("Due date", value=None, key=_key("due"))
    blind = right.toggle(
        "Blind", sample is not None, key=_key("blind" if sample is None else "blind_sample"),
        help="Hides sections, suggestions and other people's labels.",
    )  # fmt: skip
    instructions = st.text_area("Instructions", key=_key("instructions"), max_chars=20_000, height=120)
    ready = bool((name or "").strip()) and bool(articles or sample) and bool(plan.people)
    of = f"{corpus.unit.value}s" if is_list(corpus) else "articles"
    if st.button("Create task", type="primary", icon=":material/assignment_add:", disabled=not ready, key=_key("make")):
        form = TaskForm(
            corpus.id, name or "", current_person(), tuple(articles), plan, int(longest),
            datetime.combine(due, time(23, 59), UTC) if due else None, instructions or "", bool(blind), start,
            start_id, gold_id, gold_share, tell, sample,
        )  # fmt: skip
        with st.spinner("Distributing items …"):
            made = attempt(lambda: making.make(queries.store(), form))
        if made is not None:
            st.session_state[MESSAGE] = f"{made.name} was created."
            switch_page("tasks", {"task": made.name, "view": ALL})
    if not ready:
        st.caption(f"A task needs a name, {of} and people.")


def _plan_of_estimates(corpus: CorpusRecord) -> None:
    """Enter the sample that the page Estimates has planned."""
    planned: PlannedSample | None = st.session_state.pop(PLANNED, None)
    if planned is None or planned.corpus_id != corpus.id:
        return
    units = UNITS.format(unit=corpus.unit.value)
    entered: dict[str, object] = {"articles": units, "new_only": True, "outside": planned.outside}
    if planned.column:
        entered |= {"strata": planned.column, "allocation": Allocation.GIVEN}
        entered |= {f"of_{planned.column}_{value}": number for value, number in planned.numbers.items()}
    else:
        entered["units"] = sum(planned.numbers.values())
    for name, value in entered.items():
        st.session_state[_key(name)] = value


def _key(name: str) -> str:
    return f"tasks_form_{name}"


def _what(corpus: CorpusRecord) -> tuple[list[int], SampleForm | None]:
    """Choose what to label; return the ids of the articles in their order, or else the sample."""
    every, units = EVERY, UNITS.format(unit=corpus.unit.value)
    options, help = [EVERY, FIRST, CHOSEN, RANDOM, units], "random articles or a random sample"
    if is_list(corpus):
        every, help = f"All {corpus.unit.value}s", "a random sample"
        options = [every, *([WAVES] if waves_of(corpus) else []), units]
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    which = left.segmented_control(
        "What to label", options, default=every, required=True, key=_key("articles"),
        help=f"Estimates of shares need {help}: the probabilities are recorded.",
    )  # fmt: skip
    if which == units:
        return [], _sample(corpus, right)
    if which == WAVES:
        waves = dict(zip((a.id for a in queries.articles(corpus.id, limit=_LISTED)), waves_of(corpus), strict=False))
        chosen = right.multiselect("Waves", list(waves), format_func=lambda id: waves[id]["name"], key=_key("waves"))
        return [id for id in waves if id in chosen], None
    if which == CHOSEN:
        titles = {article.id: article.title for article in queries.articles(corpus.id, limit=_LISTED)}
        chosen = right.multiselect("Articles", list(titles), format_func=titles.__getitem__, key=_key("chosen"))
        if corpus.articles > _LISTED:
            st.caption(f"The list has the first {_LISTED:,} of {corpus.articles:,} articles.")
        return [id for id in titles if id in chosen], None
    ids = queries.read(lambda r: r.corpora.article_ids(corpus.id)).tolist()
    if which == every:
        return ids, None
    most = right.number_input("Number", 1, max(len(ids), 1), min(len(ids), 10), key=_key("number"))
    return (ids[: int(most)], None) if which == FIRST else ([], SampleForm(int(most), whole_articles=True))


def _sample(corpus: CorpusRecord, beside: DeltaGenerator) -> SampleForm:
    """Choose the strata and the restriction of a sample of units; their number is drawn in ``beside``."""
    columns = {c.label: c for c in queries.columns(corpus) if c.type == ColumnType.CATEGORY}
    by, allocation, where = None, Allocation.PROPORTIONAL, None
    given: tuple[tuple[str, int], ...] = ()
    if columns:
        first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
        strata = first.selectbox(
            "Strata", list(columns), index=None, placeholder="none", key=_key("strata"),
            help="Draws from each value of the column, also from missing ones.",
        )  # fmt: skip
        by = _column_key(columns[strata]) if strata else None
        if by is not None:
            chosen = second.selectbox(
                "Of each value", list(Allocation), format_func=_ALLOCATIONS.__getitem__, key=_key("allocation")
            )
            allocation = chosen or allocation
            if allocation is Allocation.GIVEN:
                given = _numbers(columns[str(strata)])
        only = third.selectbox("Only where", list(columns), index=None, placeholder="all", key=_key("where"))
        values = fourth.multiselect("is", columns[only].categories, key=_key(f"values_{only}")) if only else []
        where = (_column_key(columns[only]), tuple(values)) if only and values else None
    new_only = outside = False
    if queries.read(lambda r: bool(samples_of(r, corpus.id))):
        new_only = st.checkbox(
            f"Leave out {corpus.unit.value}s of earlier samples", key=_key("new_only"),
            help="Samples of other tasks of this project, random articles included.",
        )  # fmt: skip
        outside = st.checkbox(
            f"Only {corpus.unit.value}s that earlier samples could not have drawn", key=_key("outside"),
            help="Those that were added or corrected since, or had values that were left out.",
        )  # fmt: skip
    most = max(corpus.sentences, 1)
    if allocation is Allocation.GIVEN:
        beside.metric("Number", f"{sum(drawn for _, drawn in given):,}")
        return SampleForm(0, False, by, allocation, given, where, new_only, outside)
    number = beside.number_input("Number", 1, most, min(most, 100), key=_key("units"))
    return SampleForm(int(number), False, by, allocation, (), where, new_only, outside)


def _numbers(column: ColumnRecord) -> tuple[tuple[str, int], ...]:
    """Choose the number of units of each value of a column; it may be 0."""
    values = [*column.categories[:_MOST_VALUES], *([""] if column.about.get("missing") else [])]
    if len(column.categories) > _MOST_VALUES:
        st.caption(
            f"The {_MOST_VALUES} most frequent of {len(column.categories):,} values; nothing is drawn of others."
        )
    with st.container(horizontal=True, gap="small"):
        fields = [
            st.number_input(
                plain(shorten(value, 40)) or "no value", 0, key=_key(f"of_{column.label}_{value}"), width=160
            )
            for value in values
        ]
    return tuple(zip(values, map(int, fields), strict=True))


def _column_key(column: ColumnRecord) -> ColumnKey:
    return column.level.value, column.name


def _plan(corpus: CorpusRecord, random: bool) -> DistributionPlan:
    known = [person.name for person in queries.read(lambda r: r.people.list())]
    offered = list(dict.fromkeys([current_person(), *known]))
    people = st.multiselect(
        "People", offered, format_func=lambda name: name or UNNAMED, key=_key("people"), accept_new_options=True,
        help="Type a name to add somebody who has not used the pages yet.",
    )  # fmt: skip
    names = tuple(dict.fromkeys(name if name in known else tidy(name) for name in people))
    everybody = st.toggle(
        "Everybody labels every item", key=_key("everybody"), disabled=len(names) < 2,
        help="Such as two people who label the same 100 sentences.",
    )  # fmt: skip
    left, middle, right, last = st.columns(4)
    apart = len(names) < 2 or everybody
    share = left.number_input(
        "Items with overlap (%)", 0, 100, 20, 10, key=_key("share"), disabled=apart,
        help="Share of the items that several people label. The reliability of people is estimated from them.",
    )  # fmt: skip
    several = middle.number_input(
        "People on each of them", 2, max(len(names), 2), 2, key=_key("several"), disabled=apart
    )
    if everybody:
        share, several = 100, len(names)
    orders = [Order.GIVEN, Order.RANDOM, *([Order.UNCERTAIN] if compare_queries.analyses(corpus.id) else [])]
    order = right.selectbox(
        "Order", orders, int(random), format_func=lambda one: one.value.capitalize(),
        key=_key("order_sample" if random else "order"),
        help="“Most uncertain first” needs themes to begin with.",
    )  # fmt: skip
    seed = last.number_input("Seed", 0, 1_000_000, 0, key=_key("seed"))
    share = share if len(names) > 1 else 0
    return DistributionPlan(names, share / 100, int(several), order or Order.GIVEN, int(seed), _quotas(names))


def _quotas(names: tuple[str, ...]) -> dict[str, int]:
    """Choose the maximum number of items of each person; without one, there is no limit."""
    found: dict[str, int] = {}
    if not names:
        return found
    with st.expander("Quotas", icon=":material/speed:"):
        columns = st.columns(min(len(names), 4))
        for place, name in enumerate(names):
            limit = columns[place % len(columns)].number_input(
                plain(name or UNNAMED), 0, 100_000, value=None, placeholder="no limit", key=_key(f"quota_{name}")
            )
            if limit is not None:
                found[name] = int(limit)
        st.caption("Maximum number of items of a person, without gold items.")
    return found


def _gold(corpus: CorpusRecord) -> tuple[int | None, float, bool]:
    records: dict[str, LabellingRecord | None] = {NO_GOLD: None}
    records |= {record.name: record for record in compare_queries.labellings(corpus.id)}
    left, right = st.columns(2)
    name = left.selectbox(
        "Gold labels",
        list(records),
        key=_key("gold"),
        help="Its gold items, or else all its labels, are taken as right.",
    )
    chosen = records[name or NO_GOLD]
    if chosen is None:
        return None, 0.0, False
    share = right.number_input(
        "Gold items (%)", 1, 100, 10, 5, key=_key("gold_share"),
        help="Share of the items with gold labels. Everybody gets them, spread over the list.",
    )  # fmt: skip
    tell = st.toggle("Tell people how their labels of gold items compare", key=_key("tell"))
    with_training = queries.read(lambda r: len(labelled.gold_labels(r, chosen.id)))
    st.caption(f"{plain(chosen.name)} has {count(with_training, 'sentence')} with gold labels.")
    return chosen.id, share / 100, bool(tell)
