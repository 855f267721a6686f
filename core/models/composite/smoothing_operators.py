"""Vectors drawn towards their document, without learning: the controls that a gain by context must beat (F.10, I.4).

Rows of ``x`` are sentences of the given articles at the given positions; rows of one article need not be adjacent, and
a loose sentence (article -1) stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from core.models.con_s2v.graphs import Graph, discourse_graph
from core.models.con_s2v.text import Index
from core.types import Matrix


def document_means(x: Matrix, articles: Index) -> Matrix:
    """(n, dim) every row replaced by the mean of its article's rows."""
    loose = articles == -1
    own = np.where(loose, articles.max(initial=-1) + 1 + np.arange(len(articles)), articles)
    _, groups, sizes = np.unique(own, return_inverse=True, return_counts=True)
    shares = (1 / sizes[groups], (groups, np.arange(len(groups))))
    means: Any = sparse.csr_array(shares, shape=(len(sizes), len(groups))) @ x
    return _as(x, means[groups])


def neighbour_means(x: Matrix, articles: Index, positions: Index) -> Matrix:
    """(n, dim) ½ self + ¼ previous + ¼ next; where one of them is missing its share goes to the other, or to self."""
    graph = discourse_graph(articles, positions)
    lonely = graph.degrees == 0
    mixed: Any = 0.5 * x + 0.5 * (transition(graph) @ x)
    mixed = mixed + sparse.diags_array(0.5 * lonely) @ x
    return _as(x, mixed)


def smoothed(x: Matrix, graph: Graph, share: float) -> Matrix:
    """(n, dim) (1 − a)(I − aP)⁻¹ x, a = ``share`` < 1 and P the row-normalised adjacency: personalised PageRank.

    A sentence without neighbours stays as it is; so does everything for a = 0.
    """
    n = len(graph)
    steps = transition(graph) + sparse.diags_array((graph.degrees == 0).astype(np.float64))
    solver = splu(sparse.csc_array(sparse.eye_array(n) - share * steps))
    dense = x.toarray() if isinstance(x, sparse.csr_array) else x
    return _as(x, (1 - share) * solver.solve(np.asarray(dense, np.float64)))


def transition(graph: Graph) -> sparse.csr_array:
    """(n, n) P: a step to one of the neighbours, each as likely."""
    weights = np.repeat(1 / np.maximum(graph.degrees, 1), graph.degrees)
    return sparse.csr_array((weights, graph.targets, graph.starts), shape=(len(graph), len(graph)))


def _as(x: Matrix, result: Any) -> Matrix:
    """The result in the form and precision of ``x``."""
    if isinstance(x, sparse.csr_array):
        return sparse.csr_array(result).astype(x.dtype)
    return np.asarray(result, x.dtype)
