"""Partition metrics against brute force and scikit-learn."""

from itertools import permutations

import numpy as np
import pytest
from sklearn import metrics

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics import REGISTRY
from themescope.core.metrics.partition import ContingencyTable

THEIRS = {
    "mi": metrics.mutual_info_score,
    "ami": lambda a, b: metrics.adjusted_mutual_info_score(a, b, average_method="max"),
    "ami-arithmetic": metrics.adjusted_mutual_info_score,
    "ri": metrics.rand_score,
    "ari": metrics.adjusted_rand_score,
    "v": metrics.v_measure_score,
}


RANDOM = CLUSTERERS.build("random")


def score(id: str, truth: np.ndarray, labels: np.ndarray) -> float:
    return float(REGISTRY.build(id).score(truth, labels))


@pytest.mark.parametrize("id", THEIRS)
@pytest.mark.parametrize("seed", range(5))
def test_equal_to_scikit_learn(id: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(10, 200)), int(rng.integers(2, 9))
    truth = rng.integers(k, size=n).astype(np.int32)
    labels = np.where(rng.random(n) < 0.5, truth, rng.integers(k + 2, size=n)).astype(np.int32)
    assert score(id, truth, labels) == pytest.approx(THEIRS[id](truth, labels), abs=1e-10)


def test_expected_information_is_the_mean_over_all_arrangements() -> None:
    """N = 12; every distinct arrangement of the second partition, counted once."""
    truth = np.repeat([0, 1, 2], [3, 4, 5]).astype(np.int32)
    sizes = (2, 4, 6)

    def arrangements(left: tuple[int, ...], length: int) -> list[tuple[int, ...]]:
        if length == 0:
            return [()]
        found = []
        for c, size in enumerate(left):
            if size:
                rest = (*left[:c], size - 1, *left[c + 1 :])
                found += [(c, *tail) for tail in arrangements(rest, length - 1)]
        return found

    every = np.array(arrangements(sizes, 12), dtype=np.int32)
    assert len(every) == 13_860
    tables = np.stack([[(every[:, truth == u] == v).sum(axis=1) for v in range(3)] for u in range(3)])
    joint = tables / 12
    margins = np.array([3, 4, 5])[:, None, None] * np.array(sizes)[None, :, None] / 144
    information = np.where(joint > 0, joint * np.log(np.where(joint > 0, joint, 1) / margins), 0).sum(axis=(0, 1))
    expected = ContingencyTable.of(truth, every[0]).expected_mutual_information()
    assert expected == pytest.approx(information.mean(), abs=1e-10)


def test_information_of_identical_balanced_partitions_is_ln_k() -> None:
    for k in (2, 5, 8):
        labels = np.repeat(np.arange(k), 7).astype(np.int32)
        for names in list(permutations(range(k)))[:5]:
            renamed = np.array(names, dtype=np.int32)[labels]
            assert score("mi", labels, renamed) == pytest.approx(np.log(k), abs=1e-12)
            assert score("ami", labels, renamed) == 1.0


def test_the_larger_entropy_gives_the_smaller_score() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        truth = rng.integers(6, size=60).astype(np.int32)
        labels = np.where(rng.random(60) < 0.6, truth, rng.integers(3, size=60)).astype(np.int32)
        assert score("ami", truth, labels) <= score("ami-arithmetic", truth, labels) + 1e-12


def test_random_labels_on_benchmark_sizes() -> None:
    """Chance level RI ≈ .735 and MI ≈ .5 nats where sizes are as in the published benchmark."""
    rng = np.random.default_rng(0)
    found = {"mi": [], "ri": [], "ami": [], "ari": []}
    for _ in range(300):
        k = int(rng.integers(5, 12))
        sizes = 3 + np.floor(rng.lognormal(1.1, 1.05, size=k)).astype(int)
        truth = np.repeat(np.arange(k), sizes).astype(np.int32)
        labels = RANDOM.fit_predict(np.zeros((len(truth), 0)), k, int(rng.integers(2**31)))
        for id, values in found.items():
            values.append(score(id, truth, labels))
    assert np.mean(found["ri"]) == pytest.approx(0.735, abs=0.03)
    assert np.mean(found["mi"]) == pytest.approx(0.5, abs=0.06)
    assert abs(np.mean(found["ami"])) < 0.01 and abs(np.mean(found["ari"])) < 0.01


def test_unassigned_items_are_one_cluster() -> None:
    truth = np.array([0, 0, 1, 1], np.int32)
    assert score("ami", truth, np.array([-1, -1, 0, 0], np.int32)) == 1.0


def test_single_items_and_single_clusters() -> None:
    one, alone = np.zeros(5, np.int32), np.arange(5, dtype=np.int32)
    for id in ("ami", "ami-arithmetic", "ri", "ari", "v"):
        assert score(id, one, one) == 1.0 and score(id, alone, alone) == 1.0
        assert score(id, one[:1], alone[:1]) == 1.0
    assert score("ari", one, alone) == 0.0 and score("ri", one, alone) == 0.0 and score("v", one, alone) == 0.0


def test_large_tables_do_not_overflow() -> None:
    truth = np.repeat(np.arange(4), 500_000).astype(np.int32)
    assert score("mi", truth, truth) == pytest.approx(np.log(4))
    assert score("ri", truth, truth) == 1.0
    assert score("ami", truth[::1000], np.roll(truth, 250_000)[::1000]) > 0.3
