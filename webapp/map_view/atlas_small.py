"""A small map as a chart. Every point carries its sentence id; a selection comes back as ids, never as places."""

from __future__ import annotations

import hashlib

import numpy as np
import streamlit as st

from webapp.map_view import map_scene, mapping
from webapp.map_view.atlas_large import Canvas
from webapp.map_view.map_choice import Choice
from webapp.shared.figures import MapView, map_figure

_LONG_HOVER, _SHORT_HOVER, _MANY = 260, 110, 2_000
_LEGEND = 90
"""Pixels for the legend."""


def view(canvas: Canvas, choice: Choice) -> None:
    """The chart. What is selected on it survives recolouring and filters because it is kept in ``choice``, by id."""
    scene, colouring = canvas.scene, canvas.colouring
    found = scene.ids[canvas.found]
    drawn = (canvas.digest, found.tobytes(), (canvas.size, canvas.opacity, canvas.paper, choice.sentence))
    key = f"map-{hashlib.sha256(repr(drawn).encode()).hexdigest()[:16]}-{choice.generation}"
    if key in st.session_state and choice.by != key:
        _keep(canvas, choice, key)
    figure = map_figure(
        MapView(
            ids=scene.ids,
            points=scene.points,
            categories=colouring.categories,
            names=colouring.names,
            other=colouring.other,
            hover=_hover(canvas),
            paint=lambda category: colouring.paint(canvas.tones, category),
            size=canvas.size,
            opacity=canvas.opacity,
            marked=np.append(found, choice.sentence),
            selected=choice.ids if len(choice.ids) and choice.by != key else None,
        ),
        canvas.tones,
    )
    # Below the points: beside them, long names would leave no room.
    below = {"orientation": "h", "yanchor": "top", "y": -0.02, "x": 0, "font": {"size": 11, "color": canvas.tones.ink}}
    figure.update_layout(height=canvas.height + _LEGEND, legend=below, margin={"t": 30, "b": _LEGEND})
    st.plotly_chart(
        figure,
        key=key,
        on_select=lambda: _keep(canvas, choice, key),
        selection_mode=("points", "box", "lasso"),
        config={
            "displaylogo": False,
            "scrollZoom": True,
            "toImageButtonOptions": {"format": "png", "filename": "themescope-map", "scale": 2},
        },
    )


def _hover(canvas: Canvas) -> list[str]:
    scene = canvas.scene
    letters = _SHORT_HOVER if len(scene.ids) > _MANY else _LONG_HOVER
    texts = map_scene.texts(scene, np.arange(len(scene.ids)))
    return [
        mapping.hover_text(scene.article(row), scene.section(row), sentence.text, letters)
        for row, sentence in enumerate(texts)
    ]


def _keep(canvas: Canvas, choice: Choice, key: str) -> None:
    """What the chart says is selected. One point that was clicked is looked at; it selects nothing."""
    event = st.session_state.get(key)
    ids, shape = mapping.selected_ids(event), mapping.chart_shape(event, canvas.scene.grid)
    choice.by = key
    if len(ids) == 1 and not len(shape):
        choice.sentence = int(ids[0])
        return
    choice.ids, choice.shape, choice.side = ids, shape, 0
