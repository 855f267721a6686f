"""Geometry of maps: points inside polygons, and Procrustes alignment of two maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.types import Points

Polygon = npt.NDArray[np.float64]  # (m, 2) corners in order; the last is joined to the first
_FEWEST_SHARED = 3


def inside(points: npt.NDArray[np.floating | np.integer], polygon: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """(n,) whether each of the (n, 2) points lies in the (m, 2) polygon, by the even-odd rule.

    A point on an edge counts as in where the area lies above or to the right of it, so that of two shapes that share
    an edge exactly one holds it. Nothing is divided: for whole numbers up to 2**26 the answer is exact. Fewer than
    three corners hold nothing. Raises :class:`DataError` on corners that are not finite.
    """
    corners = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(corners).all():
        raise DataError("A corner of the shape is not a finite number. Draw it again.")
    found = np.zeros(len(points), dtype=bool)
    if len(corners) < 3:
        return found
    x, y = np.asarray(points, dtype=np.float64).reshape(-1, 2).T
    low, high = corners.min(axis=0), corners.max(axis=0)
    near = np.flatnonzero((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
    x, y, odd = x[near], y[near], np.zeros(len(near), dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y1 != y2:  # a level edge is crossed by no level ray
            rows = np.flatnonzero((y1 > y) != (y2 > y))
            side = (y[rows] - y1) * (x2 - x1) - (x[rows] - x1) * (y2 - y1)
            odd[rows] ^= side > 0 if y2 > y1 else side < 0
    found[near] = odd
    return found


@dataclass(frozen=True, slots=True)
class Alignment:
    """Alignment of a map with another: ``scale * (points - source) @ rotation + target``."""

    rotation: npt.NDArray[np.float64]
    """(2, 2) orthogonal; a reflection where that fits better, because a map has no handedness."""
    scale: float
    """Of least squares: the less the maps have in common, the smaller it makes the one that is laid over."""
    even: float
    """The scale that gives both maps the same spread."""
    source: npt.NDArray[np.float64]
    """(2,) middle of the map that is moved."""
    target: npt.NDArray[np.float64]
    """(2,) middle of the map that it is laid over."""
    error: float
    """Share of the spread of the target that least squares leaves unexplained, 0…1 (the Procrustes disparity)."""

    def apply(self, points: Points, even: bool = False) -> Points:
        """(n, 2) moved points; ``even`` keeps their spread that of the target, for looking at both side by side."""
        moved = (np.asarray(points, np.float64) - self.source) @ self.rotation
        return np.asarray((self.even if even else self.scale) * moved + self.target, np.float32)


def align(source: Points, target: Points) -> Alignment:
    """Least squares over rotation, reflection, scale and shift of (n, 2) ``source`` onto ``target``, row by row.

    Ordinary Procrustes analysis (Gower 1975; Schönemann and Carroll 1970). Points that all lie on one spot cannot be
    scaled: they are only shifted, with an error of 1. Raises :class:`DataError` when the numbers of points differ or
    are fewer than three.
    """
    a, b = np.asarray(source, np.float64), np.asarray(target, np.float64)
    if a.shape != b.shape or a.ndim != 2 or a.shape[1] != 2:
        raise DataError(f"Maps are aligned point by point; {a.shape} and {b.shape} do not fit.")
    if len(a) < _FEWEST_SHARED:
        raise DataError(f"The two maps share {len(a)} sentences; at least {_FEWEST_SHARED} are needed to align them.")
    middle_a, middle_b = a.mean(axis=0), b.mean(axis=0)
    a, b = a - middle_a, b - middle_b
    spread_a, spread_b = float((a**2).sum()), float((b**2).sum())
    if spread_a == 0.0 or spread_b == 0.0:
        return Alignment(np.eye(2), 1.0, 1.0, middle_a, middle_b, 1.0)
    left, values, right = np.linalg.svd(a.T @ b)
    common = float(values.sum())
    error = min(max(1.0 - common**2 / (spread_a * spread_b), 0.0), 1.0)
    return Alignment(left @ right, common / spread_a, float(np.sqrt(spread_b / spread_a)), middle_a, middle_b, error)


def moved(first: Points, second: Points) -> npt.NDArray[np.float64]:
    """Return the (n,) distances between corresponding points of aligned maps, in units of the other's spread.

    A spread is the root mean square distance to the middle; 0 where nothing is spread.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    spread = float(np.sqrt(((b - b.mean(axis=0)) ** 2).sum(axis=1).mean())) if len(b) else 0.0
    return np.linalg.norm(a - b, axis=1) / spread if spread else np.zeros(len(a))


def box(corners: Sequence[float]) -> Polygon:
    """The four corners of the box between (x0, y0) and (x1, y1)."""
    x0, y0, x1, y1 = corners
    return np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], dtype=np.float64)
