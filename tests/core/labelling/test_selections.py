"""Sets of sentences: the laws of set operations, and origins as JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.labelling.operations import KINDS, Origin, Selection, selected

IDS = st.lists(st.integers(0, 40), max_size=30)
ORIGINS = st.builds(
    Origin, st.sampled_from(KINDS), st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=4).map(tuple)
)


def of(ids: list[int]) -> Selection:
    return selected(1, ids, Origin("list", ("by hand",)))


@given(IDS, IDS)
def test_they_combine_as_sets_do(a: list[int], b: list[int]) -> None:
    one, other = of(a), of(b)
    assert set(one.union(other).ids.tolist()) == set(a) | set(b)
    assert set(one.intersection(other).ids.tolist()) == set(a) & set(b)
    assert set(one.difference(other).ids.tolist()) == set(a) - set(b)
    parts = one.difference(other), one.intersection(other), other.difference(one)
    assert sum(map(len, parts)) == len(one.union(other))
    for found in (*parts, one):
        assert (np.diff(found.ids) > 0).all()


@given(IDS)
def test_the_digest_depends_on_the_sentences_alone(a: list[int]) -> None:
    assert of(a).digest == selected(2, [*reversed(a), *a], Origin("search", ("x",))).digest
    assert of([*a, 99]).digest != of(a).digest


@given(ORIGINS)
def test_an_origin_survives_json(origin: Origin) -> None:
    assert Origin.from_json(json.loads(json.dumps(origin.to_json()))) == origin


@pytest.mark.parametrize("value", [{}, {"kind": "lasso"}, {"kind": "x", "facts": []}, {"kind": "box", "facts": [1]}])
def test_other_origins_are_refused(value: dict[str, object]) -> None:
    with pytest.raises(DataError):
        Origin.from_json(value)


def test_selections_of_two_projects_are_not_combined_and_origins_stay_short() -> None:
    with pytest.raises(DataError, match="different projects"):
        of([1]).union(selected(2, [1], Origin("list", ())))
    one = of([1, 2, 3])
    for _ in range(12):
        one = one.union(one)
    assert len(str(one.origin)) <= 300
