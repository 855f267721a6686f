from itertools import product

import numpy as np
import pytest
from scipy import sparse

from themescope.core.clustering import kernels
from themescope.core.clustering.iclust import IclustConfig, best_partition
from themescope.core.clustering.inputs import MOST_ITEMS, check_items, cosine_matrix, gram_matrix, unit_rows
from themescope.core.errors import DataError


def similarity(n: int = 40, dim: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, dim))
    return cosine_matrix(centres[rng.integers(4, size=n)] + rng.normal(size=(n, dim)))


def hard_objective(s: np.ndarray, labels: np.ndarray, k: int, temperature: float, off: int) -> float:
    """F of a hard partition, computed from its labels: the sum of S_c/(n_c - off) + T·n_c·ln(n_c/n), divided by n."""
    total, n = 0.0, len(labels)
    for c in range(k):
        inside = np.flatnonzero(labels == c)
        if len(inside) > off:
            total += s[np.ix_(inside, inside)].sum() / (len(inside) - off)
        if len(inside):
            total += temperature * len(inside) * np.log(len(inside) / n)
    return float(total / n)


def state(seed: int = 0) -> np.ndarray:
    return np.array([seed], np.uint64)


def test_objective_is_the_kmeans_objective_on_unit_vectors() -> None:
    rng = np.random.default_rng(1)
    x = unit_rows(rng.normal(size=(50, 9)))
    labels, objective = best_partition(cosine_matrix(x), 5, IclustConfig(), 3)
    sse = sum(((x[labels == c] - x[labels == c].mean(axis=0)) ** 2).sum() for c in range(5))
    assert 50 - 50 * objective == pytest.approx(sse, abs=1e-9)


@pytest.mark.parametrize("temperature", [0.0, 0.05])
@pytest.mark.parametrize("off", [0, 1])
def test_objective_never_falls(temperature: float, off: int) -> None:
    s = similarity()
    if off:
        np.fill_diagonal(s, 0.0)
    for seed in range(5):
        labels = kernels.random_partition(40, 4, state(seed))
        before = hard_objective(s, labels, 4, temperature, off)
        for sweep in range(50):
            previous = labels.copy()
            after = kernels.sequential(s, labels, 4, temperature, off, 1, state(100 * seed + sweep))
            assert after >= before - 1e-12
            assert after == pytest.approx(hard_objective(s, labels, 4, temperature, off), abs=1e-10)
            before = after
            if np.array_equal(previous, labels):
                break
        assert set(labels) == {0, 1, 2, 3}


def test_every_accepted_move_raises_the_objective() -> None:
    """After convergence no single move of an item to another cluster gains anything."""
    s = similarity(30)
    labels, objective = best_partition(s, 4, IclustConfig(restarts=3), 0)
    for item, target in product(range(30), range(4)):
        moved = labels.astype(np.int64)
        moved[item] = target
        if len(set(moved)) == 4:
            assert hard_objective(s, moved, 4, 0.0, 0) <= objective + 1e-9


def test_incremental_sums_equal_recomputation_after_a_thousand_moves() -> None:
    s, rng = similarity(60), np.random.default_rng(2)
    labels = kernels.random_partition(60, 6, state())
    sums, within, sizes = kernels.cluster_sums(s, labels, 6)
    for _ in range(1000):
        item, target = int(rng.integers(60)), int(rng.integers(6))
        if target != labels[item]:
            kernels.move(s, sums, within, sizes, item, labels[item], target)
            labels[item] = target
    for kept, fresh in zip((sums, within, sizes), kernels.cluster_sums(s, labels, 6), strict=True):
        np.testing.assert_allclose(kept, fresh, atol=1e-8)


@pytest.mark.parametrize("config", [IclustConfig(restarts=20), IclustConfig(restarts=20, diagonal=False)])
@pytest.mark.parametrize("seed", range(5))
def test_best_of_twenty_starts_is_the_best_of_all_partitions(seed: int, config: IclustConfig) -> None:
    s = similarity(8, 3, seed)
    bare, off = s.copy(), 0 if config.diagonal else 1
    if off:
        np.fill_diagonal(bare, 0.0)
    best = max(
        hard_objective(bare, np.array([0, *rest], np.int64), 2, 0.0, off)
        for rest in product((0, 1), repeat=7)
        if any(rest)
    )
    assert best_partition(s, 2, config, 0)[1] == pytest.approx(best, abs=1e-12)


def test_temperature_rewards_unbalance() -> None:
    s = similarity(60)
    sizes = [
        np.bincount(best_partition(s, 4, IclustConfig(temperature=t), 0)[0], minlength=4).max() for t in (0.0, 0.5)
    ]
    assert sizes[1] > sizes[0]


def test_zero_rows_columns_of_few_rows_and_too_many_items() -> None:
    x = np.zeros((4, 3))
    x[:2] = [[3, 0, 0], [2, 0, 0]]
    expected = np.zeros((4, 4))
    expected[:2, :2] = 1.0
    np.testing.assert_allclose(cosine_matrix(x), expected)
    np.testing.assert_allclose(cosine_matrix(sparse.csr_array(x)), expected)
    rng = np.random.default_rng(0)
    x = np.hstack([rng.normal(size=(30, 12)), rng.normal(size=(30, 40)) * (rng.random((30, 40)) < 0.05)])
    np.testing.assert_allclose(gram_matrix(sparse.csr_array(x)), x @ x.T, atol=1e-12)
    with pytest.raises(DataError, match="too many"):
        check_items(MOST_ITEMS + 1, 2)
