"""Themes by the columns of the sentences: a table of themes × categories, and the shares of themes over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

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
from themescope.core.types import Ids, Labels
from themescope.db.access import Right
from themescope.jobs.services.labelling.starts import LEAD
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import themes
from themescope.webapp.features.themes import new_list
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.navigation import show_next
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.results.compare_queries import Analysis, RunListing
from themescope.webapp.shared.text import count, figure_text, plain, shorten

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
    tabs = [name for name, found in ((themes.BY_CATEGORY, categories), (themes.OVER_TIME, dates)) if found]
    if not tabs:
        return
    st.subheader("Themes and columns", anchor=False)
    shown = st.segmented_control(
        "Compare with", tabs, default=tabs[0], required=True, key="themes_column_view", label_visibility="collapsed"
    )
    if shown == themes.OVER_TIME and dates:
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
    records = compare_queries.labellings(analysis.corpus.id)
    known = {f"Labels: {r.name}": r.id for r in records if not r.blind or r.owner == person}
    chosen = st.selectbox("Rows", [themes.THEMES, *known], key="themes_classes")
    if chosen == themes.THEMES:
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


# Number of themes: fewer and more than suggested at a click, what differs, curves, and any other number

_FEWER, _MORE = 0.6, 1.7
"""Factors of the suggested number that make a visible difference; both are measured by the curves."""
_PART, _PARTS, _NAME_CHARS = 0.1, 4, 30
"""Least share of a theme that is named as a part of it, most parts, and most characters of a name."""


def steps(k: int, interval: Sequence[int]) -> dict[str, int]:
    """Return the numbers to choose from: a suggested ``k``, and others at least as far away as its interval."""
    low, high = interval
    fewer, more = max(min(low, round(_FEWER * k)), 2), max(high, round(_MORE * k))
    return ({"Fewer": fewer} if fewer < k else {}) | {"Suggested": k} | ({"More": more} if more > k else {})


def suggested(shown: Analysis, found: Sequence[Analysis]) -> Analysis | None:
    """Return the newest result by the same model whose number was suggested, if there is one."""
    if _is_suggested(shown):
        return shown
    return next((one for one in found if one.model.id == shown.model.id and _is_suggested(one)), None)


def _is_suggested(analysis: Analysis) -> bool:
    return not analysis.run.config["settings"].get("k")


def choose(shown: Analysis, found: Sequence[Analysis]) -> None:
    """Draw a button for each of three numbers: it opens the result, or finds the themes if there is none yet."""
    base = suggested(shown, found)
    interval = (base or shown).run.config.get("interval")
    if base is None or not interval:
        return
    curves, now = base.run.config["curves"], len(shown.themes)
    by_number = {len(one.themes): one for one in (*reversed(found), base, shown) if one.model.id == base.model.id}
    with st.container(horizontal=True, vertical_alignment="center", key="themes_steps"):
        st.markdown("**Number of themes**", width="content")
        for title, k in steps(len(base.themes), interval).items():
            known = by_number.get(k)
            if known is None and (k > base.run.config["compared"] // 2 or not may(Right.MANAGE)):
                continue
            pressed = st.button(
                f"{title}: {k}", key=f"themes_step_{title}", type="primary" if k == now else "secondary",
                help=_measured(curves, k) if known is None else None,
            )  # fmt: skip
            if pressed and known is not None:
                show_next({"view": themes.RESULTS, "result": known.name})
                st.rerun()
            elif pressed:
                request(base, k)


def differences(shown: Analysis, found: Sequence[Analysis]) -> None:
    """Draw, where another number than the suggested one is shown, of which suggested themes each theme consists."""
    base = suggested(shown, found)
    if base is None or base.run.id == shown.run.id:
        return
    folded = st.expander(
        f"What differs from the suggested {len(base.themes)} themes", icon=":material/compare_arrows:",
        key=f"themes_differs_{shown.run.digest}", on_change="rerun",
    )  # fmt: skip
    if not folded.open:
        return
    listed = [compare_queries.theme_listing(one.run.id, one.run.created) for one in (shown, base)]
    now, before = ((one.ids, one.labels) for one in listed)
    made_of = parts(now, before, len(shown.themes))

    def name(place: int) -> str:
        return f"{place + 1}. {shorten(base.themes[place]['name'], _NAME_CHARS)}"

    consist = [", ".join(f"{name(c)} ({share:.0%})" for c, share in row[:_PARTS]) for row in made_of]
    same = sum(bool(row) and row[0][1] >= 1 - _PART for row in made_of)
    with folded:
        st.caption(
            f"{same} of {len(made_of)} themes have at least 90 % of their sentences from one of the suggested themes."
        )
        draw_table(
            {
                "Theme": [f"{place}. {theme['name']}" for place, theme in enumerate(shown.themes, 1)],
                "Sentences": [theme["size"] for theme in shown.themes],
                f"Of the {len(base.themes)} themes": consist,
            }
        )


def _measured(curves: Mapping[str, Any], k: int) -> str:
    """Return what is known of a number of themes before they are found."""
    about = "Takes some seconds the first time."
    if k not in curves["ks"]:
        return about
    at = curves["ks"].index(k)
    return f"Silhouette {curves['silhouette'][at]:.2f}, stability {curves['stability'][at]:.2f}. {about}"


def request(analysis: Analysis, k: int) -> None:
    """Find ``k`` themes with the model and the other settings of a result.

    Groups by density use no shared words; themes of a given number do, with the weight of the model.
    """
    by_density = analysis.run.config["settings"].get("density")
    settings: dict[str, float] = {"k": k} | ({} if by_density else {"shared": word_overlap(analysis)})
    new_list.request(analysis.corpus.name, analysis.model.name, settings)


def context_note(analysis: Analysis) -> str | None:
    """Return that the sentences were encoded in their context, if they were."""
    used = analysis.run.config["settings"].get("context")
    return "The sentences are on one subject: each was encoded together with the mean of all." if used else None


def word_overlap(analysis: Analysis) -> float:
    """Return the weight of word overlap; early results have none."""
    return float(analysis.run.config["settings"].get("shared", 0))


def parts(first: tuple[Ids, Labels], second: tuple[Ids, Labels], k: int) -> list[list[tuple[int, float]]]:
    """Return for each of the ``k`` themes of ``first`` the themes of ``second`` that it consists of, with their shares.

    Both are ids (n,) of sentences and their labels (n,); shares are those of the sentences in both, largest first.
    """
    _, at, there = np.intersect1d(first[0], second[0], return_indices=True)
    table = np.zeros((k, int(second[1].max(initial=0)) + 1))
    np.add.at(table, (first[1][at], second[1][there]), 1)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    return [[(int(c), float(row[c])) for c in np.argsort(-row, kind="stable") if row[c] >= _PART] for row in shares]


def why(analysis: Analysis) -> None:
    """Draw the reason for the number of themes, the curves over other numbers, and a field for any number."""
    curves, reason, k = analysis.run.config["curves"], analysis.run.config["reason"], len(analysis.themes)
    # Drawn when it is opened: the charts take longer than all the rest of the page.
    folded = st.expander(f"Why {count(k, 'theme')}?", icon=":material/show_chart:", key="themes_why", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.markdown(plain(reason or " ".join(filter(None, [f"You chose {k} themes.", interval_note(analysis)]))))
        if len(curves["ks"]) > 1:
            figure = curves_figure(curves, k, tones(st.context.theme.type))
            st.plotly_chart(figure, key=f"themes_curves_{analysis.run.digest}", config={"displayModeBar": False})
        st.caption(
            ". ".join(f"{title}: {about}" for title, about in CURVES.values())
            + f". Measured on {count(curves['sentences'], 'sentence')}."
        )
        left, middle, right = st.columns([1, 2, 3], vertical_alignment="bottom")
        other = left.number_input("Number of themes", 2, 500, max(k, 2), key=f"themes_number_{analysis.run.digest}")
        if middle.button("Recluster", icon=":material/replay:", disabled=int(other) == k):
            request(analysis, int(other))
        if right.toggle("Show values", key=f"themes_show_numbers_{analysis.run.digest}"):
            columns = {"Themes": curves["ks"], **{title: curves[name] for name, (title, _) in CURVES.items()}}
            draw_table(pd.DataFrame(columns).round(3), height=240)


def interval_note(analysis: Analysis) -> str | None:
    """Return the interval of the number of themes in words; results of earlier versions have none."""
    if not (interval := analysis.run.config.get("interval")):
        return None
    low, high = interval
    if analysis.run.config["settings"].get("density"):
        return f"Suggested from the similarities: groupings of other sizes have {low} to {high} themes."
    return f"Suggested from the similarities: {low} to {high} themes (90 % interval)."


CURVES = {
    "silhouette": ("Silhouette", "how much closer a sentence is to its own theme than to the nearest other one"),
    "gain": ("Gain in similarity", "how much more similar sentences of one theme are than any two; look for the "
             "elbow"),
    "stability": ("Stability", "agreement of the themes of random subsamples with those of the whole list"),
}  # fmt: skip


def curves_figure(curves: Mapping[str, Any], chosen: int, tones: Tones) -> go.Figure:
    """Return the three curves side by side, each with its own scale; the chosen number is marked."""
    ks: Sequence[int] = curves["ks"]
    titles = [title for title, _ in CURVES.values()]
    figure = make_subplots(rows=1, cols=len(CURVES), subplot_titles=titles, horizontal_spacing=0.06)
    for column, name in enumerate(CURVES, 1):
        line = {"color": tones.accent, "width": 2}
        shown = go.Scatter(
            x=np.array(ks),
            y=np.array(curves[name]),
            mode="lines+markers",
            line=line,
            marker={"size": [11 if k == chosen else 5 for k in ks], "color": tones.accent},
            hovertemplate="%{x} themes: %{y:.3f}<extra></extra>",
            showlegend=False,
        )
        figure.add_trace(shown, row=1, col=column)
        figure.add_vline(x=chosen, line={"color": tones.ink, "width": 1, "dash": "dot"}, row=1, col=column)
    figure.update_annotations(font={"size": 13, "color": tones.ink})
    figure.update_xaxes(title={"text": "themes", "font": {"size": 12}}, showgrid=False, automargin=True)
    figure.update_yaxes(automargin=True, nticks=5)
    figure.update_layout(height=240, margin={"l": 8, "r": 8, "t": 30, "b": 8})
    return figure
