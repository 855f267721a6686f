"""Charts of the Compare page, with downloads as PNG, SVG or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import streamlit as st

from themescope.core.metrics.article_difficulty import ArticleSlice
from themescope.core.types import Ids
from themescope.webapp.shared.components import download
from themescope.webapp.shared.figures import THEMES, Tones
from themescope.webapp.shared.text import figure_text, interval, score

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
                hovertext=[interval(e.value, e.low, e.high) for e in found],
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
