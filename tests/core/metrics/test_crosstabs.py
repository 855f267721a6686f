"""Contingency tables against scipy and an example worked out by hand; shares over time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from themescope.core.metrics.crosstabs import crosstab, once_per_article, periods_of, share_intervals, usual_period

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


def test_adjusted_residuals_by_hand() -> None:
    """(count − expected) / √(expected (1 − row share) (1 − column share)); the square is chi² of a 2 × 2 table."""
    rows, columns = np.repeat([0, 0, 1, 1], [10, 20, 30, 40]), np.repeat([0, 1, 0, 1], [10, 20, 30, 40])
    found = crosstab(rows, columns, (2, 2))
    assert found.expected.tolist() == [[12, 18], [28, 42]]
    assert found.residuals[0, 0] == pytest.approx((10 - 12) / np.sqrt(12 * 0.7 * 0.6))
    assert np.abs(found.residuals) ** 2 == pytest.approx(np.full((2, 2), found.chi_square))
    assert found.shares()[1].tolist() == pytest.approx([3 / 7, 4 / 7]) and found.low_expected == 0
    assert found.shares(axis=0).sum(axis=0) == pytest.approx(1)


def test_items_without_a_class_are_left_out_and_articles_count_once() -> None:
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
