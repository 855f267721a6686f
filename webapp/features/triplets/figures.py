"""Chart of the margins of models on triplets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from themescope.core.metrics.triplets import MarginHistogram
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.text import figure_text

_PANEL = 250
WRONG, RIGHT = 1, 0
"""Positions in the palette."""


def margins_figure(panels: Sequence[tuple[str, str, MarginHistogram]], tones: Tones) -> go.Figure:
    """Return a histogram for each (model, unit, margins), in its own unit."""
    figure = make_subplots(rows=len(panels), cols=1, vertical_spacing=0.36 / len(panels))
    for row, (name, unit, found) in enumerate(panels, 1):
        middle = (found.edges[:-1] + found.edges[1:]) / 2
        colours = np.where(middle < 0, tones.colour(WRONG), tones.colour(RIGHT))
        spans = [f"{low:g} to {high:g}" for low, high in zip(found.edges[:-1], found.edges[1:], strict=True)]
        figure.add_trace(
            go.Bar(
                x=middle,
                y=found.counts,
                width=np.diff(found.edges),
                marker={"color": colours, "line": {"width": 0}},
                hovertext=spans,
                hovertemplate="%{y:,} triplets, margin %{hovertext}<extra></extra>",
            ),
            row=row,
            col=1,
        )
        figure.add_vline(x=0, line={"color": tones.ink, "width": 1.5}, row=row, col=1)
        title = {"text": f"{figure_text(name, 40)}: margin in {figure_text(unit)}", "font": {"size": 12.5}}
        figure.update_xaxes(title=title, showgrid=False, zeroline=False, row=row, col=1)
        sides = (found.wrong / found.n, "wrong", "right", WRONG), (found.right / found.n, "correct", "left", RIGHT)
        for share, word, side, place in sides:
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
    )
    return figure
