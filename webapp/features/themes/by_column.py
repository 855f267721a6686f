"""Themes by the columns of the units: a table of themes × categories, and the shares of themes over time."""

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
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.results.compare_queries import Analysis, RunListing
from themescope.webapp.shared.text import count, distinct, figure_text, shorten

Codes = npt.NDArray[np.integer]
_MOST_ROWS, _MOST_COLUMNS, _LINES, _DIFFERING = 100, 40, 6, 2
_CHARS, _NOTE_CHARS = 60, 30
_HEIGHT = 440
"""Height of the table and of the chart in pixels: the page fits a window of 1280 × 800."""
_NAME_WIDTH = 380
_COUNTS, _RESIDUALS = "Counts", "Residuals"
_OF_THEMES, _OF_CATEGORIES = "Shares within themes", "Shares within categories"
_NOTABLE = 2.0
_ABOUT_RESIDUALS = (
    "How far each count is from what is expected if themes and column were independent, in standard deviations "
    "(adjusted Pearson residuals)."
)
_DEPENDENT = (
    "Units of a text depend on each other, so that the test finds too much; “Once per text” counts each text once."
)


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """A classification of the listed units by a column."""

    codes: Codes
    """(n,) index in ``names``; -1 for none."""
    names: Sequence[str]


def _articles(listed: RunListing) -> Ids:
    return np.array([sentence.article_id for sentence in listed.sentences], dtype=np.int64)


def _categories(analysis: Analysis, listed: RunListing) -> dict[str, Classes]:
    found: dict[str, Classes] = {}
    for column in queries.columns(analysis.corpus):
        if column.type == ColumnType.CATEGORY:
            codes = queries.column_values(column, listed.ids, _articles(listed))
            found[column.label] = Classes(codes, column.categories)
    names, groups = np.unique(listed.groups, return_inverse=True)
    if len(names) > 1:
        found.setdefault("Section", Classes(groups, [str(name) or LEAD for name in names]))
    return found


def differing(analysis: Analysis, listed: RunListing) -> list[list[str]]:
    """Return for each theme in which columns it differs most from the others: the category that it has too often."""
    notes: list[list[tuple[float, str]]] = [[] for _ in analysis.themes]
    for name, column in _categories(analysis, listed).items():
        found = crosstab(listed.labels, column.codes, (len(notes), len(column.names)))
        shares, whole = found.shares(), found.counts.sum(axis=0) / max(found.counts.sum(), 1)
        residuals = np.nan_to_num(found.residuals, nan=0.0)
        for theme, most in enumerate(residuals.argmax(axis=1).tolist() if len(column.names) else ()):
            if residuals[theme, most] > _NOTABLE:
                value = f"{shorten(name, _NOTE_CHARS)}: {shorten(column.names[most], _NOTE_CHARS)}"
                note = f"{value} {shares[theme, most]:.0%} (all: {whole[most]:.0%})"
                notes[theme].append((float(residuals[theme, most]), note))
    return [[note for _, note in sorted(own, reverse=True)[:_DIFFERING]] for own in notes]


# ---------------------------------------------------------------- themes × categories


def show_categories(analysis: Analysis, listed: RunListing) -> None:
    """Draw the table of the themes by a column."""
    known, names = _categories(analysis, listed), [str(theme["name"]) for theme in analysis.themes]
    if not known:
        nothing("No columns yet.", "Columns, such as party or source, come with a table.", "import", "Import a table")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Column", list(known), key="themes_category", width=260)
        columns = known[name]
        ways = [_COUNTS, _OF_CATEGORIES, _OF_THEMES, _RESIDUALS]
        what = st.selectbox("Show", ways, key="themes_cells", width=260)
        several = analysis.corpus.articles > 1
        help = "Counts each text once for each of its themes and categories."
        once = several and st.toggle("Once per text", key="themes_once", help=help)
        codes = listed.labels, columns.codes
        if once:
            kept = once_per_article(*codes, _articles(listed))
            codes = listed.labels[kept], columns.codes[kept]
        found = crosstab(*codes, (len(names), len(columns.names)))
        st.space("stretch")
        download(
            "CSV", lambda: csv_text(CELLS_HEADER, cells(found, names, columns.names)), "themes-by-column.csv",
            help="Counts, expected counts, shares and residuals of all cells.",
        )  # fmt: skip
    _table(found, names, Classes(columns.codes, columns.names), what)
    p = "< 0.001" if found.p < 0.001 else f"= {found.p:.3f}"
    n = int(found.counts.sum())
    counted = f"{n:,} combinations of text, theme and category" if once else count(n, "unit")
    test = f"chi-square {found.chi_square:,.1f} with {found.degrees:,} degrees of freedom, p {p}"
    parts = [f"{counted}. Cramér’s V {found.cramers_v:.2f}; {test}."]
    if what == _RESIDUALS:
        parts.insert(0, _ABOUT_RESIDUALS)
    if found.low_expected:
        parts.append(
            f"The expected count is below {LEAST_EXPECTED:g} in {found.low_expected:,} of {found.expected.size:,} "
            "cells, where residuals and the test are unreliable."
        )
    st.caption(" ".join([*parts, *([_DEPENDENT] if several and not once else [])]))


def _table(found: Crosstab, names: Sequence[str], columns: Classes, what: str) -> None:
    cells = {
        _COUNTS: found.counts,
        _OF_CATEGORIES: found.shares(axis=0),
        _OF_THEMES: found.shares(),
        _RESIDUALS: found.residuals,
    }[what]
    row_order = np.argsort(-found.counts.sum(axis=1), kind="stable")[:_MOST_ROWS]
    order = np.argsort(-found.counts.sum(axis=0), kind="stable")[:_MOST_COLUMNS]
    titles = distinct(["Theme", *(shorten(columns.names[i], _CHARS) for i in order)])
    frame = pd.DataFrame(cells[np.ix_(row_order, order)], columns=titles[1:])
    frame.insert(0, titles[0], [shorten(names[i], _CHARS) for i in row_order])
    numbers = pd.Index(titles[1:])
    form = {_COUNTS: "{:,}", _RESIDUALS: "{:+.1f}"}.get(what, "{:.0%}")
    styled = frame.style.format(form, na_rep="–", subset=numbers)
    if what == _RESIDUALS:
        styled = styled.map(partial(_style, tones(st.context.theme.type)), subset=numbers)
    config = {titles[0]: st.column_config.TextColumn(width=_NAME_WIDTH)}
    st.dataframe(styled, height=min(38 + 35 * len(frame), _HEIGHT), hide_index=True, column_config=config)
    left_out = [
        f"{len(every) - len(shown):,} smaller {noun}"
        for every, shown, noun in ((names, row_order, "themes"), (columns.names, order, "categories"))
        if len(every) > len(shown)
    ]
    if left_out:
        st.caption(f"{' and '.join(left_out)} are in the file only.")


def _style(tones: Tones, residual: float) -> str:
    """Return the colour of the text of a residual: more or fewer than expected."""
    if not abs(residual) > _NOTABLE:
        return ""
    return f"color: {tones.colour(6 if residual > 0 else 1)}; font-weight: 600"


CELLS_HEADER = ("theme", "category", "count", "expected", "share_of_theme", "share_of_category", "residual")


def cells(found: Crosstab, rows: Sequence[str], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return one tuple per cell with the columns of ``CELLS_HEADER``."""
    of_themes, of_categories = found.shares(), found.shares(axis=0)
    return [
        (
            row,
            column,
            int(found.counts[i, j]),
            round(float(found.expected[i, j]), 3),
            _number(of_themes[i, j]),
            _number(of_categories[i, j]),
            _number(found.residuals[i, j]),
        )
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


# ---------------------------------------------------------------- themes over time


def show_over_time(analysis: Analysis, listed: RunListing) -> None:
    """Draw the shares of the themes by period."""
    columns = [c for c in queries.columns(analysis.corpus) if c.type == ColumnType.DATE]
    if not columns:
        nothing("No dates yet.", "Dates come with a table: a column of type date.", "import", "Import a table")
        return
    names = [str(theme["name"]) for theme in analysis.themes]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = columns[0]
        if len(columns) > 1:
            column = st.selectbox("Date", columns, format_func=lambda c: c.label, key="themes_date", width=200)
        dates = queries.column_values(column, listed.ids, _articles(listed))
        usual = PERIODS.index(usual_period(dates))
        period = st.selectbox("Period", PERIODS, usual, format_func=str.capitalize, key="themes_period", width=140)
        codes, periods = periods_of(dates, period)
        found = crosstab(listed.labels, codes, (len(names), len(periods)))
        every = over_time(found, names, periods)
        largest = np.argsort(-found.counts.sum(axis=1), kind="stable").tolist()
        key = f"themes_lines_{analysis.run.digest}"
        with st.popover(f"Themes: {len(st.session_state.get(key, largest[:_LINES]))} of {len(names)}"):
            shown = st.multiselect(
                "Themes", largest, default=largest[:_LINES], format_func=lambda i: shorten(names[i], _CHARS), key=key
            )
        st.space("stretch")
        download("CSV", partial(csv_text, TIME_HEADER, every), "themes-over-time.csv")
    figure = shares_figure(found, names, periods, shown, tones(st.context.theme.type))
    st.plotly_chart(
        figure,
        key="themes_time_chart",
        config={"displayModeBar": False},
        alt=f"Shares of {found.counts.shape[0]:,} themes in {count(len(periods), 'period')}; see the values below.",
    )
    narrow = " They are too narrow where units of a text depend on each other."
    st.caption("Share of the units of a period, with 95 % intervals (Wilson)." + narrow)
    folded = st.expander("Values", icon=":material/table:", key="themes_time_values", on_change="rerun")
    if folded.open:
        with folded:
            rows = [row for row in every if row[1] in {names[i] for i in shown}]
            draw_table(pd.DataFrame(rows, columns=list(TIME_HEADER)), height=240, column_config=_TIME_COLUMNS)


TIME_HEADER = ("period", "theme", "count", "units", "share", "low", "high")
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
    for i in shown:
        figure.add_trace(
            go.Scatter(
                x=list(periods),
                y=share[i],
                mode="lines+markers",
                name=figure_text(names[i], 40),
                line={"color": tones.colour(i), "width": 2},
                marker={"symbol": tones.symbol(i), "size": 7},
                error_y={"symmetric": False, "array": high[i] - share[i], "arrayminus": share[i] - low[i],
                         "thickness": 1, "width": 2},
                hovertemplate="%{x}: %{y:.1%}<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    figure.update_layout(
        height=380, margin={"l": 8, "r": 8, "t": 8, "b": 8}, showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "font": {"size": 12, "color": tones.ink}},
    )  # fmt: skip
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", automargin=True)
    figure.update_xaxes(type="category", showgrid=False, automargin=True)
    return figure
