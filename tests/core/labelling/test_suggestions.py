"""Suggestions of a model, compared with mean cosines computed directly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from themescope.core.labelling.partition import UNASSIGNED, Cluster, start
from themescope.core.labelling.suggestions import affinities, neighbours, suggest

CLUSTERS = [Cluster(2, "a", 0), Cluster(5, "b", 1), Cluster(9, "empty", 2)]


@given(st.integers(0, 1_000), st.booleans())
def test_similarity_is_the_mean_cosine_to_the_others(seed: int, thin: bool) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(8, 3)).astype(np.float32)
    numbers = random.choice([2, 5, UNASSIGNED], size=8)
    p = start(np.arange(8), numbers, CLUSTERS)
    found = affinities(p, sparse.csr_array(x) if thin else x)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    for i in range(8):
        for column, number in enumerate((2, 5, 9)):
            others = [j for j in range(8) if j != i and numbers[j] == number]
            wanted = np.mean([unit[i] @ unit[j] for j in others]) if others else -np.inf
            assert found[i, column] == pytest.approx(wanted, abs=1e-5)


def test_suggestions_and_their_order() -> None:
    x = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.7, 0.72], [0, 1]], dtype=np.float32)
    p = start(np.arange(10, 16), [2, 2, 5, 5, UNASSIGNED, 2], CLUSTERS)
    found = suggest(p, x)
    assert found.best.tolist() == [2, 2, 5, 5, 5, 5]
    assert found.against(p).tolist() == [15]
    assert found.queue(p)[0] == 14
    assert (found.margin >= 0).all()
    assert neighbours(x, 0, 2).tolist()[0] == 1
    assert len(neighbours(x[:1], 0, 2)) == 0


def test_without_clusters_there_is_nothing_to_suggest() -> None:
    p = start([1, 2])
    found = suggest(p, np.eye(2, dtype=np.float32))
    assert found.best.tolist() == [UNASSIGNED, UNASSIGNED]
    assert np.isinf(found.margin).all()
    assert found.queue(p).tolist() == [1, 2]
