"""k-medians with L1 distance: the footnote of Ein Dor et al. 2018, section 4.3.

The compiled functions are in the same file as their callers, because numba's cache notices changes only in the file of
the compiled function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy import sparse
from scipy.spatial.distance import cdist

from themescope.core.clustering.inputs import canonical_labels, checked
from themescope.core.clustering.kmeans import KMeansConfig
from themescope.core.types import Labels, Matrix

Dense = npt.NDArray[np.float64]


class KMedians:
    """k-medians: assignment by L1, medians of coordinates as centres, the best of several k-means++ starts in L1."""

    def __init__(self, config: KMeansConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty."""
        matrix, k = checked(x, k)
        if isinstance(matrix, sparse.csr_array):  # without the columns that are zero everywhere
            matrix = matrix[:, np.unique(matrix.indices)].toarray()
        rows: Dense = np.ascontiguousarray(matrix, dtype=np.float64)
        order = np.ascontiguousarray(rows.argsort(axis=0, kind="stable").T)
        rng = np.random.default_rng(seed)
        best, best_labels = np.inf, np.zeros(len(rows), np.int64)
        for _ in range(self.config.restarts):
            centres = rows[_plus_plus(rows, k, self.config.candidates(k), rng)]
            labels, total = kmedians(rows, order, centres, self.config.iterations)
            if total < best:
                best, best_labels = total, labels
        return canonical_labels(best_labels)


def _plus_plus(rows: Dense, k: int, candidates: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return (k,) rows, each drawn with probability proportional to its L1 distance from the rows drawn before."""
    chosen = [int(rng.integers(len(rows)))]
    nearest = cdist(rows[chosen], rows, "cityblock")[0]
    while len(chosen) < k:
        total = nearest.sum()
        weights = nearest / total if total > 0 else None
        drawn = rng.choice(len(rows), size=candidates, p=weights)
        left = np.minimum(nearest, cdist(rows[drawn], rows, "cityblock"))
        keep = int(left.sum(axis=1).argmin())
        chosen.append(int(drawn[keep]))
        nearest = left[keep]
    return np.array(chosen, dtype=np.int64)


@njit(cache=True)
def medians(rows: Any, order: Any, labels: Any, k: int) -> Any:
    """Return the (k, d) coordinate medians of non-empty clusters.

    ``order[j]`` lists the items by their value in column j. The median of a cluster is reached in this order after half
    of its items; for an even number it is the mean of the two in the middle.
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
    """Assign every row to its nearest centre by L1, in place; return True if a label changed. Ties keep the label."""
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
    """Move to every empty cluster the row farthest from its centre among clusters with several rows."""
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
    """Run one start from (k, d) centres; return labels and the sum of L1 distances."""
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
