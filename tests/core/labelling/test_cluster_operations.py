import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.labelling.test_coding import done
from themescope.core.errors import DataError
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import misplaced
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Partition, start

IDS = np.arange(10, 30)
CLUSTERS = [Cluster(1, "Past", 0), Cluster(2, "War", 1, 1), Cluster(3, "Art", 2, 1), Cluster(4, "Money", 3)]


def made() -> Partition:
    return start(IDS, [1] * 2 + [2] * 5 + [3] * 5 + [4] * 6 + [UNASSIGNED] * 2, CLUSTERS)


def parents(partition: Partition) -> dict[int, int | None]:
    return {number: cluster.parent for number, cluster in partition.clusters.items()}


@given(
    st.lists(st.sampled_from([UNASSIGNED, 1, 2, 3, 4]), min_size=20, max_size=20),
    st.lists(st.integers(-1, 3), min_size=20, max_size=20),
)
def test_re_clustering_a_part_changes_nothing_outside_it(numbers: list[int], places: list[int]) -> None:
    before = start(IDS, numbers, CLUSTERS)
    inside = np.array(places) >= 0
    parts = [(f"part {k}", IDS[np.array(places) == k]) for k in range(4) if k in places]
    if not parts:
        return
    after = done(before, op.recluster(before, parts, 5))
    assert np.array_equal(after.numbers[~inside], before.numbers[~inside])
    assert not misplaced(after.clusters)
    for name, ids in parts:
        found = np.unique(after.numbers[after.rows(ids)])
        assert len(found) == 1 and after.clusters[int(found[0])].name == name
    taken = {int(n) for n in np.unique(before.numbers[inside])}
    for number in {1, 2, 3, 4} - taken:
        assert after.clusters[number].name == before.clusters[number].name
    for number in {1, 2, 3, 4} & set(before.numbers[~inside].tolist()):
        assert after.clusters[number].name == before.clusters[number].name


def test_the_part_with_most_sentences_continues_a_cluster_and_no_sub_theme_is_lost() -> None:
    p = made()
    ids = p.members(2)
    after = done(p, op.recluster(p, [("Wars", ids[:1]), ("War", ids[1:])], 5, [2]))
    assert after.members(2).tolist() == ids[1:].tolist() and after.clusters[2] == p.clusters[2]
    assert after.clusters[5].name == "Wars" and after.clusters[5].parent == 1
    with pytest.raises(DataError, match="Preview it again"):
        op.recluster(after, [("a", ids[:1])], 6, [2])
    with pytest.raises(DataError, match="each with sentences"):
        op.recluster(p, [("a", ids), ("b", ids)], 6)
    ids = np.concatenate([p.members(1), p.members(4)])
    after = done(p, op.recluster(p, [("Both", ids)], 5))
    assert parents(after) == {2: None, 3: None, 4: None}
    assert after.clusters[4].name == "Both" and after.members(4).tolist() == sorted(ids)


def test_clusters_are_grouped_moved_out_and_dissolved_and_either_level_is_shown() -> None:
    p = made()
    grouped = done(p, coding.put_under(p, [4], 1))
    assert parents(grouped) == {1: None, 2: 1, 3: 1, 4: 1}
    assert coding.total_sizes(grouped) == {1: 18, 2: 5, 3: 5, 4: 6}
    assert parents(done(p, coding.move_out(p, [2]))) == {1: None, 2: None, 3: 1, 4: None}
    assert parents(done(p, coding.dissolve(p, 1))) == {1: None, 2: None, 3: None, 4: None}
    assert parents(done(p, coding.put_under(p, [1], 4))) == {1: 4, 2: 4, 3: 4, 4: None}
    new = done(p, coding.group(p, [coding.ClusterGroup("World", (1, 4))], 5))
    assert parents(new) == {1: 5, 2: 5, 3: 5, 4: 5, 5: None} and new.sizes()[5] == 0
    described = done(new, book.write(new, 5, CodebookEntry("all")))
    dissolved = done(described, coding.dissolve(described, 5))
    assert parents(dissolved) == {1: None, 2: None, 3: None, 4: None} and not dissolved.entries
    with pytest.raises(DataError, match="sub-code"):
        coding.put_under(p, [4], 2)
    with pytest.raises(DataError, match="Choose codes"):
        coding.group(p, [coding.ClusterGroup("Nothing", ())], 5)
    assert not coding.put_under(p, [1], 1).change_set and not coding.dissolve(p, 4).change_set
    assert coding.at_theme_level(p).numbers.tolist() == [1] * 12 + [4] * 6 + [UNASSIGNED] * 2
    assert sorted(coding.at_theme_level(p).clusters) == [1, 4]
    assert [c.number for c in coding.in_order(p)] == [1, 2, 3, 4]
    assert coding.with_sub_themes(p, [1]) == [1, 2, 3]
