import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.config import config_from_dict
from themescope.core.errors import ConfigError
from themescope.core.models.base import unit_length
from themescope.core.models.composite import Directions, LinearMetricConfig, learn_directions

DIM = 12


def vectors(n: int, seed: int = 0) -> np.ndarray:
    return unit_length(np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32))


def learned(x: np.ndarray, labels: np.ndarray, **settings: float) -> Directions:
    first, second = np.triu_indices(len(x), 1)
    return learn_directions(x, first, second, labels[first] == labels[second], LinearMetricConfig(**settings))


def metric_of(found: Directions) -> np.ndarray:
    return np.eye(DIM) + (found.axes.T * (found.factors**2 - 1)) @ found.axes


@given(st.integers(2, 20), st.integers(0, 5), st.floats(0.0, 50.0), st.floats(0.0, 1.0))
def test_the_metric_is_symmetric_and_positive_definite(n: int, seed: int, weight: float, balance: float) -> None:
    labels = np.random.default_rng(seed).integers(0, 3, n)
    found = learned(vectors(n, seed), labels, weight=weight, balance=balance)
    metric = metric_of(found)
    assert np.allclose(metric, metric.T) and np.linalg.eigvalsh(metric).min() > 0
    assert len(found.factors) < n and (found.factors > 0).all()
    assert np.allclose(found.axes @ found.axes.T, np.eye(len(found.axes)), atol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_without_pairs_or_weight_it_is_the_identity(n: int) -> None:
    x, none = vectors(n), np.zeros(0, np.int64)
    for found in (
        learn_directions(x, none, none, np.zeros(0, np.bool_), LinearMetricConfig()),
        learned(x, np.zeros(n), weight=0.0),
    ):
        assert np.array_equal(metric_of(found), np.eye(DIM)) and np.array_equal(found.apply(x), x)


def test_the_map_is_the_root_of_the_metric_and_leaves_other_directions_alone() -> None:
    x, other = vectors(6), vectors(4, seed=9)
    found = learned(x, np.array([0, 0, 0, 1, 1, 1]))
    moved = found.apply(other).astype(np.float64)
    assert np.allclose(moved @ moved.T, other @ metric_of(found) @ other.T, atol=1e-5)
    away = np.linalg.svd(x - x.mean(axis=0))[2][6:].astype(np.float32)
    assert np.allclose(found.apply(away), away, atol=1e-5)


def test_it_brings_sentences_of_a_cluster_closer_and_does_not_depend_on_the_order_of_pairs() -> None:
    x, labels = vectors(12), np.arange(12) % 3
    found = learned(x, labels)
    first, second = np.triu_indices(12, 1)
    together = labels[first] == labels[second]

    def gap(y: np.ndarray) -> float:
        cosines = (unit_length(y) @ unit_length(y).T)[first, second]
        return float(cosines[together].mean() - cosines[~together].mean())

    assert gap(found.apply(x)) > gap(x) + 0.1
    order = np.random.default_rng(1).permutation(len(first))
    again = learn_directions(x, second[order], first[order], together[order], LinearMetricConfig())
    assert np.allclose(metric_of(again), metric_of(found), atol=1e-9)


def test_one_pair_of_each_kind_worked_out_by_hand() -> None:
    """The differences are orthogonal: w m |d|² / s = 2 is taken from or added to the identity along them."""
    x = np.zeros((4, DIM), np.float32)
    x[[0, 1, 2, 3], [0, 1, 2, 3]] = 1.0
    config = LinearMetricConfig(weight=0.5, balance=1.0)
    found = learn_directions(x, np.array([0, 2]), np.array([1, 3]), np.array([True, False]), config)
    near, far = (np.zeros(DIM), np.zeros(DIM))
    near[[0, 1]], far[[2, 3]] = (1, -1), (1, -1)
    metric = metric_of(found)
    assert near @ metric @ near / 2 == pytest.approx(1.0)  # only cannot-link pairs count at t = 1
    assert far @ metric @ far / 2 == pytest.approx(1 + 0.5 * 4 * 2 / 2)
    config = LinearMetricConfig(weight=0.5, balance=0.0)
    shrunk = metric_of(learn_directions(x, np.array([0, 2]), np.array([1, 3]), np.array([True, False]), config))
    assert near @ shrunk @ near / 2 == pytest.approx(1 / (1 + 0.5 * 4 * 2 / 2))
    assert far @ shrunk @ far / 2 == pytest.approx(1.0)
    for wrong in ({"weight": -1.0}, {"balance": 1.5}):
        with pytest.raises(ConfigError):
            config_from_dict(LinearMetricConfig, wrong)
