"""Names on a map: at dense places of their category, without overlaps, inside the picture."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from webapp.map_view.geometry import UNITS
from webapp.map_view.labels import anchors_of, placed


def cloud(x: int, y: int, n: int, spread: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal((x, y), spread, (n, 2))
    return np.clip(points, 0, UNITS).astype(np.uint16)


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


@given(st.integers(1, 400), st.integers(1, 31), st.integers(0, 10_000), st.sampled_from([0, 300, 3_000, 30_000]))
def test_labels_do_not_overlap_and_lie_inside(n: int, names: int, seed: int, spread: int) -> None:
    rng = np.random.default_rng(seed)
    points = cloud(int(rng.integers(UNITS)), int(rng.integers(UNITS)), n, spread, seed)
    categories = rng.integers(-1, names, n)
    anchors = anchors_of(points, categories, names)
    assert all(0 <= v <= UNITS for _, x, y, _ in anchors for v in (x, y))
    labels = placed(anchors, [float(w) for w in rng.integers(10, 300, names)], 20.0, 1_000.0)
    assert len({label.category for label in labels}) == len(labels)
    for label in labels:
        assert 0 <= label.left <= 1_000 - label.width and 0 <= label.top <= 1_000 - label.height
    assert not any(one.covers(other) for one, other in combinations(labels, 2))
    if anchors and spread == 3_000 and 20_000 < points.mean() < 45_000:
        assert labels
