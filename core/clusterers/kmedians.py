"""k-medians with L1 distance: the footnote of Ein Dor et al. 2018, section 4.3."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.spatial.distance import cdist

from core.clusterers.inputs import checked
from core.clusterers.kmeans import KMeansConfig
from core.types import Labels, Matrix

Dense = npt.NDArray[np.float64]


class KMedians:
    """Assign by L1, centre = median of every coordinate; best of several k-means++ starts in L1."""

    def __init__(self, config: KMeansConfig) -> None:
        self.config = config

    def cluster(self, x: Matrix, k: int | None, seed: int) -> Labels:
        """(n,) labels 0…k-1, every cluster non-empty."""
        matrix, k = checked(x, k)
        rows = _dense(matrix)
        rng = np.random.default_rng(seed)
        best, best_labels = np.inf, np.zeros(len(rows), np.int32)
        for _ in range(self.config.restarts):
            labels, total = self._start(rows, k, rng)
            if total < best:
                best, best_labels = total, labels
        return best_labels

    def _start(self, rows: Dense, k: int, rng: np.random.Generator) -> tuple[Labels, float]:
        centres = rows[_plus_plus(rows, k, self.config.candidates(k), rng)]
        labels = np.full(len(rows), -1, dtype=np.int32)
        total = np.inf
        for _ in range(self.config.iterations):
            distances = cdist(rows, centres, "cityblock")
            new = distances.argmin(axis=1).astype(np.int32)
            _fill_empty(new, distances[np.arange(len(rows)), new], k)
            if np.array_equal(new, labels):
                break
            labels = new
            centres = np.stack([np.median(rows[labels == c], axis=0) for c in range(k)])
            total = float(np.abs(rows - centres[labels]).sum())
        return labels, total


def _dense(x: Matrix) -> Dense:
    """Dense rows; columns of a sparse matrix that are zero everywhere change no distance and are left out."""
    if isinstance(x, sparse.csr_array):
        return np.asarray(x[:, np.unique(x.indices)].toarray(), dtype=np.float64)
    return np.asarray(x, dtype=np.float64)


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


def _fill_empty(labels: Labels, distances: Dense, k: int) -> None:
    """Give every empty cluster the row farthest from its centre, out of a cluster that can spare one."""
    sizes = np.bincount(labels, minlength=k)
    for c in np.flatnonzero(sizes == 0):
        spare = sizes[labels] > 1
        item = int(np.where(spare, distances, -np.inf).argmax())
        sizes[labels[item]] -= 1
        sizes[c] = 1
        labels[item], distances[item] = c, 0.0
