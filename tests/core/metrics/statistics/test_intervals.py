import numpy as np
import pytest

from themescope.core.errors import DataError
from themescope.core.metrics import statistics
from themescope.core.metrics.statistics import bootstrap_mean, paired_difference


def test_covers_the_true_mean() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for trial in range(200):
        estimate = bootstrap_mean(rng.exponential(size=80), seed=trial, n_resamples=1000)
        inside += estimate.low <= 1.0 <= estimate.high
    assert 0.88 <= inside / 200 <= 0.98


def test_close_to_the_normal_interval() -> None:
    values = np.random.default_rng(1).normal(3, 2, size=400)
    estimate = bootstrap_mean(values)
    error = values.std() / np.sqrt(400)
    assert estimate.value == pytest.approx(values.mean()) and estimate.n == 400
    assert estimate.low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert estimate.high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)


def test_groups_widen_the_interval_are_counted_and_items_without_one_stand_alone() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(30), 20)
    values = rng.normal(size=30)[groups] + 0.1 * rng.normal(size=600)
    alone, grouped = bootstrap_mean(values), bootstrap_mean(values, groups)
    assert grouped.n == 30 and alone.n == 600
    assert grouped.value == pytest.approx(alone.value)
    assert grouped.high - grouped.low > 3 * (alone.high - alone.low)
    assert bootstrap_mean([1.0, 0.0, 1.0, 0.0], np.array([-1, -1, 5, 5])).n == 3


def test_shortcut_for_few_values_is_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = (np.random.default_rng(3).random(2000) < 0.7).astype(float)
    short = bootstrap_mean(values)
    monkeypatch.setattr(statistics, "_FEW", 0.0)
    long = bootstrap_mean(values)
    assert short.low == pytest.approx(long.low, abs=0.002) and short.high == pytest.approx(long.high, abs=0.002)


def test_pairs_see_a_difference_that_single_intervals_hide() -> None:
    rng = np.random.default_rng(4)
    hard = rng.normal(0.3, 0.2, size=100)
    a, b = hard + 0.02 + 0.02 * rng.normal(size=100), hard
    difference = paired_difference(a, b)
    assert difference.low > 0 and difference.value == pytest.approx((a - b).mean())
    assert bootstrap_mean(a).low < bootstrap_mean(b).high
    swapped = paired_difference(b, a)
    assert swapped.value == pytest.approx(-difference.value)


def test_intervals_are_seeded_and_have_no_width_where_nothing_varies() -> None:
    values = np.random.default_rng(5).random(50)
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    estimate = bootstrap_mean([0.5, 1.0], np.array([3, 3]))
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (0.75, 0.75, 0.75, 1)
    estimate = bootstrap_mean(np.ones(20))
    assert estimate.low == estimate.high == 1.0


def test_bad_input() -> None:
    with pytest.raises(DataError, match="no scores to average"):
        bootstrap_mean([])
    with pytest.raises(DataError, match="finite"):
        bootstrap_mean([1.0, float("nan")])
    with pytest.raises(DataError, match="group"):
        bootstrap_mean([1.0, 2.0], np.array([1]))
    with pytest.raises(DataError, match="same articles"):
        paired_difference([1.0], [1.0, 2.0])
