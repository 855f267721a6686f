import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import DataError
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import StaleChangeError, apply, renumbered
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import codes, entry_of
from themescope.core.labelling.partition import (
    UNASSIGNED,
    Cluster,
    Partition,
    allows_several,
    code_clusters,
    code_names,
    code_sets,
    code_sizes,
    combinations,
    has_code,
    start,
)

IDS = np.arange(1, 9)
CODES = {1: "Housing", 2: "Rent", 3: "Tax"}


def made() -> Partition:
    p = start(IDS, [1, 1, 2, 2, UNASSIGNED, UNASSIGNED, 3, UNASSIGNED], [Cluster(n, c, n) for n, c in CODES.items()])
    return apply(p, coding.allow_several(p, True).change_set)


def ids(*given: int) -> np.ndarray:
    return np.array(given, dtype=np.int64)


def free(p: Partition) -> int:
    return max(p.clusters) + 1


def given_to(p: Partition) -> list[set[str]]:
    names = code_names(p)
    return [{*names[n]} for n in p.numbers.tolist()]


def done(p: Partition, *operations: op.Operation) -> Partition:
    for operation in operations:
        p = apply(p, operation.change_set)
    return p


def with_two() -> Partition:
    """Sentences 1 and 2 have Housing and Rent, 2 has Tax besides."""
    p = made()
    p = done(p, coding.add_code(p, ids(1, 2), 2, free(p)))
    return done(p, coding.add_code(p, ids(2), 3, free(p)))


def test_codes_are_given_and_taken_away_and_each_set_of_codes_is_one_cluster() -> None:
    p = with_two()
    assert given_to(p)[:3] == [{"Housing", "Rent"}, {"Housing", "Rent", "Tax"}, {"Rent"}]
    assert code_sizes(p) == {1: 2, 2: 4, 3: 2}
    assert p.clusters[4].name == "Housing + Rent"
    assert has_code(p, 2).tolist() == [True] * 4 + [False] * 4
    assert [*code_clusters(p)] == [1, 2, 3]
    p = made()
    p = done(p, coding.add_code(p, ids(1), 2, free(p)))
    p = done(p, coding.add_code(p, ids(3), 1, free(p)))
    assert p.numbers[0] == p.numbers[2] and len(combinations(p)) == 1
    p = made()
    p = done(p, coding.create_code(p, free(p), "Law", ids(1, 5)))
    assert [given_to(p)[i] for i in (0, 4)] == [{"Housing", "Law"}, {"Law"}]
    p = with_two()
    p = done(p, coding.toggle_code(p, ids(1, 2), 1, free(p)))
    assert given_to(p)[:2] == [{"Rent"}, {"Rent", "Tax"}]
    p = done(p, coding.toggle_code(p, ids(1, 2, 8), 2, free(p)))
    assert [given_to(p)[i] for i in (0, 1, 7)] == [{"Rent"}, {"Rent", "Tax"}, {"Rent"}]
    p = done(p, coding.remove_code(p, ids(1, 7), 2, free(p)))
    assert [given_to(p)[i] for i in (0, 6)] == [set(), {"Tax"}]


def test_a_combination_is_renamed_merged_and_deleted_through_its_codes() -> None:
    p = with_two()
    renamed = done(p, op.rename(p, 2, "Rents"))
    assert [renamed.clusters[n].name for n in combinations(renamed)] == ["Housing + Rents", "Housing + Rents + Tax"]
    deleted = done(p, op.delete(p, 3))
    assert given_to(deleted)[:2] == [{"Housing", "Rent"}] * 2 and len(combinations(deleted)) == 1
    assert op.delete(p, 3).summary == "Tax deleted, 1 unit without a code, 1 unit left with other codes"
    merged = done(p, op.merge(p, [2], 1))
    assert given_to(merged)[:4] == [{"Housing"}, {"Housing", "Tax"}, {"Housing"}, {"Housing"}]
    for refused in (
        lambda: op.rename(p, 4, "Both"),
        lambda: op.delete(p, 4),
        lambda: op.merge(p, [4], 1),
        lambda: coding.add_code(p, ids(3), 4, 9),
        lambda: coding.put_under(p, [4], 1),
    ):
        with pytest.raises(DataError, match="“Housing \\+ Rent” is a combination of codes"):
            refused()


def test_the_codebook_is_that_of_the_codes() -> None:
    p = with_two()
    shown = done(p, book.add_own_examples(p, ids(1, 3)))
    assert [entry_of(shown, number).examples for number in (1, 2, 3)] == [(1,), (1, 3), ()]
    assert [code.cluster.number for code in codes(shown)] == [1, 2, 3]
    with pytest.raises(DataError, match="combination of codes"):
        book.choose_training(p, iter("ab"), [1])


def test_one_code_per_sentence_is_the_default_and_can_come_back() -> None:
    p = start(IDS, None, [Cluster(1, "Housing", 0), Cluster(2, "Rent", 1)])
    with pytest.raises(DataError, match="one code per sentence"):
        coding.add_code(p, ids(1), 1, 3)
    p = with_two()
    with pytest.raises(DataError, match="2 units have several codes"):
        coding.allow_several(p, False)
    p = done(p, op.unassign(p, ids(1, 2)))
    p = done(p, coding.allow_several(p, False))
    assert not allows_several(p) and {*p.clusters} == {*CODES}


def test_reclustering_sentences_with_several_codes_is_refused() -> None:
    p = with_two()
    with pytest.raises(DataError, match="2 units here have several"):
        op.recluster(p, [("New", IDS)], free(p))
    again = done(p, op.recluster(p, [("New", ids(3, 4))], free(p)))
    assert given_to(again)[:2] == given_to(p)[:2]


def test_what_two_people_do_to_one_code_is_a_conflict() -> None:
    p = made()
    mine, theirs = coding.add_code(p, ids(1), 2, 4), coding.add_code(p, ids(1, 3), 2, 4)
    assert coding.onto(done(p, theirs), mine.change_set, 9) is None
    assert coding.onto(done(p, op.delete(p, 2)), mine.change_set, 9) is None
    assert coding.onto(done(p, theirs), op.mark(p, ids(1), True).change_set, 9) is None


some = st.lists(st.sampled_from(IDS.tolist()), min_size=1, max_size=8, unique=True).map(np.array)
acts = [coding.add_code, coding.remove_code, coding.toggle_code]
act = st.tuples(st.sampled_from(acts), some, st.sampled_from([1, 2, 3]))


@given(st.lists(act, max_size=4), act, st.lists(act, max_size=3))
def test_different_codes_of_two_people_do_not_conflict(before: list, mine: tuple, theirs: list) -> None:
    """What I do to one code, after others changed other codes, gives both; and I can undo mine alone."""
    p = made()
    for act, chosen, code in before:
        p = done(p, act(p, chosen, code, free(p)))
    act, chosen, code = mine
    own = act(p, chosen, code, free(p)).change_set
    now = p
    for other, some, number in theirs:
        if number != code:
            now = done(now, other(now, some, number, free(now)))
    rebased = coding.onto(now, own, free(now))
    both, alone = apply(now, rebased), apply(p, own)
    for number in CODES:
        expected = alone if number == code else now
        assert has_code(both, number).tolist() == has_code(expected, number).tolist()
    undone = coding.onto(both, own.inverse(), free(both))
    assert given_to(apply(both, undone)) == given_to(now)


def test_the_numbers_of_combinations_are_given_anew_and_one_without_its_code_is_refused() -> None:
    p = made()
    mine, theirs = coding.add_code(p, ids(1), 2, 4), op.create(p, 4, "Other", ids(8))
    both = apply(apply(p, theirs.change_set), renumbered(mine.change_set, {4: 5}))
    assert code_sets(both)[5] == {1, 2} and given_to(both)[0] == {"Housing", "Rent"}
    gone = apply(p, op.delete(p, 3).change_set)
    lost = coding.add_code(p, ids(1), 3, 4).change_set
    with pytest.raises(StaleChangeError):
        apply(gone, lost)
