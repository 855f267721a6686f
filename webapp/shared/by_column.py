"""Themes and codes by the columns of the units: a table of themes × categories, and their shares over time."""

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

from themescope.core.columns import ColumnLevel, ColumnType
from themescope.core.labelling.operations import Origin
from themescope.core.labelling.partition import UNASSIGNED, code_clusters, has_code
from themescope.core.metrics.statistics import (
    LEAST_EXPECTED,
    PERIODS,
    Crosstab,
    crosstab,
    once_per_article,
    periods_of,
    share_intervals,
    usual_period,
)
from themescope.core.records.stored import CorpusRecord, LabellingRecord
from themescope.core.types import Ids
from themescope.jobs.services.labelling.starts import LEAD
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.shared import compare_queries, queries, selections
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.compare_queries import Analysis, RunListing
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import count, distinct, figure_text, shorten

Codes = npt.NDArray[np.integer]
_MOST_ROWS, _MOST_COLUMNS, _LINES, _DIFFERING = 100, 40, 6, 2
_CHARS, _NOTE_CHARS = 60, 30
_HEIGHT = 480
"""Height of the table and of the chart in pixels: the page fits a window of 1280 × 800."""
_FEW, _MOST_TOLD = 0.5, 6
"""Part of the units of a category below which it is said how many are coded, and of how many categories."""
OF_COLUMN, OF_THEMES, RESIDUALS = "column", "theme", "Residuals"
"""What the table has beside the counts: the percent of each category or of each theme; or the residuals."""
CATEGORY, OF = "themes_category", "themes_of"
"""Session keys of the column, and of what is counted: a coding or the machine's themes."""
_NOTABLE = 2.0
_ABOUT_RESIDUALS = (
    "How far each count is from what is expected if themes and column were independent, in standard deviations "
    "(adjusted Pearson residuals)."
)
_DEPENDENT = (
    "Units of a text depend on each other, so that the test finds too much; “Once per text” counts each text once."
)


Classes = tuple[Codes, Sequence[str]]
"""A classification of the listed units by a column: the (n,) index of each in the names, -1 for none; and the names."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Units with their themes or codes; a unit with several codes has as many rows."""

    corpus: CorpusRecord
    name: str
    ids: Ids
    """(n,) unit of each row."""
    articles: Ids
    labels: Codes
    """(n,) index in ``names``; -1 for none."""
    names: Sequence[str]
    sections: Sequence[str]

    @property
    def once(self) -> npt.NDArray[np.intp]:
        """The first row of each unit."""
        return np.unique(self.ids, return_index=True)[1]


def of_themes(analysis: Analysis, listed: RunListing) -> Grouping:
    """Return the themes that the machine found."""
    names = [theme["name"] for theme in analysis.themes]
    articles = np.array([sentence.article_id for sentence in listed.sentences], dtype=np.int64)
    return Grouping(analysis.corpus, "machine", listed.ids, articles, listed.labels, names, listed.groups)


def _of_coding(corpus: CorpusRecord, record: LabellingRecord) -> Grouping:
    """Return the codes of a coding as they are now, whoever gave them."""
    with queries.store().reading() as r:
        now = r.labellings.snapshot(record.id).partition
        codes, places = code_clusters(now), r.maps.places(np.sort(now.ids))
    given = [np.flatnonzero(has_code(now, number)) for number in codes]
    none = np.flatnonzero(~np.isin(np.arange(len(now.ids)), np.concatenate([*given, np.empty(0, np.int64)])))
    rows = np.concatenate([*given, none]).astype(np.int64)
    labels = np.repeat([*range(len(codes)), -1], [*map(len, given), len(none)])
    articles = places.articles[np.searchsorted(places.ids, now.ids[rows])]
    names = [code.name for code in codes.values()]
    return Grouping(corpus, record.name, now.ids[rows], articles, labels, names, [""] * len(rows))


def _chosen(corpus: CorpusRecord, analysis: Analysis | None, listed: RunListing | None) -> Grouping | None:
    """Draw the choice between codings of people and the machine's themes, one's own coding first."""
    me, known = current_person(), list[tuple[LabellingRecord, int]]()
    with queries.store().reading() as r:
        for one in compare_queries.labellings(corpus.id):
            if one.article_id or one.by_model or (one.blind and one.owner != me):
                continue
            now = r.labellings.snapshot(one.id).partition
            if (now.numbers != UNASSIGNED).any() and (r.labellings.newest_step(one.id) or "run_id" not in one.origin):
                known.append((one, len(code_clusters(now))))
    known.sort(key=lambda one: compare_queries.precedence(one[0]))
    options: dict[str, LabellingRecord | None] = {f"{one.name} ({codes})": one for one, codes in known}
    if analysis is not None and listed is not None:
        options[f"machine ({len(analysis.themes)})"] = None
    if not options:
        return None
    record = next(iter(options.values()))
    if len(options) > 1:
        record = options[st.selectbox("Themes of", list(options), key=OF, width=220)]
    if record is not None:
        return _of_coding(corpus, record)
    assert analysis is not None and listed is not None
    return of_themes(analysis, listed)


def _categories(of: Grouping) -> dict[str, Classes]:
    """Return the columns of the units, then those of the texts, such as their wave."""
    found: dict[str, Classes] = {}
    for column in sorted(queries.columns(of.corpus), key=lambda column: column.level is not ColumnLevel.SENTENCE):
        if column.type == ColumnType.CATEGORY:
            found[column.label] = queries.column_values(column, of.ids, of.articles), column.categories
    names, groups = np.unique(of.sections, return_inverse=True)
    if len(names) > 1:
        found.setdefault("Section", (groups, [str(name) or LEAD for name in names]))
    return found


def differing(analysis: Analysis, listed: RunListing) -> list[list[str]]:
    """Return for each theme in which columns it differs most from the others: the category that it has too often."""
    notes: list[list[tuple[float, str]]] = [[] for _ in analysis.themes]
    for codes, names in _categories(of_themes(analysis, listed)).values():
        found = crosstab(listed.labels, codes, (len(notes), len(names)))
        shares, whole = found.shares(), found.counts.sum(axis=0) / max(found.counts.sum(), 1)
        residuals = np.nan_to_num(found.residuals, nan=0.0)
        for theme, most in enumerate(residuals.argmax(axis=1).tolist() if len(names) else ()):
            if residuals[theme, most] > _NOTABLE:
                value = shorten(names[most], _NOTE_CHARS)
                note = f"{value}: {100 * shares[theme, most]:.0f} % of this theme, {100 * whole[most]:.0f} % of all"
                notes[theme].append((float(residuals[theme, most]), note))
    return [[note for _, note in sorted(own, reverse=True)[:_DIFFERING]] for own in notes]


def show_categories(corpus: CorpusRecord, analysis: Analysis | None, listed: RunListing | None) -> bool:
    """Draw the table of themes or codes by a column; False if the project has neither."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        of = _chosen(corpus, analysis, listed)
        if of is None:
            return False
        known = _categories(of)
        if not known:
            nothing(
                "No columns yet.", "Columns, such as party or source, come with a table.", "import", "Import a table"
            )
            return True
        name = st.selectbox("Column", list(known), key=CATEGORY, width=220)
        codes, categories = known[name]
        titles = {OF_COLUMN: f"% of each {name}", OF_THEMES: "% of each theme", RESIDUALS: RESIDUALS}
        what = st.selectbox("Show", list(titles), key="themes_cells", format_func=titles.__getitem__, width=220)
        several = corpus.articles > 1
        help = "Counts each text once for each of its themes and categories."
        once = several and st.toggle("Once per text", key="themes_once", help=help)
        first, kept = of.once, np.arange(len(of.ids))
        if once:
            kept = once_per_article(of.labels, codes, of.articles)
            first = np.unique(np.stack([of.articles, codes]), axis=1, return_index=True)[1]
        found = crosstab(of.labels[kept], codes[kept], (len(of.names), len(categories)))
        st.space("stretch")
        place = st.container(width="content")
        download(
            "CSV",
            lambda: csv_text(CELLS_HEADER, cells(found, of.names, categories)),
            "themes-by-column.csv",
            help="Counts, expected counts, shares and residuals of all cells.",
        )
    totals = np.bincount(codes[first][codes[first] >= 0], minlength=len(categories))
    if cell := _table(found, of.names, categories, totals, what, f"themes_cell_{of.name}_{name}_{what}"):
        theme, category = cell
        inside = of.ids[(of.labels == theme) & (codes >= 0 if category is None else codes == category)]
        facts = of.names[theme] if category is None else f"{of.names[theme]}, {name}: {categories[category]}"
        label, origin = f"Select {count(len(inside), 'unit')}", Origin("filter", (facts,))
        if len(inside):
            with place:
                selections.offer_button(label, corpus.id, inside.tolist, origin)
    p = "< 0.001" if found.p < 0.001 else f"= {found.p:.3f}"
    n = int(found.counts.sum())
    counted = f"{n:,} combinations of text, theme and category" if once else count(n, "unit")
    test = f"chi-square {found.chi_square:,.1f} with {count(found.degrees, 'degree')} of freedom, p {p}"
    coded = int((of.labels[of.once] >= 0).sum())
    if coded < len(of.once):
        counted = f"{coded:,} of {count(len(of.once), 'unit')} have a code or theme{_few(of, codes, categories)}"
    parts = [f"{counted}. Cramér’s V {found.cramers_v:.2f}; {test}."]
    if what == RESIDUALS:
        parts.insert(0, _ABOUT_RESIDUALS)
    if found.low_expected:
        parts.append(
            f"The expected count is below {LEAST_EXPECTED:g} in {found.low_expected:,} of {found.expected.size:,} "
            "cells, where residuals and the test are unreliable."
        )
    st.caption(" ".join([*parts, *([_DEPENDENT] if several and not once else [])]))
    return True


def _few(of: Grouping, codes: Codes, categories: Sequence[str]) -> str:
    """Return how many units of each category are coded where that is few of one, and what the percents are of."""
    own, labelled = codes[of.once], of.labels[of.once] >= 0
    sizes = np.bincount(own[own >= 0], minlength=len(categories))
    known = np.bincount(own[labelled & (own >= 0)], minlength=len(categories))
    order = np.argsort(-sizes, kind="stable")[:_MOST_TOLD]
    if not (known[order] < _FEW * sizes[order]).any():
        return ""
    told = ", ".join(f"{shorten(categories[i], _NOTE_CHARS)} {known[i]:,} of {sizes[i]:,}" for i in order)
    return f" ({told}), and the percents are of all, coded or not"


def _table(
    found: Crosstab, names: Sequence[str], categories: Sequence[str], totals: npt.NDArray[np.int64], what: str, key: str
) -> tuple[int, int | None] | None:
    """Draw counts with their percent, a row and a column of totals; or the residuals.

    Returned are theme and category, None for all, of the cell that somebody clicked.
    """
    row_order = np.argsort(-found.counts.sum(axis=1), kind="stable")[:_MOST_ROWS]
    order = np.argsort(-totals, kind="stable")[:_MOST_COLUMNS]
    titles = distinct(["Theme", *(shorten(categories[i], _CHARS) for i in order), "All"])
    values = (found.residuals if what == RESIDUALS else found.counts)[np.ix_(row_order, order)]
    rows = [shorten(names[i], _CHARS) for i in row_order]
    if what == RESIDUALS:
        frame = pd.DataFrame(values, columns=titles[1:-1])
        frame.insert(0, titles[0], rows)
        styled = frame.style.format("{:+.1f}", na_rep="–", subset=pd.Index(titles[1:-1]))
        styled = styled.map(partial(_style, tones(st.context.theme.type)), subset=pd.Index(titles[1:-1]))
    else:
        sums = found.counts.sum(axis=1)[row_order]
        frame = pd.DataFrame(np.column_stack([values, sums]), columns=titles[1:])
        frame.loc[len(frame)] = [*totals[order], totals.sum()]
        frame.insert(0, titles[0], [*rows, "All units"])
        styled, last = frame.style.format("{:,}", subset=pd.Index(titles[1:])), len(frame) - 1
        for row, total in enumerate(sums.tolist()):
            if what == OF_THEMES:
                styled = styled.format(partial(_with_percent, total), subset=pd.IndexSlice[[row], titles[1:-1]])
        for title, total in zip(titles[1:], [*totals[order], totals.sum()], strict=True):
            if what == OF_COLUMN:
                styled = styled.format(partial(_with_percent, int(total)), subset=pd.IndexSlice[: last - 1, [title]])
    # So narrow that phones show the first categories, too.
    config = {titles[0]: st.column_config.TextColumn(width="medium")}
    height = min(38 + 35 * len(frame), _HEIGHT)
    options: dict[str, Any] = {"on_select": "rerun", "selection_mode": "single-cell", "column_config": config}
    clicked = st.dataframe(styled, height=height, hide_index=True, key=key, **options)
    left_out = [
        f"{len(every) - len(shown):,} smaller {noun}"
        for every, shown, noun in ((names, row_order, "themes"), (categories, order, "categories"))
        if len(every) > len(shown)
    ]
    if left_out:
        st.caption(f"{' and '.join(left_out)} are in the file only.")
    for row, title in clicked["selection"]["cells"][:1]:
        if isinstance(row, int) and 0 <= row < len(rows) and isinstance(title, str):
            return int(row_order[row]), dict(zip(titles[1:-1], order.tolist(), strict=True)).get(title)
    return None


def _with_percent(total: int, number: int) -> str:
    return f"{number:,} ({100 * number / total:.1f} %)" if total else "–"


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
            *map(_number, (of_themes[i, j], of_categories[i, j], found.residuals[i, j])),
        )
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def show_over_time(corpus: CorpusRecord, analysis: Analysis, listed: RunListing) -> None:
    """Draw the shares of themes or codes by period."""
    columns = [c for c in queries.columns(corpus) if c.type == ColumnType.DATE]
    if not columns:
        nothing("No dates yet.", "Dates come with a table: a column of type date.", "import", "Import a table")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        of = _chosen(corpus, analysis, listed)
        assert of is not None
        names = of.names
        column = columns[0]
        if len(columns) > 1:
            column = st.selectbox("Date", columns, format_func=lambda c: c.label, key="themes_date", width=200)
        dates = queries.column_values(column, of.ids, of.articles)
        usual = PERIODS.index(usual_period(dates))
        period = st.selectbox("Period", PERIODS, usual, format_func=str.capitalize, key="themes_period", width=140)
        codes, periods = periods_of(dates, period)
        found = crosstab(of.labels, codes, (len(names), len(periods)))
        every = over_time(found, names, periods)
        largest = np.argsort(-found.counts.sum(axis=1), kind="stable").tolist()
        key = f"themes_lines_{analysis.run.digest}_{of.name}"
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
                line={"color": tones.colour(i), "width": 2, "dash": tones.dash(i)},
                marker={"symbol": tones.symbol(i), "size": 7},
                error_y={
                    "symmetric": False,
                    "array": high[i] - share[i],
                    "arrayminus": share[i] - low[i],
                    "thickness": 1,
                    "width": 2,
                },
                hovertemplate="%{x}: %{y:.1%}<extra>%{fullData.name}</extra>",
            )
        )
    figure.update_layout(
        height=380,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "font": {"size": 12, "color": tones.ink}},
    )
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", automargin=True)
    figure.update_xaxes(type="category", showgrid=False, automargin=True)
    return figure
