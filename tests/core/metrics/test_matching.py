"""Matched clusters against a search through every way to match them."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from themescope.core.errors import DataError
from themescope.core.metrics.matching import MatchedPair, Matching, match_clusters

LABELS = st.integers(1, 14).flatmap(lambda n: st.tuples(*[hnp.arrays(np.int32, n, elements=st.integers(-1, 4))] * 2))


def stayed(found: Matching) -> int:
    return len(found.aligned) - len(found.moved)


def most_that_stay(first: np.ndarray, second: np.ndarray) -> int:
    """Items that stay under the best of all one-to-one matchings; unassigned in both counts as staying."""
    rows, columns = (sorted(set(labels.tolist()) - {-1}) for labels in (first, second))
    if len(rows) > len(columns):
        return most_that_stay(second, first)
    tries = (dict(zip(rows, chosen, strict=True)) | {-1: -1} for chosen in permutations(columns, len(rows)))
    return max(sum(names[a] == b for a, b in zip(first.tolist(), second.tolist(), strict=True)) for names in tries)


@given(LABELS)
def test_as_many_items_stay_as_in_the_best_of_all_matchings(both: tuple[np.ndarray, np.ndarray]) -> None:
    assert stayed(match_clusters(*both)) == most_that_stay(*both)


@given(LABELS)
def test_every_cluster_is_there_once_and_what_moved_is_what_differs(both: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = both
    found = match_clusters(first, second)
    assert sorted([p.first for p in found.pairs] + list(found.only_first)) == sorted(set(first.tolist()) - {-1})
    assert sorted([p.second for p in found.pairs] + list(found.only_second)) == sorted(set(second.tolist()) - {-1})
    for pair in found.pairs:
        assert pair.both == np.count_nonzero((first == pair.first) & (second == pair.second)) > 0
    stays = sum(pair.both for pair in found.pairs) + np.count_nonzero((first == -1) & (second == -1))
    assert stays == stayed(found)
    # Under its new names the second partition is the same partition.
    assert ((found.aligned[:, None] == found.aligned) == (second[:, None] == second)).all()


@given(LABELS, st.permutations(range(5)))
def test_names_of_clusters_mean_nothing(both: tuple[np.ndarray, np.ndarray], names: list[int]) -> None:
    first, second = both
    renamed = np.array([*names, -1], dtype=np.int32)[second]
    assert stayed(match_clusters(first, renamed)) == stayed(match_clusters(first, second))
    assert match_clusters(first, np.array([*names, -1], dtype=np.int32)[first]).moved.size == 0


def test_numbers_of_clusters_may_differ() -> None:
    found = match_clusters(np.array([0, 0, 0, 1, 1, -1]), np.array([7, 7, 8, 9, 9, 9]))
    assert found.pairs == (MatchedPair(0, 7, 2), MatchedPair(1, 9, 2))
    assert (found.only_first, found.only_second) == ((), (8,))
    assert found.moved.tolist() == [2, 5]
    assert found.aligned.tolist() == [0, 0, 2, 1, 1, 1]


def test_other_items_are_refused_and_none_are_fine() -> None:
    with pytest.raises(DataError, match="one label per item"):
        match_clusters(np.zeros(3, np.int32), np.zeros(4, np.int32))
    assert match_clusters(np.empty(0, np.int32), np.empty(0, np.int32)).pairs == ()
