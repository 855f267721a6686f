import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from themescope.core.errors import DataError
from themescope.core.metrics.statistics import Family, compare_all, paired_difference
from themescope.core.types import Estimate


def null_scores(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Methods that are equally good: articles differ much in how hard they are, methods by skewed noise only."""
    return rng.beta(2, 3, size=(n, 1)) + 0.1 * rng.exponential(size=(n, m))


def test_under_the_null_a_family_raises_a_false_alarm_in_at_most_5_percent() -> None:
    rng = np.random.default_rng(5)
    times, alarms, single = 400, 0, 0
    for seed in range(times):
        found = compare_all(null_scores(rng, 60, 4), seed=seed, resamples=400)
        alarms += bool((found.corrected < 0.05).any())
        single += int((found.ps < 0.05).sum())
    error = np.sqrt(0.05 * 0.95 / times)
    assert alarms / times <= 0.05 + 3 * error
    assert single / (times * 6) > 0.02, "the tests are not merely silent"


def test_a_real_difference_is_found_and_its_sign_is_kept() -> None:
    rng = np.random.default_rng(1)
    scores = null_scores(rng, 100, 4)
    scores[:, 2] += 0.2
    found = compare_all(scores)
    assert found.better()[2].tolist() == [True, True, False, True]
    assert found.ranks()[2] == (1, 1) and found.ranks()[0] == (2, 4)
    assert found.groups() == ["b", "b", "a", "b"]
    difference, p, corrected = found.between(3, 2)
    back = found.between(2, 3)[0]
    assert -back.high == difference.low < difference.value == -back.value < difference.high < 0
    assert p <= corrected < 0.05


def test_intervals_are_those_of_each_method_and_each_pair() -> None:
    scores = null_scores(np.random.default_rng(2), 80, 3)
    found = compare_all(scores)
    for a, b, difference in zip(found.first, found.second, found.differences, strict=True):
        alone = paired_difference(scores[:, a], scores[:, b])
        assert difference.value == pytest.approx(alone.value)
        assert (difference.low, difference.high) == pytest.approx((alone.low, alone.high), abs=0.003)
    assert found.ps == pytest.approx([stats.wilcoxon(scores[:, a] - scores[:, b]).pvalue for a, b in PAIRS])


PAIRS = ((0, 1), (0, 2), (1, 2))


def test_articles_weigh_as_much_as_they_have_triplets_and_a_single_one_makes_no_claims() -> None:
    values, sizes = np.array([[1.0, 0.5], [0.0, 0.5], [0.5, 0.25]]), np.array([10, 30, 10])
    found = compare_all(values, sizes)
    assert [e.value for e in found.estimates] == pytest.approx([0.3, 0.45])
    assert [e.n for e in found.estimates] == [3, 3]
    alone = compare_all(np.array([[0.5], [0.7]]))
    assert (len(alone.ps), alone.ranks(), alone.groups()) == (0, [(1, 1)], ["a"])
    one = compare_all(np.array([[0.5, 0.9]]))
    assert one.estimates[1] == Estimate(0.9, 0.9, 0.9, 1)
    assert one.groups() == ["a", "a"]
    with pytest.raises(DataError, match="no scores to average"):
        compare_all(np.empty((0, 2)))


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=7), st.integers(0, 2**21 - 1))
def test_two_methods_share_a_letter_exactly_where_they_are_not_told_apart(means: list[float], bits: int) -> None:
    m = len(means)
    first, second = np.triu_indices(m, 1)
    corrected = np.where(bits >> np.arange(len(first)) & 1, 0.01, 0.5)
    gaps = tuple(
        Estimate(g, g - 1e-9, g + 1e-9, 9)
        for g in (means[a] - means[b] or 1.0 for a, b in zip(first, second, strict=True))
    )
    gaps = tuple(g if abs(g.value) > 1e-6 else Estimate(1.0, 0.9, 1.1, 9) for g in gaps)
    family = Family(tuple(Estimate(v, v, v, 9) for v in means), first, second, gaps, corrected, corrected)
    letters = [set(text) for text in family.groups()]
    for a, b, p in zip(first, second, corrected, strict=True):
        assert bool(letters[a] & letters[b]) == (p > 0.05)
    assert all(1 <= low <= high <= m for low, high in family.ranks())


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_articles_are_not_tested(n: int) -> None:
    values = np.random.default_rng(n).normal(size=(n, 3)) + np.array([0.0, 5.0, 10.0])
    family = compare_all(values)
    assert not family.tested and not family.better().any() and family.groups() == ["a"] * 3
    assert np.isnan(family.corrected).all()
