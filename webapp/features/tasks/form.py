"""Form of a new task: which articles or sample, which people, how they share the items, and what they begin with."""

from __future__ import annotations

from datetime import UTC, datetime, time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.columns import ColumnType
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.records.stored import ColumnRecord, CorpusRecord, LabellingRecord
from themescope.jobs.common.importing.waves import is_list, waves_of
from themescope.jobs.common.labelled import placed
from themescope.jobs.services.accounts.people import tidy
from themescope.jobs.services.tasks import making
from themescope.jobs.services.tasks.making import TaskForm
from themescope.jobs.services.tasks.samples import ColumnKey, SampleForm, samples_of
from themescope.webapp.features.tasks.state import ALL, MESSAGE
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.labelling.task_queries import PLANNED, PlannedSample
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.people import UNNAMED, current_person
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.text import count, plain, shorten

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


def show(corpus: CorpusRecord) -> None:
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
    for analysis in partition_queries.analyses(corpus.id):
        options[f"Themes: {analysis.name}"] = (making.START_RUN, analysis.run.id)
    for record in partition_queries.labellings(corpus.id):
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
    orders = [Order.GIVEN, Order.RANDOM, *([Order.UNCERTAIN] if partition_queries.analyses(corpus.id) else [])]
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
    records |= {record.name: record for record in partition_queries.labellings(corpus.id)}
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
    with_training = queries.read(lambda r: len(placed.gold_labels(r, chosen.id)))
    st.caption(f"{plain(chosen.name)} has {count(with_training, 'sentence')} with gold labels.")
    return chosen.id, share / 100, bool(tell)
