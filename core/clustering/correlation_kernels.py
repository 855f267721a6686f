"""Compiled loops of correlation clustering.

Shapes: ``w`` (n, n) float64 symmetric weights with a zero diagonal; ``labels`` (n,) int64; ``sums`` (n, slots),
``sums[i, c]`` = Σ_{j∈c} w[i, j], in rows so that all clusters of an item are adjacent; ``sizes`` (slots,).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_TINY = 1e-9


@njit(cache=True)
def cluster_weights(w: Any, labels: Any, slots: int) -> Any:
    """Return ``sums`` and ``sizes`` of a partition."""
    n = len(labels)
    sums, sizes = np.zeros((n, slots)), np.zeros(slots, np.int64)
    for i in range(n):
        sizes[labels[i]] += 1
        for j in range(n):
            sums[i, labels[j]] += w[i, j]
    return sums, sizes


@njit(cache=True)
def moves(w: Any, labels: Any, slots: int, fixed: bool, sweeps: int) -> int:
    """Move single items to the cluster of largest total weight, changing ``labels``; return the number of moves.

    Unless ``fixed``, an item whose total weights are all negative gets an empty one of the ``slots`` clusters, and a
    cluster may become empty. Sweeps end when one moves no item; the sum of weights within clusters never falls.
    """
    n = len(labels)
    sums, sizes = cluster_weights(w, labels, slots)
    total = 0
    for _ in range(sweeps):
        moved = 0
        for i in range(n):
            source = labels[i]
            if fixed and sizes[source] == 1:
                continue
            target, best = source, sums[i, source]
            margin = _TINY * (1.0 + abs(best))
            for c in range(slots):
                empty_allowed = not fixed and sizes[source] > 1
                if c != source and (sizes[c] > 0 or empty_allowed) and sums[i, c] > best + margin:
                    target, best = c, sums[i, c]
                    margin = _TINY * (1.0 + abs(best))
            if target != source:
                for j in range(n):
                    sums[j, source] -= w[j, i]
                    sums[j, target] += w[j, i]
                sizes[source] -= 1
                sizes[target] += 1
                if sizes[source] == 0:
                    sums[:, source] = 0.0
                labels[i] = target
                moved += 1
        total += moved
        if moved == 0:
            break
    return total


@njit(cache=True)
def merges(between: Any) -> Any:
    """Return the (k,) new label of each cluster after merging the pair of largest positive weight while there is one.

    ``between`` (k, k) contains the total weights between clusters, and is overwritten.
    """
    k = len(between)
    label = np.arange(k)
    alive = np.ones(k, np.bool_)
    while True:
        best, first, second = _TINY, -1, -1
        for a in range(k):
            if alive[a]:
                for b in range(a + 1, k):
                    if alive[b] and between[a, b] > best + _TINY * (1.0 + abs(best)):
                        best, first, second = between[a, b], a, b
        if first < 0:
            return label
        for c in range(k):
            between[first, c] += between[second, c]
            between[c, first] = between[first, c]
        alive[second] = False
        for c in range(k):
            if label[c] == second:
                label[c] = first
