"""Two maps of the same sentences: the second aligned with the first, and how far each sentence moved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.projection import geometry as alignment
from core.types import Points
from db.records import MapRecord
from webapp.map_view import geometry
from webapp.map_view import scene as map_scene
from webapp.map_view.component import Canvas
from webapp.map_view.scene import Scene


@dataclass(frozen=True, slots=True)
class Pair:
    """The sentences on both maps; row i of every array is one of them."""

    first: Scene
    second: Points
    """(n, 2) coordinates on the second map, aligned with the first."""
    error: float
    """Residual of the alignment: share of the variance of the first map, 0…1."""
    moved: npt.NDArray[np.float64]
    """(n,) distance between both positions, in standard deviations of the first map."""


def together(first: Scene, other: MapRecord) -> Pair:
    """Return a scene and another map as a pair; raises ``DataError`` if they share less than three sentences."""
    return _together(geometry.digest(first.ids), other.digest, first, other)


@st.cache_resource(show_spinner="Aligning the maps …", max_entries=4)
def _together(ids: str, digest: str, _first: Scene, _other: MapRecord) -> Pair:
    return align(_first, map_scene.opened(_other))


def align(first: Scene, other: Scene) -> Pair:
    """Return the sentences on both, in the order of ``first``, with ``other`` aligned with ``first``."""
    shared = first.only(np.isin(first.ids, other.ids))
    points = other.points[other.rows_of(shared.ids)]
    found = alignment.align(points, shared.points)
    fitted = found.apply(points, even=True)
    return Pair(shared, fitted, found.error, alignment.moved(fitted, shared.points))


def second(pair: Pair, scene: Scene, canvas: Canvas, other: MapRecord) -> Canvas:
    """Return the canvas of the second map of the sentences in view, on the grid of the first."""
    rows = pair.first.rows_of(scene.ids)
    return replace(canvas, units=scene.grid.units(pair.second[rows]), name=other.digest[:12], side=1)
