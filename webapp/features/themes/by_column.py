"""Themes by the columns of the sentences: a table of themes × categories, and the shares of themes over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.metrics.crosstabs import (
    LEAST_EXPECTED,
    PERIODS,
    Crosstab,
    crosstab,
    once_per_article,
    periods_of,
    share_intervals,
    usual_period,
)
from themescope.core.types import Ids
from themescope.jobs.services.labelling.starts import LEAD
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.themes import state
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.results.partition_queries import Analysis, RunListing
from themescope.webapp.shared.text import count, figure_text, shorten

Codes = npt.NDArray[np.integer]
_MOST_ROWS, _MOST_COLUMNS, _LINES = 100, 40, 6
_CHARS = 60
_COUNTS, _SHARES, _RESIDUALS = "Counts", "Shares", "Residuals"
_NOTABLE = 2.0
_DEPENDENT = (
    "Sentences of an article depend on each other, so that the test finds too much; “Once per article” counts each "
    "article once."
)


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """A classification of the listed sentences."""

    name: str
    codes: Codes
    """(n,) index in ``names``; -1 for none."""
    names: Sequence[str]


def show(analysis: Analysis, listed: RunListing) -> None:
    """Draw both views; nothing for a corpus without columns, sections or articles to compare."""
    categories, dates = _categories(analysis, listed), _dates(analysis, listed)
    tabs = [name for name, found in ((state.BY_CATEGORY, categories), (state.OVER_TIME, dates)) if found]
    if not tabs:
        return
    st.subheader("Themes and columns", anchor=False)
    shown = st.segmented_control(
        "Compare with", tabs, default=tabs[0], required=True, key="themes_column_view", label_visibility="collapsed"
    )
    if shown == state.OVER_TIME and dates:
        _over_time(analysis, listed, dates)
    else:
        _by_category(analysis, listed, categories)


def _articles(listed: RunListing) -> Ids:
    return np.array([sentence.article_id for sentence in listed.sentences], dtype=np.int64)


def _categories(analysis: Analysis, listed: RunListing) -> dict[str, Classes]:
    found: dict[str, Classes] = {}
    for column in queries.columns(analysis.corpus):
        if column.type == ColumnType.CATEGORY:
            codes = queries.column_values(column, listed.ids, _articles(listed))
            found[column.label] = Classes(column.label, codes, column.categories)
    names, groups = np.unique(listed.groups, return_inverse=True)
    if len(names) > 1:
        found.setdefault("Section", Classes("Section", groups, [str(name) or LEAD for name in names]))
    return found


def _dates(analysis: Analysis, listed: RunListing) -> dict[str, npt.NDArray[np.datetime64]]:
    columns = [c for c in queries.columns(analysis.corpus) if c.type == ColumnType.DATE]
    return {c.label: queries.column_values(c, listed.ids, _articles(listed)) for c in columns}


def _rows(analysis: Analysis, listed: RunListing) -> Classes:
    """Choose what the rows are: the themes, or the clusters of a labelling of the corpus."""
    person = current_person()
    records = partition_queries.labellings(analysis.corpus.id)
    known = {f"Labels: {r.name}": r.id for r in records if not r.blind or r.owner == person}
    chosen = st.selectbox("Rows", [state.THEMES, *known], key="themes_classes")
    if chosen == state.THEMES:
        names = [f"{number}. {theme['name']}" for number, theme in enumerate(analysis.themes, 1)]
        return Classes(chosen, listed.labels, names)
    partition = queries.read(lambda r: r.labellings.snapshot(known[chosen]).partition)
    clusters = sorted(partition.clusters)
    place = {number: code for code, number in enumerate(clusters)}
    of = dict(zip(partition.ids.tolist(), partition.numbers.tolist(), strict=True))
    codes = np.array([place.get(of.get(int(id), -1), -1) for id in listed.ids], dtype=np.int64)
    return Classes(chosen, codes, [partition.clusters[number].name for number in clusters])


# ---------------------------------------------------------------- themes × categories


def _by_category(analysis: Analysis, listed: RunListing, known: dict[str, Classes]) -> None:
    first, second, third, fourth = st.columns([2, 2, 2, 1.6], vertical_alignment="bottom")
    with first:
        rows = _rows(analysis, listed)
    with second:
        columns = known[st.selectbox("Category", list(known), key="themes_category")]
    with third:
        what = st.segmented_control(
            "Show", [_COUNTS, _SHARES, _RESIDUALS], default=_COUNTS, required=True, key="themes_cells",
            help="Shares: of the categories in a row. Residuals: how far a count is from what is expected if rows and "
            "categories were independent, in standard deviations (adjusted Pearson residuals).",
        )  # fmt: skip
    several = analysis.corpus.articles > 1
    with fourth:
        help = "Counts each article once for each of its rows and categories."
        once = several and st.toggle("Once per article", key="themes_once", help=help)
    codes = rows.codes, columns.codes
    if once:
        kept = once_per_article(*codes, _articles(listed))
        codes = rows.codes[kept], columns.codes[kept]
    found = crosstab(*codes, (len(rows.names), len(columns.names)))
    p = "< 0.001" if found.p < 0.001 else f"= {found.p:.3f}"
    n = int(found.counts.sum())
    counted = f"{n:,} combinations of article, row and category" if once else count(n, "sentence")
    test = f"chi-square {found.chi_square:,.1f} with {found.degrees:,} degrees of freedom, p {p}"
    parts = [f"{counted}. Cramér’s V {found.cramers_v:.2f}; {test}."]
    if found.low_expected:
        parts.append(
            f"The expected count is below {LEAST_EXPECTED:g} in {found.low_expected:,} of {found.expected.size:,} "
            "cells, where residuals and the test are unreliable."
        )
    tested = " ".join(parts)
    st.caption(" ".join([tested, *([_DEPENDENT] if several and not once else [])]))
    _table(found, rows, columns, what)
    download(
        "CSV", lambda: csv_text(CELLS_HEADER, cells(found, rows.names, columns.names)), "themes-by-category.csv",
        help="Counts, expected counts, shares and residuals of all cells.",
    )  # fmt: skip


def _table(found: Crosstab, rows: Classes, columns: Classes, what: str) -> None:
    cells = {_COUNTS: found.counts, _SHARES: found.row_shares(), _RESIDUALS: found.residuals}[what]
    row_order = np.argsort(-found.counts.sum(axis=1), kind="stable")[:_MOST_ROWS]
    order = np.argsort(-found.counts.sum(axis=0), kind="stable")[:_MOST_COLUMNS]
    frame = pd.DataFrame(
        cells[np.ix_(row_order, order)],
        index=pd.Index([shorten(rows.names[i], _CHARS) for i in row_order], name=rows.name),
        columns=_distinct([shorten(columns.names[i], _CHARS) for i in order]),
    )
    formats = {_COUNTS: "{:,}", _SHARES: "{:.0%}", _RESIDUALS: "{:+.1f}"}
    styled = frame.style.format(formats[what], na_rep="–")
    if what == _RESIDUALS:
        styled = styled.map(partial(_style, tones(st.context.theme.type)))
    st.dataframe(styled, height=min(38 + 35 * len(frame), 420))
    left_out = [
        f"{len(names) - len(shown):,} smaller {noun}"
        for names, shown, noun in ((rows.names, row_order, "rows"), (columns.names, order, "categories"))
        if len(names) > len(shown)
    ]
    if left_out:
        st.caption(f"{' and '.join(left_out)} are in the file only.")


def _style(tones: Tones, residual: float) -> str:
    """Return the colour of the text of a residual: more or fewer than expected."""
    if not abs(residual) > _NOTABLE:
        return ""
    return f"color: {tones.colour(6 if residual > 0 else 1)}; font-weight: 600"


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names that differ, as a table needs them."""
    found: list[str] = []
    for number, name in enumerate(names, 1):
        found.append(name if name not in found else f"{name} ({number})")
    return found


CELLS_HEADER = ("row", "category", "count", "expected", "share_of_row", "residual")


def cells(found: Crosstab, rows: Sequence[str], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return one tuple per cell with the columns of ``CELLS_HEADER``."""
    shares = found.row_shares()
    return [
        (
            row,
            column,
            int(found.counts[i, j]),
            round(float(found.expected[i, j]), 3),
            _number(shares[i, j]),
            _number(found.residuals[i, j]),
        )
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


# ---------------------------------------------------------------- themes over time


def _over_time(analysis: Analysis, listed: RunListing, known: dict[str, npt.NDArray[np.datetime64]]) -> None:
    first, second, third = st.columns([2, 2, 2], vertical_alignment="bottom")
    with first:
        rows = _rows(analysis, listed)
    with second:
        dates = known[st.selectbox("Date", list(known), key="themes_date")]
    with third:
        usual = PERIODS.index(usual_period(dates))
        period = st.selectbox("Period", PERIODS, index=usual, format_func=str.capitalize, key="themes_period")
    codes, periods = periods_of(dates, period)
    found = crosstab(rows.codes, codes, (len(rows.names), len(periods)))
    largest = np.argsort(-found.counts.sum(axis=1), kind="stable").tolist()
    shown = st.multiselect(
        "Shown", largest, default=largest[:_LINES], format_func=lambda i: shorten(rows.names[i], _CHARS),
        key=f"themes_lines_{analysis.run.digest}_{rows.name}",
    )  # fmt: skip
    figure = shares_figure(found, rows.names, periods, shown, tones(st.context.theme.type))
    st.plotly_chart(
        figure,
        key="themes_time_chart",
        config={"displayModeBar": False},
        alt=f"Shares of {found.counts.shape[0]:,} themes in {count(len(periods), 'period')}; see the table.",
    )
    every = over_time(found, rows.names, periods)
    narrow = " They are too narrow where sentences of an article depend on each other."
    st.caption("Share of the sentences of a period, with 95 % intervals (Wilson)." + narrow)
    frame = pd.DataFrame([row for row in every if row[1] in {rows.names[i] for i in shown}], columns=list(TIME_HEADER))
    draw_table(frame, height=240, column_config=_TIME_COLUMNS)
    download("CSV", partial(csv_text, TIME_HEADER, every), "themes-over-time.csv")


TIME_HEADER = ("period", "theme", "count", "sentences", "share", "low", "high")
_TIME_COLUMNS = {
    "share": st.column_config.NumberColumn(format="percent"),
    "low": st.column_config.NumberColumn(format="percent", help="Lower end of the 95 % interval."),
    "high": st.column_config.NumberColumn(format="percent", help="Upper end of the 95 % interval."),
}


def over_time(found: Crosstab, names: Sequence[str], periods: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return one tuple per period and theme with the columns of ``TIME_HEADER``."""
    totals = found.counts.sum(axis=0)
    share, low, high = share_intervals(found.counts, totals[None, :])
    return [
        (period, name, int(found.counts[i, j]), int(totals[j]), *map(_number, (share[i, j], low[i, j], high[i, j])))
        for j, period in enumerate(periods)
        for i, name in enumerate(names)
    ]


def shares_figure(
    found: Crosstab, names: Sequence[str], periods: Sequence[str], shown: Sequence[int], tones: Tones
) -> go.Figure:
    """Return a line chart of the shares of some themes per period, with their intervals."""
    share, low, high = share_intervals(found.counts, found.counts.sum(axis=0)[None, :])
    figure = go.Figure()
    for place, i in enumerate(shown):
        figure.add_trace(
            go.Scatter(
                x=list(periods),
                y=share[i],
                mode="lines+markers",
                name=figure_text(names[i], 40),
                line={"color": tones.colour(place), "width": 2},
                marker={"symbol": tones.symbol(place), "size": 7},
                error_y={"symmetric": False, "array": high[i] - share[i], "arrayminus": share[i] - low[i],
                         "thickness": 1, "width": 2},
                hovertemplate="%{x}: %{y:.1%}<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    figure.update_layout(
        height=340, margin={"l": 8, "r": 8, "t": 8, "b": 8}, showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "font": {"size": 12, "color": tones.ink}},
    )  # fmt: skip
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", automargin=True)
    figure.update_xaxes(type="category", showgrid=False, automargin=True)
    return figure
