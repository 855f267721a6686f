"""Curves over the number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from webapp.shared.palette import Tones

CURVES = {
    "silhouette": ("Silhouette", "how much closer a sentence is to its own theme than to the nearest other one"),
    "gain": ("Gain in similarity", "how much more similar sentences of one theme are than any two; look for the "
             "elbow"),
    "stability": ("Stability", "agreement of the themes of random subsamples with those of the whole list"),
}  # fmt: skip


def curves_figure(curves: Mapping[str, Any], chosen: int, tones: Tones) -> go.Figure:
    """Return the three curves side by side, each with its own scale; the chosen number is marked."""
    ks: Sequence[int] = curves["ks"]
    titles = [title for title, _ in CURVES.values()]
    figure = make_subplots(rows=1, cols=len(CURVES), subplot_titles=titles, horizontal_spacing=0.06)
    for column, name in enumerate(CURVES, 1):
        line = {"color": tones.accent, "width": 2}
        shown = go.Scatter(
            x=np.array(ks),
            y=np.array(curves[name]),
            mode="lines+markers",
            line=line,
            marker={"size": [11 if k == chosen else 5 for k in ks], "color": tones.accent},
            hovertemplate="%{x} themes: %{y:.3f}<extra></extra>",
            showlegend=False,
        )
        figure.add_trace(shown, row=1, col=column)
        figure.add_vline(x=chosen, line={"color": tones.ink, "width": 1, "dash": "dot"}, row=1, col=column)
    figure.update_annotations(font={"size": 13, "color": tones.ink})
    figure.update_xaxes(title={"text": "themes", "font": {"size": 12}}, showgrid=False, automargin=True)
    figure.update_yaxes(automargin=True, nticks=5)
    figure.update_layout(height=240, margin={"l": 8, "r": 8, "t": 30, "b": 8})
    return figure
