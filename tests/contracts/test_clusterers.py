import numpy as np
import pytest
from scipy import sparse

from themescope.core.clustering import REGISTRY
from themescope.core.errors import ConfigError, DataError
from themescope.core.registry import Card
from themescope.core.types import Clusterer

CARDS = list(REGISTRY)
every = pytest.mark.parametrize("card", CARDS, ids=[card.id for card in CARDS])


def vectors(n: int = 30, dim: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def build(card: Card) -> Clusterer:
    built = REGISTRY.build(card.id)
    assert isinstance(built, Clusterer)
    return built


@every
def test_labels_are_numbered_in_order_of_first_appearance_and_the_same_for_the_same_seed(card: Card) -> None:
    for seed in (0, 1, 2, 3, 2**63 - 1, -1 % 2**32):
        x = vectors(seed=seed)
        before = x.copy()
        labels = build(card).fit_predict(x, 5, seed)
        assert labels.dtype == np.int32 and labels.shape == (30,)
        assert list(dict.fromkeys(labels.tolist())) == [0, 1, 2, 3, 4]
        np.testing.assert_array_equal(x, before)
        np.testing.assert_array_equal(labels, build(card).fit_predict(x, 5, seed))


@every
@pytest.mark.parametrize("seed", range(4))
def test_sparse_rows_give_the_same_partition(card: Card, seed: int) -> None:
    x = vectors(seed=seed) * (vectors(seed=seed + 10) > 0.5)
    x[3] = 0.0
    dense, csr = build(card).fit_predict(x, 4, 0), build(card).fit_predict(sparse.csr_array(x), 4, 0)
    np.testing.assert_array_equal(dense, csr)


@every
def test_rounding_errors_do_not_change_the_labels(card: Card) -> None:
    """Processors differ by such errors; distances that are equal but for them are ties."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        x = vectors(seed=seed).astype(np.float64)
        x[3], x[4] = 0.0, x[5]
        rounded = x * (1 + 1e-14 * rng.normal(size=x.shape))
        np.testing.assert_array_equal(build(card).fit_predict(x, 4, 0), build(card).fit_predict(rounded, 4, 0))


@every
def test_smallest_and_largest_k_equal_and_zero_rows(card: Card) -> None:
    for k in (1, 6):
        assert set(build(card).fit_predict(vectors(6), k, 0)) == {*range(k)}
    for x in (np.ones((9, 3), np.float32), np.zeros((9, 3), np.float32)):
        assert set(build(card).fit_predict(x, 3, 0)) == {0, 1, 2}


@every
def test_nonsense_is_refused(card: Card) -> None:
    clusterer = build(card)
    with pytest.raises(DataError, match="3 sentences cannot be divided into 5"):
        clusterer.fit_predict(vectors(3), 5, 0)
    with pytest.raises(ConfigError, match="at least 1"):
        clusterer.fit_predict(vectors(3), 0, 0)
    if "needs-k" in card.tags:
        with pytest.raises(ConfigError, match="Give k"):
            clusterer.fit_predict(vectors(3), None, 0)
    if "no-vectors" not in card.tags:
        broken = vectors()
        broken[2, 1] = np.nan
        with pytest.raises(DataError, match="not finite"):
            clusterer.fit_predict(broken, 3, 0)
