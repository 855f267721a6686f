"""Colours and names on maps."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.webapp.features.map import colourings
from themescope.webapp.map_view import scene
from themescope.webapp.map_view.labels import (
    CATEGORIES,
    CLOSER,
    CLOSEST,
    GROUPS,
    PARTS,
    Name,
    Viewport,
    anchors_of,
    levels_at,
    names_of,
    placed,
)
from themescope.webapp.map_view.scene import MANY, UNITS

WORDS = ["tax", "law", "god", "sport", "wind", "wage", "court", "video", "boxing", "school", "river", "vote", "war"]


def cloud(x: int, y: int, n: int, spread: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal((x, y), spread, (n, 2))
    return np.clip(points, 0, UNITS).astype(np.uint16)


def clusters(k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of ``k`` compact categories of ``n`` points each."""
    middles = np.random.default_rng(1).integers(8_000, UNITS - 8_000, (k, 2))
    return np.concatenate([cloud(*middle, n, 900, i) for i, middle in enumerate(middles.tolist())]), np.repeat(
        np.arange(k), n
    )


def texts_of(categories: np.ndarray):
    """Texts in which each category, and each half of it, has a word of its own."""
    return lambda rows: [
        f"About {WORDS[categories[row] % 13]} and thing{row % 2} of kind{categories[row]}" for row in rows
    ]


def test_a_name_stands_where_its_points_are_densest() -> None:
    points = np.concatenate(
        [cloud(10_000, 50_000, 400, 800), cloud(50_000, 10_000, 100, 800), cloud(30_000, 30_000, 90, 800)]
    )
    anchors = anchors_of(points, np.repeat([0, 0, 1], [400, 100, 90]), 2)
    assert [anchor[0] for anchor in anchors] == [0, 0, 1]
    for (_, x, y, n), (wanted_x, wanted_y, most) in zip(
        anchors, [(10_000, 50_000, 400), (50_000, 10_000, 100), (30_000, 30_000, 90)], strict=True
    ):
        assert abs(x - wanted_x) < 1_000 and abs(y - wanted_y) < 1_000 and 0.5 * most < n <= most


def test_scattered_categories_and_others_have_no_name() -> None:
    everywhere = np.random.default_rng(0).integers(0, UNITS, (5_000, 2)).astype(np.uint16)
    assert anchors_of(everywhere, np.zeros(5_000, np.int64), 1) == []
    assert anchors_of(everywhere, np.full(5_000, -1), 3) == []
    assert anchors_of(everywhere[:0], np.zeros(0, np.int64), 2) == []
    assert anchors_of(everywhere[:1], np.zeros(1, np.int64), 1) == [(0, *everywhere[0].tolist(), 1)]


def test_many_categories_are_named_by_their_own_names_every_part_of_the_map_first() -> None:
    points, categories = clusters(48, 60)
    found = names_of(points, categories, [f"theme {i}" for i in range(48)], texts_of(categories))
    by_level = {level: [name for name in found if name.level == level] for level in (GROUPS, CATEGORIES, PARTS)}
    assert not by_level[GROUPS] and all(name.text for name in found)
    assert {name.kinds[0] for name in by_level[CATEGORIES]} == set(range(48))
    assert len(by_level[PARTS]) >= 48
    assert found == names_of(points, categories, [f"theme {i}" for i in range(48)], texts_of(categories))


def test_a_small_category_far_from_the_others_is_named_before_all_of_them_are() -> None:
    near = [cloud(20_000 + 900 * i, 20_000, 300 - i, 200) for i in range(20)]
    points = np.concatenate([*near, cloud(60_000, 60_000, 30, 200)])
    found = names_of(points, np.repeat(np.arange(21), [len(part) for part in [*near, points[-30:]]]), ["x"] * 21)
    order = list(dict.fromkeys(name.kinds[0] for name in found))
    assert set(order) == set(range(21)) and order.index(20) < 8


def test_without_texts_only_categories_are_named() -> None:
    points, categories = clusters(5, 40)
    names = [f"theme {i}" for i in range(5)]
    assert {name.level for name in names_of(points, categories, names, texts_of(categories))} == {CATEGORIES, PARTS}
    assert {name.level for name in names_of(points, categories, names)} == {CATEGORIES}


def test_regions_are_named_where_categories_are_scattered() -> None:
    points, topics = clusters(12, 50)
    found = names_of(points, np.arange(600) % 2, ["odd", "even"], texts_of(topics))
    assert {name.level for name in found} == {GROUPS, CATEGORIES, PARTS} and all(name.kinds == () for name in found)
    assert not {"odd", "even"} & {name.text for name in found}
    assert names_of(points[:0], np.empty(0, np.int64), [], lambda rows: []) == []


@pytest.mark.parametrize(
    ("magnification", "grouped", "plain"),
    [
        (1.0, (GROUPS,), (CATEGORIES,)),
        (CLOSER, (CATEGORIES,), (CATEGORIES,)),
        (CLOSEST, (CATEGORIES, PARTS), (CATEGORIES, PARTS)),
    ],
)
def test_levels_follow_the_zoom(magnification: float, grouped: tuple[int, ...], plain: tuple[int, ...]) -> None:
    name = Name(GROUPS, "a", (), 0, 0, 0)
    assert levels_at([name], magnification) == grouped
    assert levels_at([], magnification) == plain


@given(
    st.integers(1, 500), st.integers(1, 40), st.integers(0, 10_000), st.sampled_from([0, 300, 3_000, 30_000]),
    st.sampled_from([1.0, 2.5, 8.0]),
)  # fmt: skip
def test_labels_do_not_overlap_and_lie_inside(n: int, names: int, seed: int, spread: int, zoom: float) -> None:
    rng = np.random.default_rng(seed)
    points = cloud(int(rng.integers(UNITS)), int(rng.integers(UNITS)), n, spread, seed)
    categories = rng.integers(-1, names, n)
    found = names_of(points, categories, [f"name {i}" for i in range(names)], texts_of(categories))
    assert all(0 <= v <= UNITS for name in found for v in (name.x, name.y))
    at = points[int(rng.integers(n))]
    view = Viewport(float(at[0]), float(at[1]), UNITS / 1_000 / zoom, 1_000, 640)
    widths = rng.integers(10, 300, 2_000)
    levels = levels_at(found, zoom)
    labels = placed(found, levels, lambda name: (float(widths[name.key % 2_000]), 20.0), view)
    assert {label.name.level for label in labels} <= set(levels)
    assert len({(label.name.level, label.name.key) for label in labels}) == len(labels)
    for label in labels:
        assert 0 <= label.left <= view.width - label.width and 0 <= label.top <= view.height - label.height
    assert not any(one.covers(other) for one, other in combinations(labels, 2))
    if any(name.level in levels and (name.x, name.y) == (at[0], at[1]) for name in found):
        assert labels


def test_names_of_themes_stand_on_the_map_with_their_first_phrases() -> None:
    points, categories = clusters(2, 30)
    found = names_of(points, categories, ["1. wind power · noise · birds", "2. tax"])
    assert {name.text for name in found} == {"1. wind power · noise", "2. tax"}


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
    found = scene.rows_of(np.array(among, np.int64), np.array(wanted, np.int64))
    assert found.tolist() == [among.index(i) for i in wanted if i in among]
