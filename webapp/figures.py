"""Charts. Arrays go to the browser in binary, so everything long is numpy; ids travel in ``customdata``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from core.records import MetricPoint
from core.types import Ids, Points
from webapp.components.text import figure_text
from webapp.palette import Tones

_OPEN_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}


@dataclass(frozen=True, slots=True)
class MapView:
    """What a map shows: (n,) points with the category of each, -1 being "other"."""

    ids: Ids
    points: Points
    categories: npt.NDArray[np.int64]
    names: Sequence[str]
    hover: Sequence[str]
    other: str = "other"
    size: float = 5.0
    opacity: float = 0.8
    marked: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Ids to ring, such as the hits of a search."""
    selected: Ids | None = None
    """Ids of a selection that the browser does not hold any more; None where it does."""


def map_figure(view: MapView, tones: Tones) -> go.Figure:
    """A scatter of sentences, one trace a category, with the lasso ready."""
    figure = go.Figure()
    hover = np.asarray(view.hover, dtype=object)
    for category in range(-1, len(view.names)):
        rows = np.flatnonzero(view.categories == category)
        if len(rows):
            figure.add_trace(_category(view, rows, category, hover[rows], tones))
    ringed = np.flatnonzero(np.isin(view.ids, view.marked))
    if len(ringed):
        figure.add_trace(_rings(view, ringed, tones))
    figure.update_layout(
        dragmode="lasso",
        margin=_OPEN_MARGIN,
        hovermode="closest",
        legend={"itemsizing": "constant", "tracegroupgap": 2, "font": {"size": 12}},
        hoverlabel={"align": "left"},
        uirevision="map",
    )
    axis = {"visible": False, "showgrid": False, "zeroline": False}
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    return figure


def _category(
    view: MapView, rows: npt.NDArray[np.intp], category: int, hover: npt.NDArray[Any], tones: Tones
) -> go.Scattergl:
    ids = view.ids[rows]
    return go.Scattergl(
        x=view.points[rows, 0],
        y=view.points[rows, 1],
        mode="markers",
        name=figure_text(view.names[category] if category >= 0 else view.other, 32),
        customdata=ids,
        legendrank=1000 + category if category >= 0 else 2000,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        selectedpoints=None if view.selected is None else np.flatnonzero(np.isin(ids, view.selected)),
        unselected={"marker": {"opacity": 0.12}},
        marker={
            "color": tones.colour(category),
            "symbol": tones.symbol(category),
            "size": view.size if category >= 0 else view.size * 0.8,
            "opacity": view.opacity if category >= 0 else view.opacity * 0.6,
        },
    )


def _rings(view: MapView, rows: npt.NDArray[np.intp], tones: Tones) -> go.Scattergl:
    return go.Scattergl(
        x=view.points[rows, 0],
        y=view.points[rows, 1],
        mode="markers",
        name="found",
        customdata=view.ids[rows],
        hoverinfo="skip",
        marker={
            "color": "rgba(0,0,0,0)",
            "size": view.size + 7,
            "line": {"color": tones.ink, "width": 1.6},
        },
    )


def curve_figure(name: str, points: Sequence[MetricPoint], tones: Tones) -> go.Figure:
    """One live curve."""
    steps = np.array([p.step for p in points])
    values = np.array([p.value for p in points])
    figure = go.Figure(
        go.Scatter(
            x=steps,
            y=values,
            mode="lines+markers" if len(points) < 60 else "lines",
            line={"color": tones.accent, "width": 2},
            marker={"size": 5},
            hovertemplate="%{x:.2f}: %{y:.4f}<extra></extra>",
        )
    )
    figure.update_layout(
        height=230,
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        title={"text": figure_text(name), "font": {"size": 14}, "x": 0, "xanchor": "left"},
        showlegend=False,
    )
    figure.update_xaxes(automargin=True, showgrid=False)
    figure.update_yaxes(automargin=True)
    return figure


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One mean with its interval, and the group that its colour tells."""

    label: str
    group: str
    value: float
    low: float
    high: float
    floor: bool = False
    """A row that knows nothing, such as random labels: drawn faint."""


def interval_figure(rows: Sequence[IntervalRow], unit: str, tones: Tones) -> go.Figure:
    """Dots with their 95 % intervals, best at the top."""
    ordered = sorted(rows, key=lambda row: row.value)
    groups = sorted({row.group for row in rows if not row.floor})
    figure = go.Figure()
    for group in [*groups, None]:
        chosen = [row for row in ordered if (row.floor if group is None else not row.floor and row.group == group)]
        if chosen:
            place = -1 if group is None else groups.index(group)
            figure.add_trace(_intervals(chosen, group or chosen[0].group, place, tones))
    figure.update_layout(
        height=max(170, 76 + 30 * len(rows)),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        showlegend=len(groups) > 1,
    )
    figure.update_xaxes(title=unit, zeroline=True, automargin=True)
    figure.update_yaxes(
        automargin=True,
        showgrid=False,
        tickfont={"color": tones.ink, "size": 13},
        categoryorder="array",
        categoryarray=[figure_text(r.label, 48) for r in ordered],
    )
    return figure


def _intervals(rows: Sequence[IntervalRow], name: str, place: int, tones: Tones) -> go.Scatter:
    values = np.array([row.value for row in rows])
    return go.Scatter(
        x=values,
        y=[figure_text(row.label, 48) for row in rows],
        mode="markers",
        name=figure_text(name),
        marker={"color": tones.colour(place), "symbol": tones.symbol(place), "size": 10},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": np.array([row.high for row in rows]) - values,
            "arrayminus": values - np.array([row.low for row in rows]),
            "thickness": 1.6,
            "width": 4,
        },
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
