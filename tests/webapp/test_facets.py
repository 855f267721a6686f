"""Filters by columns on the map: bins, what passes, what the browser gets, the address, and what the page lists."""

import base64
import json
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from tests.webapp.columned import add_columns
from tests.webapp.filled import CORPUS
from themescope.core.columns import ColumnType
from themescope.db.store import Store
from themescope.webapp.features import map
from themescope.webapp.features.map import view
from themescope.webapp.features.map.view import MOST_BINS, Facet, passing, read_filters
from themescope.webapp.map_view import component

Open = Callable[..., AppTest]
LETTERS = ("a", "b", "c")
NUMBERS = st.lists(st.none() | st.floats(-1e9, 1e9) | st.integers(-50, 50), min_size=1, max_size=60)
DAYS = st.lists(st.none() | st.integers(-20_000, 30_000), min_size=1, max_size=60)


def binned(type: ColumnType, values: list[float | None]) -> tuple[Facet, np.ndarray]:
    """The facet of a column, and its values."""
    if type is ColumnType.DATE:
        array = np.array(
            [np.datetime64("NaT") if v is None else np.datetime64(v, "D") for v in values], "datetime64[us]"
        )
    else:
        array = np.array([np.nan if v is None else v for v in values], np.float64)
    return Facet("column", *view._binned(type, array)), array


@given(st.sampled_from([ColumnType.NUMBER, ColumnType.DATE]), NUMBERS, DAYS, st.data())
def test_a_range_of_bins_passes_exactly_the_values_between_its_ends(
    type: ColumnType, numbers: list[float | None], days: list[float | None], data: st.DataObject
) -> None:
    facet, values = binned(type, numbers if type is ColumnType.NUMBER else days)
    known = ~np.isnan(values) if type is ColumnType.NUMBER else ~np.isnat(values)
    assert ((facet.codes >= 0) == known).all() and len(facet.bins) <= 2 * MOST_BINS
    filled = np.unique(facet.codes[known])
    if not len(filled):
        return
    low, high = sorted(data.draw(st.lists(st.sampled_from(filled.tolist()), min_size=2, max_size=2)))
    ends = json.loads(json.dumps([facet.bins[low][0], facet.bins[high][1]]))  # as they come from an address
    mask = passing([facet], {"column": ends}, len(values))
    assert (mask == ((facet.codes >= low) & (facet.codes <= high))).all()
    compared = values if type is ColumnType.NUMBER else values.astype("datetime64[D]")
    first, last = ends if type is ColumnType.NUMBER else (np.datetime64(end) for end in ends)
    assert (mask == (known & (compared >= first) & (compared <= last))).all()


def test_bins_are_of_round_width_and_few_far_values_share_the_last_one() -> None:
    words, _ = binned(ColumnType.NUMBER, [*range(1, 41), 1_000_000])
    assert words.bins[0] == (1.0, 1.0)
    long, _ = binned(ColumnType.NUMBER, [*np.arange(1, 41).tolist() * 20, 1_000_000])
    assert long.size == 40 and long.bins[-1] == (40.0, 1_000_000.0)
    years, _ = binned(ColumnType.DATE, [int(365.25 * i) for i in range(100)])
    assert years.size == 50
    assert binned(ColumnType.NUMBER, [None])[0].size == 0
    assert binned(ColumnType.NUMBER, [3, 3])[0].bins == [(3.0, 3.0)]


@given(st.integers(1, 60), st.lists(st.none() | st.sampled_from(LETTERS) | st.just("unknown"), max_size=3))
def test_filters_are_combined_with_and(n: int, letters: list[str | None]) -> None:
    rng = np.random.default_rng(n)
    one = Facet("letter", rng.integers(-1, 3, n).astype(np.int32), LETTERS)
    other = Facet("number", rng.integers(-1, 4, n).astype(np.int32), (), [(float(i), i + 0.5) for i in range(4)])
    filters = read_filters(json.dumps({"letter": letters, "number": [1, 2], "gone": ["x"]}))
    codes = [(*LETTERS, None).index(letter) for letter in letters if letter != "unknown"]
    wanted = np.isin(np.where(one.codes < 0, 3, one.codes), codes) if letters else np.ones(n, bool)
    assert (passing([one, other], filters, n) == (wanted & np.isin(other.codes, [1, 2]))).all()
    assert passing([one, other], {"number": ["low", "high"]}, n).all(), "an end that is no number"


def test_the_browser_gets_codes_in_the_order_of_the_points() -> None:
    few = Facet("few", np.array([0, 1, -1], np.int32), ("x", "y"))
    many = Facet("many", np.array([299, -1, 0], np.int32), [str(i) for i in range(300)])
    sent = view._sent("digest", [few, many], np.array([2, 0, 1]))
    read = [
        np.frombuffer(zlib.decompress(base64.b64decode(one["codes"])), f"<u{one['width']}").tolist()
        for one in sent["columns"]
    ]
    assert read == [[2, 0, 1], [0, 299, 300]] and sent["total"] == 3


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
    assert canvases[-1].status.startswith("8 of 72 units") and canvases[-1].page and canvases[-1].page.filters == 2
    at.session_state["map_panel_open"] = "filter"
    at.run()  # the browser filters all of them while the charts are open
    assert not at.exception and len(canvases[-1].scene.ids) == 72 and canvases[-1].columns
    at = open_page("map", corpus=CORPUS, facets="{")
    assert not at.exception and canvases[-1].status == "72 units, a random sample of 500"


def test_the_address_takes_only_filters(columned: Store, open_page: Open) -> None:
    written: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("themescope.webapp.features.map.view.st.query_params", written)
        view.keep({"filters": {"side": ["left", None], "broken": 3}, "rest": "Hidden"})
        assert written == {map.FACETS: '{"side":["left",null]}', map.REST: "Hidden"}
        view.keep("broken")
        view.keep({"filters": {}, "rest": "Grey"})
    assert written == {}


def queried_names(store: Store) -> list[str]:
    with store.reading() as r:
        return list(next(c for c in r.columns.list(1) if c.name == "side").categories)
