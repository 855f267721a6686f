import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.projection import box, inside

PLACE = st.tuples(st.integers(0, 40), st.integers(0, 40))


def crossed(point: tuple[float, float], corners: list[tuple[float, float]]) -> bool:
    """Edge after edge, in whole numbers: does a ray to the right cross an odd number of them?"""
    x, y = point
    odd = False
    for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (y1 > y) != (y2 > y):
            # x < x1 + (y - y1)(x2 - x1)/(y2 - y1), without a division
            left, right = (x - x1) * (y2 - y1), (y - y1) * (x2 - x1)
            odd ^= left < right if y2 > y1 else left > right
    return odd


@given(st.lists(PLACE, max_size=60), st.lists(PLACE, max_size=12))
def test_inside_is_what_brute_force_finds(points: list[tuple[int, int]], corners: list[tuple[int, int]]) -> None:
    found = inside(np.array(points, dtype=np.float64).reshape(-1, 2), np.array(corners).reshape(-1, 2))
    assert found.tolist() == [len(corners) > 2 and crossed(p, corners) for p in points]


@given(st.lists(PLACE, min_size=1, max_size=80, unique=True), st.integers(1, 39))
def test_two_boxes_contain_every_point_once(points: list[tuple[int, int]], cut: int) -> None:
    found = np.array(points)
    left, right = inside(found, box((-1, -1, cut, 41))), inside(found, box((cut, -1, 41, 41)))
    assert (left ^ right).all()


def test_a_shape_that_crosses_itself_has_a_hole_and_corners_must_be_finite() -> None:
    star = [(np.cos(a), np.sin(a)) for a in np.arange(5) * 4 * np.pi / 5 + np.pi / 2]
    assert inside(np.array([[0.0, 0.0], [0.0, 0.8]]), star).tolist() == [False, True]
    with pytest.raises(DataError, match="not a finite"):
        inside(np.zeros((1, 2)), [(0, 0), (1, np.nan), (1, 1)])
