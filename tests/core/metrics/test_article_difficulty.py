from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from themescope.core.errors import DataError
from themescope.core.metrics.article_difficulty import TRAITS, article_slices, balance
from themescope.core.metrics.statistics import bootstrap_mean


def test_traits_of_sections() -> None:
    truth = np.array([0, 0, 0, 3, 3, 3, 7, 7, 7])
    assert [trait.of(truth) for trait in TRAITS] == pytest.approx([3, 9, 1.0])
    assert balance(np.array([1, 1, 1])) == 1.0
    assert balance(np.array([0, *[1] * 99])) == pytest.approx(0.0808, abs=1e-4)


@settings(deadline=None, max_examples=40)
@given(hnp.arrays(np.int64, st.integers(1, 40), elements=st.integers(0, 6)), st.integers(1, 6))
def test_every_article_is_in_one_slice_and_equal_ones_stay_together(trait: np.ndarray, parts: int) -> None:
    found = article_slices(np.stack([trait, -trait], axis=1), trait, parts)
    assert sum(part.n for part in found) == len(trait)
    assert 1 <= len(found) <= parts
    for part in found:
        assert part.n == np.count_nonzero((trait >= part.low) & (trait <= part.high))
        assert part.low <= part.estimates[0].value == -part.estimates[1].value <= part.high
    assert all(a.high < b.low for a, b in pairwise(found))


def test_each_slice_has_its_own_interval() -> None:
    rng = np.random.default_rng(0)
    trait, values = np.repeat([1.0, 2.0], 20), rng.random((40, 1))
    low, high = article_slices(values, trait, 2)
    assert low.estimates == (bootstrap_mean(values[:20, 0]),) and high.estimates == (bootstrap_mean(values[20:, 0]),)
    with pytest.raises(DataError, match="trait of every article"):
        article_slices(values, trait[:5])
