import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from themescope.core import compute
from themescope.core.compute import GOLDEN, mix
from themescope.core.errors import DataError


def rows(n: int, seed: int, dim: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).integers(-2, 3, size=(n, dim)).astype(np.float32)


def by_hand(query: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return np.divide(vectors @ query, lengths, out=np.zeros(len(vectors), np.float32), where=lengths > 0)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, lambda x: x.astype(np.float16)])
def test_cosines_in_blocks_are_the_cosines(kind: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "BLOCK", 7)
    vectors = rows(40, 0)
    vectors[11] = 0
    found = compute.cosines(kind(vectors[3:4]), kind(vectors))  # type: ignore[operator]
    np.testing.assert_allclose(found, by_hand(vectors[3], vectors), atol=1e-6)
    assert found[11] == 0 and found[3] == pytest.approx(1.0)


@given(st.integers(0, 60), st.integers(1, 12), st.integers(1, 9), st.integers(0, 99))
def test_the_nearest_neighbours_of_any_blocks_are_those_of_all(n: int, top: int, size: int, seed: int) -> None:
    vectors, ids = rows(n, seed), np.random.default_rng(seed).permutation(1_000)[:n]
    query = np.array([[1, 2, 0, 0, -1, 1]], dtype=np.float32)
    blocks = [(ids[i : i + size], vectors[i : i + size]) for i in range(0, n, size)]
    found = compute.nearest_neighbours(query, blocks, top)
    all_ = compute.cosines(query, vectors) if n else np.empty(0)
    assert (
        found == sorted(((int(i), float(c)) for i, c in zip(ids, all_, strict=True)), key=lambda e: (-e[1], e[0]))[:top]
    )


def test_dimensions_must_fit_and_a_query_of_nothing_is_like_nothing() -> None:
    with pytest.raises(DataError, match="6 dimensions, the query has 2"):
        compute.cosines(np.ones((1, 2), np.float32), rows(3, 0))
    assert compute.cosines(np.zeros((1, 6), np.float32), rows(3, 0)).tolist() == [0, 0, 0]


FROM_SEED_1234567 = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]


def test_numbers_are_those_of_the_reference_implementation_alone_and_in_an_array():
    with np.errstate(over="ignore"):
        states = np.uint64(1234567) + GOLDEN * np.arange(1, 5, dtype=np.uint64)
        assert mix(states).tolist() == FROM_SEED_1234567
    states = np.array([1, 2, 2**63 + 5], np.uint64)
    with np.errstate(over="ignore"):
        assert [int(mix(state)) for state in states] == mix(states).tolist()
