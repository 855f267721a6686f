import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.projection import merged, regions

POINTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=120)


@given(POINTS, st.integers(0, 30))
def test_every_point_has_a_region_and_equal_points_the_same(points: list[tuple[int, int]], k: int) -> None:
    at = np.array(points, dtype=np.float64).reshape(-1, 2)
    found = regions(at, k)
    assert len(found) == len(at) and (found == regions(at, k)).all()
    assert sorted(set(found.tolist())) == list(range(len(set(found.tolist()))))
    assert len(set(found.tolist())) <= max(k, 1)
    region_of = {place: label for place, label in zip(points, found.tolist(), strict=True)}
    assert [region_of[place] for place in points] == found.tolist()


@given(POINTS.filter(len), st.integers(1, 20), st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_groups_are_unions_of_finer_groups(points: list[tuple[int, int]], k: int, counts: list[int]) -> None:
    at = np.array(points, dtype=np.float64)
    finest = regions(at, k)
    sizes = np.bincount(finest).astype(np.float64)
    centres = np.array([at[finest == i].mean(axis=0) for i in range(len(sizes))])
    before = np.arange(len(sizes))
    for count, groups in zip(sorted(counts, reverse=True), merged(centres, sizes, sorted(counts)[::-1]), strict=True):
        assert int(groups.max()) + 1 == min(count, len(sizes))
        for fine in set(before.tolist()):
            assert len(set(groups[before == fine].tolist())) == 1
        before = groups


def test_far_parts_are_merged_last() -> None:
    centres = np.array([[0, 0], [1, 0], [50, 0], [51, 0], [200, 0]], dtype=np.float64)
    three, two = merged(centres, np.ones(5), [3, 2])
    assert three.tolist() == [0, 0, 1, 1, 2]
    assert two.tolist() == [0, 0, 0, 0, 1]
