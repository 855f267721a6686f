"""Nested regions of a map: dense parts of the plane, and parts of them that belong together.

The points of a map are divided into small regions (k-means in the plane), and these are merged step by step (Ward's
criterion), so that every region of a coarse level is a union of regions of the finer one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from themescope.core.types import Labels

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
            one, other = _cheapest(at, mass, alive)
            total = mass[one] + mass[other]
            at[one] = (at[one] * mass[one] + at[other] * mass[other]) / total
            mass[one], alive[other] = total, False
            groups[groups == other] = one
        found.append(numbered(groups))
    return found


def _cheapest(at: Places, mass: npt.NDArray[np.floating], alive: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return the two groups whose merger costs least, the first ones among equals."""
    rows = np.flatnonzero(alive)
    distances = ((at[rows, None] - at[None, rows]) ** 2).sum(axis=2)
    costs = distances * (mass[rows, None] * mass[None, rows]) / (mass[rows, None] + mass[None, rows])
    costs[np.tril_indices(len(rows))] = np.inf
    one, other = np.unravel_index(int(costs.argmin()), costs.shape)
    return int(rows[one]), int(rows[other])
