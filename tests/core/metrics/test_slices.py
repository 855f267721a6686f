import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.metrics.triplets import accuracy_by_article, accuracy_slices

ROWS = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from([-1.0, 0.0, 1.0]), st.integers(1, 4)), min_size=1, max_size=60
)


def columns(rows: list[tuple[int, float, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, margins, groups = zip(*rows, strict=True)
    return np.array(values), np.array(margins, np.float32), np.array(groups)


@given(rows=ROWS)
def test_slices_part_the_triplets_and_average_to_the_whole(rows: list[tuple[int, float, int]]) -> None:
    values, margins, groups = columns(rows)
    found = accuracy_slices(values, margins, groups, (0, 10, 20))
    assert sum(s.triplets for s in found) == len(rows)
    whole = sum(s.accuracy.value * s.triplets for s in found) / len(rows)
    assert whole == pytest.approx((0.5 + 0.5 * np.sign(margins)).mean())
    for one in found:
        inside = (values >= one.low) & (values <= (one.high if one.high is not None else values.max()))
        assert (one.triplets, one.accuracy.n) == (inside.sum(), len(np.unique(groups[inside])))
        assert one.accuracy.low <= one.accuracy.value <= one.accuracy.high


def test_ends_empty_slices_and_what_lies_below() -> None:
    found = accuracy_slices(np.array([-1, 5, 9, 30]), np.array([1, 1, -1, 0]), np.array([1, 1, 2, 2]), (5, 10, 20))
    assert [(s.low, s.high, s.triplets, s.accuracy.value) for s in found] == [(5, 9, 2, 0.5), (20, None, 1, 0.5)]
    with pytest.raises(DataError, match="need a value"):
        accuracy_slices(np.array([1]), np.array([1.0, 2.0]), np.array([1]), (0,))


@given(rows=ROWS)
def test_articles_are_means_of_their_triplets(rows: list[tuple[int, float, int]]) -> None:
    _, margins, groups = columns(rows)
    found = accuracy_by_article(margins, groups)
    assert found.articles.tolist() == sorted(set(groups.tolist())) and found.triplets.sum() == len(rows)
    for article, accuracy in zip(found.articles, found.accuracy, strict=True):
        assert accuracy == pytest.approx((0.5 + 0.5 * np.sign(margins[groups == article])).mean())
