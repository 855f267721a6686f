"""Rows of ids, and the categories that colour a map."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.webapp.features.map import colourings
from themescope.webapp.map_view import geometry
from themescope.webapp.map_view.scene import MANY


def categories_of(keys: list[str], keep_order: bool = False) -> tuple[np.ndarray, list[str]]:
    titles, codes = np.unique(np.array(keys, dtype=object), return_inverse=True)
    found, chosen = colourings.categories(codes, titles.tolist(), keep_order)
    return found, [titles[code] for code in chosen]


def test_rare_categories_become_other_and_sections_keep_their_order() -> None:
    keys = [f"s{i}" for i in range(MANY + 5) for _ in range(2)] + ["rare"]
    found, names = categories_of(keys)
    assert len(names) == MANY
    assert found[-1] == -1
    _, ordered = categories_of(["Late", "Early", "Early"], keep_order=True)
    assert ordered == ["Late", "Early"]


@given(st.lists(st.text(max_size=3), unique=True, max_size=20), st.lists(st.text(max_size=3), unique=True, max_size=20))
def test_a_name_keeps_its_colour_and_no_two_share_one(names: list[str], known: list[str]) -> None:
    colours = colourings.lasting_colours(names, known)
    assert len(set(colours)) == len(names)
    assert all(colour == known.index(name) for name, colour in zip(names, colours, strict=True) if name in known)


def test_labels_are_matched_by_sentence_not_by_place() -> None:
    labels = {1: np.array([2, 0], dtype=np.int32), 9: np.array([1], dtype=np.int32)}
    items = {1: np.array([40, 30]), 2: np.array([50]), 9: np.array([7])}
    assert colourings.cluster_of(labels, items) == {40: 2, 30: 0, 7: 1}


@given(st.lists(st.integers(0, 60), max_size=300))
def test_the_most_frequent_have_a_category_of_their_own(codes: list[int]) -> None:
    names = [f"n{code:02}" for code in range(61)]
    found, chosen = colourings.categories(np.array(codes, dtype=np.int64), names)
    wanted = sorted(set(codes), key=lambda code: (-codes.count(code), code))[:MANY]
    assert chosen == wanted
    assert found.tolist() == [wanted.index(code) if code in wanted else -1 for code in codes]


@given(st.lists(st.one_of(st.just(np.nan), st.integers(-3, 3).map(float)), max_size=60), st.integers(1, 5))
def test_ranges_are_ordered_and_hold_every_value(values: list[float], parts: int) -> None:
    found, ends = colourings.ranges(np.array(values), parts)
    assert len(ends) <= parts
    assert all(low <= high for low, high in ends)
    assert all(a[1] < b[0] for a, b in pairwise(ends))
    for value, place in zip(values, found.tolist(), strict=True):
        assert place == -1 if np.isnan(value) else ends[place][0] <= value <= ends[place][1]


@given(st.lists(st.integers(0, 50), unique=True, max_size=30), st.lists(st.integers(0, 50), max_size=30))
def test_rows_of_ids_are_in_the_order_of_the_request(among: list[int], wanted: list[int]) -> None:
    found = geometry.rows_of(np.array(among, np.int64), np.array(wanted, np.int64))
    assert found.tolist() == [among.index(i) for i in wanted if i in among]
