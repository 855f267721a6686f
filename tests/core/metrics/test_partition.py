from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from sklearn import metrics

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.errors import DataError
from themescope.core.metrics import REGISTRY
from themescope.core.metrics.partition import ContingencyTable, MatchedPair, Matching, match_clusters
from themescope.core.metrics.statistics import crosstab, once_per_article, periods_of, share_intervals, usual_period

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


def test_information_is_ln_k_at_most_and_the_larger_entropy_gives_the_smaller_score() -> None:
    for k in (2, 5, 8):
        labels = np.repeat(np.arange(k), 7).astype(np.int32)
        for names in list(permutations(range(k)))[:5]:
            renamed = np.array(names, dtype=np.int32)[labels]
            assert score("mi", labels, renamed) == pytest.approx(np.log(k), abs=1e-12)
            assert score("ami", labels, renamed) == 1.0
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


def test_single_items_single_clusters_and_large_tables() -> None:
    one, alone = np.zeros(5, np.int32), np.arange(5, dtype=np.int32)
    for id in ("ami", "ami-arithmetic", "ri", "ari", "v"):
        assert score(id, one, one) == 1.0 and score(id, alone, alone) == 1.0
        assert score(id, one[:1], alone[:1]) == 1.0
    assert score("ari", one, alone) == 0.0 and score("ri", one, alone) == 0.0 and score("v", one, alone) == 0.0
    truth = np.repeat(np.arange(4), 500_000).astype(np.int32)
    assert score("mi", truth, truth) == pytest.approx(np.log(4))
    assert score("ri", truth, truth) == 1.0
    assert score("ami", truth[::1000], np.roll(truth, 250_000)[::1000]) > 0.3


LABELS = st.integers(1, 14).flatmap(lambda n: st.tuples(*[hnp.arrays(np.int32, n, elements=st.integers(-1, 4))] * 2))


def stayed(found: Matching) -> int:
    return len(found.aligned) - len(found.moved)


def most_that_stay(first: np.ndarray, second: np.ndarray) -> int:
    """Items that stay under the best of all one-to-one matchings; unassigned in both counts as staying."""
    rows, columns = (sorted(set(labels.tolist()) - {-1}) for labels in (first, second))
    if len(rows) > len(columns):
        return most_that_stay(second, first)
    tries = (dict(zip(rows, chosen, strict=True)) | {-1: -1} for chosen in permutations(columns, len(rows)))
    return max(sum(names[a] == b for a, b in zip(first.tolist(), second.tolist(), strict=True)) for names in tries)


@given(LABELS)
def test_every_cluster_is_matched_once_and_as_many_items_stay_as_possible(both: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = both
    found = match_clusters(first, second)
    assert sorted([p.first for p in found.pairs] + list(found.only_first)) == sorted(set(first.tolist()) - {-1})
    assert sorted([p.second for p in found.pairs] + list(found.only_second)) == sorted(set(second.tolist()) - {-1})
    for pair in found.pairs:
        assert pair.both == np.count_nonzero((first == pair.first) & (second == pair.second)) > 0
    stays = sum(pair.both for pair in found.pairs) + np.count_nonzero((first == -1) & (second == -1))
    assert stays == stayed(found)
    # Under its new names the second partition is the same partition.
    assert ((found.aligned[:, None] == found.aligned) == (second[:, None] == second)).all()
    assert stayed(match_clusters(*both)) == most_that_stay(*both)


def test_numbers_of_clusters_may_differ_and_other_items_are_refused() -> None:
    found = match_clusters(np.array([0, 0, 0, 1, 1, -1]), np.array([7, 7, 8, 9, 9, 9]))
    assert found.pairs == (MatchedPair(0, 7, 2), MatchedPair(1, 9, 2))
    assert (found.only_first, found.only_second) == ((), (8,))
    assert found.moved.tolist() == [2, 5]
    assert found.aligned.tolist() == [0, 0, 2, 1, 1, 1]
    with pytest.raises(DataError, match="one label per item"):
        match_clusters(np.zeros(3, np.int32), np.zeros(4, np.int32))
    assert match_clusters(np.empty(0, np.int32), np.empty(0, np.int32)).pairs == ()


CODES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=60)


@given(CODES)
def test_the_test_of_independence_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    rows, columns = np.array(pairs).T
    found = crosstab(rows, columns, (3, 4))
    assert found.counts.sum() == len(pairs)
    used = found.counts[np.ix_(found.counts.sum(1) > 0, found.counts.sum(0) > 0)]
    if min(used.shape) < 2:
        assert (found.p, found.cramers_v, found.degrees) == (1, 0, 0)
        return
    oracle = stats.chi2_contingency(used, correction=False)
    assert found.chi_square == pytest.approx(oracle.statistic) and found.p == pytest.approx(oracle.pvalue)
    assert found.degrees == oracle.dof
    assert found.cramers_v == pytest.approx(stats.contingency.association(used, "cramer"))


def test_residuals_by_hand_without_items_of_no_class_and_once_per_article() -> None:
    """(count − expected) / √(expected (1 − row share) (1 − column share)); the square is chi² of a 2 × 2 table."""
    rows, columns = np.repeat([0, 0, 1, 1], [10, 20, 30, 40]), np.repeat([0, 1, 0, 1], [10, 20, 30, 40])
    found = crosstab(rows, columns, (2, 2))
    assert found.expected.tolist() == [[12, 18], [28, 42]]
    assert found.residuals[0, 0] == pytest.approx((10 - 12) / np.sqrt(12 * 0.7 * 0.6))
    assert np.abs(found.residuals) ** 2 == pytest.approx(np.full((2, 2), found.chi_square))
    assert found.shares()[1].tolist() == pytest.approx([3 / 7, 4 / 7]) and found.low_expected == 0
    assert found.shares(axis=0).sum(axis=0) == pytest.approx(1)
    rows, columns = np.array([0, 0, 1, -1, 0]), np.array([1, 1, 0, 1, -1])
    assert crosstab(rows, columns, (2, 2)).counts.tolist() == [[0, 2], [1, 0]]
    kept = once_per_article(rows, columns, np.array([7, 7, 7, 7, 7]))
    assert crosstab(rows[kept], columns[kept], (2, 2)).counts.tolist() == [[0, 1], [1, 0]]
    assert np.isnan(crosstab(np.empty(0, int), np.empty(0, int), (2, 2)).shares()).all()


def test_intervals_of_shares_are_those_of_scipy() -> None:
    share, low, high = share_intervals([0, 3, 10, 0], [10, 12, 10, 0])
    for i, (x, n) in enumerate([(0, 10), (3, 12), (10, 10)]):
        oracle = stats.binomtest(x, n).proportion_ci(method="wilson")
        assert (share[i], low[i], high[i]) == pytest.approx((x / n, oracle.low, oracle.high), abs=1e-12)
    assert np.isnan([share[3], low[3], high[3]]).all()


def test_dates_are_grouped_into_periods() -> None:
    dates = np.array(["1969-12-31", "2020-05-01", "NaT", "2020-06-30T23:00", "2021-01-01"], "datetime64[us]")
    assert periods_of(dates, "quarter") == (pytest.approx([0, 1, -1, 1, 2]), ["1969 Q4", "2020 Q2", "2021 Q1"])
    assert periods_of(dates, "year")[1] == ["1969", "2020", "2021"]
    assert periods_of(dates, "month")[1] == ["1969-12", "2020-05", "2020-06", "2021-01"]
    assert usual_period(dates) == "year" and usual_period(dates[3:]) == "month"
    assert usual_period(dates[2:3]) == "day" and periods_of(dates[2:3], "day")[1] == []
