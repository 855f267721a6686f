"""Which sections a model confuses: triplet accuracy by pair of section titles, as a table, intervals and a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.metrics.section_pairs import SectionPairs
from core.types import Estimate, Ids
from db.records import TripletSetRecord
from jobs.services.table_files import csv_text
from webapp.features.triplets import evaluation_choice, state
from webapp.features.triplets.figures import WRONG, heat_figure
from webapp.features.triplets.state import PAIR, heading
from webapp.shared import triplet_queries, triplet_sets
from webapp.shared.figures import IntervalRow, interval_figure
from webapp.shared.palette import tones
from webapp.shared.text import count, interval, plain, shorten
from webapp.shared.triplet_queries import Evaluation, PairView

_ORDERS = {"confused": "Most confused", "frequent": "Most frequent", "errors": "Most errors"}
_LISTED, _DRAWN, _GRID = 100, 14, 12
_TITLE = 22  # letters
_LIMITS, _ENOUGH, _FEW = ((20, 3), (10, 3), (10, 2), (5, 2), (5, 1)), 10, 3


def show(sets: Sequence[TripletSetRecord]) -> None:
    """The controls, the pairs in the order asked for, and the grid of the most frequent titles."""
    left, right = st.columns(2)
    with left:
        chosen = triplet_sets.choose(sets)
    found = triplet_queries.evaluations(chosen)
    if not found:
        evaluation_choice.no_evaluations()
        return
    with right:
        evaluation = evaluation_choice.choose(found)
    view = triplet_queries.pair_view(evaluation, chosen)
    pairs = view.pairs
    least, articles, order = _controls(pairs)
    kept = np.flatnonzero((pairs.counts >= least) & (pairs.articles >= articles))
    if not len(kept):
        most = f"{count(int(pairs.counts[0]), 'triplet')}, and none is in more than"
        widest = count(int(pairs.articles.max()), "article")
        said = f"No pair of titles is that frequent: the most frequent has {most} {widest}. Lower the numbers above."
        st.info(said, icon=":material/info:")
        return
    rows = kept[np.argsort(_sorting(pairs, kept, order), kind="stable")]
    _pairs(evaluation, view, rows, len(kept))
    _grid(evaluation, pairs, kept)


def _controls(pairs: SectionPairs) -> tuple[int, int, str]:
    """Least number of triplets and of articles of a pair, and the order of the table."""
    first, second, third = st.columns([1, 1, 3], vertical_alignment="bottom")
    least, articles = starting_limits(pairs)
    least = first.number_input(
        "At least so many triplets", 1, None, least, key="triplets", bind="query-params", help="Of a pair of titles"
    )
    articles = second.number_input(
        "… of so many articles", 1, None, articles, key="articles", bind="query-params",
        help="Pairs of one article have no interval.",
    )  # fmt: skip
    order = third.segmented_control(
        "Order", list(_ORDERS), default="confused", required=True, format_func=_ORDERS.__getitem__, key="order",
        bind="query-params",
    )  # fmt: skip
    return least, articles, order


def starting_limits(pairs: SectionPairs) -> tuple[int, int]:
    """The strictest of some limits on triplets and articles that leaves enough pairs to look at, or else a few."""
    left = {limits: np.count_nonzero((pairs.counts >= limits[0]) & (pairs.articles >= limits[1])) for limits in _LIMITS}
    for enough in (_ENOUGH, _FEW):
        for limits, n in left.items():
            if n >= enough:
                return limits
    return 1, 1


def _sorting(pairs: SectionPairs, rows: Ids, order: str) -> np.ndarray:
    """Ascending keys; of equally confused pairs the more frequent comes first."""
    if order == "frequent":
        return -pairs.counts[rows]
    if order == "errors":
        return -((1 - pairs.accuracy[rows]) * pairs.counts[rows])
    return np.lexsort((-pairs.counts[rows], pairs.accuracy[rows])).argsort()


def _pairs(evaluation: Evaluation, view: PairView, rows: Ids, kept: int) -> None:
    """The table, the same as dots with their intervals, and the way to the triplets of a pair."""
    pairs, listed = view.pairs, rows[:_LISTED]
    estimates = {int(row): pairs.estimate(int(row)) for row in listed}
    with st.container(horizontal=True, key="linked", gap="medium"):
        with st.container():
            _table(evaluation, pairs, listed, [*estimates.values()])
            cut = f" The first {_LISTED} are listed; the CSV has all." if kept > _LISTED else ""
            st.caption(
                f"{count(kept, 'pair')} of {len(pairs):,} are frequent enough.{cut} Titles are folded (case, spaces); "
                "their order within a pair does not matter. Click a row to read its triplets."
            )
            st.download_button(
                "CSV", data=lambda: export(pairs, rows), file_name="themescope-section-pairs.csv", mime="text/csv",
                icon=":material/download:", on_click="ignore",
            )  # fmt: skip
            _chosen_pair(evaluation, view)
        with st.container():
            lines = [_line(pairs, row, e) for row, e in list(estimates.items())[:_DRAWN]]
            figure = interval_figure(lines, "Triplet accuracy", tones(st.context.theme.type), chance=0.5, sort=False)
            st.plotly_chart(figure, key="pair-intervals", config={"displayModeBar": False})
            st.caption(
                f"The first {len(lines)} pairs of the table. 95 % bootstrap intervals over articles, since triplets of "
                "one article are not independent. The lowest of many are partly low by chance: look at the intervals."
            )


def _table(evaluation: Evaluation, pairs: SectionPairs, listed: Ids, estimates: Sequence[Estimate]) -> None:
    frame = pd.DataFrame(
        {
            "Section": [heading(pairs.names[row][0]) for row in listed],
            "Other section": [heading(pairs.names[row][1]) for row in listed],
            "Triplets": pairs.counts[listed],
            "Articles": pairs.articles[listed],
            "Accuracy": [interval(e.value, *_ends(e)) for e in estimates],
        }
    )
    key = f"pairs-{evaluation.run.id}-{hash(listed.tobytes())}"

    def choose() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells:
            pair = pairs.names[int(listed[cells[0][0]])]
            st.query_params[PAIR] = list(pair)

    st.dataframe(
        frame,
        hide_index=True,
        height=420,
        key=key,
        on_select=choose,
        selection_mode="single-cell",
        column_config={
            "Triplets": st.column_config.NumberColumn(format="localized", width=70),
            "Articles": st.column_config.NumberColumn(format="localized", width=70),
            "Accuracy": st.column_config.TextColumn(width=130, alignment="right"),
        },
    )


def _chosen_pair(evaluation: Evaluation, view: PairView) -> None:
    """What was clicked, and its triplets."""
    asked = st.query_params.get_all(PAIR)
    row = view.pairs.find(asked) if len(asked) == 2 else None
    if row is None:
        return
    margins = view.margins[view.pairs.triplets(row)]
    names = " × ".join(f"**{plain(heading(title))}**" for title in view.pairs.names[row])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(names)
        wanted = _asked(evaluation, (asked[0], asked[1]))
        all_of = f"Read the {count(len(margins), 'triplet')}"
        state.door(all_of, len(margins), key="pair", primary=True, **wanted)
        wrong = int((margins < 0).sum())
        state.door(f"Read the {wrong:,} wrong", wrong, key="pair-wrong", to=0.0, **wanted)


def _asked(evaluation: Evaluation, pair: tuple[str, str]) -> dict[str, Any]:
    """The triplets of a pair, the most wrong first."""
    return {"pair": pair, "split": evaluation.split.value, "by": evaluation.judge, "sort": "wrong"}


def _line(pairs: SectionPairs, row: int, found: Estimate) -> IntervalRow:
    """Orange where the interval lies below chance."""
    label = " × ".join(shorten(heading(title), _TITLE) for title in pairs.names[row])
    return IntervalRow(label, found.value, *_ends(found), WRONG if found.n > 1 and found.high < 0.5 else 0)


def _ends(found: Estimate) -> tuple[float | None, float | None]:
    """The interval; a single article has none."""
    return (found.low, found.high) if found.n > 1 else (None, None)


def _grid(evaluation: Evaluation, pairs: SectionPairs, kept: Ids) -> None:
    """Accuracy between the titles that occur most; nothing where hardly any two of them stand in the same articles."""
    titles: list[str] = []
    for row in kept.tolist():  # the most frequent pairs first, so that few places of the grid stay empty
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
    st.subheader("Between titles of the most frequent pairs", anchor=False)
    theme = st.context.theme.type
    key = f"pair-grid-{evaluation.run.id}-{theme}"

    def read() -> None:
        points = (st.session_state[key].get("selection") or {}).get("points") or []
        if points:
            row, column = divmod(int(points[0]["customdata"]), len(titles))
            state.ask(**_asked(evaluation, (titles[row], titles[column])))

    figure = heat_figure([heading(title) for title in titles], accuracy, counts, tones(theme))
    st.plotly_chart(figure, key=key, on_select=read, selection_mode="points", config={"displayModeBar": False})
    st.caption(
        "Click a square to read its triplets, the most wrong first. Empty: fewer triplets than asked for, or none, "
        "because the two sections do not stand side by side. .50 is chance. The same numbers stand in the table above."
    )


def export(pairs: SectionPairs, rows: Ids) -> str:
    """A CSV of these pairs with their intervals, safe for spreadsheets."""

    def cells(row: int) -> list[object]:
        e = pairs.estimate(row)
        return [*pairs.names[row], int(pairs.counts[row]), int(pairs.articles[row]), e.value, e.low, e.high]

    header = ("section", "other_section", "triplets", "articles", "accuracy", "low", "high")
    return csv_text(header, (cells(row) for row in rows.tolist()))
