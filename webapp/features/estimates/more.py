"""Below the estimates of a code: regression, the labels that are still needed, methods and replication."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.estimates.planner import plan
from themescope.core.estimates.regression import Coefficient, regression
from themescope.core.estimates.report import REFERENCES, paragraphs, replication_files
from themescope.core.estimates.shares import ShareEstimate
from themescope.core.labelling.markup import cited, latex_text, markdown
from themescope.core.records.stored import ColumnRecord
from themescope.core.types import Estimate
from themescope.jobs.services.estimates.study import Study, regressors
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt, download, draw_table
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.labelling.codebook_view import PLANNED, PlannedSample
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.text import count, figure_text, file_stem, p_text, plain, some_of

_MOST_VALUES = 20
"""Categories with more values are no columns of a regression."""


def show(
    study: Study,
    code: str,
    groups: Sequence[str],
    found: Sequence[ShareEstimate],
    columns: Mapping[str, ColumnRecord],
    by: ColumnRecord | None,
) -> None:
    """Draw the three parts, each closed at first; ``by`` is the column of the groups."""
    with st.expander("How many more labels?", icon=":material/add_task:"):
        _planner(study, code, groups, by)
    with st.expander("Regression of the code on columns", icon=":material/functions:"):
        _regression(study, code, columns)
    with st.expander("Methods section and replication", icon=":material/description:"):
        _report(study, code, groups, found)


def _planner(study: Study, code: str, groups: Sequence[str], by: ColumnRecord | None) -> None:
    margin = st.number_input(
        "Wanted precision (± points)", 1.0, 20.0, 3.0, 0.5, key="estimates_margin",
        help="Half of the width of the interval of each group.",
    )  # fmt: skip
    names = [group or "All sentences" for group in groups]
    made = plan(study.units(code), names, margin / 100)
    draw_table(
        {
            "Group": [one.group for one in made.strata],
            "Machine says": ["the code" if one.coded else "another code" for one in made.strata],
            "Sentences": [one.units for one in made.strata],
            "Labels": [one.labels for one in made.strata],
            "Label more": [one.more for one in made.strata],
        }
    )
    reached = some_of([f"{plain(name)} ± {100 * half:.1f}" for name, half in made.expected.items()])
    short = some_of([plain(name) for name, half in made.expected.items() if half > made.margin + 0.0005])
    st.caption(
        f"**{count(made.more, 'more label')}**, chosen at random in each row. Expected after that: {reached}."
        + (f" All sentences of {short} are too few for ± {margin:g} points." if short else "")
    )
    if by is not None and by.type != ColumnType.CATEGORY:
        page_link("tasks", "Make a task with a random sample", view={"view": "New task"})
        return
    numbers: Counter[str] = Counter()
    for one in made.strata:
        numbers[one.group if by else ""] += one.more
    help = (
        "Within a group, sentences are drawn together, whatever the machine says, which widens the intervals a little."
    )
    if st.button("Draw this sample", icon=":material/casino:", help=help if by else None, disabled=not made.more):
        st.session_state[PLANNED] = PlannedSample(study.corpus.id, by.label if by else "", dict(+numbers))
        switch_page("tasks", {"view": "New task"})


def draw_outside(study: Study) -> None:
    """Offer a sample of the sentences that the samples could not have drawn."""
    label = f"Draw from the {count(study.outside, study.corpus.unit.value)} outside of the sample"
    help = "A task with a random sample of those. Together, both samples are one of all."
    if study.outside and st.button(label, icon=":material/casino:", help=help):
        st.session_state[PLANNED] = PlannedSample(study.corpus.id, "", {"": min(study.outside, 100)}, outside=True)
        switch_page("tasks", {"view": "New task"})


def _regression(study: Study, code: str, columns: Mapping[str, ColumnRecord]) -> None:
    every = [c for c in queries.columns(study.corpus) if c.type == ColumnType.NUMBER] + [
        c for c in columns.values() if c.type == ColumnType.DATE or len(c.categories) <= _MOST_VALUES
    ]
    known = {column.label: column for column in every}
    chosen = st.multiselect("Columns", [*known], key="estimates_regression")
    if not chosen:
        st.caption("Logistic regression: log odds ratios with 95 % intervals, corrected for the machine's mistakes.")
        return
    with queries.store().reading() as r:
        values = regressors(r, study, [known[name] for name in chosen])
    result = attempt(lambda: regression(study.units(code), values))
    if result is None:
        return
    names = [one.name for one in result.corrected or result.machine or result.people or ()]
    draw_table(
        {"Coefficient": names}
        | {
            title: [_coefficient(ways, row) for row in range(len(names))]
            for title, ways in (("People", result.people), ("Machine", result.machine), ("Corrected", result.corrected))
        }
    )
    for warning in result.warnings:
        st.caption(f":material/info: {plain(warning)}")


def _coefficient(found: Sequence[Coefficient] | None, row: int) -> str:
    if found is None:
        return "–"
    one = found[row]
    return f"{one.value:+.2f} [{one.low:+.2f}, {one.high:+.2f}], {p_text(one.p)}"


def _report(study: Study, code: str, groups: Sequence[str], found: Sequence[ShareEstimate]) -> None:
    told = paragraphs(code, study.units(code), found, study.coder, study.holds)
    st.code(markdown(told, REFERENCES), language=None, wrap_lines=True)
    st.caption("The replication files give shares, the parts of groups in the code, and the differences of groups.")
    stem = file_stem(f"{study.corpus.name} {code}")
    with st.container(horizontal=True):
        download("Markdown", lambda: markdown(told, REFERENCES), f"{stem}.md")
        download("LaTeX", lambda: latex_text(told), f"{stem}.tex")
        download("BibTeX", lambda: "\n\n".join(REFERENCES[key].bibtex() for key in cited(told)), f"{stem}.bib")
        if st.button("Replication files", icon=":material/folder_zip:", help="A table, and a script that needs NumPy."):
            ids = [str(id) for id in study.ids.tolist()]
            files = attempt(lambda: replication_files(study.units(code), groups, ids, study.holds))
            if files is not None:
                download("ZIP", lambda: _zipped(files), f"{stem}.zip")


def _zipped(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


# Chart and table of estimates

EXPORT = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg", "filename": "estimates"},
}
WAYS = (
    ("people", "People", -1, "square"),
    ("machine", "Machine", 1, "diamond"),
    ("corrected", "Corrected", 0, "circle"),
)
"""Field, name, colour and symbol of each estimate."""
_IN_TABLE = (*(way for way, *_ in WAYS), "least", "most")
HEADER = (
    "group", *(f"{way}{end}" for way in _IN_TABLE for end in ("", "_low", "_high")),
    "tuning", "sentences", "labels", "open", "holds_for",
)  # fmt: skip
_ROW_PX = 46


def percent(found: Estimate | None) -> str:
    """Return ``38.2 [35.1, 41.4]`` in percent; a dash without an estimate."""
    return "–" if found is None else f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def bounds(one: ShareEstimate) -> str:
    """Return the shares in percent between which that of an estimate is whatever the labels of open sentences are."""
    if one.least is None or one.most is None:
        return "–"
    return f"{100 * one.least.value:.1f} – {100 * one.most.value:.1f}"


def rows(found: Sequence[ShareEstimate], holds: str) -> list[tuple[Any, ...]]:
    """Return one row for each estimate, with the columns of :data:`HEADER`; shares between 0 and 1."""

    def ends(one: Estimate | None) -> tuple[float | None, ...]:
        return (None,) * 3 if one is None else tuple(round(float(x), 6) for x in (one.value, one.low, one.high))

    return [
        (
            one.name, *chain(*(ends(getattr(one, way)) for way in _IN_TABLE)),
            round(one.tuning, 4), one.units, one.labels, one.open, holds,
        )
        for one in found
    ]  # fmt: skip


def estimates_figure(found: Sequence[ShareEstimate], tones: Tones, over_time: bool) -> go.Figure:
    """Return the estimates with their 95 % intervals: one row for each group, or one place on the time axis."""
    names = [figure_text(one.name or "All sentences", 32) for one in found]
    figure = go.Figure()
    for place, (way, title, colour, symbol) in enumerate(WAYS):
        kept = [(row, value) for row, one in enumerate(found) if (value := getattr(one, way)) is not None]
        if not kept:
            continue
        at = np.array([row for row, _ in kept]) + (place - 1) * (0.14 if over_time else 0.22)
        share, low, high = np.array([(v.value, v.low, v.high) for _, v in kept]).T
        ends = {"type": "data", "symmetric": False, "array": high - share, "arrayminus": share - low, "thickness": 2}
        line = over_time and way == "corrected"
        if line:  # a band; error bars for the others, which it would hide
            figure.add_trace(
                go.Scatter(
                    x=[*at, *at[::-1]], y=[*high, *low[::-1]], fill="toself", mode="lines", opacity=0.25,
                    line={"color": tones.colour(colour), "width": 0}, showlegend=False, hoverinfo="skip",
                )
            )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=at if over_time else share, y=share if over_time else at, name=title,
                mode="lines+markers" if line else "markers",
                marker={"symbol": symbol, "size": 9, "color": tones.colour(colour)},
                line={"color": tones.colour(colour), "width": 2},
                error_x=None if over_time else ends, error_y=ends if over_time and not line else None,
                text=[f"{names[row]}: {percent(value)} %" for row, value in kept],
                hovertemplate="%{text}<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    values, groups = (
        (figure.update_yaxes, figure.update_xaxes) if over_time else (figure.update_xaxes, figure.update_yaxes)
    )
    differs = any(one.corrected is not None and one.corrected.low < 0 for one in found)
    values(tickformat=".0%", rangemode="normal" if differs else "tozero", zeroline=differs, automargin=True)
    groups(
        tickvals=list(range(len(names))), ticktext=names, showgrid=False, zeroline=False, automargin=True,
        range=[-0.6, len(names) - 0.4] if over_time else [len(names) - 0.4, -0.6],
    )  # fmt: skip
    figure.update_layout(
        height=340 if over_time else 110 + _ROW_PX * len(names), margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "font": {"size": 12, "color": tones.ink}},
    )  # fmt: skip
    return figure
