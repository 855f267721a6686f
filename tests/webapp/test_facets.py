"""Filters by columns on the map: what passes, the address, and the controls."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from tests.webapp.columned import add_columns
from tests.webapp.filled import CORPUS
from themescope.db.store import Store
from themescope.webapp.features.map.view import Facet, passing, read_filters
from themescope.webapp.map_view import component

Open = Callable[..., AppTest]
LETTERS = ("a", "b", "c")
DAYS = st.lists(st.none() | st.integers(-20_000, 30_000), min_size=1, max_size=60)


@given(st.sampled_from(["float64", "datetime64[D]"]), DAYS, st.data())
def test_a_range_passes_exactly_the_values_between_its_ends(
    kind: str, values: list[int | None], data: st.DataObject
) -> None:
    array = np.array(["NaT" if v is None else v for v in values], "datetime64[D]") if kind[0] == "d" else (
        np.array([np.nan if v is None else v for v in values], kind)
    )  # fmt: skip
    facet = Facet("column", array)
    known = [v for v in values if v is not None]
    if len(set(known)) < 2:
        assert facet.ends() is None
        return
    low, high = sorted(data.draw(st.lists(st.sampled_from(known), min_size=2, max_size=2)))
    ends = [str(np.datetime64(end, "D")) for end in (low, high)] if kind[0] == "d" else [low, high]
    mask = passing([facet], read_filters(json.dumps({"column": ends})), len(values))
    assert mask.tolist() == [v is not None and low <= v <= high for v in values]
    assert passing([facet], {"column": ["low", "high"]}, len(values)).all(), "ends that are none"


@given(st.integers(1, 60), st.lists(st.none() | st.sampled_from(LETTERS) | st.just("unknown"), max_size=3))
def test_filters_are_combined_with_and(n: int, letters: list[str | None]) -> None:
    rng = np.random.default_rng(n)
    one, other = Facet("letter", rng.integers(-1, 3, n), LETTERS), Facet("number", rng.integers(0, 4, n).astype(float))
    filters = read_filters(json.dumps({"letter": letters, "number": [1, 2], "gone": ["x"]}))
    codes = [(*LETTERS, None).index(letter) for letter in letters if letter != "unknown"]
    wanted = np.isin(np.where(one.values < 0, 3, one.values), codes) if letters else np.ones(n, bool)
    assert (passing([one, other], filters, n) == (wanted & np.isin(other.values, [1, 2]))).all()


@pytest.fixture
def columned(filled_store: Store) -> Store:
    add_columns(filled_store)
    return filled_store


def test_a_filter_restricts_the_map_and_the_address_keeps_it(
    columned: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    canvases: list[component.Canvas] = []
    monkeypatch.setattr(component, "interactive", lambda canvas, *_: canvases.append(canvas))
    left = queried_names(columned)[0]
    at = open_page("map", corpus=CORPUS, facets=json.dumps({"side": [left]}))
    assert not at.exception and len(canvases[-1].scene.ids) == 18
    assert canvases[-1].status == "18 of 72 units, a random sample of 500"
    at = open_page("map", corpus=CORPUS, facets=json.dumps({"side": [None], "score": [30, 60]}))
    assert canvases[-1].status.startswith("8 of 72 units") and canvases[-1].page and canvases[-1].page["filters"] == 2
    at.session_state["map_panel_open"] = "filter"
    at.run()
    assert not at.exception and len(canvases[-1].scene.ids) == 8
    assert next(s for s in at.slider if s.label == "score").value == (30, 60)
    side = next(m for m in at.multiselect if m.label == "side")
    assert side.value == [None] and f"{left} (18)" in side.options
    side.set_value([left]).run()
    assert not at.exception and len(canvases[-1].scene.ids) < 18
    next(m for m in at.multiselect if m.label == "side").set_value([]).run()
    next(s for s in at.slider if s.label == "score").set_value((1.0, 71.0)).run()
    assert len(canvases[-1].scene.ids) == 72 and "map_facets" not in at.query_params
    at = open_page("map", corpus=CORPUS, facets="{")
    assert not at.exception and canvases[-1].status == "72 units, a random sample of 500"


def queried_names(store: Store) -> list[str]:
    with store.reading() as r:
        return list(next(c for c in r.columns.list(1) if c.name == "side").categories)
