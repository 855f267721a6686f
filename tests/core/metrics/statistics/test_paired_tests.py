import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from themescope.core.errors import DataError
from themescope.core.metrics.statistics import holm, paired_test, signed_rank_ps


def test_a_clear_difference_is_found_and_noise_or_equality_is_none() -> None:
    rng = np.random.default_rng(0)
    b = rng.normal(size=200)
    a = b + 0.3 + rng.normal(scale=0.2, size=200)
    test = paired_test(a, b)
    assert test.difference.low > 0.25 and test.difference.high < 0.35 and test.p < 1e-6
    back = paired_test(b, a)
    assert back.difference.value == pytest.approx(-test.difference.value) and back.p == pytest.approx(test.p)
    rng = np.random.default_rng(1)
    ps = signed_rank_ps(rng.normal(size=(40, 200)))
    assert 0.01 <= np.mean(ps < 0.05) <= 0.1
    test = paired_test([0.5, 0.5, 1.0], [0.5, 0.5, 1.0])
    assert (test.difference.value, test.p) == (0.0, 1.0)
    assert signed_rank_ps(np.zeros((3, 2))).tolist() == [1.0, 1.0]


def test_groups_count_once_and_small_samples_are_exact() -> None:
    a, groups = np.repeat([1.0, 0.0, 1.0, 1.0], 50), np.repeat([7, 8, 9, 10], 50)
    test = paired_test(a, np.full(200, 0.4), groups)
    assert test.difference.n == 4
    assert test.p == paired_test([1.0, 0.0, 1.0, 1.0], np.full(4, 0.4)).p > 0.1
    assert signed_rank_ps([[1.0], [2.0], [3.0], [4.0], [5.0]])[0] == pytest.approx(2 / 2**5)
    with pytest.raises(DataError, match="paired difference"):
        paired_test([1.0], [1.0, 2.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_helps_and_keeps_the_order(ps: list[float]) -> None:
    corrected = holm(ps)
    assert all(p <= c <= 1 for p, c in zip(ps, corrected, strict=True))
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    assert [corrected[i] for i in order] == sorted(corrected)


@pytest.mark.parametrize("n", [6, 30, 50, 200])
def test_whole_tables_are_tested_as_single_columns(n: int) -> None:
    rng = np.random.default_rng(n)
    table = np.round(rng.normal(0.1, 1, size=(n, 5)), 1)  # rounded: with ties and zeros
    table[:, 0] = rng.normal(0.1, 1, size=n)
    table[:, 4] = rng.normal(size=n)
    ranks = signed_rank_ps(table)
    for column, values in enumerate(table.T):
        used = values[values != 0]
        exact = n <= 50 and len(set(np.abs(used))) == len(used)
        wanted = stats.wilcoxon(used, method="exact" if exact else "asymptotic").pvalue
        assert ranks[column] == pytest.approx(wanted, rel=1e-12)


def test_holm_against_its_definition() -> None:
    """By hand, and by the step-down rule: the smallest is compared with α/4, the next with α/3, … until one fails."""
    ps = [0.0121, 0.0142, 0.1986, 0.0009]
    assert holm(ps) == pytest.approx([0.0363, 0.0363, 0.1986, 0.0036])
    order = np.argsort(ps)
    rejected = [(len(ps) - i) * ps[k] <= 0.05 for i, k in enumerate(order)]
    stop = rejected.index(False) if False in rejected else len(ps)
    assert {int(k) for k in order[:stop]} == {i for i, p in enumerate(holm(ps)) if p <= 0.05}
