"""Correlation clustering: the partition with the largest total log-odds of pairs that share a cluster.

Bansal, Blum, Chawla 2004, Correlation clustering, Machine Learning 56. A pair that shares a cluster with probability P
has the weight ln P/(1 - P), so that the number of clusters follows from the weights. Clusters are merged by average
linkage while the mean weight between two is positive, then improved by moves of single items and further merges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from themescope.core.clustering.inputs import (
    DEFAULT_CALIBRATION,
    MOST_ITEMS,
    Square,
    canonical_labels,
    centred_cosines,
    check_items,
    checked,
    effective_themes,
)
from themescope.core.config import Config, option
from themescope.core.types import Labels, Matrix

_DECIMALS = 9
_ROUNDS = 20


@dataclass(frozen=True)
class CorrelationConfig(Config):
    """Settings of correlation clustering."""

    offset: float = option(
        1.4,
        "Added to the log-odds of every pair, because pairs are not independent: without it there are many small "
        "clusters. Higher values give fewer clusters.",
        low=-10.0,
        high=10.0,
    )
    sweeps: int = option(50, "Maximum number of passes over the sentences between merges.", low=1, high=10_000)


class CorrelationClustering:
    """Correlation clustering on calibrated probabilities that two rows share a cluster."""

    def __init__(self, config: CorrelationConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…; without ``k`` the number of clusters follows from the data. ``seed`` is ignored."""
        matrix, _ = checked(x, 1 if k is None else k)
        weights = DEFAULT_CALIBRATION.log_odds(centred_cosines(matrix), effective_themes(matrix)) + self.config.offset
        return best_partition(weights, k, self.config.sweeps)


def best_partition(weights: Square, k: int | None, sweeps: int = 50) -> Labels:
    """Return (n,) labels for symmetric (n, n) ``weights``, whose diagonal is ignored, in ``k`` clusters or any number.

    Raises :class:`themescope.core.errors.DataError` if there are too many items, or fewer than ``k``.
    """
    from scipy.cluster.hierarchy import cut_tree, fcluster, linkage
    from scipy.spatial.distance import squareform

    n = len(weights)
    check_items(n, 1 if k is None else k, MOST_ITEMS)
    w = np.array(weights, np.float64)
    np.fill_diagonal(w, 0.0)
    if n == 1:
        return np.zeros(1, np.int32)
    # Rounding makes ties exact; otherwise their last bits, which depend on the processor, would decide merges.
    highest = float(w.max())
    tree = linkage(squareform((highest - w).round(_DECIMALS) * (1 - np.eye(n)), checks=False), "average")
    if k is not None:
        labels = cut_tree(tree, n_clusters=k)[:, 0].astype(np.int64)
        moves(w, labels, k, True, sweeps)
        return canonical_labels(labels)
    labels = _numbered(fcluster(tree, max(highest, 0.0), "distance"))
    for _ in range(_ROUNDS):
        moved = moves(w, labels, min(2 * (int(labels.max()) + 1) + 8, n), False, sweeps)
        labels = _numbered(labels)
        member = np.eye(int(labels.max()) + 1)[labels]
        merged = merges(member.T @ w @ member)
        changed = bool((merged != np.arange(len(merged))).any())
        labels = _numbered(merged[labels])
        if not moved and not changed:
            break
    return canonical_labels(labels)


def _numbered(labels: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


# Compiled loops of correlation clustering

_TINY = 1e-9


@njit(cache=True)
def moves(w: Any, labels: Any, slots: int, fixed: bool, sweeps: int) -> int:
    """Move single items to the cluster of largest total weight, changing ``labels``; return the number of moves.

    Unless ``fixed``, an item whose total weights are all negative gets an empty one of the ``slots`` clusters, and a
    cluster may become empty. Sweeps end when one moves no item; the sum of weights within clusters never falls.
    """
    n = len(labels)
    sums, sizes, total = np.zeros((n, slots)), np.zeros(slots, np.int64), 0
    for i in range(n):
        sizes[labels[i]] += 1
        for j in range(n):
            sums[i, labels[j]] += w[i, j]
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
