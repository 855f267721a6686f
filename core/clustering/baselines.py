"""Clusterers for comparison: spectral clustering, Ward's method, random labels, and k-means in several variants."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from scipy import sparse

from themescope.core.clustering.inputs import (
    Square,
    canonical_labels,
    check_items,
    checked,
    cosine_matrix,
    gram_matrix,
    kernel_seed,
)
from themescope.core.config import Config, option
from themescope.core.types import Labels, Matrix

_FEW = 1_500  # maximum number of items for a dense eigendecomposition
_STARTS = 10
_TIE = 1e-12  # cosines that differ by less are equal


@dataclass(frozen=True)
class SpectralConfig(Config):
    """Settings of spectral clustering."""

    neighbours: int = option(10, "Number of nearest sentences, by cosine, in the graph.", low=1, high=1_000)


class Spectral:
    """Spectral clustering: k-means on the k leading eigenvectors of the graph (Ng, Jordan, Weiss 2002)."""

    def __init__(self, config: SpectralConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty."""
        from scipy import linalg
        from scipy.sparse.linalg import eigsh

        from themescope.core.clustering import kernels

        matrix, k = checked(x, k)
        graph = neighbour_graph(cosine_matrix(matrix), self.config.neighbours)
        n = len(graph)
        if n <= _FEW or k >= n - 1:
            rows = np.asarray(linalg.eigh(graph, subset_by_index=(n - k, n - 1))[1])
        else:
            rows = np.asarray(eigsh(sparse.csr_array(graph), k, which="LA", v0=np.ones(n))[1])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-9)
        # Inner products do not depend on the signs and rotations of eigenvectors.
        gram = np.ascontiguousarray(rows @ rows.T)
        labels, _ = kernels.lloyd(gram, k, _STARTS, 300, 2 + int(np.log(k)), False, kernel_seed(seed))
        return canonical_labels(labels)


def neighbour_graph(cosines: Square, neighbours: int) -> Square:
    """Return the (n, n) normalised weights D^-½ A D^-½, A being the symmetrised cosines of nearest neighbours.

    All sentences as near as the last of the ``neighbours`` count, so that rounding errors do not decide ties.
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


_DECIMALS = 12


class Ward:
    """Ward's agglomerative clustering of unit vectors (Ward 1963); deterministic."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty; ``seed`` is ignored."""
        from scipy.cluster.hierarchy import cut_tree, linkage
        from scipy.spatial.distance import squareform

        matrix, k = checked(x, k)
        cosines = cosine_matrix(matrix)
        if len(cosines) == 1:
            return np.zeros(1, np.int32)
        squares = np.diag(cosines)
        apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * cosines, 0.0))
        np.fill_diagonal(apart, 0.0)
        # Rounding makes ties exact; otherwise their last bits, which depend on the processor, would decide merges.
        tree = linkage(squareform(apart.round(_DECIMALS), checks=False), "ward")
        return canonical_labels(cut_tree(tree, n_clusters=k)[:, 0])


class RandomLabels:
    """Random labels: one random sentence for every cluster, the others uniform."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty; only the number of rows of ``x`` matters."""
        n = x.shape[0]
        k = check_items(n, k)
        rng = np.random.default_rng(seed)
        labels = np.asarray(rng.integers(k, size=n), np.int64)
        labels[rng.permutation(n)[:k]] = np.arange(k)
        return canonical_labels(labels)


# k-means in the variants compatible with Ein Dor et al. 2018


@dataclass(frozen=True)
class KMeansConfig(Config):
    """Settings of every k-means variant."""

    seeding: str = option(
        "greedy-k-means++",
        "Choice of initial centres: greedy k-means++ (the best of 2 + ln k draws for each centre, as in scikit-learn) "
        "or plain k-means++. Results depend on it, so state it in tables.",
        choices=("greedy-k-means++", "k-means++"),
    )
    restarts: int = option(
        10, "Number of starts; the one with the smallest sum of distances is kept.", low=1, high=10_000
    )
    iterations: int = option(300, "Maximum number of passes in a start.", low=1, high=100_000)


class UnitKMeans:
    """Euclidean k-means on rows of length 1; a zero row stays at the origin."""

    spherical = False

    def __init__(self, config: KMeansConfig) -> None:
        self.config = config

    def gram(self, x: Matrix) -> Square:
        """Return the (n, n) inner products of the clustered rows: the cosines."""
        return cosine_matrix(x)

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty."""
        from themescope.core.clustering import kernels

        matrix, k = checked(x, k)
        draws = 2 + int(log(k)) if self.config.seeding == "greedy-k-means++" else 1  # for each centre
        settings = self.config.restarts, self.config.iterations, draws, self.spherical
        labels, _ = kernels.lloyd(self.gram(matrix), k, *settings, kernel_seed(seed))
        return canonical_labels(labels)


class RawKMeans(UnitKMeans):
    """Euclidean k-means on unscaled rows."""

    def gram(self, x: Matrix) -> Square:
        """Return the inner products of the centred rows, which lose no precision far from the origin."""
        products = gram_matrix(x)
        means = products.mean(axis=0)
        return np.ascontiguousarray(products - means[:, None] - means[None, :] + means.mean())


class SphericalKMeans(UnitKMeans):
    """Assignment by largest cosine to the normalised sum of a cluster's unit vectors."""

    spherical = True
