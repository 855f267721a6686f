"""k-medians with L1 distance: the footnote of Ein Dor et al. 2018, section 4.3."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.spatial.distance import cdist

from core.clustering.inputs import canonical_labels, checked
from core.clustering.kmeans import KMeansConfig
from core.types import Labels, Matrix

Dense = npt.NDArray[np.float64]


class KMedians:
    """Assign by L1, centre = median of every coordinate; best of several k-means++ starts in L1."""

    def __init__(self, config: KMeansConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """(n,) labels 0…k-1, every cluster non-empty."""
        from core.clustering.kmedians_kernel import kmedians

        matrix, k = checked(x, k)
        rows = _dense(matrix)
        order = np.ascontiguousarray(rows.argsort(axis=0, kind="stable").T)
        rng = np.random.default_rng(seed)
        best, best_labels = np.inf, np.zeros(len(rows), np.int64)
        for _ in range(self.config.restarts):
            centres = rows[_plus_plus(rows, k, self.config.candidates(k), rng)]
            labels, total = kmedians(rows, order, centres, self.config.iterations)
            if total < best:
                best, best_labels = total, labels
        return canonical_labels(best_labels)


def _dense(x: Matrix) -> Dense:
    """Dense rows; columns of a sparse matrix that are zero everywhere change no distance and are left out."""
    if isinstance(x, sparse.csr_array):
        x = x[:, np.unique(x.indices)].toarray()
    return np.ascontiguousarray(x, dtype=np.float64)


def _plus_plus(rows: Dense, k: int, candidates: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(k,) rows, each drawn with probability proportional to its L1 distance from those chosen."""
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
