"""Two maps of the same sentences: the second laid over the first, and how far each sentence moved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.projection import geometry as plane
from core.types import Points
from db.records import MapRecord
from webapp.map_view import map_scene, mapping
from webapp.map_view.atlas_large import Canvas
from webapp.map_view.map_scene import Scene


@dataclass(frozen=True, slots=True)
class Pair:
    """The sentences that stand on both maps; row i of every part is one of them."""

    first: Scene
    second: Points
    """(n, 2) places on the second map, laid over the first."""
    error: float
    """Share of the spread of the first that the second does not explain, 0…1."""
    moved: npt.NDArray[np.float64]
    """(n,) distance between the two places, in spreads of the first."""


def together(first: Scene, other: MapRecord) -> Pair:
    """The pair of a scene and another map. Raises ``DataError`` when they share fewer than three sentences."""
    return _together(mapping.digest(first.ids), other.digest, first, other)


@st.cache_resource(show_spinner="Laying the maps over each other …", max_entries=4)
def _together(ids: str, digest: str, _first: Scene, _other: MapRecord) -> Pair:
    return laid_over(_first, map_scene.opened(_other))


def laid_over(first: Scene, other: Scene) -> Pair:
    """The sentences of ``first`` that ``other`` has too, in the order of ``first``, with ``other`` laid over it."""
    shared = first.only(np.isin(first.ids, other.ids))
    placed = other.points[other.rows_of(shared.ids)]
    found = plane.align(placed, shared.points)
    aligned = found.apply(placed, even=True)
    return Pair(shared, aligned, found.error, plane.moved(aligned, shared.points))


def second(pair: Pair, scene: Scene, canvas: Canvas, other: MapRecord) -> Canvas:
    """The second map of the sentences in view, on the grid of the first."""
    rows = pair.first.rows_of(scene.ids)
    return replace(canvas, units=scene.grid.units(pair.second[rows]), name=other.digest[:12], side=1)
