"""Operators on matrices of sentence vectors: means within a document, PageRank smoothing, PCA whitening, LSA.

Rows of ``x`` are sentences; ``articles`` (n,) and ``positions`` (n,) give the article of each and its position there.
Rows of one article need not be adjacent. A sentence without an article (-1) is not changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import splu

from themescope.core.models.con_s2v.graphs import Graph, discourse_graph
from themescope.core.models.con_s2v.text import Index
from themescope.core.types import Matrix

_SMALLEST = 1e-9  # axes with less than this share of the largest variance are rounding noise
Float32 = npt.NDArray[np.float32]


def document_means(x: Matrix, articles: Index) -> Matrix:
    """Return (n, dim) rows, each replaced by the mean of the rows of its article."""
    loose = articles == -1
    own = np.where(loose, articles.max(initial=-1) + 1 + np.arange(len(articles)), articles)
    _, groups, sizes = np.unique(own, return_inverse=True, return_counts=True)
    shares = (1 / sizes[groups], (groups, np.arange(len(groups))))
    means: Any = sparse.csr_array(shares, shape=(len(sizes), len(groups))) @ x
    return _like(x, means[groups])


def neighbour_means(x: Matrix, articles: Index, positions: Index) -> Matrix:
    """Return (n, dim) rows ½ own + ¼ previous + ¼ next.

    The share of a missing neighbour is added to that of the other, or of the sentence itself if both are missing.
    """
    graph = discourse_graph(articles, positions)
    isolated = graph.degrees == 0
    mixed: Any = 0.5 * x + 0.5 * (transition(graph) @ x)
    mixed = mixed + sparse.diags_array(0.5 * isolated) @ x
    return _like(x, mixed)


def smoothed(x: Matrix, graph: Graph, share: float) -> Matrix:
    """Return (n, dim) (1 − a)(I − aP)⁻¹ x: personalised PageRank (Haveliwala 2002).

    a is ``share`` < 1 and P the row-normalised adjacency. A sentence without neighbours is not changed.
    """
    n = len(graph)
    steps = transition(graph) + sparse.diags_array((graph.degrees == 0).astype(np.float64))
    solver = splu(sparse.csc_array(sparse.eye_array(n) - share * steps))
    dense = x.toarray() if isinstance(x, sparse.csr_array) else x
    return _like(x, (1 - share) * solver.solve(np.asarray(dense, np.float64)))


def transition(graph: Graph) -> sparse.csr_array:
    """Return the (n, n) row-normalised adjacency: the probability 1/degree of a step to each neighbour."""
    weights = np.repeat(1 / np.maximum(graph.degrees, 1), graph.degrees)
    return sparse.csr_array((weights, graph.targets, graph.starts), shape=(len(graph), len(graph)))


def _like(x: Matrix, result: Any) -> Matrix:
    """Return the result in the format and precision of ``x``."""
    if isinstance(x, sparse.csr_array):
        return sparse.csr_array(result).astype(x.dtype)
    return np.asarray(result, x.dtype)


@dataclass(frozen=True)
class LatentAxes:
    """Projection of sparse vectors to their main directions (LSA, Deerwester et al. 1990)."""

    columns: npt.NDArray[np.int64]
    """(used,) columns that some sentence of the corpus uses; the others are dropped."""
    axes: npt.NDArray[np.float32]
    """(used, count)."""

    @classmethod
    def of(cls, x: sparse.csr_array, count: int, seed: int) -> Self:
        """Return the first ``count`` right singular vectors of (n, columns) ``x``, fewer where there are fewer."""
        from sklearn.utils.extmath import randomized_svd

        used = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]))
        count = min(count, len(used), x.shape[0])
        _, _, right = randomized_svd(x[:, used], count, random_state=seed)
        return cls(used, np.ascontiguousarray(right.T, np.float32))

    def project(self, x: Any) -> Float32:
        """Return (n, count) coordinates of (n, columns) sparse rows."""
        return np.asarray(x[:, self.columns] @ self.axes, np.float32)


@dataclass(frozen=True)
class PrincipalAxes:
    """PCA whitening. Zero vectors take no part in the fit and stay zero."""

    mean: Float32
    """(1, dim)."""
    axes: Float32
    """(dim, count), scaled."""

    @classmethod
    def of(cls, blocks: Iterable[Float32], count: int, evenness: float) -> Self:
        """Return the first ``count`` axes of the (n, dim) rows in ``blocks``, fewer where the rows span fewer.

        An axis is divided by its standard deviation to the power ``evenness``: 0 is plain PCA, 1 full whitening.
        """
        n, total, products = 0, np.zeros(0), np.zeros((0, 0))
        for block in blocks:
            used = block[block.any(axis=1)].astype(np.float64)
            if not n:
                total, products = np.zeros(block.shape[1]), np.zeros((block.shape[1], block.shape[1]))
            n, total, products = n + len(used), total + used.sum(axis=0), products + used.T @ used
        mean = total / max(n, 1)
        values, vectors = np.linalg.eigh(products / max(n, 1) - np.outer(mean, mean))
        order = np.argsort(values)[::-1][:count]
        order = order[values[order] > _SMALLEST * values.max(initial=0.0)]
        axes = vectors[:, order] / values[order] ** (evenness / 2)
        return cls(mean[None].astype(np.float32), axes.astype(np.float32))

    def project(self, x: Float32) -> Float32:
        """Return (n, count) coordinates of (n, dim) ``x``."""
        return np.where(x.any(axis=1, keepdims=True), (x - self.mean) @ self.axes, 0).astype(np.float32)
