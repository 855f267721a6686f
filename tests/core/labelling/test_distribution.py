import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.labelling.provenance import Allocation, allocate, draw
from themescope.core.labelling.task_items import DistributionPlan, Order, distribute


@st.composite
def plans(draw: st.DrawFn) -> tuple[int, DistributionPlan, list[int]]:
    people, items = draw(st.integers(1, 7)), draw(st.integers(1, 40))
    share = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])) if people > 1 else 0.0
    several = draw(st.integers(2, max(people, 2)))
    gold = draw(st.lists(st.integers(0, items - 1), unique=True, max_size=3))
    names = tuple(f"p{number}" for number in range(people))
    order = draw(st.sampled_from([Order.GIVEN, Order.RANDOM, Order.UNCERTAIN]))
    return items, DistributionPlan(names, share, several, order, draw(st.integers(0, 5))), gold


@settings(max_examples=150, deadline=None)
@given(plans())
def test_items_have_their_people_and_loads_are_equal(given: tuple[int, DistributionPlan, list[int]]) -> None:
    items, plan, gold = given
    lists = distribute(items, plan, np.linspace(0, 1, items), gold)
    assert lists == distribute(items, plan, np.linspace(0, 1, items), gold)
    assert all(len({*own}) == len(own) for own in lists)
    times = np.bincount([item for own in lists for item in own], minlength=items)
    assert (times[gold] == len(plan.people)).all()
    ordinary = np.setdiff1d(np.arange(items), gold)
    shared = round(plan.share * len(ordinary))
    expected = sorted([plan.several] * shared + [1] * (len(ordinary) - shared))
    assert sorted(times[ordinary].tolist()) == expected
    loads = [len(own) for own in lists]
    assert max(loads) - min(loads) <= 1
    plain = [[item for item in own if item not in gold] for own in lists]
    if plan.order is Order.GIVEN:
        assert all(own == sorted(own) for own in plain)
    if plan.order is Order.UNCERTAIN:
        assert all(own == sorted(own, reverse=True) for own in plain)


@settings(max_examples=150, deadline=None)
@given(plans(), st.lists(st.integers(0, 20), min_size=7, max_size=7))
def test_quotas_are_kept_or_the_error_says_what_is_missing(
    given: tuple[int, DistributionPlan, list[int]], most: list[int]
) -> None:
    items, plan, _ = given
    plan = DistributionPlan(
        plan.people, plan.share, plan.several, Order.GIVEN, plan.seed, dict(zip(plan.people, most, strict=False))
    )
    shared = round(plan.share * items)
    needed = items - shared + plan.several * shared
    try:
        lists = distribute(items, plan)
    except DataError as error:
        assert "quotas" in str(error)
        room = sum(min(most[place], items) for place in range(len(plan.people)))
        assert room < needed or plan.several > 1
        return
    loads = [len(own) for own in lists]
    assert sum(loads) == needed
    assert all(load <= limit for load, limit in zip(loads, most, strict=False))
    unbound = [load for load, limit in zip(loads, most, strict=False) if load < limit]
    if unbound:
        assert max(loads) - min(unbound) <= 1


def test_shared_and_gold_items_are_spread() -> None:
    lists = [{*own} for own in distribute(60, DistributionPlan(tuple("abcd"), 1.0, 2))]
    shared = [len(a & b) for place, a in enumerate(lists) for b in lists[place + 1 :]]
    assert sum(shared) == 60 and max(shared) - min(shared) <= 2
    (own,) = distribute(20, DistributionPlan(("ada",), 0.0), gold=[3, 12])
    places = [own.index(3), own.index(12)]
    assert min(places) in (4, 5) and max(places) in (14, 15)


@pytest.mark.parametrize(
    ("items", "plan", "why"),
    [
        (3, DistributionPlan((), 0.0), "needs people"),
        (3, DistributionPlan(("a", "a"), 0.0), "each of them once"),
        (0, DistributionPlan(("a",), 0.0), "needs articles"),
        (3, DistributionPlan(("a", "b"), 1.5), "between 0 and 100 %"),
        (3, DistributionPlan(("a", "b"), 0.5, 3), "the task has 2"),
        (3, DistributionPlan(("a", "b"), 1.0, 2, quotas={"a": 1}), "2 are missing"),
        (3, DistributionPlan(("a", "b"), 0.0, quotas={"a": -1}), "at least 0"),
        (3, DistributionPlan(("a",), 0.0, order=Order.UNCERTAIN), "no measure of uncertainty"),
    ],
)
def test_impossible_plans(items: int, plan: DistributionPlan, why: str) -> None:
    with pytest.raises(DataError, match=why):
        distribute(items, plan)


SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=12).map(lambda found: np.array(found, np.int64))
ALLOCATIONS = st.sampled_from([Allocation.PROPORTIONAL, Allocation.EQUAL])


@given(SIZES, ALLOCATIONS, st.integers(0, 9), st.data())
def test_every_stratum_is_drawn_from_and_the_numbers_add_up(
    sizes: np.ndarray, allocation: Allocation, seed: int, data: st.DataObject
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
    strata = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
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
