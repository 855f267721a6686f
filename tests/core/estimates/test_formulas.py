import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from themescope.core.estimates import formulas


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 29, 500, 1000])
def test_quantile_of_t(degrees: int) -> None:
    assert formulas.t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)
    assert formulas.t_tail(1.7, degrees) == pytest.approx(stats.t.sf(1.7, degrees), rel=1e-9)


def test_expansion_of_the_quantile_of_t() -> None:
    assert formulas.t_quantile(1001) == pytest.approx(stats.t.ppf(0.975, 1001), abs=1e-5)


def example(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    label = (random.random(n) < 0.4).astype(float)
    code = np.where(random.random(n) < 0.2, 1 - label, label)
    weight = np.where(random.random(n) < 0.3, random.choice([2.0, 5.0], n), 0.0)
    return np.where(weight > 0, label, 0), code, weight, random.integers(0, 40, n)


def test_people_alone_is_the_weighted_mean_with_wilsons_interval() -> None:
    label, weight = np.array([1.0] * 30 + [0.0] * 70 + [0.0] * 900), np.array([10.0] * 100 + [0.0] * 900)
    found = formulas.mean(label, None, weight, np.arange(1000), 1000)
    assert found.value == pytest.approx(0.3)
    assert found.variance == pytest.approx(0.3 * 0.7 / 99)
    t = stats.t.ppf(0.975, 99)
    low, high = formulas.interval(found)
    # Wilson: the ends are the shares from which .3 is t standard errors away.
    for end in (low, high):
        assert abs(0.3 - end) == pytest.approx(t * np.sqrt(end * (1 - end) / 99), rel=1e-6)


def test_no_code_found_is_no_proof_that_there_is_none() -> None:
    found = formulas.mean(np.zeros(500), None, np.array([5.0] * 100 + [0.0] * 400), np.arange(500), 500)
    low, high = formulas.interval(found)
    assert (found.value, low) == (0, 0)
    assert 0.03 < high < 0.045  # the “rule of three” says .03 for one side


def test_variance_is_that_of_clusters() -> None:
    label, _, weight, document = example()
    found = formulas.mean(label, None, weight, document, 40)
    shares = weight / weight.sum()
    sums = [(shares * (label - shares @ label))[document == d].sum() for d in range(40)]
    labelled = len(np.unique(document[weight > 0]))
    assert found.variance == pytest.approx(np.square(sums).sum() * labelled / (labelled - 1), rel=0.02)


def test_tuning_has_the_least_variance() -> None:
    label, code, weight, document = example()
    found = formulas.mean(label, code, weight, document, 40)
    assert 0 < found.tuning < 1
    shares = weight / weight.sum()

    def corrected(tuning: float) -> tuple[float, float]:
        rest = label - tuning * code
        parts = tuning * (code - code.mean()) / len(code) + shares * (rest - shares @ rest)
        return tuning * code.mean() + shares @ rest, np.square(np.bincount(document, parts)).sum()

    value, variance = corrected(found.tuning)
    assert found.value == pytest.approx(value)
    assert found.influence @ found.influence == pytest.approx(variance)
    # The added errors make it use the machine a little less than the labels alone suggest.
    best = min(np.linspace(0, 1, 201), key=lambda tuning: corrected(tuning)[1])
    assert best - 0.1 < found.tuning <= best + 0.005


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_mean_of_constant_codes_is_that_of_people(seed: int, constant: float) -> None:
    label, _, weight, document = example(80, seed)
    weight[:3] = 2.0
    people = formulas.mean(label, None, weight, document, 40)
    found = formulas.mean(label, np.full(80, constant), weight, document, 40)
    assert found.value == pytest.approx(people.value)
    low, high = formulas.interval(found)
    assert 0 <= low <= min(1, max(0, found.value)) <= high <= 1


def test_ratio_is_the_composition_of_the_code() -> None:
    label, code, weight, document = example(2000)
    part = (document < 15).astype(float)
    found = formulas.ratio(part, label, code, weight, document, 40)
    rest = label - found.tuning * code
    shares = weight / weight.sum()
    totals = [(x * found.tuning * code).mean() + shares @ (x * rest) for x in (part, np.ones(2000))]
    assert found.value == pytest.approx(totals[0] / totals[1])
    other = formulas.ratio(1 - part, label, code, weight, document, 40)
    assert found.value + other.value == pytest.approx(1, abs=1e-3)


def test_difference_of_independent_groups_is_newcombes() -> None:
    # Newcombe 1998, table II, example (a): 56/70 and 48/80, interval .0524 to .3339 with z; with t a little wider.
    first = formulas.mean(np.r_[np.ones(56), np.zeros(94)], None, np.r_[np.ones(70), np.zeros(80)], np.arange(150), 150)
    second = formulas.mean(
        np.r_[np.zeros(70), np.ones(48), np.zeros(32)], None, np.r_[np.zeros(70), np.ones(80)], np.arange(150), 150
    )
    value, low, high = formulas.difference(first, second)
    assert (value, low, high) == pytest.approx((0.2, 0.0524, 0.3339), abs=0.004)
    assert low < 0.0524 < 0.3339 < high


def test_difference_of_a_group_with_itself_is_certain() -> None:
    label, code, weight, document = example()
    found = formulas.mean(label, code, weight, document, 40)
    value, low, high = formulas.difference(found, found)
    assert value == 0 and high - low < 0.05
