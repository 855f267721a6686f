from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.metrics import coding_agreement
from themescope.core.metrics.coding_agreement import Coding, alpha, kappa, masi

SETS = st.frozensets(st.integers(0, 3), max_size=3)
CODINGS = st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.lists(st.none() | SETS, min_size=n, max_size=n)] * 2))


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding_agreement, "RESAMPLES", 50)


def single(values: str) -> list[frozenset[int] | None]:
    return [None if value == "." else frozenset([int(value)]) for value in values]


def test_kappa_of_the_example_of_cohens_coefficient() -> None:
    """Both yes 20, only the first 5, only the second 10, neither 15: kappa is .4."""
    yes, no = frozenset([1]), frozenset[int]()
    first = [yes] * 25 + [no] * 25
    second = [yes] * 20 + [no] * 5 + [yes] * 10 + [no] * 15
    found = kappa(first, second, 1)
    assert found.estimate is not None and found.cases == 50
    assert math.isclose(found.estimate.value, 0.4)
    assert found.estimate.low < 0.4 < found.estimate.high


def test_alpha_of_two_observers() -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section A: .095."""
    two = alpha([single("0100000010"), single("1110010000")])
    assert two.estimate is not None and abs(two.estimate.value - 0.095) < 5e-4


def test_alpha_with_missing_values() -> None:
    """The same source, section C: four observers, nominal values, missing ones: .743."""
    data = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    found = alpha([single(row.replace(" ", "")) for row in data])
    assert found.estimate is not None and abs(found.estimate.value - 0.743) < 5e-4 and found.cases == 11


def test_masi_of_passonneaus_definition() -> None:
    a, ab, bc, d = (frozenset(x) for x in ({1}, {1, 2}, {2, 3}, {4}))
    assert masi(ab, ab) == 0 and masi(ab, d) == 1 and masi(frozenset(), d) == 1 and masi(frozenset(), frozenset()) == 0
    assert math.isclose(masi(a, ab), 1 - 1 / 2 * 2 / 3) and math.isclose(masi(ab, bc), 1 - 1 / 3 * 1 / 3)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([None], [frozenset([1])], "no case was judged by both"),
        ([frozenset([2])], [frozenset([2])], "neither gave this category"),
        ([frozenset([1])], [frozenset([1])], "both gave this category to every case"),
    ],
)
def test_undefined_kappa_says_why(first: Coding, second: Coding, reason: str) -> None:
    found = kappa(first, second, 1)
    assert found.estimate is None and reason in found.undefined


def test_undefined_alpha_says_why() -> None:
    assert "two people" in alpha([single("1."), single(".1")]).undefined
    assert "same categories" in alpha([single("11"), single("11")]).undefined


@given(CODINGS)
def test_agreement_is_symmetric_at_most_one_and_ignores_the_order_of_cases(codings: tuple[Coding, Coding]) -> None:
    first, second = codings
    for measure in (lambda a, b: alpha([a, b]), lambda a, b: kappa(a, b, 1)):
        found, swapped, turned = measure(first, second), measure(second, first), measure(first[::-1], second[::-1])
        assert found.undefined == swapped.undefined == turned.undefined
        assert (found.estimate is None) == bool(found.undefined)
        if found.estimate is not None:
            values = [f.estimate.value for f in (found, swapped, turned) if f.estimate is not None]
            assert max(values) - min(values) < 1e-9 and found.estimate.value <= 1 + 1e-9
            assert found.estimate.low <= found.estimate.high


@given(st.lists(SETS, min_size=2, max_size=12))
def test_equal_codings_agree_fully_or_are_undefined(coding: list[frozenset[int]]) -> None:
    found = alpha([coding, coding])
    assert found.undefined or (found.estimate is not None and found.estimate.value == 1.0)


@given(SETS, SETS)
def test_masi_is_a_symmetric_dissimilarity(one: frozenset[int], other: frozenset[int]) -> None:
    assert (
        masi(one, other) == masi(other, one)
        and 0 <= masi(one, other) <= 1
        and (masi(one, other) == 0) == (one == other)
    )
