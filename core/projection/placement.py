"""Placement of further sentences on a fitted map: the transform of UMAP with exact neighbours.

A sentence starts at the mean of its nearest landmarks, weighted by their membership strengths, and is then moved by
stochastic gradient descent, as in ``UMAP.transform``; the landmarks stay where they are. Every shard has a seed of its
own, so that the result does not depend on the number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from themescope.core.projection.maps import Floats, Neighbours, Reduction, UmapConfig, as_metric, load_umap, nearest
from themescope.core.types import Matrix, Points

EPOCHS = 30
"""Epochs of the descent; of the numbers in ``UMAP.transform``, the one for many points."""
_LEARNING_RATE = 0.25  # a quarter of that of the layout, as in umap-learn
_NEGATIVES = 5.0


@dataclass(frozen=True, slots=True)
class FittedMap:
    """The layout of a sample, and the function that places other sentences on it, one shard per call."""

    reduction: Reduction
    rows: Floats
    """(m, d) reduced vectors of the sample."""
    at: Points
    """(m, 2) coordinates of the sample."""
    config: UmapConfig
    seed: int

    def __call__(self, shard: tuple[int, Matrix]) -> Points:
        """Return the (n, 2) positions of the vectors of a shard: its number and (n, dim) vectors, dense or CSR.

        Raises :class:`DataError` for values that are not finite.
        """
        number, vectors = shard
        if not vectors.shape[0]:
            return np.empty((0, 2), dtype=np.float32)
        k = min(self.config.n_neighbors, len(self.rows))
        near, distances = nearest(self.rows, self.reduction.apply(vectors), k)
        strengths = _strengths(near, as_metric(distances, self.config.metric))
        start = _start(strengths, self.at[near])
        return self._moved(start, near, strengths, np.random.RandomState([self.seed % 2**32, number]))

    def _moved(self, start: Points, near: Neighbours, strengths: Floats, random: np.random.RandomState) -> Points:
        umap = load_umap()
        weights = np.where(strengths < strengths.max() / EPOCHS, 0.0, strengths)
        head, neighbour = np.nonzero(weights)
        a, b = umap.find_ab_params(1.0, self.config.min_dist)
        moved = umap.optimize_layout_euclidean(
            start,
            np.array(self.at, dtype=np.float32),
            head.astype(np.int32),
            near[head, neighbour].astype(np.int32),
            EPOCHS,
            len(self.rows),
            umap.make_epochs_per_sample(weights[head, neighbour], EPOCHS),
            a,
            b,
            random.randint(np.iinfo(np.int32).min + 1, np.iinfo(np.int32).max - 1, 3).astype(np.int64),
            1.0,
            _LEARNING_RATE,
            _NEGATIVES,
        )
        return np.asarray(moved, dtype=np.float32)


def _strengths(near: Neighbours, distances: Floats) -> Floats:
    """Return the (n, k) membership strengths of the nearest landmarks, 0…1."""
    umap = load_umap()
    k = near.shape[1]
    sigmas, rhos = umap.smooth_knn_dist(distances, float(k), local_connectivity=0.0)
    strengths = umap.compute_membership_strengths(near.astype(np.int32), distances, sigmas, rhos, bipartite=True)[2]
    return np.asarray(strengths, dtype=np.float32).reshape(near.shape)


def _start(strengths: Floats, at: Floats) -> Points:
    """Return (n, 2) means of the (n, k, 2) positions of landmarks, weighted by their strengths.

    A sentence that equals a landmark starts there.
    """
    weights = np.where(strengths[:, :1] == 1, np.eye(1, strengths.shape[1]), np.maximum(strengths, 1e-12))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("ij,ijk->ik", weights, at), dtype=np.float32)
