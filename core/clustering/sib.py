"""Sequential information bottleneck (sIB): a clusterer of counts, by the public package."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from themescope.core.clustering.inputs import canonical_labels, checked
from themescope.core.config import Config, option
from themescope.core.errors import DataError, optional_module
from themescope.core.types import Labels, Matrix

_MOST = 1_000_000


@dataclass(frozen=True)
class SibConfig(Config):
    """Settings of sIB; the defaults are the package's."""

    restarts: int = option(10, "Number of random starts; the one with the most information about the words is kept.",
                           low=1, high=10_000)  # fmt: skip
    sweeps: int = option(15, "Maximum number of passes over the sentences in a start.", low=1, high=10_000)
    tolerance: float = option(0.02, "A start ends when at most this share of the sentences moves.", low=0, high=1)


class SequentialInformationBottleneck:
    """sIB: moves one sentence at a time so that I(cluster; word) rises; all sentences have the same probability."""

    def __init__(self, config: SibConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty; sentences without words are assigned at random.

        Raises :class:`DataError` for negative numbers, and :class:`MissingExtraError` without the package.
        """
        matrix, k = checked(x, k, _MOST)
        counts = sparse.csr_matrix(matrix)
        counts.eliminate_zeros()
        if counts.nnz and counts.data.min() < 0:
            raise DataError("sIB clusters word counts, but these vectors contain negative numbers. Use a model such as "
                            "word-counts or tfidf, or another clusterer.")  # fmt: skip
        filled = np.flatnonzero(np.diff(counts.indptr))
        rng = np.random.default_rng(seed)
        labels = np.asarray(rng.permutation(np.arange(counts.shape[0]) % k), np.int32)
        groups = min(k, len(filled))
        if groups > 1:
            labels[filled] = self._partition(counts[filled][:, np.unique(counts.indices)], groups, rng)
        elif groups:
            labels[filled] = 0
        # Move to each empty cluster a sentence without words, or else one of the largest cluster.
        spare = [int(i) for i in np.setdiff1d(np.arange(len(labels)), filled)]
        for cluster in range(k):
            if not (labels == cluster).any():
                sizes = np.bincount(labels, minlength=k)
                item = next((i for i in spare if sizes[labels[i]] > 1), int(np.argmax(labels == sizes.argmax())))
                labels[item] = cluster
        return canonical_labels(labels)

    def _partition(self, counts: sparse.csr_matrix, k: int, rng: np.random.Generator) -> Labels:
        config = self.config
        model = optional_module("sib", "The clusterer sIB", "sib-clustering", "sib").SIB(
            n_clusters=k, random_state=int(rng.integers(2**31)), n_jobs=1, n_init=config.restarts,
            max_iter=config.sweeps, tol=config.tolerance,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package uses deprecated names of scipy
            model.fit(counts)
        # The package reassigns labels_ at the end, which may leave a cluster empty; its partition has no empty ones.
        return np.asarray(model.partition_.labels, np.int32)
