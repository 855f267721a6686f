from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

from themescope.core.clustering import REGISTRY
from themescope.core.clustering.correlation import best_partition
from themescope.core.clustering.inputs import PairCalibration, centred_cosines, effective_themes
from themescope.core.errors import DataError
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig


def random_weights(n: int, seed: int) -> np.ndarray:
    w = np.random.default_rng(seed).normal(size=(n, n))
    return (w + w.T) / 2


def within(weights: np.ndarray, labels: np.ndarray) -> float:
    same = np.triu(labels[:, None] == labels, 1)
    return float(weights[same].sum())


def partitions(n: int) -> Iterator[np.ndarray]:
    """Every partition of n items, as restricted growth strings."""
    if n == 1:
        yield np.zeros(1, int)
        return
    for labels in partitions(n - 1):
        for new in range(labels.max() + 2):
            yield np.append(labels, new)


def planted(k: int, each: int = 30, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(k)
    truth = np.repeat(np.arange(k), each)
    centres = np.linalg.qr(random.normal(size=(96, 96)))[0][:k]
    return centres[truth] + noise * random.normal(size=(len(truth), 96)), truth


@pytest.mark.parametrize("seed", range(12))
def test_the_partition_is_near_the_best_of_all(seed: int) -> None:
    weights = random_weights(7, seed)
    best = max(within(weights, labels) for labels in partitions(7))
    assert within(weights, best_partition(weights, None)) >= 0.85 * best


@settings(max_examples=40)
@given(st.integers(2, 20), st.integers(0, 10**6))
def test_no_single_move_and_no_merge_improves_the_partition(n: int, seed: int) -> None:
    weights = random_weights(n, seed)
    labels = best_partition(weights, None)
    found = within(weights, labels)
    for item in range(n):
        for target in range(labels.max() + 2):
            assert within(weights, np.where(np.arange(n) == item, target, labels)) <= found + 1e-6
    for a in range(labels.max() + 1):
        for b in range(a):
            assert within(weights, np.where(labels == a, b, labels)) <= found + 1e-6


def test_partitions_of_weights_of_one_sign_and_too_many_sentences() -> None:
    assert best_partition(np.ones((6, 6)), None).tolist() == [0] * 6
    assert best_partition(-np.ones((6, 6)), None).tolist() == list(range(6))
    assert best_partition(np.ones((1, 1)), None).tolist() == [0]
    with pytest.raises(DataError, match="too many"):
        REGISTRY.build("correlation").fit_predict(np.ones((12_001, 1)), None, 0)


@pytest.mark.parametrize("k", [6, 20])
def test_planted_clusters_are_found_without_their_number(k: int) -> None:
    x, truth = planted(k)
    clusterer = REGISTRY.build("correlation")
    for rows in (x, sparse.csr_array(x)):
        labels = clusterer.fit_predict(rows, None, 0)
        assert AdjustedRandIndex(MetricConfig()).score(truth, labels) > 0.95
    assert len(set(clusterer.fit_predict(x, 3, 0))) == 3


def test_a_lower_offset_never_gives_fewer_clusters() -> None:
    x, _ = planted(6, noise=0.1)
    found = [
        len(set(REGISTRY.build("correlation", {"offset": offset}).fit_predict(x, None, 0)))
        for offset in (3.0, 1.4, -3.0)
    ]
    assert found == sorted(found)


def test_the_effective_number_is_that_of_equal_clusters_whatever_scale_rotation_and_format() -> None:
    for k in (2, 5, 30):
        assert effective_themes(np.repeat(np.eye(k), 50, axis=0)) == pytest.approx(k - 1, rel=0.02)
    x, _ = planted(8)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(96, 96)))[0]
    lengths = np.random.default_rng(1).uniform(0.5, 2, size=(len(x), 1))
    same = [effective_themes(y) for y in (x, x * lengths, x @ turn, sparse.csr_array(x))]
    np.testing.assert_allclose(same, same[0], rtol=1e-9)
    assert effective_themes(np.ones((5, 3))) == effective_themes(np.zeros((5, 3))) == 1.0
    assert effective_themes(np.ones((1, 3))) == 1.0


def test_probabilities_are_symmetric_and_rise_with_the_cosine() -> None:
    x, truth = planted(6)
    cosines = centred_cosines(x)
    np.testing.assert_allclose(cosines, centred_cosines(sparse.csr_array(x)), atol=1e-9)
    p = expit(PairCalibration().log_odds(cosines, effective_themes(x)))
    np.testing.assert_allclose(p, p.T)
    assert ((p > 0) & (p < 1)).all()
    pairs = np.triu_indices(len(x), 1)
    assert (np.diff(p[pairs][np.argsort(cosines[pairs])]) >= -1e-12).all()
    same = (truth[:, None] == truth)[pairs]
    assert p[pairs][same].mean() > 3 * p[pairs][~same].mean()
