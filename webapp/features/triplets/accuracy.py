"""Accuracy tab: one table of the triplets of one or two models, by margin, section pair, length or article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.metrics.statistics import paired_difference
from themescope.core.metrics.triplets import (
    CorrectnessFilter,
    MarginHistogram,
    SectionPairs,
    Slice,
    accuracy_by_article,
    accuracy_slices,
    correctness,
    margin_histogram,
)
from themescope.core.types import Estimate, Ids
from themescope.db.records import TripletSetRecord
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import triplets as state
from themescope.webapp.features.triplets import queries as page_queries
from themescope.webapp.features.triplets import sets
from themescope.webapp.features.triplets.filters import margin_range
from themescope.webapp.features.triplets.queries import WRONG, margins_figure
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import clickable_table, download, draw_table
from themescope.webapp.shared.figures import IntervalRow, interval_figure, tones
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.triplet_queries import Evaluation, Margins
from themescope.webapp.shared.text import count, ends, plain, score, shorten, signed, signed_interval, with_interval

MARGIN, PAIR, LENGTH, DISTANCE, ARTICLE = (
    "Margin", "Section pair", "Sentence length", "Paragraph distance", "Article",
)  # fmt: skip
"""What the table is by."""
_LENGTHS, _DISTANCES = (0, 8, 10, 12, 15, 20, 25, 30), (0, 1, 2, 3, 4)
_ORDERS = {"confused": "Most confused", "frequent": "Most frequent", "errors": "Most errors"}
_LISTED, _DRAWN, _TITLE, _RESAMPLES = 100, 14, 22, 2_000
_LIMITS, _ENOUGH, _FEW = ((20, 3), (10, 3), (10, 2), (5, 2), (5, 1)), 10, 3


@dataclass(frozen=True, slots=True)
class AccuracyOf:
    """Some of the triplets, as a row of the table."""

    names: tuple[str, ...]
    """What they have in common, such as two section titles."""
    triplets: int
    articles: int | None = None
    accuracies: tuple[Estimate | None, ...] = ()
    """One for each model; None where it was not evaluated on any of them."""
    opens: Mapping[str, Any] | None = None
    """Filter settings that select them in the tab Browse, besides those of the model; None where there are none."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Rows of the table."""

    columns: tuple[str, ...]
    """Titles of the columns with the names."""
    rows: Sequence[AccuracyOf]
    about: str
    """What the table shows, in words."""
    notes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Further columns."""


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw the models, what the table is by, the table with its chart, and the buttons that open the triplets."""
    chosen, shown = sets.choose_with_evaluations(listed)
    if not shown:
        return
    kinds = [MARGIN, PAIR, LENGTH, DISTANCE, ARTICLE] if chosen.kind == "sentences" else [MARGIN, PAIR, LENGTH, ARTICLE]
    if st.session_state.get(state.BY) not in kinds:
        st.session_state.pop(state.BY, None)
    by = st.segmented_control("Accuracy by", kinds, default=MARGIN, required=True, key=state.BY, bind="query-params")
    if by == MARGIN:
        found: Parts | None = _by_margin(shown)
    elif by == PAIR:
        found = _by_pair(chosen, shown)
    elif by == ARTICLE:
        found = _by_article(chosen, shown)
    else:
        found = _by_value(chosen, shown, by)
    if found is not None:
        _table(found, shown, by)
    if len(shown) > 1:
        _two_models(shown[0], shown[1], chosen)


def _table(found: Parts, shown: Sequence[Evaluation], by: str) -> None:
    rows = found.rows[:_LISTED]
    names = [e.model_name for e in shown] if len(shown) > 1 else ["Accuracy"]
    columns: dict[str, Sequence[Any]] = {
        column: [row.names[place] or state.UNTITLED for row in rows] for place, column in enumerate(found.columns)
    }
    columns["Triplets"] = [row.triplets for row in rows]
    if rows and rows[0].articles is not None:
        columns["Articles"] = [row.articles for row in rows]
    if rows and rows[0].accuracies:
        columns |= {name: [with_interval(row.accuracies[i]) for row in rows] for i, name in enumerate(names)}
    columns |= {name: values[:_LISTED] for name, values in found.notes.items()}
    lines = [
        _line(row, estimate, names[place] if len(names) > 1 else "", place)
        for row in rows[: _DRAWN // len(shown)]
        for place, estimate in enumerate(row.accuracies)
        if estimate is not None
    ]
    charted = any(line.low is not None for line in lines)
    left, right = st.columns([3, 2], gap="medium") if charted else (st.container(), None)
    with left:
        clickable_table(
            columns,
            f"{state.TABLE}_{by}_{'-'.join(str(e.run.id) for e in shown)}_{hash(tuple(row.names for row in rows))}",
            lambda row: st.query_params.update({state.PART: list(rows[row].names)}),
            height="content" if len(rows) <= 11 else 420,
            column_config={name: st.column_config.TextColumn(width=130, alignment="right") for name in names},
        )
        cut = f" Showing {_LISTED} of {len(found.rows):,}; export for all." if len(found.rows) > _LISTED else ""
        opens = " Click a row to open its triplets." if any(row.opens is not None for row in rows) else ""
        st.caption(f"{found.about}{cut}{opens}")
        _open(found, shown)
        download("CSV", lambda: export(found, names), "themescope-triplet-accuracy.csv")
    if right is not None:
        with right:
            figure = interval_figure(lines, "Triplet accuracy", tones(st.context.theme.type), chance=0.5, sort=False)
            st.plotly_chart(figure, key=f"triplets_chart_{by}", config={"displayModeBar": False})
            st.caption(
                f"The first {count(len(lines) // len(shown), 'row')} of the table with 95 % bootstrap intervals over "
                "articles, which do not test the difference between rows. The lowest of many values are partly low by "
                "chance."
            )


def _line(row: AccuracyOf, found: Estimate, model: str, place: int) -> IntervalRow:
    """Return a row of the chart; of a single model orange where the interval is below chance."""
    label = " × ".join(shorten(name or state.UNTITLED, _TITLE) for name in row.names)
    below = found.n > 1 and found.high < 0.5
    return IntervalRow(
        f"{label} · {model}" if model else label, found.value, *ends(found), place if model else WRONG * below
    )


def _open(found: Parts, shown: Sequence[Evaluation]) -> None:
    wanted = tuple(st.query_params.get_all(state.PART))
    row = next((row for row in found.rows if row.names == wanted and row.opens is not None), None)
    if row is None or row.opens is None:
        return
    settings = {**sets.evaluation_filter(shown[0]), **row.opens}
    pair = settings.pop(state.PAIR, None)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(" × ".join(f"**{plain(name or state.UNTITLED)}**" for name in row.names), width="content")
        label = f"Open {count(row.triplets, 'triplet')}"
        state.triplets_button(label, row.triplets, settings, name="part", pair=pair, primary=True)
        if row.accuracies:
            wrong = settings | {state.MARGIN_MAX: 0.0}
            state.triplets_button("Open the wrong ones", row.triplets, wrong, name="part_wrong", pair=pair)


def export(found: Parts, names: Sequence[str]) -> str:
    """Return a CSV of all rows with their intervals, with formulas escaped."""
    measures = ["accuracy", "low", "high"]
    if len(names) > 1:
        measures = [f"{name} {what}" for name in names for what in measures]
    with_accuracy = any(row.accuracies for row in found.rows)
    head = (*(column.lower().replace(" ", "_") for column in found.columns), "triplets", "articles")
    cells = (
        [
            *row.names, row.triplets, row.articles,
            *(value for e in row.accuracies for value in ((e.value, e.low, e.high) if e else ("", "", ""))),
        ]
        for row in found.rows
    )  # fmt: skip
    return csv_text((*head, *(measures if with_accuracy else ())), cells)


def _by_margin(shown: Sequence[Evaluation]) -> Parts:
    panels = [(e.name, e.unit, margin_histogram(triplet_queries.margins(e)[1])) for e in shown]
    theme = st.context.theme.type
    key = f"triplets_chart_margins_{'-'.join(str(e.run.id) for e in shown)}-{theme}"
    st.plotly_chart(margins_figure(panels, tones(theme)), key=key, config={"displayModeBar": False})
    for name, unit, h in panels:
        tied = f", {h.tied:,} tied" if h.tied else ""
        beyond = f" {h.below + h.above:,} are outside the chart." if h.below + h.above else ""
        st.caption(
            f"**{plain(name)}**: {count(h.n, 'triplet')} of the {shown[0].split.value} split, {h.wrong:,} "
            "wrong"
            f"{tied}. A margin is the distance to the other section minus the distance to the same section, in "
            f"{plain(unit)}; median {signed(h.median)}, standard deviation {h.spread:.3g}.{beyond}"
        )
    first = panels[0][2]
    label, settings = f"Open {count(first.wrong, 'wrong triplet')}", sets.evaluation_filter(shown[0])
    state.triplets_button(label, first.wrong, settings | {state.MARGIN_MAX: 0.0}, name="wrong")
    rows = [
        AccuracyOf(
            (margin_range(low, high),),
            n,
            opens={k: v for k, v in ((state.MARGIN_MIN, low), (state.MARGIN_MAX, high)) if np.isfinite(v)},
        )
        for low, high, n in _bins(first)
        if n
    ]
    shares = [f"{row.triplets / first.n:.2%}" for row in rows]
    return Parts(("Margin",), rows, f"Margins of {plain(panels[0][0])}; ties are in no row.", {"Share": shares})


def _bins(found: MarginHistogram) -> list[tuple[float, float, int]]:
    edges = found.edges.tolist()
    inside = list(zip(edges[:-1], edges[1:], found.counts.tolist(), strict=True))
    return [(-np.inf, edges[0], found.below), *inside, (edges[-1], np.inf, found.above)]


# ---------------------------------------------------------------- by section pair


def _by_pair(chosen: TripletSetRecord, shown: Sequence[Evaluation]) -> Parts | None:
    views = [page_queries.pairs_of(evaluation, chosen) for evaluation in shown]
    pairs = views[0]
    first, second, third = st.columns([1, 1, 3], vertical_alignment="bottom")
    least, articles = starting_limits(pairs)
    least = first.number_input(
        "Minimum triplets", 1, None, least, key=state.MIN_TRIPLETS, bind="query-params", help="Per pair of titles."
    )
    articles = second.number_input(
        "Minimum articles", 1, None, articles, key=state.MIN_ARTICLES, bind="query-params",
        help="Pairs in one article have no interval.",
    )  # fmt: skip
    order = third.segmented_control(
        "Sort", list(_ORDERS), default="confused", required=True, format_func=_ORDERS.__getitem__, key=state.PAIR_ORDER,
        bind="query-params",
    )  # fmt: skip
    kept = np.flatnonzero((pairs.counts >= least) & (pairs.articles >= articles))
    if not len(kept):
        most = f"{count(int(pairs.counts[0]), 'triplet')}, and none is in more than"
        widest = count(int(pairs.articles.max()), "article")
        message = f"No pair is frequent enough: the most frequent has {most} {widest}. Lower the minimums."
        st.info(message, icon=":material/info:")
        return None
    keys: np.ndarray
    if order == "frequent":
        keys = -pairs.counts[kept]
    elif order == "errors":
        keys = -((1 - pairs.accuracy[kept]) * pairs.counts[kept])
    else:  # of equally accurate pairs the more frequent comes first
        keys = np.lexsort((-pairs.counts[kept], pairs.accuracy[kept])).argsort()
    rows = kept[np.argsort(keys, kind="stable")]
    about = (
        f"{count(len(kept), 'pair')} of {len(pairs):,} reach the minimums. Case and spacing of titles are ignored, and "
        "so is their order."
    )
    return Parts(("Section", "Other section"), pair_parts(views, rows), about)


def starting_limits(pairs: SectionPairs) -> tuple[int, int]:
    """Return the strictest of some minimums of triplets and articles that leave enough pairs, or else a few."""
    left = {limits: np.count_nonzero((pairs.counts >= limits[0]) & (pairs.articles >= limits[1])) for limits in _LIMITS}
    for enough in (_ENOUGH, _FEW):
        for limits, n in left.items():
            if n >= enough:
                return limits
    return 1, 1


def pair_parts(views: Sequence[SectionPairs], rows: Ids) -> list[AccuracyOf]:
    """Return pairs of the first of some evaluations, with the accuracies of all."""

    def estimate(pairs: SectionPairs, names: tuple[str, str], place: int) -> Estimate | None:
        row: int | None = place if pairs is views[0] else pairs.find(names)
        return None if row is None else pairs.estimate(row)

    first = views[0]
    return [
        AccuracyOf(
            names,
            int(first.counts[row]),
            int(first.articles[row]),
            tuple(estimate(pairs, names, row) for pairs in views),
            {state.PAIR: names},
        )
        for row, names in ((row, first.names[row]) for row in rows.tolist())
    ]


# ---------------------------------------------------------------- by length, by distance, by article


def _by_value(chosen: TripletSetRecord, shown: Sequence[Evaluation], by: str) -> Parts:
    """Return slices by the length of sentences or by the distance between paragraphs."""
    starts, unit = (_LENGTHS, "words") if by == LENGTH else (_DISTANCES, "paragraphs")
    known = page_queries.measures(chosen, shown[0].split)
    values, parts = known.words if by == LENGTH else known.distance, []
    for evaluation in shown:
        row, margins = _on(known.ids, evaluation)
        parts.append(_slices(evaluation.run.id, by, starts, values[row], margins, known.articles[row]))
    about = (
        "Words of the shortest of the three sentences (of a set of titles, of the pivot)."
        if by == LENGTH
        else "Paragraphs between the pivot and the sentence of its own section."
    )
    rows = [
        AccuracyOf(
            (_label(group[0], unit),), group[0].triplets, group[0].accuracy.n, tuple(one.accuracy for one in group)
        )
        for group in zip(*parts, strict=True)  # all of the same triplets, so of the same slices
    ]
    return Parts((unit.title(),), rows, about)


def _on(known: Ids, evaluation: Evaluation) -> tuple[Ids, Margins]:
    """Return the positions of the triplets of an evaluation among the ids ``known``, and their margins."""
    ids, margins = triplet_queries.margins(evaluation)
    _, row, at = np.intersect1d(known, ids, assume_unique=True, return_indices=True)
    return row, margins[at]


@st.cache_data(show_spinner="Computing slices …", max_entries=32)
def _slices(
    run_id: int, by: str, starts: tuple[int, ...], _values: Ids, _margins: Margins, _articles: Ids
) -> list[Slice]:
    return accuracy_slices(_values, _margins, _articles, starts)


def _label(part: Slice, unit: str) -> str:
    if part.high is None:
        return f"{part.low} {unit} or more"
    if part.low == part.high:
        return f"{count(part.low, unit.removesuffix('s'))}"
    return f"{part.low} to {part.high} {unit}" if part.low else f"up to {part.high} {unit}"


def _by_article(chosen: TripletSetRecord, shown: Sequence[Evaluation]) -> Parts:
    known = triplet_queries.rows(chosen, shown[0].split)
    found = []
    for evaluation in shown:
        row, margins = _on(known.ids, evaluation)
        found.append(accuracy_by_article(margins, known.articles[row]))
    first, records = found[0], queries.articles_by_id(found[0].articles)
    values = [dict(zip(one.articles.tolist(), one.accuracy.tolist(), strict=True)) for one in found]
    rows = []
    for place in np.argsort(first.accuracy, kind="stable").tolist():
        article = int(first.articles[place])
        title = records[article].title if article in records else ""
        estimates = tuple(
            Estimate(of[article], of[article], of[article], 1) if article in of else None for of in values
        )
        rows.append(AccuracyOf((title,), int(first.triplets[place]), None, estimates, {state.ARTICLE: f'"{title}"'}))
    quarter, half, most = np.quantile(first.accuracy, [0.25, 0.5, 0.75])
    about = (
        f"{plain(shown[0].name)} on {count(len(rows), 'article')}: median {score(half)}, interquartile range "
        f"{score(quarter)} to {score(most)}. Articles with few triplets vary most, by chance alone."
    )
    return Parts(("Article",), rows, about)


# ---------------------------------------------------------------- two models


def _two_models(first: Evaluation, second: Evaluation, chosen: TripletSetRecord) -> None:
    a, b, articles = triplet_queries.on_same_triplets(first, second, chosen)
    right_a, right_b = correctness(a), correctness(b)
    gap = _difference(first.run.id, second.run.id, right_a, right_b, articles)
    of, other = first.model_name, second.model_name
    st.subheader("Both models", anchor=False)
    left, right = st.columns([3, 2], vertical_alignment="center")
    with left:
        draw_table(
            {
                "": [f"{of} correct", f"{of} wrong"],
                f"{other} correct": [int(((x > 0.5) & (right_b > 0.5)).sum()) for x in (right_a, 1 - right_a)],
                f"{other} wrong": [int(((x > 0.5) & (right_b < 0.5)).sum()) for x in (right_a, 1 - right_a)],
            }
        )
    with left.container(horizontal=True):
        for ahead, behind, margins in ((first, second, (a, b)), (second, first, (b, a))):
            n = int(((margins[0] > 0) & (margins[1] < 0)).sum())
            label = f"Open {n:,} that only {plain(shorten(ahead.model_name, 24))} gets right"
            settings = {
                state.SPLIT: first.split.value,
                state.CORRECT: CorrectnessFilter.AGAINST.value,
                state.CORRECT_MODEL: ahead.model_name,
                state.WRONG_MODEL: behind.model_name,
            }
            state.triplets_button(label, n, settings, name=f"only_{ahead.run.id}")
    right.markdown(
        f"On {count(len(a), 'common triplet')} **{plain(of)}** has accuracy {score(float(right_a.mean()))}, "
        f"**{plain(other)}** {score(float(right_b.mean()))}: difference {signed_interval(gap)} (95 % "
        f"bootstrap interval over {count(gap.n, 'article')})."
    )


@st.cache_data(show_spinner=False, max_entries=32)
def _difference(first: int, second: int, _a: np.ndarray, _b: np.ndarray, _articles: np.ndarray) -> Estimate:
    return paired_difference(_a, _b, _articles, _RESAMPLES)
