"""Charts. Arrays go to the browser in binary, so everything long is numpy; ids travel in ``customdata``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from core.types import Ids, Points
from db.records import MetricPoint
from webapp.shared.palette import SYMBOLS, Tones
from webapp.shared.text import figure_text, interval

_LABEL = 48
_OPEN_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}


@dataclass(frozen=True, slots=True)
class MapView:
    """What a map shows: (n,) points with the category of each, -1 being "other"."""

    ids: Ids
    points: Points
    categories: npt.NDArray[np.int64]
    names: Sequence[str]
    hover: Sequence[str]
    paint: Callable[[int], tuple[str, int]] | None = None
    """(colour, symbol 0…3) of a category; None: as they stand in the palette."""
    other: str = "other"
    size: float = 5.0
    opacity: float = 0.8
    marked: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Ids to ring, such as the hits of a search."""
    selected: Ids | None = None
    """Ids of a selection that the browser does not hold any more; None where it does."""

    def marker(self, category: int, tones: Tones) -> dict[str, Any]:
        """Colour and symbol of ``category``."""
        if self.paint is None:
            return {"color": tones.colour(category), "symbol": tones.symbol(category)}
        colour, symbol = self.paint(category)
        return {"color": colour, "symbol": SYMBOLS[symbol]}


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
        margin={**_OPEN_MARGIN, "t": 34},  # the tools of the chart stand above its legend
        hovermode="closest",
        legend={"itemsizing": "constant", "tracegroupgap": 2, "font": {"size": 12, "color": tones.ink}},
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
            **view.marker(category, tones),
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


def curve_figure(name: str, points: Sequence[MetricPoint], tones: Tones, along: str = "epochs") -> go.Figure:
    """One live curve; the latest value stands beside its name, ``along`` names what the steps count."""
    steps = np.array([p.step for p in points])
    values = np.array([p.value for p in points])
    figure = go.Figure(
        go.Scatter(
            x=steps,
            y=values,
            mode="lines+markers" if len(points) < 60 else "lines",
            line={"color": tones.accent, "width": 2},
            marker={"size": 5},
            hovertemplate=f"%{{y:.4f}} after %{{x:.2f}} {along}<extra></extra>",
        )
    )
    figure.update_layout(
        height=240,
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        title={
            "text": f"{figure_text(name)}  <b>{values[-1]:.3f}</b>" if len(points) else figure_text(name),
            "font": {"size": 14},
            "x": 0,
            "xanchor": "left",
        },
        showlegend=False,
    )
    figure.update_xaxes(automargin=True, showgrid=False, title={"text": along, "font": {"size": 12}})
    figure.update_yaxes(automargin=True)
    return figure


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One mean with its 95 % interval. ``colour`` is a place in the palette; -1, faint, knows nothing (random)."""

    label: str
    value: float
    low: float | None
    """None, together with ``high``, where there is no interval."""
    high: float | None
    colour: int = 0


def interval_figure(
    rows: Sequence[IntervalRow], unit: str, tones: Tones, chance: float | None = None, *, sort: bool = True
) -> go.Figure:
    """Dots with their intervals, the numbers at the right; a dotted line where ``chance`` lies.

    The best stands at the top, or, without ``sort``, the first.
    """
    ordered = sorted(rows, key=lambda row: row.value) if sort else [*reversed(rows)]
    # One trace a colour and all notes at once: plotly takes its time over each.
    colours = list(dict.fromkeys(row.colour for row in ordered))
    figure = go.Figure([_intervals(ordered, colour, tones) for colour in colours])
    notes = [_number(row, place, tones) for place, row in enumerate(ordered)]
    if chance is not None:
        figure.add_vline(x=chance, line={"color": tones.other, "width": 1.5, "dash": "dot"})
        small = {"color": tones.ink, "size": 12}
        notes.append({"text": "chance", "x": chance, "y": 1, "yref": "paper", "yanchor": "bottom", "font": small})
    figure.update_layout(
        annotations=[{"showarrow": False, **note} for note in notes],
        height=max(150, 84 + 30 * len(rows)),
        margin={"l": 8, "r": 138, "t": 24 if chance is not None else 8, "b": 8},
        showlegend=False,
    )
    figure.update_xaxes(title=f"{unit}, mean and 95 % interval over articles", zeroline=True, automargin=True)
    figure.update_yaxes(
        automargin=True,
        showgrid=False,
        tickfont={"color": tones.ink, "size": 13},
        tickmode="array",
        tickvals=np.arange(len(ordered)),  # numbers, because two rows may have the same label
        ticktext=[figure_text(r.label, _LABEL) for r in ordered],
        range=[-0.6, len(ordered) - 0.4],
        zeroline=False,
    )
    return figure


def _number(row: IntervalRow, place: int, tones: Tones) -> dict[str, Any]:
    """The value of a row with its interval, at the right of the chart."""
    beside = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 8, "y": place}
    return {"text": interval(row.value, row.low, row.high), "font": {"color": tones.ink, "size": 12.5}, **beside}


def _intervals(ordered: Sequence[IntervalRow], colour: int, tones: Tones) -> go.Scatter:
    """The rows of one colour; a row's height is its place."""
    of = [(place, row) for place, row in enumerate(ordered) if row.colour == colour]
    values = np.array([row.value for _, row in of])
    low = np.array([row.value if row.low is None else row.low for _, row in of])
    high = np.array([row.value if row.high is None else row.high for _, row in of])
    return go.Scatter(
        x=values,
        y=np.array([place for place, _ in of]),
        mode="markers",
        marker={"color": tones.colour(colour), "symbol": tones.symbol(colour), "size": 10},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": high - values,
            "arrayminus": values - low,
            "thickness": 1.6,
            "width": 4,
        },
        text=[f"{figure_text(row.label, _LABEL)}: {interval(row.value, row.low, row.high)}" for _, row in of],
        hovertemplate="%{text}<extra></extra>",
    )
