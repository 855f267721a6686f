"""Charts of the Compare page, and exports of a comparison: CSV files, a LaTeX table and a methods paragraph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import streamlit as st

from themescope.core.config import Config
from themescope.core.labelling import markup
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.article_difficulty import ArticleSlice
from themescope.core.metrics.statistics import (
    ALPHA,
    FEWEST_ARTICLES,
    RESAMPLES,
    Family,
    SignificanceTest,
)
from themescope.core.records.stored import ScoreRecord
from themescope.core.registry import Card
from themescope.core.types import Ids
from themescope.db.records import BenchmarkRecord
from themescope.jobs.common.results import code_version
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.figures import THEMES, Tones
from themescope.webapp.shared.results.compare_queries import Method
from themescope.webapp.shared.text import count, figure_text, p_text, score, with_interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """Methods on one benchmark in the order of the table, best first."""

    benchmark: BenchmarkRecord
    methods: Sequence[Method]
    means: Sequence[Mapping[str, ScoreRecord]]
    """Metric → mean, for each method."""
    metric: Card
    test: SignificanceTest
    families: Mapping[str, Family]
    """Benchmark → its comparisons, corrected together; empty without scores of single articles."""
    columns: Sequence[int]
    """Column of each method in the comparisons; -1 for none."""
    benchmarks: Sequence[str]
    """Benchmarks whose comparisons are corrected together."""

    @property
    def family(self) -> Family | None:
        """Comparisons on the selected benchmark."""
        return self.families.get(self.benchmark.name)

    def ranks(self) -> list[tuple[int, int] | None]:
        """Return the best and worst rank that the tests do not exclude, for each method; None without tests."""
        found = self.family.ranks() if self.family is not None and self.family.tested else []
        return [found[column] if found and column >= 0 else None for column in self.columns]

    def letters(self) -> list[str]:
        """Return the compact letter display: methods that share a letter do not differ significantly."""
        found = self.family.groups() if self.family is not None and self.family.tested else []
        return [found[column] if found and column >= 0 else "" for column in self.columns]

    @property
    def names(self) -> dict[int, str]:
        """Column of the comparisons → name of the method."""
        return {column: m.name for column, m in zip(self.columns, self.methods, strict=True) if column >= 0}

    @property
    def claims(self) -> int:
        """Number of comparisons that were tested and corrected together."""
        return sum(len(family.ps) for family in self.families.values() if family.tested)


def rank_text(rank: tuple[int, int] | None) -> str:
    """Return ``1``, ``2–4``, or a dash."""
    if rank is None:
        return "–"
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}–{rank[1]}"


def as_csv(found: Comparison, metrics: Sequence[str]) -> str:
    """Return all scores as CSV: value, interval, number of articles; rank and letters by one metric."""
    header = ["model", "clusterer", "seeds", "seconds"]
    header += [f"{m}{part}" for m in metrics for part in ("", "_low", "_high", "_n")]
    header += [f"first_place_{found.metric.id}", f"last_place_{found.metric.id}", f"group_{found.metric.id}"]
    rows = []
    listed = zip(found.methods, found.means, found.ranks(), found.letters(), strict=True)
    for method, means, rank, letters in listed:
        cells: list[object] = [method.model, method.clusterer, len(method.runs), method.seconds]
        for metric in metrics:
            s = means.get(metric)
            cells += [None] * 4 if s is None else [s.value, s.low, s.high, s.n]
        rows.append([*cells, *(rank or (None, None)), letters])
    return csv_text(header, rows)


def comparisons_csv(family: Family, names: Mapping[int, str], test: SignificanceTest) -> str:
    """Return all comparisons of a family as CSV, lowest p-value first; p-values are empty without a test."""
    header = ("first", "second", "difference", "low", "high", "articles", f"p_{test.id}", "p_holm")
    rows = []
    for i in family.ps.argsort(kind="stable").tolist():
        d, ps = family.differences[i], (float(family.ps[i]), float(family.corrected[i]))
        tested = [None if math.isnan(p) else p for p in ps]
        rows.append((names[int(family.first[i])], names[int(family.second[i])], d.value, d.low, d.high, d.n, *tested))
    return csv_text(header, rows)


def untested(family: Family) -> str:
    """Return why a family has no tests."""
    articles = family.estimates[0].n if family.estimates else 0
    return f"No test: {count(articles, 'article')} are too few. Tests need at least {FEWEST_ARTICLES} articles."


_RIGHT = dict.fromkeys(("Difference", "p", "Corrected p"), st.column_config.TextColumn(alignment="right"))


def comparisons(family: Family | None, names: Mapping[int, str], test: SignificanceTest, file: str) -> None:
    """Draw all comparisons of a family, lowest p-value first; ``names`` maps columns to methods."""
    if family is None or not len(family.ps):
        return
    label = f"All comparisons ({len(family.ps):,})"
    # Drawn when opened: a long table takes the browser longer than the rest of the page.
    folded = st.expander(label, icon=":material/compare_arrows:", key=f"compare_{file}", on_change="rerun")
    if not folded.open:
        return
    order = family.ps.argsort(kind="stable").tolist()
    with folded:
        draw_table(
            {
                "First": [names[int(family.first[i])] for i in order],
                "Second": [names[int(family.second[i])] for i in order],
                "Difference": [with_interval(family.differences[i]) for i in order],
                "p": [_p_or_dash(family.ps[i]) for i in order],
                "Corrected p": [_p_or_dash(family.corrected[i]) for i in order],
            },
            column_config=_RIGHT,
        )
        download("Download comparisons (CSV)", lambda: comparisons_csv(family, names, test), f"{file}.csv")


def _p_or_dash(p: float) -> str:
    return "–" if math.isnan(p) else p_text(float(p))


def latex(found: Comparison, metrics: Sequence[str]) -> str:
    """Return a LaTeX table (booktabs): the best of each column in bold, letters at the tested metric."""
    titles = [METRICS.get(m).title for m in metrics]
    best = {m: max((row[m].value for row in found.means if m in row), default=None) for m in metrics}
    lines = [
        rf"\begin{{tabular}}{{ll{'r' * len(metrics)}}}",
        r"\toprule",
        " & ".join(["Model", "Clusterer", *(markup.latex(title) for title in titles)]) + r" \\",
        r"\midrule",
    ]
    for method, means, letters in zip(found.methods, found.means, found.letters(), strict=True):
        cells = [markup.latex(method.model), markup.latex(method.clusterer)]
        for metric in metrics:
            cells.append(_cell(means.get(metric), best[metric], letters if metric == found.metric.id else ""))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _cell(found: ScoreRecord | None, best: float | None, letters: str) -> str:
    if found is None:
        return "--"
    value = score(found.value).replace("-", "$-$")
    value = rf"\textbf{{{value}}}" if found.value == best else value
    half = "" if found.low is None or found.high is None else rf" $\pm$ {score((found.high - found.low) / 2)}"
    return value + half + (rf"$^{{\mathrm{{{letters}}}}}$" if letters else "")


def paragraph(found: Comparison, metrics: Sequence[str], settings: Mapping[str, Config | Mapping[str, object]]) -> str:
    """Return a methods paragraph: data, scores, intervals, tests, correction, seeds, settings, version."""
    n = max((s.n for row in found.means for s in row.values()), default=0)
    parts = [
        f"We clustered the sentences of {count(n, 'article')} (benchmark “{found.benchmark.name}”"
        f"{_rules(found.benchmark)}) by {count(len(found.methods), 'combination')} of sentence vectors and clustering "
        "algorithm, each article into as many clusters as it has sections, and compared clusters with sections.",
        "Scores are " + ", ".join(f"{METRICS.get(m).title} ({METRICS.get(m).source})" for m in metrics) + ", averaged "
        f"over articles without weights, with 95 % percentile bootstrap intervals over articles ({RESAMPLES:,} "
        "resamples).",
    ]
    seeds = {len(method.runs) for method in found.methods}
    if seeds != {1}:
        parts.append(f"For methods with several seeds (up to {max(seeds)}) scores were first averaged by article.")
    if found.claims:
        on = f" on {count(len(found.benchmarks), 'benchmark')}" if len(found.benchmarks) > 1 else ""
        parts.append(
            f"Differences in {found.metric.title} were tested article by article with {found.test.source}, two-sided; "
            f"the p-values of all {count(found.claims, 'comparison')}{on} were corrected together (Holm 1979). We call "
            f"a method better where the corrected p is below {ALPHA:.2f} and the interval of the mean difference lies "
            "above 0; methods that share a letter do not differ significantly (Piepho 2004)."
        )
    elif found.family is not None and not found.family.tested:
        parts.append(f"Differences were not tested, because {FEWEST_ARTICLES} articles are needed.")
    listed = "; ".join(f"{name}: {_settings_text(values)}" for name, values in settings.items())
    parts.append(f"Settings: {listed}." if listed else "")
    days = sorted({f"{run.created:%Y-%m-%d}" for method in found.methods for run in method.runs})
    when = (f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}") if days else ""
    parts.append(f"Computed with Themescope {code_version()} {when}.".replace(" .", "."))
    return " ".join(part for part in parts if part)


def _rules(benchmark: BenchmarkRecord) -> str:
    return f": {_settings_text(benchmark.config)}" if benchmark.config else ""


def _settings_text(values: Config | Mapping[str, object]) -> str:
    facts = values.to_dict() if isinstance(values, Config) else values
    return ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in facts.items()) or "no settings"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " and ".join(str(part) for part in value)
    return str(value)


# --- figures ----------------------------------------------------------------------------------------------------------


_LABEL = 40
_HOVER = 60


def scatter_figure(
    articles: Ids,
    titles: Sequence[str],
    values: npt.NDArray[np.float64],
    names: tuple[str, str],
    unit: str,
    tones: Tones,
    chosen: int | None = None,
) -> go.Figure:
    """Return a scatter plot of (n, 2) scores per article: first method on y, second on x."""
    ahead = values[:, 0] > values[:, 1]
    behind = values[:, 0] < values[:, 1]
    low, high = float(values.min(initial=0.0)), float(values.max(initial=1.0))
    figure = go.Figure()
    figure.add_shape(type="line", x0=low, y0=low, x1=high, y1=high, line={"color": tones.other, "dash": "dot"})
    parts = ((ahead, f"{names[0]} ahead", 0), (behind, f"{names[1]} ahead", 1), (~(ahead | behind), "equal", -1))
    for rows, name, colour in parts:
        at = np.flatnonzero(rows)
        if len(at):
            figure.add_trace(_points(at, articles, titles, values, f"{name}: {len(at):,}", tones, colour))
    at = np.flatnonzero(articles == chosen)
    if len(at):
        ring = {"color": "rgba(0,0,0,0)", "size": 15, "line": {"color": tones.ink, "width": 2}}
        x, y = values[at, 1], values[at, 0]
        figure.add_trace(go.Scatter(x=x, y=y, mode="markers", marker=ring, hoverinfo="skip", showlegend=False))
    figure.update_layout(
        height=430,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": -0.2, "font": {"size": 12, "color": tones.ink}},
        hoverlabel={"align": "left"},
        clickmode="event+select",
        dragmode="zoom",
    )
    figure.update_xaxes(title=figure_text(f"{unit} of {names[1]}", _LABEL), automargin=True, zeroline=False)
    figure.update_yaxes(title=figure_text(f"{unit} of {names[0]}", _LABEL), automargin=True, zeroline=False)
    return figure


def _points(
    at: npt.NDArray[np.intp],
    articles: Ids,
    titles: Sequence[str],
    values: npt.NDArray[np.float64],
    name: str,
    tones: Tones,
    colour: int,
) -> go.Scatter:
    hover = [f"{figure_text(titles[i], _HOVER)}<br>{score(values[i, 0])} against {score(values[i, 1])}" for i in at]
    return go.Scatter(
        x=values[at, 1],
        y=values[at, 0],
        mode="markers",
        name=figure_text(name, _HOVER),
        customdata=articles[at],
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        unselected={"marker": {"opacity": 0.7}},
        marker={"color": tones.colour(colour), "symbol": tones.symbol(colour), "size": 7, "opacity": 0.7},
    )


def slices_figure(
    slices: Sequence[ArticleSlice], labels: Sequence[str], names: Sequence[str], unit: str, tones: Tones
) -> go.Figure:
    """Return a chart of the mean and interval of each method (column) in each slice."""
    figure = go.Figure()
    for column, name in enumerate(names):
        found = [part.estimates[column] for part in slices]
        shift = (column - (len(names) - 1) / 2) * 0.14
        figure.add_trace(
            go.Scatter(
                x=np.arange(len(slices)) + shift,
                y=[e.value for e in found],
                mode="markers",
                name=figure_text(name, _LABEL),
                marker={"color": tones.colour(column), "symbol": tones.symbol(column), "size": 9},
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [e.high - e.value for e in found],
                    "arrayminus": [e.value - e.low for e in found],
                    "thickness": 1.6,
                    "width": 4,
                },
                hovertext=[with_interval(e) for e in found],
                hovertemplate=f"{figure_text(name, _LABEL)}: %{{hovertext}}<extra></extra>",
            )
        )
    figure.update_layout(
        height=300,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": -0.25, "font": {"size": 12, "color": tones.ink}},
    )
    figure.update_xaxes(tickmode="array", tickvals=np.arange(len(slices)), ticktext=list(labels), automargin=True)
    figure.update_yaxes(title=unit, automargin=True)
    return figure


_FORMATS = ("PNG", "SVG")
_SCALE = 2
"""PNG pixels per screen pixel."""


def chart(figure: go.Figure, key: str, name: str, **more: Any) -> Any:
    """Draw ``figure`` with a popover for downloads; ``more`` is passed to ``st.plotly_chart``."""
    wanted = str(st.session_state.get(f"format-{key}") or _FORMATS[0]).lower()
    config = {
        "displaylogo": False,
        "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
        "toImageButtonOptions": {"format": wanted, "filename": name, "scale": _SCALE},
    }
    event = st.plotly_chart(figure, key=key, config=config, **more)
    with st.popover("Save figure", icon=":material/image:", type="tertiary"):
        st.segmented_control("Image format", _FORMATS, default=_FORMATS[0], key=f"format-{key}", required=True)
        st.caption("To save an image, point at the chart and click the camera icon at its upper right.")
        download("Interactive chart (HTML)", lambda: page_of(figure), f"{name}.html", key=f"html-{key}")
    return event


def page_of(figure: go.Figure) -> str:
    """Return the chart as a self-contained HTML page in the light theme."""
    alone = go.Figure(figure).update_layout(template="plotly_white", font={"color": THEMES["light"].ink})
    return str(alone.to_html(include_plotlyjs=True, full_html=True))
