"""A clustering that replaces the clusters of a labelling keeps placed sentences, and undo restores every byte."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.labelling.changes import apply, difference, misplaced
from themescope.core.labelling.codebook.entries import CodebookEntry
from themescope.core.labelling.codebook.operations import write
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Partition, start
from themescope.core.labelling.suggestions import adopted, matched_clusters

IDS = np.arange(10, 22)


def made(numbers: list[int], sub_theme: bool = False) -> Partition:
    clusters = [Cluster(1, "History", 0), Cluster(2, "Economy", 1), Cluster(4, "Sport", 2, 1 if sub_theme else None)]
    return start(IDS, numbers, clusters)


numbers = st.lists(st.sampled_from([1, 2, 4, UNASSIGNED]), min_size=12, max_size=12)
labels = st.lists(st.integers(-1, 4), min_size=12, max_size=12)
some = st.sets(st.sampled_from(IDS.tolist())).map(lambda ids: np.array(sorted(ids), dtype=np.int64))


@given(numbers, labels, some, st.booleans())
def test_it_stays_a_partition_and_placed_sentences_stay(
    now: list[int], wanted: list[int], fixed: np.ndarray, sub_theme: bool
) -> None:
    before = made(now, sub_theme)
    after = adopted(before, np.array(wanted, dtype=np.int32), fixed, 7, lambda ids: "Economy")
    change_set = difference(before, after)
    reached = apply(before, change_set)
    assert reached.to_bytes() == after.to_bytes() and not misplaced(reached.clusters)
    assert apply(reached, change_set.inverse()).to_bytes() == before.to_bytes()
    rows = before.rows(fixed)
    assert np.array_equal(reached.numbers[rows], before.numbers[rows])
    assert set(reached.numbers.tolist()) <= {*reached.clusters, UNASSIGNED}
    free = np.setdiff1d(np.arange(12), rows)
    new = np.array(wanted)[free]
    for label in set(new.tolist()):
        assert len(set(reached.numbers[free][new == label].tolist())) == 1
    assert len({c.name for c in reached.clusters.values()}) == len(reached.clusters)


def test_a_label_continues_the_cluster_of_its_placed_sentences() -> None:
    partition = made([1] * 6 + [2] * 6)
    found = np.array([0] * 8 + [1] * 4, dtype=np.int32)
    assert matched_clusters(partition, found, np.empty(0, np.int64)) == {0: 1, 1: 2}
    # Sentences 16 and 17 of cluster 2 were placed and have label 0; they outweigh six others.
    assert matched_clusters(partition, found, np.array([16, 17]))[0] == 2


def test_names_of_new_clusters_are_free_and_emptied_clusters_go() -> None:
    partition = made([1] * 12)
    after = adopted(partition, np.array([0, 1, 2] * 4, dtype=np.int32), np.empty(0, np.int64), 9, lambda ids: "History")
    assert sorted(after.clusters) == [1, 2, 4, 9, 10]  # clusters that were empty before stay
    assert [after.clusters[n].name for n in (1, 9, 10)] == ["History", "History 2", "History 3"]
    gone = adopted(made([1] * 11 + [2]), np.zeros(12, dtype=np.int32), np.empty(0, np.int64), 9, lambda ids: "")
    assert 2 not in gone.clusters


def test_the_codebook_entry_of_an_emptied_cluster_goes_with_it() -> None:
    partition = made([1] * 11 + [2])
    for number in (1, 2, 4):
        partition = apply(partition, write(partition, number, CodebookEntry(definition="What it is")).change_set)
    after = adopted(partition, np.zeros(12, dtype=np.int32), np.empty(0, np.int64), 9, lambda ids: "")
    assert sorted(after.clusters) == [1, 4] and sorted(key for _, key in after.entries) == ["1", "4"]
    change_set = difference(partition, after)
    assert apply(apply(partition, change_set), change_set.inverse()).to_bytes() == partition.to_bytes()
