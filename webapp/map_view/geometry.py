"""Points and shapes on the integer grid of a map. Plain functions without Streamlit, so that tests cover them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.projection import Polygon, inside
from themescope.core.types import Ids, Points

Units = npt.NDArray[np.uint16]  # (n, 2) coordinates on the grid of a map
Rows = npt.NDArray[np.intp]  # (m,) rows of a scene

UNITS = 65_535
"""Largest coordinate of the grid."""
_MARGIN = 0.1
"""Share of the grid left free on every side."""
_MOST_CORNERS = 1_000
MANY_POINTS = 50_000
"""Number of points above which shapes are compared with cells of the grid first."""
_CELLS, _CELL = 256, 256
_OUTLIERS = 0.002
"""Share of the points at each border that the initial view leaves out."""
_FRAME_POINTS = 100_000
_SIZES, _SMALLEST = ((500, 8.0), (2_000, 6.0), (50_000, 4.0)), 2.5


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
    if not len(among) or not len(wanted):
        return np.empty(0, dtype=np.intp)
    if (among[1:] > among[:-1]).all():  # as in every stored map; sorting millions of ids takes a second
        at = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
    else:
        order = np.argsort(among, kind="stable")
        at = order[np.minimum(np.searchsorted(among, wanted, sorter=order), len(order) - 1)]
    return at[among[at] == wanted]


def inside_rows(units: Units, categories: npt.NDArray[np.int64], shape: Polygon, hidden: Sequence[int]) -> Rows:
    """Return the rows of the points inside ``shape`` (grid coordinates) whose category is not hidden."""
    found = inside_rows_of_many(units, shape) if len(units) > MANY_POINTS else np.flatnonzero(inside(units, shape))
    return found[~np.isin(categories[found], np.asarray(hidden, dtype=np.int64))] if len(hidden) else found


def inside_rows_of_many(units: Units, shape: Polygon) -> Rows:
    """Return the rows of the points inside ``shape``, as ``core.projection.geometry.inside`` finds them.

    The grid is cut into 256 × 256 cells. A cell that no edge of the shape comes near is inside or outside as a whole,
    so that only the points of the other cells are compared with the edges.
    """
    if len(shape) < 3:
        return np.empty(0, dtype=np.intp)
    near = _cells_near_edges(shape)
    corners = np.stack(np.meshgrid(np.arange(_CELLS), np.arange(_CELLS)), axis=-1).reshape(-1, 2) * _CELL
    state = np.where(near, 2, inside(corners, shape)).astype(np.uint8)
    cells = (units[:, 1] & np.uint16(0xFF00)) | (units[:, 0] >> np.uint16(8))
    of_point = state[cells]
    unsure = np.flatnonzero(of_point == 2)
    of_point[unsure] = inside(units[unsure], shape)
    return np.flatnonzero(of_point)


def _cells_near_edges(shape: Polygon) -> npt.NDArray[np.bool_]:
    """Return (65536,) true for cells that an edge crosses or comes close to: at least the cells around its points."""
    near = np.zeros((_CELLS, _CELLS), dtype=bool)
    low = np.arange(_CELLS) * float(_CELL)
    for (x1, y1), (x2, y2) in zip(shape, np.roll(shape, -1, axis=0), strict=True):
        bottom, top = min(y1, y2), max(y1, y2)
        bands = np.flatnonzero((low - 1 <= top) & (low + _CELL >= bottom))
        if y1 == y2:
            left, right = np.full(len(bands), min(x1, x2)), np.full(len(bands), max(x1, x2))
        else:
            ends = np.clip(np.stack([low[bands] - 1, low[bands] + _CELL]), bottom, top)
            at = x1 + (ends - y1) * (x2 - x1) / (y2 - y1)
            left, right = at.min(axis=0), at.max(axis=0)
        first = np.clip((left - 1) // _CELL, -1, _CELLS).astype(int)
        last = np.clip((right + 1) // _CELL, -1, _CELLS - 1).astype(int)
        for band, start, end in zip(bands.tolist(), first.tolist(), last.tolist(), strict=True):
            near[band, max(start, 0) : end + 1] = True
    return near.ravel()


def shape_of(value: Any) -> Polygon:
    """Return the (m, 2) corners in a value from the browser; none if the value is not a shape."""
    try:
        corners = np.asarray(value, dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        corners = np.empty((0, 2))
    fits = 3 <= len(corners) <= _MOST_CORNERS and np.isfinite(corners).all() and (np.abs(corners) <= 64 * UNITS).all()
    return np.rint(corners) if fits else np.empty((0, 2))


def frame_of(units: Units) -> list[int]:
    """Return [left, bottom, right, top] around all points but outliers, which are found in a part of many points."""
    if not len(units):
        return [0, 0, UNITS, UNITS]
    some = units[:: len(units) // _FRAME_POINTS + 1]
    low, high = np.quantile(some, (_OUTLIERS, 1 - _OUTLIERS), axis=0)
    return [int(value) for value in (*low, *high)]


def point_size(n: int) -> float:
    """Return a readable diameter for the points of a map of ``n``, in pixels."""
    return next((size for most, size in _SIZES if n <= most), _SMALLEST)


def digest(values: npt.NDArray[Any]) -> str:
    """Return a hash of the content of an array; takes milliseconds for a million points."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=12).hexdigest()
