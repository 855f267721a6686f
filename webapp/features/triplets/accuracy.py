"""Accuracy tab: how often a model is right, how far off it is, its worst triplet, and where it is confused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.metrics.statistics import paired_difference
from themescope.core.metrics.triplets import (
    MarginHistogram,
    SectionPairs,
    accuracy_by_article,
    correctness,
    margin_histogram,
)
from themescope.core.types import Estimate, Ids
from themescope.db.records import TripletSetRecord
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import triplets as state
from themescope.webapp.features.triplets import browser, sets
from themescope.webapp.features.triplets import queries as page_queries
from themescope.webapp.features.triplets.queries import margins_figure
from themescope.webapp.shared import queries, triplet_queries
from themescope.webapp.shared.choose import by_name, grouped
from themescope.webapp.shared.components import clickable_table, download, draw_table
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import count, plain, score, shorten, signed, signed_interval, with_interval
from themescope.webapp.shared.triplet_queries import ACCURACY, Evaluation, best_first

PAIR, ARTICLE = "Section pair", "Article"
"""What the table of accuracies is by."""
_LISTED = 100
_ONLY = "that only"
_LIMITS, _ENOUGH, _FEW = ((20, 3), (10, 3), (10, 2), (5, 2), (5, 1)), 10, 3


@dataclass(frozen=True, slots=True)
class AccuracyOf:
    """Some of the triplets, as a row of the table."""

    names: tuple[str, ...]
    """What they have in common, such as two section titles."""
    triplets: int
    articles: int
    accuracies: tuple[Estimate | None, ...]
    """One for each model; None where it was not evaluated on any of them."""
    opens: Mapping[str, Any]
    """Filter settings that select them in the tab Browse."""


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw the accuracy with the margins, the worst triplet, and the table of where the model is wrong."""
    columns = st.columns(min(len(listed), 2) + 1)
    with columns[0]:
        chosen = sets.choose_set(listed)
    found = triplet_queries.evaluations(chosen)
    if not found:
        sets.next_steps(chosen)
        _card("A triplet of this set", chosen, triplet_queries.ids(chosen, None)[:1])
        return
    with columns[-2]:
        first = by_name("Model", grouped(best_first(found), lambda e: e.model.method), state.MODEL, lambda e: e.name)
    others = [e for e in found if e.split is first.split and e.run.id != first.run.id]
    options: list[Evaluation | None] = [None, *others]
    with columns[-1]:
        second = by_name("Compare with", options, state.SECOND_MODEL, lambda e: "none" if e is None else e.name)
    shown = [first] if second is None else [first, second]
    panels = [(e.name, e.unit, margin_histogram(triplet_queries.margins(e)[1])) for e in shown]
    _headline(first, panels[0][2])
    theme = st.context.theme.type
    key = f"triplets_chart_margins_{'-'.join(str(e.run.id) for e in shown)}-{theme}"
    st.plotly_chart(margins_figure(panels, tones(theme)), key=key, config={"displayModeBar": False})
    beyond = sum(h.below + h.above for _, _, h in panels)
    st.caption(
        "A margin is the distance to the other section minus the distance to the same section: below 0 the model is "
        f"wrong. Median {', '.join(signed(h.median) for _, _, h in panels)}."
        + (f" {beyond:,} are outside the chart." if beyond else "")
    )
    if second is not None:
        _two_models(first, second, chosen)
    ids, values = triplet_queries.margins(first)
    if len(ids) and values.min() < 0:
        title = f"The triplet that it is most wrong about (margin {signed(float(values.min()))})"
        _card(title, chosen, ids[[values.argmin()]])
    st.subheader("Where is it wrong?", anchor=False)
    by = st.segmented_control("Accuracy by", [PAIR, ARTICLE], key=state.BY, bind="query-params")
    if by == PAIR:
        _by_pair(chosen, shown)
    elif by == ARTICLE:
        _by_article(chosen, shown)


def _headline(first: Evaluation, h: MarginHistogram) -> None:
    record = queries.mean_scores([first.run.id]).get(first.run.id, {}).get(ACCURACY)
    accuracy = with_interval(record) if record is not None else score((h.right + h.tied / 2) / max(h.n, 1))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"Accuracy **{accuracy}** on {count(h.n, f'{first.split.value} triplet')}: {h.right:,} right, {h.wrong:,} "
            f"wrong{f', {h.tied:,} tied' if h.tied else ''}; chance is .500.",
            width="stretch",
        )
        settings = {state.WRONG: [first.model_name], **_ordered(first)}
        state.triplets_button(f"Open {count(h.wrong, 'wrong triplet')}", h.wrong, settings, "wrong", primary=True)


def _ordered(evaluation: Evaluation) -> dict[str, Any]:
    of = evaluation.model_name
    return {state.SPLIT: evaluation.split.value, state.ORDER: state.LOWEST, state.ORDER_MODEL: of}


def _card(title: str, chosen: TripletSetRecord, ids: Ids) -> None:
    """Draw a triplet, with the titles of its sections, as the papers print one."""
    for card in page_queries.cards(chosen, ids):
        st.subheader(title, anchor=False)
        browser.card(card, chosen.kind)


def _table(titles: Sequence[str], rows: Sequence[AccuracyOf], shown: Sequence[Evaluation], about: str) -> None:
    """Draw the rows; a click opens their triplets, the most wrong first."""
    names = [e.model_name for e in shown] if len(shown) > 1 else ["Accuracy"]
    listed = rows[:_LISTED]
    columns: dict[str, Sequence[Any]] = {
        title: [row.names[place] or state.UNTITLED for row in listed] for place, title in enumerate(titles)
    }
    columns |= {"Triplets": [row.triplets for row in listed], "Articles": [row.articles for row in listed]}
    columns |= {name: [with_interval(row.accuracies[i]) for row in listed] for i, name in enumerate(names)}
    clickable_table(
        columns,
        f"triplets_table_{'-'.join(str(e.run.id) for e in shown)}_{hash(tuple(row.names for row in listed))}",
        lambda row: state.open_triplets({**_ordered(shown[0]), **listed[row].opens}),
        height="content" if len(listed) <= 11 else 420,
        column_config={name: st.column_config.TextColumn(width=150, alignment="right") for name in names},
    )
    cut = f" Showing {_LISTED} of {len(rows):,}; the file has all." if len(rows) > _LISTED else ""
    st.caption(f"**Click a row** to open its triplets. {about}{cut}")
    download("CSV", lambda: export(titles, rows, names), "themescope-triplet-accuracy.csv")


def export(titles: Sequence[str], rows: Sequence[AccuracyOf], names: Sequence[str]) -> str:
    """Return a CSV of all rows with their intervals, with formulas escaped."""
    measures = ["accuracy", "low", "high"]
    if len(names) > 1:
        measures = [f"{name} {what}" for name in names for what in measures]
    head = (*(title.lower().replace(" ", "_") for title in titles), "triplets", "articles", *measures)
    cells = (
        [
            *row.names,
            row.triplets,
            row.articles,
            *(value for e in row.accuracies for value in ((e.value, e.low, e.high) if e else ("", "", ""))),
        ]
        for row in rows
    )
    return csv_text(head, cells)


def _by_pair(chosen: TripletSetRecord, shown: Sequence[Evaluation]) -> None:
    views = [page_queries.pairs_of(evaluation, chosen) for evaluation in shown]
    pairs = views[0]
    least, articles = frequent(pairs)
    kept = np.flatnonzero((pairs.counts >= least) & (pairs.articles >= articles))
    # The most confused first; of equally accurate pairs the more frequent one.
    rows = kept[np.lexsort((-pairs.counts[kept], pairs.accuracy[kept]))]
    about = (
        f"The {count(len(kept), 'pair')} of {len(pairs):,} with at least {count(least, 'triplet')} in "
        f"{count(articles, 'article')}, the most confused first; the lowest of many values are partly low by chance."
    )
    _table(("Section", "Other section"), pair_parts(views, rows), shown, about)


def frequent(pairs: SectionPairs) -> tuple[int, int]:
    """Return the strictest of some minimums of triplets and articles that leave enough pairs, or else a few."""
    left = {limits: np.count_nonzero((pairs.counts >= limits[0]) & (pairs.articles >= limits[1])) for limits in _LIMITS}
    return next((limits for enough in (_ENOUGH, _FEW) for limits, n in left.items() if n >= enough), (1, 1))


def pair_parts(views: Sequence[SectionPairs], rows: Ids) -> list[AccuracyOf]:
    """Return pairs of the first of some evaluations, with the accuracies of all."""

    def estimate(pairs: SectionPairs, names: tuple[str, str], place: int) -> Estimate | None:
        row: int | None = place if pairs is views[0] else pairs.find(names)
        return None if row is None else pairs.estimate(row)

    first, found = views[0], []
    for row in rows.tolist():
        names, triplets, articles = first.names[row], int(first.counts[row]), int(first.articles[row])
        accuracies = tuple(estimate(pairs, names, row) for pairs in views)
        found.append(AccuracyOf(names, triplets, articles, accuracies, {state.PAIR: names}))
    return found


def _by_article(chosen: TripletSetRecord, shown: Sequence[Evaluation]) -> None:
    known = triplet_queries.rows(chosen, shown[0].split)
    found = []
    for evaluation in shown:
        ids, margins = triplet_queries.margins(evaluation)
        _, row, at = np.intersect1d(known.ids, ids, assume_unique=True, return_indices=True)
        found.append(accuracy_by_article(margins[at], known.articles[row]))
    first, records = found[0], queries.articles_by_id(found[0].articles)
    values = [dict(zip(one.articles.tolist(), one.accuracy.tolist(), strict=True)) for one in found]
    rows = []
    for place in np.argsort(first.accuracy, kind="stable").tolist():
        article = int(first.articles[place])
        title = records[article].title if article in records else ""
        estimates = tuple(
            Estimate(of[article], of[article], of[article], 1) if article in of else None for of in values
        )
        rows.append(AccuracyOf((title,), int(first.triplets[place]), 1, estimates, {state.ARTICLE: f'"{title}"'}))
    quarter, half, most = np.quantile(first.accuracy, [0.25, 0.5, 0.75])
    about = (
        f"{count(len(rows), 'article')}: median {score(half)}, interquartile range {score(quarter)} to {score(most)}. "
        "Articles with few triplets vary most, by chance alone."
    )
    _table(("Article",), rows, shown, about)


def _two_models(first: Evaluation, second: Evaluation, chosen: TripletSetRecord) -> None:
    a, b, articles = triplet_queries.on_same_triplets(first, second, chosen)
    right_a, right_b = correctness(a), correctness(b)
    gap = _difference(first.run.id, second.run.id, right_a, right_b, articles)
    of, other = first.model_name, second.model_name
    left, right = st.columns([3, 2], vertical_alignment="center")
    with left:
        draw_table(
            {
                "": [f"{of} correct", f"{of} wrong"],
                f"{other} correct": [int(((x > 0.5) & (right_b > 0.5)).sum()) for x in (right_a, 1 - right_a)],
                f"{other} wrong": [int(((x > 0.5) & (right_b < 0.5)).sum()) for x in (right_a, 1 - right_a)],
            }
        )
    with right:
        st.markdown(
            f"**{plain(of)}** {score(float(right_a.mean()))}, **{plain(other)}** {score(float(right_b.mean()))}: "
            f"difference {signed_interval(gap)} (95 % bootstrap interval over {count(gap.n, 'article')})."
        )
        for ahead, behind, margins in ((second, first, (b, a)), (first, second, (a, b))):
            n = int(((margins[0] > 0) & (margins[1] < 0)).sum())
            label = f"Open {n:,} {_ONLY} {plain(shorten(ahead.model_name, 24))} gets right"
            settings = {state.RIGHT: [ahead.model_name], **_ordered(behind), state.WRONG: [behind.model_name]}
            state.triplets_button(label, n, settings, f"only_{ahead.run.id}")


@st.cache_data(show_spinner=False, max_entries=32)
def _difference(first: int, second: int, _a: np.ndarray, _b: np.ndarray, _articles: np.ndarray) -> Estimate:
    return paired_difference(_a, _b, _articles, 2_000)
