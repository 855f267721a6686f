"""Division of a batch among processes, so that each has about the same work (:mod:`themescope.core.models.processes`).

This module imports no torch, because the settings of the methods are read without it.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Index: TypeAlias = npt.NDArray[np.int64]
Costs: TypeAlias = npt.NDArray[np.float64]


def balanced(costs: Costs, count: int) -> list[Index]:
    """Return the items of ``count`` parts, in rising order, such that the sums of their (n,) ``costs`` are about equal.

    The largest item goes first, to the part that is smallest so far (Graham 1969).
    """
    sums, chosen = np.zeros(count), np.zeros(len(costs), np.int64)
    for item in np.argsort(-costs, kind="stable").tolist():
        chosen[item] = int(np.argmin(sums))
        sums[chosen[item]] += costs[item]
    return [np.flatnonzero(chosen == part) for part in range(count)]


def triplet_parts(triplets: Index, lengths: Index, count: int, *, connected: bool) -> list[Index]:
    """Return the positions of (n, 3) ``triplets`` in each of ``count`` parts with about as many tokens each.

    ``lengths`` are the tokens of each sentence. Neighbouring triplets, which share sentences, stay together: they are
    cut where the number of tokens requires it, or, with ``connected``, only between triplets that share no sentence,
    directly or through other triplets. A part may be empty.
    """
    rows, first = np.unique(triplets, return_index=True)
    # A sentence is encoded once; it counts for the first triplet that has it.
    costs = np.bincount(first // 3, weights=lengths[rows] + 1.0, minlength=len(triplets))
    if connected:
        groups = _components(triplets)
        found = balanced(np.bincount(groups, weights=costs).astype(np.float64), count)
        return [np.flatnonzero(np.isin(groups, part)) for part in found]
    ends = np.searchsorted(np.cumsum(costs), costs.sum() * np.arange(1, count) / count, side="right")
    return np.split(np.arange(len(triplets)), ends)


def _components(triplets: Index) -> Index:
    """Return the (n,) number of the connected component of each triplet."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, inverse = np.unique(triplets, return_inverse=True)
    pivots, positives, negatives = inverse.reshape(-1, 3).T
    ends = np.concatenate([positives, negatives])
    edges = coo_array((np.ones(len(ends), np.int8), (np.tile(pivots, 2), ends)), shape=(len(rows), len(rows)))
    labels = connected_components(edges, directed=False)[1]
    return np.asarray(labels[pivots], np.int64)
