"""Filters by columns on the map: masks and counts, the address, and what the page lists and colours."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from tests.webapp.columned import add_columns
from tests.webapp.filled import CORPUS
from tests.webapp.hands import press
from themescope.core.columns import ColumnType
from themescope.db.store import Store
from themescope.webapp.features.map import state
from themescope.webapp.features.map.facets import Facet, masks, read_filters

Open = Callable[..., AppTest]
LETTERS = ("a", "b", "c")


def facets(n: int) -> list[Facet]:
    rng = np.random.default_rng(n)
    codes = rng.integers(-1, 3, n).astype(np.int32)
    numbers = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    days = rng.integers(0, 500, n).astype("datetime64[D]")
    days[: n // 5] = "NaT"
    return [
        Facet("letter", ColumnType.CATEGORY, codes, LETTERS),
        Facet("number", ColumnType.NUMBER, numbers),
        Facet("day", ColumnType.DATE, days),
    ]


@given(
    st.integers(1, 60),
    st.lists(st.none() | st.sampled_from(LETTERS) | st.just("unknown"), max_size=3),
    st.none() | st.tuples(st.floats(-2, 0), st.floats(0, 2)),
    st.none() | st.tuples(st.integers(0, 250), st.integers(250, 500)),
)
def test_filters_are_combined_with_and(n: int, letters: list[str | None], numbers: object, days: object) -> None:
    found = facets(n)
    filters: dict[str, list[object]] = {"letter": [*letters]} if letters else {}
    if isinstance(numbers, tuple):
        filters["number"] = [*numbers]
    if isinstance(days, tuple):
        filters["day"] = [str(np.datetime64(day, "D")) for day in days]
    filters = read_filters(json.dumps(filters))  # as it comes from an address
    passing, others = masks(found, filters, n)
    own = [facet.mask(filters.get(facet.name)) for facet in found]
    assert (passing == np.logical_and.reduce(own)).all()
    for place, mask in enumerate(others):
        rest = [m for i, m in enumerate(own) if i != place]
        assert (mask == np.logical_and.reduce(rest)).all()


@pytest.fixture
def columned(filled_store: Store) -> Store:
    add_columns(filled_store)
    return filled_store


def test_a_facet_filters_the_sentences_and_the_address_keeps_it(columned: Store, open_page: Open) -> None:
    at = press(open_page("map", corpus=CORPUS), "Filter")
    assert not at.exception
    side = next(pills for pills in at.button_group if pills.label == "side")
    side.set_value([0]).run()
    assert not at.exception
    assert json.loads(at.query_params[state.FACETS]) == {"side": [queried_names(columned)[0]]}
    assert "18 of 72 sentences" in said(at)
    at = open_page("map", corpus=CORPUS, facets=json.dumps({"side": [None], "score": [30, 60]}))
    press(at, "Filter (2)")
    assert not at.exception
    assert "8 of 72 sentences" in said(at)
    assert any(button.label == "Filter (2)" for button in at.button)
    press(at, "Clear filters")
    assert state.FACETS not in at.query_params
    assert "72 of 72 sentences" in said(at)


def said(at: AppTest) -> str:
    return "\n".join(str(element.value) for element in at.markdown)


def queried_names(store: Store) -> list[str]:
    with store.reading() as r:
        return list(next(c for c in r.columns.list(1) if c.name == "side").categories)
