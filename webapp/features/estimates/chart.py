"""Chart, table cells and file rows of estimates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import plotly.graph_objects as go

from themescope.core.estimates.shares import ShareEstimate
from themescope.core.types import Estimate
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.text import figure_text

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
"""Field, name, colour and symbol of the estimates; without a machine's codes, people's alone."""
ALONE = (("people", "Share", 0, "circle"),)
_IN_TABLE = (*(way for way, *_ in WAYS), "least", "most")
_COUNTS = {"sentences": "units", **{name: name for name in ("labels", "open", "coded", "checked")}}
_SHARES = [f"{way}{end}" for way in _IN_TABLE for end in ("", "_low", "_high")]
HEADER = ("code", "group", *_SHARES, "tuning", *_COUNTS, "holds_for")


def percent(found: Estimate | None) -> str:
    """Return ``38.2% [35.1, 41.4]``; a dash without an estimate."""
    return "–" if found is None else f"{100 * found.value:.1f}% [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def bounds(one: ShareEstimate) -> str:
    """Return the shares in percent between which that of an estimate is whatever the labels of open sentences are."""
    if one.least is None or one.most is None:
        return "–"
    return f"{100 * one.least.value:.1f}% – {100 * one.most.value:.1f}%"


def rows(code: str, found: Sequence[ShareEstimate], holds: str) -> list[tuple[Any, ...]]:
    """Return one row for each estimate of a code, with the columns of :data:`HEADER`; shares between 0 and 1."""

    def ends(one: Estimate | None) -> tuple[float | None, ...]:
        return (None,) * 3 if one is None else tuple(round(float(x), 6) for x in (one.value, one.low, one.high))

    found_rows = []
    for one in found:
        shares = chain(*(ends(getattr(one, way)) for way in _IN_TABLE))
        counts = (getattr(one, name) for name in _COUNTS.values())
        found_rows.append((code, one.name, *shares, round(one.tuning, 4), *counts, holds))
    return found_rows


def best(one: ShareEstimate) -> Estimate | None:
    """Return the estimate to report."""
    return one.corrected or one.people


def estimates_figure(
    names: Sequence[str], series: Sequence[tuple[str, int, str, Sequence[Estimate | None]]], tones: Tones, timed: bool
) -> go.Figure:
    """Return series of estimates with 95 % intervals: one row for each name, or one place on the time axis.

    A series has a title, a colour, a symbol and an estimate of each name. On a time axis, the last one has a band.
    """
    shown, figure = [figure_text(name, 32) for name in names], go.Figure()
    middle, differs = (len(series) - 1) / 2, False
    for place, (title, colour, symbol, values) in enumerate(series):
        kept = [(row, value) for row, value in enumerate(values) if value is not None]
        if not kept:
            continue
        at = np.array([row for row, _ in kept]) + (place - middle) * (0.14 if timed else 0.66 / len(series))
        share, low, high = np.array([(v.value, v.low, v.high) for _, v in kept]).T
        differs = differs or bool((share < 0).any())
        ends = {"type": "data", "symmetric": False, "array": high - share, "arrayminus": share - low, "thickness": 2}
        line = timed and place == len(series) - 1
        if line:  # a band; error bars for the others, which it would hide
            figure.add_trace(
                go.Scatter(
                    x=[*at, *at[::-1]],
                    y=[*high, *low[::-1]],
                    fill="toself",
                    mode="lines",
                    opacity=0.25,
                    line={"color": tones.colour(colour), "width": 0},
                    showlegend=False,
                    hoverinfo="skip",
                )
            )
        figure.add_trace(
            go.Scatter(
                x=at if timed else share,
                y=share if timed else at,
                name=figure_text(title, 32),
                mode="lines+markers" if line else "markers",
                marker={"symbol": symbol, "size": 9, "color": tones.colour(colour)},
                line={"color": tones.colour(colour), "width": 2},
                error_x=None if timed else ends,
                error_y=ends if timed and not line else None,
                text=[f"{shown[row]}: {percent(value)}" for row, value in kept],
                hovertemplate="%{text}<extra>%{fullData.name}</extra>",
            )
        )
    values_axis, names_axis = (
        (figure.update_yaxes, figure.update_xaxes) if timed else (figure.update_xaxes, figure.update_yaxes)
    )
    values_axis(tickformat=".0%", rangemode="normal" if differs else "tozero", zeroline=differs, automargin=True)
    for axis in (figure.update_xaxes, figure.update_yaxes):
        axis(tickfont={"color": tones.ink, "size": 12.5})
    names_axis(
        tickvals=list(range(len(shown))),
        ticktext=shown,
        showgrid=False,
        zeroline=False,
        automargin=True,
        range=[-0.6, len(shown) - 0.4] if timed else [len(shown) - 0.4, -0.6],
    )
    row = min(34, max(16, 340 // max(len(shown), 1)))  # pixels: the chart fits in a screen where it can
    figure.update_layout(
        height=300 if timed else 70 + row * len(shown),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=len(series) > 1,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "font": {"size": 12, "color": tones.ink}},
    )
    return figure
