"""Spectral clustering of the graph of nearest neighbours (Ng, Jordan, Weiss 2002)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.clustering.inputs import Square, canonical_labels, checked, cosine_matrix, kernel_seed
from core.config import Config, option
from core.types import Labels, Matrix

_FEW = 1_500  # items up to which all eigenvectors are found at once
_STARTS = 10
_TIE = 1e-12  # cosines that differ by less are equal


@dataclass(frozen=True)
class SpectralConfig(Config):
    """Settings of spectral clustering."""

    neighbours: int = option(10, "Nearest sentences, by cosine, that each sentence is tied to.", low=1, high=1_000)


class Spectral:
    """k-means on the unit rows of the k leading eigenvectors of the normalised neighbourhood graph."""

    def __init__(self, config: SpectralConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """(n,) labels 0…k-1, every cluster non-empty."""
        from core.clustering.iclust import kernels

        matrix, k = checked(x, k)
        rows = _leading(neighbour_graph(cosine_matrix(matrix), self.config.neighbours), k)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-9)
        # Only inner products count, so that signs and rotations of eigenvectors do not change the outcome.
        gram = np.ascontiguousarray(rows @ rows.T)
        labels, _ = kernels.lloyd(gram, k, _STARTS, 300, 2 + int(np.log(k)), False, kernel_seed(seed))
        return canonical_labels(labels)


def neighbour_graph(cosines: Square, neighbours: int) -> Square:
    """(n, n) normalised weights D^-½ A D^-½: A is the mean of both directions of the cosines of nearest neighbours.

    All that are as near as the last of ``neighbours`` count, so that rounding errors do not choose among equals.
    """
    n = len(cosines)
    others = np.maximum(cosines, 0.0)
    np.fill_diagonal(others, 0.0)
    if neighbours < n - 1:
        least = np.partition(others, n - neighbours, axis=1)[:, n - neighbours, None]
        others[others < least - _TIE] = 0.0
    weights = (others + others.T) / 2
    degrees = np.sqrt(weights.sum(axis=1))
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 1e-9)
    return np.asarray(weights * inverse[:, None] * inverse)


def _leading(graph: Square, k: int) -> npt.NDArray[np.float64]:
    """(n, k) eigenvectors of the largest eigenvalues."""
    from scipy import linalg, sparse
    from scipy.sparse.linalg import eigsh

    n = len(graph)
    if n <= _FEW or k >= n - 1:
        return np.asarray(linalg.eigh(graph, subset_by_index=(n - k, n - 1))[1])
    found = eigsh(sparse.csr_array(graph), k, which="LA", v0=np.ones(n))
    return np.asarray(found[1])
