import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from themescope.core.errors import DataError
from themescope.core.labelling.learning import (
    affinities,
    centres,
    clusterers,
    neighbours,
    propose,
    similar_groups,
    suggest,
)
from themescope.core.labelling.partition import UNASSIGNED, Cluster, start


def test_similar_clusters_are_in_one_group() -> None:
    x = np.array([[1, 0.0], [1, 0.1], [0, 1], [0.1, 1], [-1, 0.1], [-1, -0.1]], dtype=np.float32)
    clusters = [Cluster(n, str(n), n) for n in range(1, 7)]
    found = centres(start(np.arange(6), np.arange(1, 7), clusters), x)
    assert similar_groups(found, 3) == [(1, 2), (3, 4), (5, 6)]
    assert similar_groups(found.only([3]), 2) == [(3,)]


def test_parts_are_proposed_with_the_largest_first_and_identical_texts_together() -> None:
    x = np.array([[1, 0]] * 3 + [[0, 1]] * 2, dtype=np.float32)
    texts = ["The king fought wars.", "A war", "The war of a king", "The team scored goals.", "A goal for the team"]
    for card in clusterers():
        first, second = propose(np.array([4, 7, 8, 10, 11]), texts, x, 2, card.id)
        assert sorted(first.ids) == [4, 7, 8]
        assert sorted(second.ids) == [10, 11]
        assert first.name != second.name
    with pytest.raises(DataError, match="cannot be divided"):
        propose(np.array([4]), texts[:1], x[:1], 2)
    x = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [0, 1]], dtype=np.float32)
    texts = ["The king fought.", "A war", "A goal", "the king fought", "The team"]
    for order in ([0, 1, 2, 3, 4], [3, 4, 1, 2, 0]):
        parts = propose(np.array(order), [texts[i] for i in order], x[order], 2)
        assert any({0, 3} <= set(part.ids.tolist()) for part in parts)
    with pytest.raises(DataError, match="1 different sentences cannot be divided into 2 parts"):
        propose(np.arange(3), ["Same"] * 3, x[:3], 2)


THREE = [Cluster(2, "a", 0), Cluster(5, "b", 1), Cluster(9, "empty", 2)]


@given(st.integers(0, 1_000), st.booleans())
def test_similarity_is_the_mean_cosine_to_the_others(seed: int, thin: bool) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(8, 3)).astype(np.float32)
    numbers = random.choice([2, 5, UNASSIGNED], size=8)
    p = start(np.arange(8), numbers, THREE)
    found = affinities(p, sparse.csr_array(x) if thin else x)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    for i in range(8):
        for column, number in enumerate((2, 5, 9)):
            others = [j for j in range(8) if j != i and numbers[j] == number]
            wanted = np.mean([unit[i] @ unit[j] for j in others]) if others else -np.inf
            assert found[i, column] == pytest.approx(wanted, abs=1e-5)


def test_suggestions_and_their_order() -> None:
    x = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.7, 0.72], [0, 1]], dtype=np.float32)
    p = start(np.arange(10, 16), [2, 2, 5, 5, UNASSIGNED, 2], THREE)
    found = suggest(p, x)
    assert found.best.tolist() == [2, 2, 5, 5, 5, 5]
    assert found.against(p).tolist() == [15]
    assert found.queue(p)[0] == 14
    assert (found.margin >= 0).all()
    assert neighbours(x, 0, 2).tolist()[0] == 1
    assert len(neighbours(x[:1], 0, 2)) == 0
    p = start([1, 2])
    found = suggest(p, np.eye(2, dtype=np.float32))
    assert found.best.tolist() == [UNASSIGNED, UNASSIGNED]
    assert np.isinf(found.margin).all()
    assert found.queue(p).tolist() == [1, 2]
