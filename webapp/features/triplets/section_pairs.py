"""Section pairs tab: triplet accuracy by pair of section titles, as a table, with intervals and as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.metrics.triplet_analysis import SectionPairs
from themescope.core.types import Estimate, Ids
from themescope.db.records import TripletSetRecord
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.triplets import queries, sets, state
from themescope.webapp.features.triplets.figures import WRONG, heat_figure
from themescope.webapp.features.triplets.queries import PairView
from themescope.webapp.shared.components import clickable_table, clicked_point, download
from themescope.webapp.shared.figures import IntervalRow, interval_figure, tones
from themescope.webapp.shared.text import count, ends, interval, plain, shorten
from themescope.webapp.shared.triplet_queries import Evaluation

_STYLE = Path(__file__).parent / "assets" / "section_pairs.css"
_ORDERS = {"confused": "Most confused", "frequent": "Most frequent", "errors": "Most errors"}
_LISTED, _DRAWN, _GRID = 100, 14, 12
_TITLE = 22  # letters
_LIMITS, _ENOUGH, _FEW = ((20, 3), (10, 3), (10, 2), (5, 2), (5, 1)), 10, 3


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw the controls, the pairs, and the heat map of the most frequent titles."""
    chosen, evaluations = sets.choose_with_evaluations(listed, compare=False)
    if not evaluations:
        return
    (evaluation,) = evaluations
    view = queries.pair_view(evaluation, chosen)
    pairs = view.pairs
    least, articles, order = _controls(pairs)
    kept = np.flatnonzero((pairs.counts >= least) & (pairs.articles >= articles))
    if not len(kept):
        most = f"{count(int(pairs.counts[0]), 'triplet')}, and none is in more than"
        widest = count(int(pairs.articles.max()), "article")
        message = f"No pair is frequent enough: the most frequent has {most} {widest}. Lower the minimums."
        st.info(message, icon=":material/info:")
        return
    rows = kept[np.argsort(_sorting(pairs, kept, order), kind="stable")]
    _pairs(evaluation, view, rows, len(kept))
    _grid(evaluation, pairs, kept)


def _controls(pairs: SectionPairs) -> tuple[int, int, str]:
    """Return the minimum numbers of triplets and articles of a pair, and the order of the table."""
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
    return least, articles, order


def starting_limits(pairs: SectionPairs) -> tuple[int, int]:
    """Return the strictest of some minimums of triplets and articles that leave enough pairs, or else a few."""
    left = {limits: np.count_nonzero((pairs.counts >= limits[0]) & (pairs.articles >= limits[1])) for limits in _LIMITS}
    for enough in (_ENOUGH, _FEW):
        for limits, n in left.items():
            if n >= enough:
                return limits
    return 1, 1


def _sorting(pairs: SectionPairs, rows: Ids, order: str) -> np.ndarray:
    """Return sort keys in ascending order; of equally accurate pairs the more frequent comes first."""
    if order == "frequent":
        return -pairs.counts[rows]
    if order == "errors":
        return -((1 - pairs.accuracy[rows]) * pairs.counts[rows])
    return np.lexsort((-pairs.counts[rows], pairs.accuracy[rows])).argsort()


def _pairs(evaluation: Evaluation, view: PairView, rows: Ids, kept: int) -> None:
    """Draw the table, the chart with intervals, and the buttons that open the triplets of a pair."""
    pairs, listed = view.pairs, rows[:_LISTED]
    estimates = {int(row): pairs.estimate(int(row)) for row in listed}
    st.html(_STYLE)
    with st.container(horizontal=True, key=state.PAIRS_LAYOUT, gap="medium"):
        with st.container():
            _table(evaluation, pairs, listed, [*estimates.values()])
            cut = f" Showing {_LISTED}; export for all." if kept > _LISTED else ""
            st.caption(
                f"{count(kept, 'pair')} of {len(pairs):,} reach the minimums.{cut} Case and spacing of titles are "
                "ignored, and so is their order. Click a row to open its triplets."
            )
            download(
                "CSV", lambda: export(pairs, rows), "themescope-section-pairs.csv",
            )  # fmt: skip
            _chosen_pair(evaluation, view)
        with st.container():
            lines = [_line(pairs, row, e) for row, e in list(estimates.items())[:_DRAWN]]
            figure = interval_figure(lines, "Triplet accuracy", tones(st.context.theme.type), chance=0.5, sort=False)
            st.plotly_chart(figure, key=f"{state.CHART}_pairs", config={"displayModeBar": False})
            st.caption(
                f"The first {len(lines)} pairs of the table with 95 % bootstrap intervals over articles. The lowest of "
                "many values are partly low by chance; consider the intervals."
            )


def _table(evaluation: Evaluation, pairs: SectionPairs, listed: Ids, estimates: Sequence[Estimate]) -> None:
    frame = pd.DataFrame(
        {
            "Section": [state.heading(pairs.names[row][0]) for row in listed],
            "Other section": [state.heading(pairs.names[row][1]) for row in listed],
            "Triplets": pairs.counts[listed],
            "Articles": pairs.articles[listed],
            "Accuracy": [interval(e.value, *ends(e)) for e in estimates],
        }
    )
    key = f"{state.TABLE}_pairs_{evaluation.run.id}_{hash(listed.tobytes())}"

    def choose_pair(row: int) -> None:
        st.query_params[state.PAIR] = list(pairs.names[int(listed[row])])

    clickable_table(
        frame,
        key,
        choose_pair,
        height=420,
        column_config={
            "Triplets": st.column_config.NumberColumn(format="localized", width=70),
            "Articles": st.column_config.NumberColumn(format="localized", width=70),
            "Accuracy": st.column_config.TextColumn(width=130, alignment="right"),
        },
    )


def _chosen_pair(evaluation: Evaluation, view: PairView) -> None:
    """Draw the pair that was clicked, and the buttons that open its triplets."""
    titles = st.query_params.get_all(state.PAIR)
    row = view.pairs.find(titles) if len(titles) == 2 else None
    if row is None:
        return
    margins = view.margins[view.pairs.triplets(row)]
    names = " × ".join(f"**{plain(state.heading(title))}**" for title in view.pairs.names[row])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(names)
        pair, settings = (titles[0], titles[1]), sets.evaluation_filter(evaluation)
        label = f"Open {count(len(margins), 'triplet')}"
        state.triplets_button(label, len(margins), settings, name="pair", pair=pair, primary=True)
        wrong = int((margins < 0).sum())
        label = f"Open {count(wrong, 'wrong triplet')}"
        state.triplets_button(label, wrong, settings | {state.MARGIN_MAX: 0.0}, name="pair_wrong", pair=pair)


def _line(pairs: SectionPairs, row: int, found: Estimate) -> IntervalRow:
    """Return a row of the chart, orange where the interval is below chance."""
    label = " × ".join(shorten(state.heading(title), _TITLE) for title in pairs.names[row])
    return IntervalRow(label, found.value, *ends(found), WRONG if found.n > 1 and found.high < 0.5 else 0)


def _grid(evaluation: Evaluation, pairs: SectionPairs, kept: Ids) -> None:
    """Draw a heat map of accuracy between frequent titles, unless hardly any two share an article."""
    titles: list[str] = []
    for row in kept.tolist():  # the most frequent pairs first, so that few cells stay empty
        new = [title for title in dict.fromkeys(pairs.names[row]) if title not in titles]
        titles += new if len(titles) + len(new) <= _GRID else []
    place = {title: i for i, title in enumerate(titles)}
    accuracy = np.full((len(titles), len(titles)), np.nan)
    counts = np.zeros((len(titles), len(titles)), np.int64)
    for row in kept.tolist():
        a, b = (place.get(title, -1) for title in pairs.names[row])
        if a >= 0 and b >= 0:
            accuracy[[a, b], [b, a]], counts[[a, b], [b, a]] = pairs.accuracy[row], pairs.counts[row]
    if np.count_nonzero(np.tril(counts, -1)) < len(titles):
        return
    st.subheader("Accuracy between frequent titles", anchor=False)
    theme = st.context.theme.type
    key = f"{state.CHART}_grid_{evaluation.run.id}_{theme}"

    def open_cell() -> None:
        point = clicked_point(key)
        if point is not None:
            row, column = divmod(point[0], len(titles))
            state.open_triplets(sets.evaluation_filter(evaluation), (titles[row], titles[column]))

    figure = heat_figure([state.heading(title) for title in titles], accuracy, counts, tones(theme))
    st.plotly_chart(figure, key=key, on_select=open_cell, selection_mode="points", config={"displayModeBar": False})
    st.caption(
        "Click a cell to open its triplets, lowest margin first. Empty cells have too few triplets. .50 is chance. The "
        "table above has the same values."
    )


def export(pairs: SectionPairs, rows: Ids) -> str:
    """Return a CSV of these pairs with their intervals, with formulas escaped."""

    def cells(row: int) -> list[object]:
        e = pairs.estimate(row)
        return [*pairs.names[row], int(pairs.counts[row]), int(pairs.articles[row]), e.value, e.low, e.high]

    header = ("section", "other_section", "triplets", "articles", "accuracy", "low", "high")
    return csv_text(header, (cells(row) for row in rows.tolist()))
