import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from themescope.core.errors import DataError
from themescope.core.tasks.summaries import lexrank, ranked, tfidf_lexrank_vectors


def test_a_complete_graph_is_uniform_and_sparse_and_dense_rows_agree():
    x = np.eye(5) + 1.0  # every pair has the same cosine
    np.testing.assert_allclose(lexrank(x), 0.2, atol=1e-9)
    assert ranked(lexrank(x)).tolist() == [0, 1, 2, 3, 4]
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1]], float)
    scores = lexrank(x)
    assert ranked(scores)[0] == 3 and ranked(scores)[-1] == 0
    assert ranked(scores)[1:4].tolist() == [1, 2, 4]
    x = np.random.default_rng(0).random((9, 6)) * (np.random.default_rng(1).random((9, 6)) < 0.5)
    expected = lexrank(x)
    np.testing.assert_allclose(lexrank(sparse.csr_array(x)), expected)
    np.testing.assert_allclose(lexrank(x.astype(np.float32) * np.arange(1, 10)[:, None]), expected, atol=1e-5)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.just(4)), elements=st.floats(-3, 3, width=16)))
def test_scores_sum_to_one_and_solve_the_equation(x):
    scores = lexrank(x, tolerance=1e-12)
    n = len(x)
    assert scores.sum() == pytest.approx(1.0) and (scores >= 0.15 / n - 1e-9).all()
    norms = np.linalg.norm(x, axis=1)
    unit = x / np.where(norms > 0, norms, 1.0)[:, None]
    walk = np.full((n, n), 1 / n)
    for i in range(n):
        weights = np.array([w if w >= 0.1 else 0.0 for w in unit @ unit[i]])
        if np.delete(weights, i).any():
            walk[i] = weights / weights.sum()
    np.testing.assert_allclose(0.85 * walk.T @ scores + 0.15 / n, scores, atol=1e-6)


def test_nothing_nonsense_and_too_much():
    assert lexrank(np.empty((0, 3))).shape == (0,)
    assert lexrank(np.ones((1, 3))).tolist() == [1.0]
    with pytest.raises(DataError, match="not finite"):
        lexrank(np.array([[np.nan, 1.0], [0.0, 1.0]]))
    with pytest.raises(DataError, match="20,000 sentences are too many, the most are 5,000"):
        lexrank(np.ones((20_000, 2), np.float32))


def test_tfidf_weights_are_those_of_the_paper():
    x = tfidf_lexrank_vectors(["The cats sat; cats!", "The cat ran.", "The dogs."]).toarray()
    assert x.shape == (3, 5)  # the, cat, sat, ran, dog
    n_over = np.log([3 / 4, 3 / 3, 3 / 2])
    np.testing.assert_allclose(x[0, :3], [n_over[0] / 2, n_over[1], n_over[2] / 2])
    np.testing.assert_allclose(x[1, 1], n_over[1])
    assert lexrank(x).sum() == pytest.approx(1.0)
    assert tfidf_lexrank_vectors([]).shape[0] == 0
    assert lexrank(tfidf_lexrank_vectors(["", "!"])).tolist() == [0.5, 0.5]
