"""Shapes against brute force, alignment against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import procrustes

from themescope.core.errors import DataError
from themescope.core.projection.geometry import align, box, inside, moved

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


def test_a_shape_that_crosses_itself_has_a_hole() -> None:
    star = [(np.cos(a), np.sin(a)) for a in np.arange(5) * 4 * np.pi / 5 + np.pi / 2]
    assert inside(np.array([[0.0, 0.0], [0.0, 0.8]]), star).tolist() == [False, True]


def test_corners_must_be_finite() -> None:
    with pytest.raises(DataError, match="not a finite"):
        inside(np.zeros((1, 2)), [(0, 0), (1, np.nan), (1, 1)])


def maps(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n, 2))
    return first, first @ rng.normal(size=(2, 2)) + 0.3 * rng.normal(size=(n, 2)) + rng.normal(size=2)


@given(st.integers(0, 10_000))
def test_alignment_is_scipys(seed: int) -> None:
    source, target = maps(seed)
    found = align(source, target)
    _, _, disparity = procrustes(target, source)
    assert found.error == pytest.approx(disparity, abs=1e-9)
    a, b = source - source.mean(axis=0), target - target.mean(axis=0)
    rotation, nuclear = orthogonal_procrustes(a, b)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-8)
    assert found.scale == pytest.approx(nuclear / (a**2).sum())
    residual = ((found.apply(source) - target) ** 2).sum() / (b**2).sum()
    assert residual == pytest.approx(found.error, abs=1e-5)
    even = found.apply(source, even=True)
    np.testing.assert_allclose(even.mean(axis=0), target.mean(axis=0), atol=1e-5)
    assert even.std(axis=0) @ even.std(axis=0) == pytest.approx(target.std(axis=0) @ target.std(axis=0), rel=1e-4)


@given(st.floats(0, 6), st.floats(0.1, 9), st.booleans(), st.integers(0, 99))
def test_a_turned_mirrored_scaled_map_is_laid_back_exactly(turn: float, scale: float, mirror: bool, seed: int) -> None:
    target, _ = maps(seed)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    source = scale * target @ (rotation * [1, -1 if mirror else 1]) + 3.0
    found = align(source, target)
    assert found.error == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(found.apply(source), target, atol=1e-4)
    assert moved(found.apply(source), target).max() < 1e-4


def test_what_moved_most_is_the_point_that_was_moved() -> None:
    target, _ = maps(0)
    source = target.copy()
    source[7] += 3
    assert moved(align(source, target).apply(source), target).argmax() == 7


def test_too_few_unequal_and_equal_points() -> None:
    with pytest.raises(DataError, match="share 2 sentences"):
        align(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(DataError, match="their shapes are"):
        align(np.zeros((4, 2)), np.zeros((5, 2)))
    spot = align(np.ones((4, 2)), maps(1, 4)[0])
    assert spot.error == 1.0 and np.isfinite(spot.apply(np.ones((4, 2)))).all()
