"""Points and shapes on the integer grid of a map. Plain functions without Streamlit, so that tests cover them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.projection.geometry import Polygon, inside
from core.types import Ids, Points

Units = npt.NDArray[np.uint16]  # (n, 2) coordinates on the grid of a map
Rows = npt.NDArray[np.intp]  # (m,) rows of a scene

UNITS = 65_535
"""Largest coordinate of the grid."""
_MARGIN = 0.1
"""Share of the grid left free on every side, so that an aligned second map fits on it."""
_MOST_CORNERS = 1_000


@dataclass(frozen=True, slots=True)
class Grid:
    """A square grid of 65,536 lines each way around the points of a map, the same for every filter of it."""

    x: float
    y: float
    """Lower left corner."""
    step: float
    """Distance between two grid lines, in units of the map."""

    @classmethod
    def around(cls, points: Points) -> Grid:
        """Return the grid of (n, 2) points, n at least 1."""
        low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
        span = float((high - low).max()) or 1.0
        width = span / (1 - 2 * _MARGIN)
        corner = (low + high) / 2 - width / 2
        return cls(float(corner[0]), float(corner[1]), width / UNITS)

    def units(self, points: Points) -> Units:
        """Return the (n, 2) nearest grid coordinates; points outside the grid are moved to its border."""
        at = (np.asarray(points, np.float64) - (self.x, self.y)) / self.step
        return np.clip(np.rint(at), 0, UNITS).astype(np.uint16)


def rows_of(among: Ids, wanted: Ids) -> Rows:
    """Return the rows of ``among`` (unique ids) that hold ``wanted``, in that order, without missing ids."""
    order = np.argsort(among, kind="stable")
    if not len(order) or not len(wanted):
        return np.empty(0, dtype=np.intp)
    at = order[np.minimum(np.searchsorted(among, wanted, sorter=order), len(order) - 1)]
    return at[among[at] == wanted]


def inside_rows(units: Units, categories: npt.NDArray[np.int64], shape: Polygon, hidden: Sequence[int]) -> Rows:
    """Return the rows of the points inside ``shape`` (grid coordinates) whose category is not hidden."""
    return np.flatnonzero(inside(units, shape) & ~np.isin(categories, np.asarray(hidden, dtype=np.int64)))


def shape_of(value: Any) -> Polygon:
    """Return the (m, 2) corners in a value from the browser; none if the value is not a shape."""
    try:
        corners = np.asarray(value, dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        corners = np.empty((0, 2))
    fits = 3 <= len(corners) <= _MOST_CORNERS and np.isfinite(corners).all() and (np.abs(corners) <= 64 * UNITS).all()
    return np.rint(corners) if fits else np.empty((0, 2))


def written_shape(shape: Polygon) -> str:
    """Return a shape as URL text: integers joined by ``_``, x and y in turn."""
    return "_".join(str(int(value)) for value in shape.ravel())


def read_shape(text: str) -> Polygon:
    """Parse what :func:`written_shape` returns; no corners if the text is invalid."""
    try:
        return shape_of([int(value) for value in text.split("_")]) if text else shape_of(())
    except ValueError:
        return shape_of(())


def digest(values: npt.NDArray[Any]) -> str:
    """Return a hash of the content of an array; takes milliseconds for a million points."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=12).hexdigest()
