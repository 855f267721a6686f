"""What every registered metric keeps to: property groups after scikit-learn's test_common."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from themescope.core.errors import DataError
from themescope.core.metrics import REGISTRY
from themescope.core.registry import Card

CARDS = list(REGISTRY)
every = pytest.mark.parametrize("card", CARDS, ids=[card.id for card in CARDS])
UNBOUNDED = {"mi"}


def labels(n: int) -> st.SearchStrategy[np.ndarray]:
    return arrays.arrays(np.int32, n, elements=st.integers(-1, 6))


pairs = st.integers(1, 24).flatmap(lambda n: st.tuples(labels(n), labels(n)))


@settings(max_examples=60, deadline=None)
@given(pair=pairs)
def test_properties(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = pair
    order = np.random.default_rng(0).permutation(len(a))
    for card in CARDS:
        metric = REGISTRY.build(card.id)
        value = metric.score(a, b)
        assert isinstance(value, float) and np.isfinite(value), card.id
        assert value == pytest.approx(metric.score(b, a), abs=1e-9), f"{card.id}: symmetric"
        assert metric.score(7 - a, b) == pytest.approx(value, abs=1e-9), f"{card.id}: names of clusters do not matter"
        assert metric.score(a[order], b[order]) == pytest.approx(value, abs=1e-9), f"{card.id}: nor the order of items"
        own = metric.score(a, a)
        assert value <= own + 1e-9, f"{card.id}: nothing agrees better than the same partition"
        if card.id not in UNBOUNDED:
            assert own == pytest.approx(1.0, abs=1e-9), card.id
            assert value <= 1.0 + 1e-9, card.id
        if "chance-corrected" not in card.tags:
            assert value >= -1e-12, card.id


@every
def test_chance(card: Card) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(8), [3, 4, 4, 5, 5, 9, 12, 25]).astype(np.int32)
    metric = REGISTRY.build(card.id)
    values = [metric.score(truth, rng.integers(8, size=len(truth)).astype(np.int32)) for _ in range(600)]
    if "chance-corrected" in card.tags:
        assert abs(np.mean(values)) < 0.005
    else:
        assert np.mean(values) > 0.05


@every
def test_bad_input(card: Card) -> None:
    metric = REGISTRY.build(card.id)
    with pytest.raises(DataError, match="one label per item"):
        metric.score(np.zeros(3, np.int32), np.zeros(4, np.int32))
    with pytest.raises(DataError, match="no items"):
        metric.score(np.zeros(0, np.int32), np.zeros(0, np.int32))
