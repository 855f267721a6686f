"""Geometry of maps: points inside polygons, and nested regions.

The points of a map are divided into small regions (k-means in the plane), and these are merged step by step (Ward's
criterion), so that every region of a coarse level is a union of regions of the finer one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.types import Labels

Polygon = npt.NDArray[np.float64]  # (m, 2) corners in order; the last is connected to the first


def inside(points: npt.NDArray[np.floating | np.integer], polygon: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return an (n,) mask of the (n, 2) points inside the (m, 2) polygon, by the even-odd rule.

    A point on an edge is inside if the area is above or to the right of it, so that it is in exactly one of two
    polygons that share the edge. There is no division, so that the result is exact for whole numbers up to 2**26. Fewer
    than three corners contain no points. Raises :class:`DataError` for corners that are not finite.
    """
    corners = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(corners).all():
        raise DataError("A corner of the shape is not a finite number. Draw the shape again.")
    found = np.zeros(len(points), dtype=bool)
    if len(corners) < 3:
        return found
    x, y = np.asarray(points, dtype=np.float64).reshape(-1, 2).T
    low, high = corners.min(axis=0), corners.max(axis=0)
    near = np.flatnonzero((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
    x, y, odd = x[near], y[near], np.zeros(len(near), dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y1 != y2:  # a horizontal ray does not cross a horizontal edge
            rows = np.flatnonzero((y1 > y) != (y2 > y))
            side = (y[rows] - y1) * (x2 - x1) - (x[rows] - x1) * (y2 - y1)
            odd[rows] ^= side > 0 if y2 > y1 else side < 0
    found[near] = odd
    return found


def box(corners: Sequence[float]) -> Polygon:
    """Return the four corners of the box between (x0, y0) and (x1, y1)."""
    x0, y0, x1, y1 = corners
    return np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], dtype=np.float64)


Places = npt.NDArray[np.floating]  # (n, 2) coordinates in the plane

_ROUNDS = 12


def regions(points: Places, k: int, seed: int = 0) -> Labels:
    """Return the region 0 … k - 1 of each of (n, 2) points; regions without points do not occur.

    The same points and seed give the same regions. Fewer regions than ``k`` are found where points are equal.
    """
    at = np.asarray(points, dtype=np.float64)
    distinct = np.unique(at[:, 0] + 1j * at[:, 1])
    chosen = np.random.default_rng(seed).permutation(len(distinct))[: max(k, 1)]
    centres = np.column_stack([distinct[chosen].real, distinct[chosen].imag])
    labels = _nearest(at, centres)
    for _ in range(_ROUNDS):
        sizes = np.bincount(labels, minlength=len(centres))
        sums = np.column_stack([np.bincount(labels, at[:, axis], len(centres)) for axis in (0, 1)])
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        labels = _nearest(at, centres)
    return numbered(labels)


def _nearest(points: Places, centres: Places) -> npt.NDArray[np.intp]:
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(centres).query(points)[1] if len(points) else np.empty(0), dtype=np.intp)


def numbered(labels: npt.NDArray[np.integer]) -> Labels:
    """Return (n,) labels renumbered 0, 1, … in the order of their first point."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return np.asarray(rank[codes.ravel()])


def merged(centres: Places, weights: npt.NDArray[np.floating], counts: Sequence[int]) -> list[Labels]:
    """Merge (m, 2) parts of a plane into fewer and fewer groups, for each of ``counts``, at most one per part.

    Parameters
    ----------
    weights
        (m,) number of points of each part; at each step those two groups are merged whose merger increases the sum of
        squared distances to the group centres least (Ward's criterion).
    counts
        Numbers of groups, largest first.

    Returns
    -------
    list of (m,) labels
        One array per count. Every group of an array is a union of groups of the array before it.
    """
    groups = np.arange(len(centres))
    at, mass = np.asarray(centres, dtype=np.float64).copy(), np.asarray(weights, dtype=np.float64).copy()
    alive, found = np.ones(len(at), dtype=bool), []
    for count in counts:
        while alive.sum() > max(count, 1):
            # The two groups whose merger costs least, the first ones among equals.
            rows = np.flatnonzero(alive)
            distances = ((at[rows, None] - at[None, rows]) ** 2).sum(axis=2)
            costs = distances * (mass[rows, None] * mass[None, rows]) / (mass[rows, None] + mass[None, rows])
            costs[np.tril_indices(len(rows))] = np.inf
            one, other = rows[list(np.unravel_index(int(costs.argmin()), costs.shape))]
            total = mass[one] + mass[other]
            at[one] = (at[one] * mass[one] + at[other] * mass[other]) / total
            mass[one], alive[other] = total, False
            groups[groups == other] = one
        found.append(numbered(groups))
    return found
