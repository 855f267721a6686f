import json

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
