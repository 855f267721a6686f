"""Levels of detail: every point is in one tile, answers keep to their budget, and shapes select among all points."""

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.webapp.test_map_view import canvas_of, scene_of
from themescope.core.projection import inside
from themescope.webapp.features.map import controls
from themescope.webapp.map_view import component, labels
from themescope.webapp.map_view import scene as geometry
from themescope.webapp.map_view.component import handle
from themescope.webapp.map_view.labels import Levels, density, levels_of
from themescope.webapp.map_view.scene import UNITS, MapState


@st.composite
def units(draw: st.DrawFn) -> np.ndarray:
    """Points of a map: evenly spread, in a few clusters, or many on one spot."""
    n = draw(st.integers(1, 200))
    rng = np.random.default_rng(draw(st.integers(0, 1_000)))
    spread = draw(st.sampled_from([1.0, 0.05, 0.0001, 0.0]))
    middles = rng.integers(0, UNITS, size=(draw(st.integers(1, 3)), 2))
    points = middles[rng.integers(len(middles), size=n)] + spread * rng.normal(size=(n, 2)) * UNITS
    return np.clip(np.rint(points), 0, UNITS).astype(np.uint16)


def tiles_of(found: Levels) -> list[tuple[tuple[int, int, int], np.ndarray]]:
    ranges = zip(found.tiles.tolist(), found.starts[:-1], found.starts[1:], strict=True)
    return [((level, x, y), found.order[start:end]) for (level, x, y), start, end in ranges]


@given(units(), st.integers(0, 60), st.integers(1, 40))
def test_every_point_is_in_one_tile_and_all_are_in_some(points: np.ndarray, whole: int, capacity: int) -> None:
    found = levels_of(points, whole, capacity)
    assert sorted(found.order.tolist()) == list(range(len(points)))
    tiles = tiles_of(found)
    assert len({place for place, _ in tiles}) == len(tiles)
    for (level, x, y), rows in tiles:
        assert 0 < len(rows) <= (capacity if len(tiles) > 1 and level < labels.DEEPEST else len(points))
        side = 65_536 >> level
        assert (points[rows].astype(np.int64) // side == (x, y)).all()
        if level == labels.DEEPEST:
            assert len(np.unique(points[rows], axis=0)) == 1


@given(units(), st.integers(1, 40))
def test_a_tile_exists_only_below_a_full_one(points: np.ndarray, capacity: int) -> None:
    sizes = {place: len(rows) for place, rows in tiles_of(levels_of(points, 0, capacity))}
    for level, x, y in sizes:
        assert level == 0 or sizes[level - 1, x // 2, y // 2] == capacity


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
        patch.setattr(labels, "BATCH_POINTS", 50)
        patch.setattr(labels, "FIRST_POINTS", 50)
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
    np.testing.assert_array_equal(density(points) > 0, there)


CORNER = st.tuples(st.integers(-UNITS, 2 * UNITS), st.integers(-UNITS, 2 * UNITS))


@given(units(), st.lists(CORNER, max_size=12), st.booleans())
def test_a_shape_among_many_points_selects_exactly(
    points: np.ndarray, corners: list[tuple[int, int]], through: bool
) -> None:
    if through:
        corners = [tuple(point) for point in points[:12].tolist()]
    shape = geometry.shape_of(corners)
    found = geometry.inside_rows_of_many(points, shape)
    np.testing.assert_array_equal(found, np.flatnonzero(inside(points, shape)))


def test_cells_along_edges_are_exact() -> None:
    rng = np.random.default_rng(0)
    cells, within = rng.integers(0, 256, size=(40_000, 2)), rng.choice([0, 1, 255], size=(40_000, 2))
    points = (cells * 256 + within).astype(np.uint16)
    for _ in range(20):
        shape = (rng.integers(0, 257, size=(7, 2)) * 256).astype(np.float64)
        np.testing.assert_array_equal(
            geometry.inside_rows_of_many(points, shape), np.flatnonzero(inside(points, shape))
        )


@pytest.fixture
def large() -> component.Canvas:
    """A map of 120,000 points in several tiles."""
    rng = np.random.default_rng(0)
    n = 120_000
    points = (rng.normal(size=(n, 2)) + 9 * rng.integers(3, size=(n, 1))).astype(np.float32)
    scene = scene_of(list(range(5, n + 5)), points, rng.integers(1, 5, size=n))
    return replace(canvas_of(scene, rng.integers(-1, 4, n), 4), frame=geometry.frame_of(scene.units))


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
