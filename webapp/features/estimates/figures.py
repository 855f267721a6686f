"""Chart and table of estimates."""

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
