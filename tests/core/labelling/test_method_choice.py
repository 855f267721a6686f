"""Choice by labels: agreement is kappa, names of clusters do not matter, and the default stays without evidence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.labelling.learning import Pairs
from themescope.core.labelling.method_choice import agreement, choose, confidence_with
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig


def all_pairs(labels: np.ndarray) -> Pairs:
    i, j = np.triu_indices(len(labels), 1)
    return Pairs(i, j, labels[i] == labels[j])


def same(pairs: Pairs, clusterings: np.ndarray) -> np.ndarray:
    return clusterings[:, pairs.first] == clusterings[:, pairs.second]


def noisy(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.where(random.random(len(labels)) < share, random.integers(0, 5, len(labels)), labels)


TRUTH = np.repeat(np.arange(5), 12)


@given(st.lists(st.integers(0, 3), min_size=4, max_size=12), st.integers(0, 5))
def test_over_all_pairs_agreement_is_the_adjusted_rand_index(labels: list[int], seed: int) -> None:
    truth = np.array(labels)
    other = np.random.default_rng(seed).integers(0, 3, len(truth))
    pairs = all_pairs(truth)
    wanted = AdjustedRandIndex(MetricConfig()).score(truth, other)
    varied = 0 < (same(pairs, other[None]).sum() + pairs.together.sum()) < 2 * len(pairs)
    if varied:
        found = agreement(pairs.together, same(pairs, other[None]).astype(np.float32))
        assert found[0] == pytest.approx(wanted, abs=1e-6)


def test_a_weight_of_zero_leaves_a_pair_out() -> None:
    pairs, table = (
        all_pairs(TRUTH[::6]),
        same(all_pairs(TRUTH[::6]), noisy(TRUTH[::6], 0.4, 1)[None]).astype(np.float32),
    )
    kept = np.arange(len(pairs)) % 3 > 0
    weighted = agreement(pairs.together, table, kept[None].astype(np.float32))
    assert weighted[0, 0] == pytest.approx(agreement(pairs.together[kept], table[:, kept])[0], abs=1e-6)


def test_a_clearly_better_configuration_replaces_the_default_and_the_gain_is_held_out() -> None:
    clusterings = np.stack([noisy(TRUTH, 0.8, 0), noisy(TRUTH, 0.75, 1), noisy(TRUTH, 0.1, 2)])
    pairs = all_pairs(TRUTH)
    found = choose(pairs, same(pairs, clusterings))
    assert found.chosen == 2 and found.ranks[0].place == 2
    best = found.ranks[0]
    assert best.gain.low > 0 and 0 < best.bound <= best.gain.value and best.agreement.low < best.agreement.value
    assert found.held_out is not None and found.held_out > 0.2
    assert found.ranks[0].agreement.n == len(TRUTH)


def test_the_default_stays_when_the_best_of_many_is_best_by_chance() -> None:
    labels = TRUTH[::5]
    clusterings = np.stack([noisy(labels, 0.5, seed) for seed in range(40)])
    pairs = all_pairs(labels)
    tables = [same(pairs, np.roll(clusterings, k, axis=0)) for k in range(8)]
    found = [choose(pairs, table, seed=k, confidence=0.95) for k, table in enumerate(tables)]
    assert sum(choice.ranks[0].place != 0 for choice in found) >= 7
    assert sum(choice.chosen != 0 for choice in found) <= 1


@settings(max_examples=20)
@given(st.permutations(range(5)), st.integers(0, 3))
def test_names_of_clusters_do_not_matter(names: list[int], seed: int) -> None:
    clusterings = np.stack([noisy(TRUTH, share, seed) for share in (0.7, 0.4, 0.1)])
    pairs = all_pairs(TRUTH)
    renamed = np.array(names)[clusterings]
    assert choose(pairs, same(pairs, clusterings)) == choose(pairs, same(pairs, renamed))


def test_equal_configurations_keep_the_default_and_their_order() -> None:
    pairs = all_pairs(TRUTH)
    found = choose(pairs, same(pairs, np.stack([noisy(TRUTH, 0.3, 0)] * 3)), default=1)
    assert found.chosen == 1 and [rank.place for rank in found.ranks] == [0, 1, 2]
    assert all(rank.bound == 0 for rank in found.ranks) and found.held_out == 0


def test_a_configuration_worse_than_the_default_is_never_chosen_whatever_the_confidence() -> None:
    pairs = all_pairs(TRUTH)
    worse = np.stack([noisy(TRUTH, 0.1, 0), noisy(TRUTH, 0.8, 1)])
    found = choose(pairs, same(pairs, worse), confidence=0.01)
    assert found.chosen == 0 and found.ranks[-1].bound < 0


def test_caution_falls_with_the_number_of_labels() -> None:
    levels = [confidence_with(count) for count in (1, 10, 14, 15, 50, 1_000)]
    assert levels[:2] == [0.7, 0.7] and levels == sorted(levels, reverse=True) and levels[-1] > 0


def test_articles_are_resampled_where_there_are_enough() -> None:
    pairs = all_pairs(TRUTH)
    clusterings = np.stack([noisy(TRUTH, 0.7, 0), noisy(TRUTH, 0.2, 1)])
    articles = np.arange(len(TRUTH)) // 6
    assert choose(pairs, same(pairs, clusterings), articles).ranks[0].agreement.n == 10
    assert choose(pairs, same(pairs, clusterings), articles // 5).ranks[0].agreement.n == len(TRUTH)


@pytest.mark.parametrize("labels", [[0, 1], [0] * 8, list(range(8))], ids=["few", "one cluster", "no two together"])
def test_too_few_labels_are_refused(labels: list[int]) -> None:
    pairs = all_pairs(np.array(labels))
    with pytest.raises(DataError, match="Place"):
        choose(pairs, same(pairs, np.zeros((1, len(labels)))))
