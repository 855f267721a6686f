"""The view of a map: its grid, selections and parts."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.projection.test_geometry import crossed
from themescope.core.records.stored import ArticleRecord
from themescope.webapp.features import map as map_page
from themescope.webapp.map_view import component
from themescope.webapp.map_view import scene as parts
from themescope.webapp.map_view.component import Canvas, handle, outline_of
from themescope.webapp.map_view.scene import (
    ADD,
    CATEGORY,
    MANY,
    REPLACE,
    SHAPE,
    SUBTRACT,
    UNITS,
    Colouring,
    MapPart,
    MapState,
    Scene,
    part_of,
    units_of,
)
from themescope.webapp.shared.figures import tones

CORNER = st.tuples(st.integers(-UNITS, 2 * UNITS), st.integers(-UNITS, 2 * UNITS))


def scene_of(ids: list[int], points: np.ndarray, articles: np.ndarray) -> Scene:
    known = {int(i): ArticleRecord(int(i), 1, int(i), f"Article {i}", "", "", 0, 1, 1) for i in np.unique(articles)}
    sections = (np.arange(len(ids)) % 3).astype(np.int32)
    return Scene(
        np.array(ids, dtype=np.int64), points, units_of(points), articles, np.arange(len(ids)), sections,
        ["", "History", "Climate"], known,
    )  # fmt: skip


def canvas_of(scene: Scene, categories: np.ndarray, names: int) -> Canvas:
    colouring = Colouring(categories, [f"c{i}" for i in range(names)], "other")
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
    names = draw(st.integers(0, MANY))
    return whole, canvas_of(
        shown, rng.integers(-1, names, size=len(shown.ids)) if names else np.full(len(shown.ids), -1), names
    )


def unpacked(canvas: Canvas) -> tuple[np.ndarray, np.ndarray]:
    """The points as the browser has them."""
    sent = component.points_data(canvas)
    places = np.frombuffer(base64.b64decode(sent["places"]), "<u2").reshape(-1, 2)
    return places, np.frombuffer(base64.b64decode(sent["kinds"]), np.uint8)


@given(canvases(), st.lists(CORNER, max_size=9), st.sets(st.integers(0, MANY)), st.booleans())
def test_exactly_the_sentences_inside_come_back(
    shown: tuple[Scene, Canvas], corners: list[tuple[int, int]], hidden: set[int], around: bool
) -> None:
    whole, canvas = shown
    places, kinds = unpacked(canvas)
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
    again = map_page.from_address({map_page.SHAPE: parts.written(choice.parts), **_hidden(choice)})
    again.take(canvas.scene, canvas.units, canvas.colouring)
    assert again.ids.tolist() == choice.ids.tolist()


def _hidden(choice: MapState) -> Mapping[str, str]:
    return {map_page.HIDDEN: "_".join(map(str, choice.hidden))} if choice.hidden else {}


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
    "text",
    [
        "",
        "1_2",
        "a_b_c_d_e_f",
        "1_2_3_4_5",
        "1e9_0_0_0_0_0",
        "_" * 9,
        "9" * 40 + "_1_1_1_1_1",
        "9" * 400 + "_1_1_1_1_1",
    ],
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
    units = units_of(at)
    span = float(np.ptp(at, axis=0).max()) or 1.0
    centre = (at.min(axis=0) + at.max(axis=0)) / 2
    assert np.abs((units / UNITS - 0.5) * span / 0.8 + centre - at).max() <= span * 1e-4
    assert units.min() >= 0.09 * UNITS and units.max() <= 0.91 * UNITS


MODES = st.sampled_from([REPLACE, ADD, SUBTRACT])
CORNERS = st.lists(st.tuples(st.integers(-UNITS, UNITS), st.integers(-UNITS, UNITS)), min_size=3, max_size=9)
PARTS = st.one_of(
    st.builds(lambda corners, mode: MapPart(SHAPE, tuple(v for c in corners for v in c), mode), CORNERS, MODES),
    st.builds(lambda kind, mode: MapPart(CATEGORY, (kind,), mode), st.integers(-1, 107), MODES),
)
UNIT_POINTS = np.array([[100, 100], [200, 100], [5_000, 5_000], [60_000, 60_000], [60_100, 60_000]], np.uint16)
KINDS = np.array([0, 1, 1, 0, -1])


@given(st.lists(PARTS, max_size=6))
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
    part = part_of(event, 2)
    assert part is not None
    assert part.rows(UNIT_POINTS, KINDS, []).tolist() == rows
    assert part.rows(UNIT_POINTS, KINDS, [1]).tolist() == [r for r in rows if KINDS[r] != 1]
    taken = MapPart(part.kind, part.numbers, SUBTRACT).combined(np.arange(5), np.array(rows))
    assert taken.tolist() == [row for row in range(5) if row not in rows]
    assert MapPart(part.kind, part.numbers, ADD).combined(np.array([3]), np.array(rows)).tolist() == sorted({3, *rows})


@pytest.mark.parametrize(
    "event", [{}, {"category": 3}, {"category": "1"}, {"corners": [[0, 0], [1, 1]]}, {"category": 1, "mode": "other"}]
)
def test_invalid_events_are_no_parts(event: dict[str, Any]) -> None:
    assert part_of(event, 2) is None


def test_parts_are_described() -> None:
    found = [MapPart(CATEGORY, (0,)), MapPart(CATEGORY, (-1,), ADD), MapPart(SHAPE, (0, 0, 9, 0, 9, 9), SUBTRACT)]
    said = "all of “Tax”, and all without a category of their own, without a shape"
    assert ", ".join(part.described(["Tax"]) for part in found) == said
    assert parts.after(found, MapPart(CATEGORY, (-1,), ADD))[:3] == found
    assert parts.after(found, MapPart(CATEGORY, (-1,))) == [MapPart(CATEGORY, (-1,))]


def test_the_list_has_every_category_with_its_neighbours_and_central_points() -> None:
    groups = outline_of(UNIT_POINTS, np.array([0, 0, 1, 2, -1]), 3)
    assert [(kind, near) for kind, near, _ in groups if kind != 1] == [(0, [1, 2]), (2, [1, 0]), (3, [2, 1, 0])]
    assert sorted(row for *_, rows in groups for row in rows) == [0, 1, 2, 3, 4]
    assert outline_of(UNIT_POINTS[:0], np.empty(0, np.int64), 2) == []
