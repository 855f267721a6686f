"""Samples: the number of units of each stratum, the probabilities, and what follows from the seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.labelling.provenance import Allocation, allocate, draw

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=12).map(lambda found: np.array(found, np.int64))
ALLOCATIONS = st.sampled_from([Allocation.PROPORTIONAL, Allocation.EQUAL])


@given(SIZES, ALLOCATIONS, st.data())
def test_every_stratum_is_drawn_from_and_the_numbers_add_up(
    sizes: np.ndarray, allocation: Allocation, data: st.DataObject
) -> None:
    number = data.draw(st.integers(len(sizes), int(sizes.sum())))
    drawn = allocate(sizes, number, allocation)
    assert drawn.sum() == number and (drawn >= 1).all() and (drawn <= sizes).all()
    if allocation is Allocation.PROPORTIONAL:
        exact = number * sizes / sizes.sum()
        # One unit of each stratum is guaranteed, which takes from the others; without that, shares are exact up to one.
        if (exact >= 1).all():
            assert (np.abs(drawn - exact) < 1 + 1e-6).all()
    else:
        full = drawn == sizes
        rest = drawn[~full]
        assert len(rest) == 0 or rest.max() - rest.min() <= 1


@given(SIZES, ALLOCATIONS, st.integers(0, 9), st.data())
def test_a_sample_has_exactly_the_units_of_each_stratum(
    sizes: np.ndarray, allocation: Allocation, seed: int, data: st.DataObject
) -> None:
    strata = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    number = data.draw(st.integers(len(sizes), int(sizes.sum())))
    drawn = allocate(sizes, number, allocation)
    found = draw(strata, drawn, seed)
    assert (np.diff(found.rows) > 0).all() and len(found.rows) == number
    assert (np.bincount(strata[found.rows], minlength=len(sizes)) == found.drawn).all()
    assert found.probabilities[strata].sum() == pytest.approx(number)
    assert (draw(strata, drawn, seed).rows == found.rows).all()


def test_units_of_a_stratum_are_drawn_equally_often() -> None:
    strata = np.array([0] * 4 + [1] * 8)
    times = np.zeros(12)
    for seed in range(2_000):
        times[draw(strata, np.array([2, 2]), seed).rows] += 1
    expected = draw(strata, np.array([2, 2]), 0).probabilities[strata]
    assert times / 2_000 == pytest.approx(expected, abs=0.05)  # four standard errors


@pytest.mark.parametrize(("sizes", "number", "problem"), [([3, 4], 8, "from 1 to 7"), ([3, 4], 0, "from 1"),
                                                          ([3, 4, 5], 2, "3 strata")])  # fmt: skip
def test_what_cannot_be_drawn_is_said(sizes: list[int], number: int, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        allocate(np.array(sizes), number, Allocation.EQUAL)


@pytest.mark.parametrize("drawn", [[4, 1], [-1, 2], [0, 0]])
def test_strata_give_as_many_units_as_they_have(drawn: list[int]) -> None:
    strata = np.array([0, 0, 0, 1])
    with pytest.raises(DataError, match="0 up to all"):
        draw(strata, np.array(drawn), 0)
    assert (strata[draw(strata, np.array([0, 1]), 0).rows] == 1).all()
