"""Charts of the Triplets page: margins, and accuracy by section pair and by article."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from themescope.core.metrics.triplet_analysis import ArticleAccuracy, MarginHistogram
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.text import figure_text

_PANEL = 250
WRONG, RIGHT = 1, 0
"""Positions in the palette."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The margins of one model, as one panel of the chart."""

    name: str
    unit: str
    histogram: MarginHistogram


def margins_figure(panels: Sequence[Panel], tones: Tones) -> go.Figure:
    """Return a histogram per model in its own unit; ``customdata`` of a bar is the number of its bin."""
    figure = make_subplots(rows=len(panels), cols=1, vertical_spacing=0.36 / len(panels))
    for row, panel in enumerate(panels, 1):
        figure.add_trace(_bars(panel.histogram, tones), row=row, col=1)
        figure.add_vline(x=0, line={"color": tones.ink, "width": 1.5}, row=row, col=1)
        title = {"text": f"{figure_text(panel.name, 40)}: margin in {figure_text(panel.unit)}", "font": {"size": 12.5}}
        figure.update_xaxes(title=title, showgrid=False, zeroline=False, row=row, col=1)
        for share, word, side, place in _sides(panel.histogram):
            figure.add_annotation(
                text=f"{share:.1%} {word}",
                x=0,
                xanchor=side,
                xshift=-8 if side == "right" else 8,
                y=1.0,
                yref="y domain" if row == 1 else f"y{row} domain",
                yanchor="bottom",
                showarrow=False,
                font={"color": tones.colour(place), "size": 13},
                row=row,
                col=1,
            )
    figure.update_yaxes(title={"text": "triplets", "font": {"size": 12.5}}, automargin=True, nticks=5)
    figure.update_xaxes(automargin=True)
    figure.update_layout(
        height=_PANEL * len(panels) + 50,
        margin={"l": 8, "r": 8, "t": 26, "b": 8},
        bargap=0.04,
        showlegend=False,
        dragmode=False,
        clickmode="event+select",
    )
    return figure


def _sides(found: MarginHistogram) -> tuple[tuple[float, str, str, int], ...]:
    return (found.wrong / found.n, "wrong", "right", WRONG), (found.right / found.n, "correct", "left", RIGHT)


def _bars(found: MarginHistogram, tones: Tones) -> go.Bar:
    middle = (found.edges[:-1] + found.edges[1:]) / 2
    colours = np.where(middle < 0, tones.colour(WRONG), tones.colour(RIGHT))
    spans = [f"{low:g} to {high:g}" for low, high in zip(found.edges[:-1], found.edges[1:], strict=True)]
    return go.Bar(
        x=middle,
        y=found.counts,
        width=np.diff(found.edges),
        marker={"color": colours, "line": {"width": 0}},
        customdata=np.arange(len(found.counts)),
        hovertext=spans,
        hovertemplate="%{y:,} triplets, margin %{hovertext}<extra></extra>",
        unselected={"marker": {"opacity": 0.35}},
    )


def heat_figure(
    names: Sequence[str], accuracy: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], tones: Tones
) -> go.Figure:
    """Return a heat map of the symmetric (t, t) accuracy between t titles, NaN where there are too few triplets.

    Cells can be clicked: their ``customdata`` is row × t + column.
    """
    labels = [figure_text(name, 22) for name in names]
    shown = np.where(np.tri(len(names), k=-1, dtype=bool), accuracy, np.nan)[1:, :-1]
    text = [["" if np.isnan(x) else f"{x:.2f}".removeprefix("0") for x in row] for row in shown]
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            x=labels[:-1],
            y=labels[1:],
            text=text,
            texttemplate="%{text}",
            textfont={"size": 11.5},
            hoverinfo="skip",
            zmin=0,
            zmid=0.5,
            zmax=1,
            colorscale=[[0.0, tones.colour(WRONG)], [0.5, tones.faint], [1.0, tones.colour(RIGHT)]],
            colorbar={"title": {"text": "accuracy"}, "thickness": 12, "tickformat": ".1f"},
            xgap=2,
            ygap=2,
        )
    )
    figure.add_trace(_squares(labels, accuracy, counts))
    figure.update_layout(
        height=max(220, 110 + 28 * len(names)),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        dragmode=False,
        clickmode="event+select",
        hovermode="closest",
    )
    figure.update_xaxes(showgrid=False, automargin=True, tickangle=-40)
    figure.update_yaxes(showgrid=False, automargin=True, autorange="reversed")
    return figure


def _squares(labels: Sequence[str], accuracy: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> go.Scatter:
    """Return invisible markers over the cells with a value, because Plotly selects no cells of a heat map."""
    rows, columns = np.nonzero(np.tril(~np.isnan(accuracy), -1))
    places = [*zip(rows.tolist(), columns.tolist(), strict=True)]
    hover = [
        f"{labels[column]} × {labels[row]}: {accuracy[row, column]:.3f} of {counts[row, column]:,} triplets"
        for row, column in places
    ]
    clear = {"marker": {"opacity": 0}}
    return go.Scatter(
        x=[labels[column] for _, column in places],
        y=[labels[row] for row, _ in places],
        mode="markers",
        marker={"symbol": "square", "size": 26, "opacity": 0},
        selected=clear,
        unselected=clear,
        customdata=rows * len(labels) + columns,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def articles_figure(found: ArticleAccuracy, titles: Sequence[str], tones: Tones) -> go.Figure:
    """Return a point per article: triplets on a logarithmic scale, and accuracy; ``customdata`` is its position."""
    places = np.arange(len(titles))
    figure = go.Figure(
        go.Scatter(
            x=found.triplets,
            y=found.accuracy,
            mode="markers",
            marker={
                "color": np.where(found.accuracy < 0.5, tones.colour(WRONG), tones.colour(RIGHT)),
                "size": 7,
                "opacity": 0.65,
            },
            unselected={"marker": {"opacity": 0.65}},
            customdata=places,
            hovertext=[figure_text(title, 60) for title in titles],
            hovertemplate="%{hovertext}: %{y:.3f} of %{x:,} triplets<extra></extra>",
        )
    )
    figure.add_hline(y=0.5, line={"color": tones.other, "width": 1.5, "dash": "dot"})
    figure.update_layout(
        height=440,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        dragmode=False,
        clickmode="event+select",
        hovermode="closest",
    )
    figure.update_xaxes(type="log", dtick=1, title="triplets of the article", automargin=True, showgrid=False)
    figure.update_yaxes(title="triplet accuracy", range=[-0.03, 1.03], automargin=True)
    return figure
