"""Correlation clustering: the partition with the largest total log-odds of pairs that share a cluster.

Bansal, Blum, Chawla 2004, Correlation clustering, Machine Learning 56. A pair that shares a cluster with probability P
has the weight ln P/(1 - P), so that the number of clusters follows from the weights. Clusters are merged by average
linkage while the mean weight between two is positive, then improved by moves of single items and further merges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.clustering.inputs import MOST_ITEMS, Square, canonical_labels, check_items, checked
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, centred_cosines, effective_themes
from themescope.core.config import Config, option
from themescope.core.types import Labels, Matrix

_DECIMALS = 9
_ROUNDS = 20


@dataclass(frozen=True)
class CorrelationConfig(Config):
    """Settings of correlation clustering."""

    offset: float = option(
        1.4, "Added to the log-odds of every pair, because pairs are not independent: without it there are many small "
        "clusters. Higher values give fewer clusters.",
        low=-10.0, high=10.0,
    )  # fmt: skip
    sweeps: int = option(50, "Maximum number of passes over the sentences between merges.", low=1, high=10_000)


class CorrelationClustering:
    """Correlation clustering on calibrated probabilities that two rows share a cluster."""

    def __init__(self, config: CorrelationConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…; without ``k`` the number of clusters follows from the data. ``seed`` is ignored."""
        matrix, _ = checked(x, 1 if k is None else k)
        odds = DEFAULT_CALIBRATION.log_odds(centred_cosines(matrix), effective_themes(matrix))
        weights = odds + self.config.offset
        return best_partition(weights, k, self.config.sweeps)


def best_partition(weights: Square, k: int | None, sweeps: int = 50) -> Labels:
    """Return (n,) labels for symmetric (n, n) ``weights``, whose diagonal is ignored, in ``k`` clusters or any number.

    Raises :class:`themescope.core.errors.DataError` if there are too many items, or fewer than ``k``.
    """
    from scipy.cluster.hierarchy import cut_tree, fcluster, linkage
    from scipy.spatial.distance import squareform

    from themescope.core.clustering import correlation_kernels as kernels

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
        kernels.moves(w, labels, k, True, sweeps)
        return canonical_labels(labels)
    labels = _numbered(fcluster(tree, max(highest, 0.0), "distance"))
    for _ in range(_ROUNDS):
        count = int(labels.max()) + 1
        moved = kernels.moves(w, labels, min(2 * count + 8, n), False, sweeps)
        labels = _numbered(labels)
        member = np.eye(int(labels.max()) + 1)[labels]
        merged = kernels.merges(member.T @ w @ member)
        changed = bool((merged != np.arange(len(merged))).any())
        labels = _numbered(merged[labels])
        if not moved and not changed:
            break
    return canonical_labels(labels)


def _numbered(labels: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)
