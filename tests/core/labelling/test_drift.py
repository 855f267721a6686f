"""Drift checks: exact p-values of small cases, the correction, and a rate of false alarms below its level."""

import tracemalloc

import numpy as np
import pytest

from themescope.core.labelling.task_items import drifts


def test_the_p_value_by_hand() -> None:
    # Four of eight items are last, and exactly the four worst ones: one of 70 orders.
    found = drifts({"ada": [1, 1, 1, 1, 0, 0, 0, 0]})["ada"]
    assert found.p == pytest.approx(1 / 70) and found.found
    assert (found.before, found.last, found.items) == (1.0, 0.0, 8)
    # Two people: Holm doubles the smaller one.
    both = drifts({"ada": [1, 1, 1, 1, 0, 0, 0, 0], "ben": [0, 0, 0, 0, 1, 1, 1, 1]})
    assert both["ada"].p == pytest.approx(2 / 70) and both["ben"].p == 1.0
    assert both["ada"].found and not both["ben"].found


def test_too_few_items_say_so() -> None:
    found = drifts({"ada": [1.0] * 7})["ada"]
    assert found.p is None and not found.found and "at least 8" in found.undefined


def test_long_series_need_little_memory() -> None:
    tracemalloc.start()
    found = drifts({"x": np.random.default_rng(0).random(3_000).tolist()})["x"]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.p is not None and most < 100_000_000


def test_false_alarms_are_as_rare_as_the_level_says() -> None:
    random = np.random.default_rng(0)
    alarms = sum(drifts({"x": random.random(30).tolist()}, seed=seed)["x"].found for seed in range(60))
    assert alarms <= 8
    worse = [*random.normal(0.9, 0.05, 30), *random.normal(0.75, 0.05, 10)]
    assert drifts({"x": worse})["x"].found
