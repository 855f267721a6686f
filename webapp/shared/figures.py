"""Charts that several pages use, and the colours of categories for the light and the dark theme.

The colours suit colour-blind readers: Paul Tol's "muted" and "light" schemes (SRON/EPS/TN/09-002), reordered so that
neighbours differ most. Beyond nine categories they repeat with another symbol. Long series are numpy arrays, which
plotly sends in binary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from themescope.core.records.answers import MetricPoint
from themescope.jobs.services.report import PALETTE
from themescope.webapp.shared.text import figure_text, interval

DARK = ("#4fc3b8", "#f28e5c", "#8fa5f0", "#e0c250", "#d98cc0", "#86d07d", "#78c3f2", "#f2a0b8", "#c9c97a")
# The scales are viridis (van der Walt and Smith 2015) without the end that is close to the background.
LIGHT_SCALE = ("#440154", "#3b528b", "#21918c", "#46a84f", "#b59c00")
DARK_SCALE = ("#6f60c9", "#4f86c6", "#2fb3a3", "#8fd14f", "#fde725")
SYMBOLS = ("circle", "square", "diamond", "triangle-up")
DASHES = ("solid", "dash", "dot", "dashdot")
MARKS = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲"}
_LABEL = 48
"""Characters of a name in a chart."""


@dataclass(frozen=True, slots=True)
class Tones:
    """Colours of charts in one theme."""

    categories: tuple[str, ...]
    other: str
    """Colour of points without a category of their own."""
    ink: str
    accent: str
    paper: str
    """Background of pages."""
    scale: tuple[str, ...]
    """Colours of numbers from the lowest to the highest, of even steps in lightness."""

    def colour(self, index: int) -> str:
        """Return the colour of category ``index``; -1 is "other"."""
        return self.other if index < 0 else self.categories[index % len(self.categories)]

    def symbol(self, index: int) -> str:
        """Return the symbol of category ``index``; it changes where the colours repeat."""
        return SYMBOLS[0] if index < 0 else SYMBOLS[index // len(self.categories) % len(SYMBOLS)]

    def dash(self, index: int) -> str:
        """Return the stroke of the line of category ``index``, which changes with its symbol."""
        return DASHES[SYMBOLS.index(self.symbol(index))]

    def mark(self, index: int) -> str:
        """Return the symbol of category ``index`` as a character, for texts."""
        return MARKS[self.symbol(index)]


THEMES = {
    "light": Tones(PALETTE, "#b9bcc0", "#1f2a33", "#0b6b6b", "#fdfcf9", LIGHT_SCALE),
    "dark": Tones(DARK, "#5d6873", "#e6e8ea", "#4fc3b8", "#12171c", DARK_SCALE),
}


def tones(theme: str | None) -> Tones:
    """Return the colours of a theme; light if the theme is unknown."""
    return THEMES.get(theme or "light", THEMES["light"])


def curve_figure(name: str, points: Sequence[MetricPoint], tones: Tones) -> go.Figure:
    """Return a line chart of a metric, titled with its latest value."""
    steps = np.array([p.step for p in points])
    values = np.array([p.value for p in points])
    figure = go.Figure(
        go.Scatter(
            x=steps,
            y=values,
            mode="lines+markers" if len(points) < 60 else "lines",
            line={"color": tones.accent, "width": 2},
            marker={"size": 5},
            hovertemplate="%{y:.4f} after %{x:.2f} epochs<extra></extra>",
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
    figure.update_xaxes(automargin=True, showgrid=False, title={"text": "epochs", "font": {"size": 12}})
    figure.update_yaxes(automargin=True)
    return figure


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """Mean with its 95 % interval; ``colour`` is an index of the palette, -1 (grey) for random baselines."""

    label: str
    value: float
    low: float | None
    """Lower end; None, like ``high``, without an interval."""
    high: float | None
    colour: int = 0


def interval_figure(
    rows: Sequence[IntervalRow], unit: str, tones: Tones, chance: float | None = None, *, sort: bool = True
) -> go.Figure:
    """Return a chart of means with intervals, with values at the right and a dotted line at ``chance``.

    The best row is at the top, or, without ``sort``, the first.
    """
    ordered = sorted(rows, key=lambda row: row.value) if sort else [*reversed(rows)]
    # One trace per colour and all annotations at once: adding them one by one is slow.
    colours = list(dict.fromkeys(row.colour for row in ordered))
    figure = go.Figure([_intervals(ordered, colour, tones) for colour in colours])
    beside = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 8, "font": {"color": tones.ink, "size": 12.5}}
    notes: list[dict[str, Any]] = [
        {"text": interval(row.value, row.low, row.high), "y": place, **beside} for place, row in enumerate(ordered)
    ]
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


def _intervals(ordered: Sequence[IntervalRow], colour: int, tones: Tones) -> go.Scatter:
    """Return the trace of the rows of one colour; y is the index of the row."""
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
