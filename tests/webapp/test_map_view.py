"""The view of a map: its grid, selections and parts, levels of detail, colours and names."""

import base64
import io
import json
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from tests.core.projection.test_geometry import crossed
from themescope.core.projection import inside
from themescope.core.records.stored import ArticleRecord
from themescope.webapp.features import map as map_page
from themescope.webapp.features.map import colourings, controls
from themescope.webapp.features.map.view import Facet, passing, read_filters
from themescope.webapp.map_view import component
from themescope.webapp.map_view import labels as naming
from themescope.webapp.map_view import scene as parts
from themescope.webapp.map_view.component import Canvas, handle, outline_of
from themescope.webapp.map_view.labels import CATEGORIES, GROUPS, PARTS, levels_of, names_of
from themescope.webapp.map_view.scene import SUBTRACT, UNITS, MapPart, MapState, Scene
from themescope.webapp.shared.figures import tones

CORNER = st.tuples(st.integers(-UNITS, 2 * UNITS), st.integers(-UNITS, 2 * UNITS))


def scene_of(ids: list[int], points: np.ndarray, articles: np.ndarray) -> Scene:
    known = {int(i): ArticleRecord(int(i), 1, int(i), f"Article {i}", "", "", 0, 1, 1) for i in np.unique(articles)}
    sections = (np.arange(len(ids)) % 3).astype(np.int32)
    return Scene(
        np.array(ids, dtype=np.int64), points, parts.units_of(points), articles, np.arange(len(ids)), sections,
        ["", "History", "Climate"], known,
    )  # fmt: skip


def canvas_of(scene: Scene, categories: np.ndarray, names: int) -> Canvas:
    colouring = parts.Colouring(categories, [f"c{i}" for i in range(names)], "other")
    return Canvas(
        scene=scene, colouring=colouring, units=scene.units, found=np.empty(0, np.intp), tones=tones("light"),
        size=4, opacity=0.8, height=400, frame=[0, 0, 9, 9], name="x",
    )  # fmt: skip


@st.composite
def canvases(draw: st.DrawFn) -> tuple[Scene, Canvas]:
    """A map, and what is shown of it: some of its articles or a sample, in some colouring."""
    n = draw(st.integers(1, 60))
    ids = draw(st.lists(st.integers(0, 10_000), min_size=n, max_size=n, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 1_000)))
    points = rng.normal(size=(n, 2)).astype(np.float32) * draw(st.sampled_from([1e-3, 1.0, 1e4]))
    points[rng.random(n) < 0.2] = points[0]  # equal sentences lie on one spot
    whole = scene_of(ids, points, rng.integers(1, 5, size=n))
    keep = rng.random(n) < draw(st.sampled_from([0.3, 0.7, 1.0]))
    keep |= np.isin(whole.articles, draw(st.sets(st.integers(1, 4), max_size=2)))
    shown = whole.only(keep)
    names = draw(st.integers(0, parts.MANY))
    return whole, canvas_of(
        shown, rng.integers(-1, names, size=len(shown.ids)) if names else np.full(len(shown.ids), -1), names
    )


@given(canvases(), st.lists(CORNER, max_size=9), st.sets(st.integers(0, parts.MANY)), st.booleans())
def test_exactly_the_sentences_inside_come_back(
    shown: tuple[Scene, Canvas], corners: list[tuple[int, int]], hidden: set[int], around: bool
) -> None:
    whole, canvas = shown
    sent = component.points_data(canvas)
    places = np.frombuffer(base64.b64decode(sent["places"]), "<u2").reshape(-1, 2)
    kinds = np.frombuffer(base64.b64decode(sent["kinds"]), np.uint8)
    if around and len(places):  # a shape through the points themselves
        corners = [tuple(int(v) for v in place) for place in places[: 3 + len(corners)]]
    hidden &= set(range(len(canvas.colouring.names) + 1))
    choice = MapState(ids=np.array([7]))
    event = {"digest": canvas.digest, "corners": [list(c) for c in corners], "hidden": sorted(hidden)}
    handle(canvas, choice, "area", event)
    if len(corners) < 3:
        assert choice.ids.tolist() == [7]
        return
    wanted = {
        int(i)
        for i, (x, y), kind in zip(canvas.scene.ids, places.tolist(), kinds.tolist(), strict=True)
        if kind not in hidden and crossed((x, y), corners)
    }
    assert set(choice.ids.tolist()) == wanted and len(choice.ids) == len(wanted)
    # Drawn back on any other view of the map, they are the same sentences.
    other = canvas_of(whole.only(np.arange(len(whole.ids))[::-1]), np.zeros(len(whole.ids), np.int64), 1)
    bits = component.view_data(other, choice)["marked"]
    flags = np.unpackbits(np.frombuffer(base64.b64decode(bits), np.uint8))[: len(whole.ids)] if bits else []
    assert set(other.scene.ids[np.flatnonzero(flags)].tolist()) == wanted
    # And the address brings them back.
    hidden_now = {map_page.HIDDEN: "_".join(map(str, choice.hidden))} if choice.hidden else {}
    again = map_page.from_address({map_page.SHAPE: parts.written(choice.parts), **hidden_now})
    again.take(canvas.scene, canvas.units, canvas.colouring)
    assert again.ids.tolist() == choice.ids.tolist()


@given(canvases(), st.integers(-3, 80))
def test_a_point_that_is_clicked_is_that_sentence(shown: tuple[Scene, Canvas], row: int) -> None:
    _, canvas = shown
    choice = MapState()
    handle(canvas, choice, "point", {"digest": canvas.digest, "place": row})
    assert choice.sentence == (int(canvas.scene.ids[row]) if 0 <= row < len(canvas.scene.ids) else -1)


@pytest.mark.parametrize("event", [None, 3, {}, {"digest": "old", "place": 0, "corners": [[0, 0], [0, 9], [9, 9]]}])
def test_events_of_other_points_are_ignored(event: Any) -> None:
    canvas = canvas_of(scene_of([4, 9], np.eye(2, dtype=np.float32), np.ones(2, np.int64)), np.zeros(2, np.int64), 1)
    choice = MapState()
    for name in ("area", "point", "hover", "hidden"):
        handle(canvas, choice, name, event)
    assert (len(choice.ids), choice.sentence, choice.tip, choice.hidden, choice.version) == (0, -1, -1, [], 0)


@pytest.mark.parametrize(
    "text", ["", "1_2", "a_b_c_d_e_f", "1e9_0_0_0_0_0", "_" * 9, "9" * 40 + "_1_1_1_1_1", "9" * 400 + "_1_1_1_1_1"]
)
def test_nonsense_in_an_address_selects_nothing(text: str) -> None:
    said = dict.fromkeys((map_page.SHAPE, map_page.HIDDEN, map_page.SENTENCE, map_page.CAMERA), text)
    choice = map_page.from_address(said)
    assert choice.parts == [] and not choice.fresh and (choice.camera is None or len(choice.camera) == 3)


def test_a_view_of_enormous_numbers_is_none() -> None:
    scene, choice = scene_of([4], np.eye(1, 2, dtype=np.float32), np.ones(1, np.int64)), MapState(camera=[1, 2, 3])
    handle(canvas_of(scene, np.zeros(1, np.int64), 1), choice, "camera", [10**400, 0, 1])
    assert choice.camera is None


@given(st.lists(st.tuples(st.integers(-500, 500), st.integers(-500, 500)), min_size=1, max_size=20))
def test_the_grid_holds_every_point_at_its_place(points: list[tuple[int, int]]) -> None:
    at = np.array(points, dtype=np.float32) / 7
    units = parts.units_of(at)
    span = float(np.ptp(at, axis=0).max()) or 1.0
    centre = (at.min(axis=0) + at.max(axis=0)) / 2
    assert np.abs((units / UNITS - 0.5) * span / 0.8 + centre - at).max() <= span * 1e-4
    assert units.min() >= 0.09 * UNITS and units.max() <= 0.91 * UNITS


MODES = st.sampled_from([parts.REPLACE, parts.ADD, SUBTRACT])
CORNERS = st.lists(st.tuples(st.integers(-UNITS, UNITS), st.integers(-UNITS, UNITS)), min_size=3, max_size=9)
DRAWN = st.one_of(
    st.builds(lambda corners, mode: MapPart(parts.SHAPE, tuple(v for c in corners for v in c), mode), CORNERS, MODES),
    st.builds(lambda kind, mode: MapPart(parts.CATEGORY, (kind,), mode), st.integers(-1, 107), MODES),
)
UNIT_POINTS = np.array([[100, 100], [200, 100], [5_000, 5_000], [60_000, 60_000], [60_100, 60_000]], np.uint16)
KINDS = np.array([0, 1, 1, 0, -1])


@given(st.lists(DRAWN, max_size=6))
def test_addresses_bring_parts_back(found: list[MapPart]) -> None:
    assert parts.read(parts.written(found)) == found


@pytest.mark.parametrize("text", ["x", "1_2", "1_2_3_4_5", "c", "c-2", "n1_2_15", "ac1.zz", "c1."])
def test_nonsense_is_no_part(text: str) -> None:
    assert parts.read(text) == []


@pytest.mark.parametrize(
    ("event", "rows"),
    [
        ({"category": 1}, [1, 2]),
        ({"category": 2}, [4]),
        ({"corners": [[0, 0], [0, 9_000], [9_000, 9_000], [9_000, 0]]}, [0, 1, 2]),
    ],
)
def test_a_part_selects_its_points(event: dict[str, Any], rows: list[int]) -> None:
    part = parts.part_of(event, 2)
    assert part is not None
    assert part.rows(UNIT_POINTS, KINDS, []).tolist() == rows
    assert part.rows(UNIT_POINTS, KINDS, [1]).tolist() == [r for r in rows if KINDS[r] != 1]
    taken = MapPart(part.kind, part.numbers, SUBTRACT).combined(np.arange(5), np.array(rows))
    assert taken.tolist() == [row for row in range(5) if row not in rows]
    added = MapPart(part.kind, part.numbers, parts.ADD).combined(np.array([3]), np.array(rows))
    assert added.tolist() == sorted({3, *rows})


@pytest.mark.parametrize(
    "event", [{}, {"category": 3}, {"category": "1"}, {"corners": [[0, 0], [1, 1]]}, {"category": 1, "mode": "other"}]
)
def test_invalid_events_are_no_parts(event: dict[str, Any]) -> None:
    assert parts.part_of(event, 2) is None


def test_parts_are_described() -> None:
    found = [
        MapPart(parts.CATEGORY, (0,)),
        MapPart(parts.CATEGORY, (-1,), parts.ADD),
        MapPart(parts.SHAPE, (0, 0, 9, 0, 9, 9), SUBTRACT),
    ]
    said = "all of “Tax”, and all without a category of their own, without a shape"
    assert ", ".join(part.described(["Tax"]) for part in found) == said
    assert parts.after(found, MapPart(parts.CATEGORY, (-1,), parts.ADD))[:3] == found
    assert parts.after(found, MapPart(parts.CATEGORY, (-1,))) == [MapPart(parts.CATEGORY, (-1,))]


def test_the_list_has_every_category_with_its_neighbours_and_central_points() -> None:
    groups = outline_of(UNIT_POINTS, np.array([0, 0, 1, 2, -1]), 3)
    assert [(kind, near) for kind, near, _ in groups if kind != 1] == [(0, [1, 2]), (2, [1, 0]), (3, [2, 1, 0])]
    assert sorted(row for *_, rows in groups for row in rows) == [0, 1, 2, 3, 4]
    assert outline_of(UNIT_POINTS[:0], np.empty(0, np.int64), 2) == []


@st.composite
def units(draw: st.DrawFn) -> np.ndarray:
    """Points of a map: evenly spread, in a few clusters, or many on one spot."""
    n = draw(st.integers(1, 200))
    rng = np.random.default_rng(draw(st.integers(0, 1_000)))
    spread = draw(st.sampled_from([1.0, 0.05, 0.0001, 0.0]))
    middles = rng.integers(0, UNITS, size=(draw(st.integers(1, 3)), 2))
    points = middles[rng.integers(len(middles), size=n)] + spread * rng.normal(size=(n, 2)) * UNITS
    return np.clip(np.rint(points), 0, UNITS).astype(np.uint16)


@given(units(), st.integers(0, 60), st.integers(1, 40))
def test_every_point_is_in_one_tile_and_each_tile_below_a_full_one(
    points: np.ndarray, whole: int, capacity: int
) -> None:
    found = levels_of(points, whole, capacity)
    assert sorted(found.order.tolist()) == list(range(len(points)))
    ranges = zip(found.tiles.tolist(), found.starts[:-1], found.starts[1:], strict=True)
    tiles = {(level, x, y): found.order[start:end] for (level, x, y), start, end in ranges}
    assert len(tiles) == len(found.tiles)
    for (level, x, y), rows in tiles.items():
        assert level == 0 or len(tiles[level - 1, x // 2, y // 2]) == capacity
        assert 0 < len(rows) <= (capacity if len(tiles) > 1 and level < naming.DEEPEST else len(points))
        side = 65_536 >> level
        assert (points[rows].astype(np.int64) // side == (x, y)).all()
        if level == naming.DEEPEST:
            assert len(np.unique(points[rows], axis=0)) == 1


@given(units(), st.integers(1, 40))
def test_the_order_is_stable_and_places_lead_back_to_rows(points: np.ndarray, capacity: int) -> None:
    found, again = levels_of(points, 0, capacity), levels_of(points.copy(), 0, capacity)
    np.testing.assert_array_equal(found.order, again.order)
    np.testing.assert_array_equal(found.starts, again.starts)
    for row in (0, len(points) - 1):
        assert found.row(found.place(row)) == row
    assert found.row(-1) == found.row(len(points)) == -1


@given(units(), st.integers(1, 40), st.lists(st.integers(-2, 80), max_size=40))
def test_answers_keep_to_the_budget(points: np.ndarray, capacity: int, wanted: list[int]) -> None:
    found = levels_of(points, 0, capacity)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naming, "BATCH_POINTS", 50)
        patch.setattr(naming, "FIRST_POINTS", 50)
        sent, first = found.batch(wanted), found.first()
    known = [i for i in dict.fromkeys(wanted) if 0 <= i < len(found.tiles)]
    assert sent == known[: len(sent)] and (len(sent) > 0) == (len(known) > 0)
    assert len(found.rows(sent)) <= 50 or len(sent) == 1
    assert first == list(range(len(first))) and first[0] == 0 and (len(found.rows(first)) <= 50 or len(first) == 1)
    level = found.tiles[first[-1], 0]
    assert len(first) == np.count_nonzero(found.tiles[:, 0] <= level)


@given(units())
def test_the_density_shows_every_point(points: np.ndarray) -> None:
    there = np.zeros((256, 256), dtype=bool)
    there[points[:, 1] >> 8, points[:, 0] >> 8] = True
    np.testing.assert_array_equal(naming.density(points) > 0, there)


@given(units(), st.lists(CORNER, max_size=12), st.booleans())
def test_a_shape_among_many_points_is_exact(points: np.ndarray, corners: list[tuple[int, int]], through: bool) -> None:
    if through:
        corners = [tuple(point) for point in points[:12].tolist()]
    shape = parts.shape_of(corners)
    found = parts.inside_rows_of_many(points, shape)
    np.testing.assert_array_equal(found, np.flatnonzero(inside(points, shape)))


def test_cells_along_edges_are_exact() -> None:
    rng = np.random.default_rng(0)
    cells, within = rng.integers(0, 256, size=(40_000, 2)), rng.choice([0, 1, 255], size=(40_000, 2))
    points = (cells * 256 + within).astype(np.uint16)
    for _ in range(20):
        shape = (rng.integers(0, 257, size=(7, 2)) * 256).astype(np.float64)
        np.testing.assert_array_equal(parts.inside_rows_of_many(points, shape), np.flatnonzero(inside(points, shape)))


@pytest.fixture
def large() -> component.Canvas:
    """A map of 120,000 points in several tiles."""
    rng = np.random.default_rng(0)
    n = 120_000
    points = (rng.normal(size=(n, 2)) + 9 * rng.integers(3, size=(n, 1))).astype(np.float32)
    scene = scene_of(list(range(5, n + 5)), points, rng.integers(1, 5, size=n))
    return replace(canvas_of(scene, rng.integers(-1, 4, n), 4), frame=parts.frame_of(scene.units))


def test_the_browser_gets_the_tiles_that_it_asks_for_once(large: component.Canvas) -> None:
    sent = component.points_data(large)
    assert sent["total"] == 120_000 and len(base64.b64decode(sent["density"])) == 256**2
    assert sum(count for *_, count in sent["index"]) == 120_000
    state, missing = MapState(), [i for i in range(len(sent["index"])) if i not in sent["tiles"]]
    assert missing
    handle(large, state, "tiles", {"digest": large.digest, "held": sent["tiles"], "wanted": [*missing, 10**6, "x"]})
    view = component.view_data(large, state)
    rows = large.levels.rows(view["loaded"]["tiles"])
    places = np.frombuffer(base64.b64decode(view["loaded"]["places"]), "<u2").reshape(-1, 2)
    np.testing.assert_array_equal(places, large.units[rows])
    assert view["loaded"]["tiles"] == missing and view["held"] == [*sent["tiles"], *missing]
    assert component.view_data(large, state)["loaded"] is None
    handle(large, state, "tiles", {"digest": "another", "held": [], "wanted": [1]})
    assert component.view_data(large, state)["held"] == view["held"]


def test_a_lasso_selects_points_that_are_not_drawn(large: component.Canvas) -> None:
    state = MapState()
    everything = [[-1, -1], [-1, UNITS + 1], [UNITS + 1, UNITS + 1], [UNITS + 1, -1]]
    handle(large, state, "area", {"digest": large.digest, "corners": everything, "hidden": [4]})
    assert len(state.ids) == np.count_nonzero(large.colouring.categories >= 0)
    view = component.view_data(large, state)
    rows = large.levels.rows(view["held"])
    assert len(rows) < 120_000
    bits = np.unpackbits(np.frombuffer(base64.b64decode(view["marked"]), np.uint8))[: len(rows)]
    np.testing.assert_array_equal(bits == 1, large.colouring.categories[rows] >= 0)


def test_without_webgl_there_is_a_picture_with_a_description(large: component.Canvas) -> None:
    state = MapState()
    assert component.view_data(large, state)["picture"] is None
    handle(large, state, "picture", {"digest": large.digest})
    shown = component.view_data(large, state)["picture"]
    assert "120,000 units" in shown["alt"] and "Largest groups: c" in shown["alt"]
    image = Image.open(io.BytesIO(base64.b64decode(shown["source"].partition(",")[2])))
    assert image.size == (component.WIDTH, component.HEIGHT) and len(image.getcolors(1_000_000) or ()) > 10


def test_an_empty_picture_is_paper() -> None:
    png = component.map_png(np.empty((0, 2), np.uint16), np.empty(0, np.int64), ["#ff0000"], "#123456", [0, 0, 9, 9], 4)
    assert Image.open(io.BytesIO(png)).getcolors() == [(component.WIDTH * component.HEIGHT, (0x12, 0x34, 0x56))]


def test_files_of_large_maps_have_a_sample(large: component.Canvas) -> None:
    sampled = controls.sampled(large)
    assert len(sampled.scene.ids) == len(sampled.units) == len(sampled.colouring.categories) == controls.FILE_POINTS
    assert controls.sampled(sampled) is sampled


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
    wanted = [(10_000, 50_000, 400), (50_000, 10_000, 100), (30_000, 30_000, 90)]
    points = np.concatenate([cloud(*one, 800) for one in wanted])
    anchors = naming.anchors_of(points, np.repeat([0, 0, 1], [400, 100, 90]), 2)
    assert [anchor[0] for anchor in anchors] == [0, 0, 1]
    for (_, x, y, n), (wanted_x, wanted_y, most) in zip(anchors, wanted, strict=True):
        assert abs(x - wanted_x) < 1_000 and abs(y - wanted_y) < 1_000 and 0.5 * most < n <= most


def test_scattered_categories_and_others_have_no_name() -> None:
    everywhere = np.random.default_rng(0).integers(0, UNITS, (5_000, 2)).astype(np.uint16)
    assert naming.anchors_of(everywhere, np.zeros(5_000, np.int64), 1) == []
    assert naming.anchors_of(everywhere, np.full(5_000, -1), 3) == []
    assert naming.anchors_of(everywhere[:0], np.zeros(0, np.int64), 2) == []
    assert naming.anchors_of(everywhere[:1], np.zeros(1, np.int64), 1) == [(0, *everywhere[0].tolist(), 1)]


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
        (naming.CLOSER, (CATEGORIES,), (CATEGORIES,)),
        (naming.CLOSEST, (CATEGORIES, PARTS), (CATEGORIES, PARTS)),
    ],
)
def test_levels_follow_the_zoom(magnification: float, grouped: tuple[int, ...], plain: tuple[int, ...]) -> None:
    name = naming.Name(GROUPS, "a", (), 0, 0, 0)
    assert naming.levels_at([name], magnification) == grouped
    assert naming.levels_at([], magnification) == plain


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
    view = naming.Viewport(float(at[0]), float(at[1]), UNITS / 1_000 / zoom, 1_000, 640)
    widths = rng.integers(10, 300, 2_000)
    levels = naming.levels_at(found, zoom)
    labels = naming.placed(found, levels, lambda name: (float(widths[name.key % 2_000]), 20.0), view)
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


@given(st.lists(st.text(max_size=3), unique=True, max_size=20), st.lists(st.text(max_size=3), unique=True, max_size=20))
def test_a_name_keeps_its_colour_and_no_two_share_one(names: list[str], known: list[str]) -> None:
    colours = colourings.lasting_colours(names, known)
    assert len(set(colours)) == len(names)
    assert all(colour == known.index(name) for name, colour in zip(names, colours, strict=True) if name in known)


def test_labels_are_matched_by_sentence_not_by_place() -> None:
    labels = {1: np.array([2, 0], dtype=np.int32), 9: np.array([1], dtype=np.int32)}
    items = {1: np.array([40, 30]), 2: np.array([50]), 9: np.array([7])}
    assert colourings.cluster_of(labels, items) == {40: 2, 30: 0, 7: 1}


@given(st.lists(st.integers(0, 60), max_size=300), st.booleans())
@example([code for code in range(parts.MANY + 5) for _ in range(2)] + [99], False)
def test_the_most_frequent_have_a_category_of_their_own(codes: list[int], keep_order: bool) -> None:
    names = [f"n{code:02}" for code in range(100)]
    found, chosen = colourings.categories(np.array(codes, dtype=np.int64), names, keep_order)
    wanted = sorted(set(codes), key=lambda code: (-codes.count(code), code))[: parts.MANY]
    assert chosen == (sorted(wanted, key=codes.index) if keep_order else wanted)
    assert found.tolist() == [chosen.index(code) if code in chosen else -1 for code in codes]


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
    found = parts.rows_of(np.array(among, np.int64), np.array(wanted, np.int64))
    assert found.tolist() == [among.index(i) for i in wanted if i in among]
