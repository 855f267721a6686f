"""Parts of a selection: what each selects, how they combine, and how addresses write them; the map as a list."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.webapp.map_view import parts
from themescope.webapp.map_view.alternatives import outline_of
from themescope.webapp.map_view.geometry import UNITS
from themescope.webapp.map_view.parts import ADD, CATEGORY, REPLACE, SHAPE, SUBTRACT, MapPart, part_of

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
    "event",
    [{}, {"category": 3}, {"category": "1"}, {"corners": [[0, 0], [1, 1]]}, {"category": 1, "mode": "other"}],
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
    assert [group.kind for group in groups] == [0, 1, 2, 3]
    assert groups[0].near == [1, 2] and groups[2].near == [1, 0] and groups[3].near == [2, 1, 0]
    assert sorted(row for group in groups for row in group.rows) == [0, 1, 2, 3, 4]
    assert outline_of(UNIT_POINTS[:0], np.empty(0, np.int64), 2) == []
