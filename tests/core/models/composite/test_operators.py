import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.models.composite.smoothing import document_means, neighbour_means, smoothed, transition
from themescope.core.models.con_s2v.text import discourse_graph

ARTICLES, POSITIONS = np.array([5, 5, 5, 2, -1, -1]), np.array([1, 0, 2, 0, 0, 1])
X = np.array([[3.0, 0], [0, 3], [6, 0], [1, 1], [2, 0], [0, 2]], np.float32)


def test_document_means_leave_sentences_without_an_article():
    wanted = np.array([[3, 1]] * 3 + [[1, 1], [2, 0], [0, 2]])
    assert np.allclose(document_means(X, ARTICLES), wanted)


def test_neighbours_have_a_weight_of_a_quarter_each():
    # In order of positions the rows of article 5 are 1, 0, 2.
    wanted = np.array([[3, 0.75], [1.5, 1.5], [4.5, 0], [1, 1], [2, 0], [0, 2]])
    assert np.allclose(neighbour_means(X, ARTICLES, POSITIONS), wanted)


@given(st.floats(0, 0.95), st.integers(0, 100))
def test_smoothing_solves_its_equation(share, seed):
    x = np.random.default_rng(seed).normal(size=(6, 3))
    graph = discourse_graph(ARTICLES, POSITIONS)
    found = smoothed(x, graph, share)
    own = np.where(graph.degrees == 0, 1.0, 0.0)[:, None]
    around = transition(graph) @ found + own * found
    assert np.allclose(found, (1 - share) * x + share * around, atol=1e-9)
    assert np.allclose(found[graph.degrees == 0], x[graph.degrees == 0])


def test_smoothing_with_share_zero_and_of_no_sentences():
    graph = discourse_graph(ARTICLES, POSITIONS)
    assert np.allclose(smoothed(X, graph, 0.0), X)
    none = np.zeros(0, np.int64)
    empty = np.zeros((0, 4), np.float32)
    assert document_means(empty, none).shape == neighbour_means(empty, none, none).shape == (0, 4)
    assert smoothed(empty, discourse_graph(none, none), 0.5).shape == (0, 4)
