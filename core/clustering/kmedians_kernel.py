"""Compiled loop of k-medians in L1. In a file of its own for numba's cache (see ``kernels``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def medians(rows: Any, order: Any, labels: Any, k: int) -> Any:
    """(k, d) coordinate medians of every cluster, none of them empty.

    ``order[j]`` lists the items by their value in column j, sorted once: walking it, the middle of each cluster is
    met when half of its items have gone by. With an even number the median is the mean of the two in the middle.
    """
    n, d = rows.shape
    sizes = np.zeros(k, np.int64)
    for c in labels:
        sizes[c] += 1
    found = np.zeros((k, d))
    for j in range(d):
        met = np.zeros(k, np.int64)
        for place in range(n):
            item = order[j, place]
            c = labels[item]
            middle = sizes[c] // 2
            if met[c] == middle or (sizes[c] % 2 == 0 and met[c] == middle - 1):
                found[c, j] += rows[item, j] if sizes[c] % 2 else rows[item, j] / 2
            met[c] += 1
    return found


@njit(cache=True)
def assign(rows: Any, centres: Any, labels: Any, distances: Any) -> bool:
    """Send every row to its nearest centre by L1, in place; True if one changed. Ties keep the label."""
    changed = False
    for i in range(len(rows)):
        target, nearest = labels[i], np.inf
        if target >= 0:
            nearest = np.abs(rows[i] - centres[target]).sum()
        for c in range(len(centres)):
            distance = 0.0
            for j in range(rows.shape[1]):
                distance += abs(rows[i, j] - centres[c, j])
                if distance >= nearest:
                    break
            if distance < nearest:
                nearest, target = distance, c
        changed = changed or target != labels[i]
        labels[i], distances[i] = target, nearest
    return changed


@njit(cache=True)
def fill_empty(labels: Any, distances: Any, k: int) -> None:
    """Give every empty cluster the row farthest from its centre, out of a cluster that can spare one."""
    sizes = np.zeros(k, np.int64)
    for c in labels:
        sizes[c] += 1
    for c in range(k):
        if sizes[c]:
            continue
        farthest, chosen = -np.inf, -1
        for i in range(len(labels)):
            if sizes[labels[i]] > 1 and distances[i] > farthest:
                farthest, chosen = distances[i], i
        sizes[labels[chosen]] -= 1
        sizes[c] = 1
        labels[chosen], distances[chosen] = c, 0.0


@njit(cache=True)
def kmedians(rows: Any, order: Any, centres: Any, iterations: int) -> Any:
    """One start from (k, d) centres: (labels, sum of L1 distances)."""
    labels = np.full(len(rows), -1, np.int64)
    distances = np.empty(len(rows))
    for _ in range(iterations):
        changed = assign(rows, centres, labels, distances)
        fill_empty(labels, distances, len(centres))
        centres = medians(rows, order, labels, len(centres))
        if not changed:
            break
    total = 0.0
    for i in range(len(rows)):
        total += np.abs(rows[i] - centres[labels[i]]).sum()
    return labels, total
