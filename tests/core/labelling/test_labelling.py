"""A labelling stays a partition whatever people do, and everything they do can be taken back exactly."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.errors import DataError, DuplicateNameError, ThemescopeError
from themescope.core.labelling import changes, coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, StaleChangeError, apply
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, checked, codes, versions
from themescope.core.labelling.partition import (
    UNASSIGNED,
    Cluster,
    Entry,
    EntryKind,
    Partition,
    broken,
    combinations,
    free_colour,
    free_name,
    misplaced,
    start,
)
from themescope.core.labelling.task_items import training_items
from themescope.core.text.cleaning import clean
from themescope.core.types import Ids

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IDS = np.array([40, 3, 17, 5, 99, 21, 8, 60])


def made() -> Partition:
    clusters = [Cluster(1, "History", 0), Cluster(2, "Economy", 1)]
    return start(IDS, [1, 1, 2, 2, UNASSIGNED, 1, 2, UNASSIGNED], clusters)


def check(first: Partition, partition: Partition) -> None:
    """Every sentence of the start once, in a cluster that is there or in none; names differ; there are two levels."""
    ids = set(first.ids.tolist())
    assert np.array_equal(partition.ids, first.ids)
    assert len(partition.numbers) == len(partition.uncertain) == len(ids)
    assert set(partition.numbers.tolist()) <= {*partition.clusters, UNASSIGNED}
    assert set(partition.notes) <= ids
    assert sum(partition.sizes().values()) == len(ids)
    assert not misplaced(partition.clusters) and not broken(partition.clusters, partition.entries)
    made = [*combinations(partition).values()]
    assert len({*made}) == len(made)
    assert len({cluster.name for cluster in partition.clusters.values()}) == len(partition.clusters)
    assert all(set(entry.sentences) <= ids for entry in partition.entries.values())
    assert {int(key) for kind, key in partition.entries if kind is EntryKind.CODE} <= {*partition.clusters}
    assert all(checked(code.entry) == code.entry for code in codes(partition))
    if not made:  # else a sentence counts for each of its codes
        totals = coding.total_sizes(partition)
        tops = [n for n, cluster in partition.clusters.items() if cluster.parent is None]
        assert sum(totals[n] for n in tops) == (partition.numbers >= 0).sum()


def check_difference(one: Partition, other: Partition) -> None:
    """The difference of two states leads from one to the other and back, and is empty where they are equal."""
    there = changes.difference(one, other)
    assert bool(there) == (one.to_bytes() != other.to_bytes())
    assert apply(one, there).to_bytes() == other.to_bytes()
    assert apply(other, there.inverse()).to_bytes() == one.to_bytes()


Choose = Callable[[Partition, int], op.Operation]
some = st.lists(st.sampled_from(IDS.tolist()), max_size=8, unique=True).map(lambda ids: np.array(ids, dtype=np.int64))
text = st.text(max_size=12)
place = st.integers(0, 8)
places = st.lists(place, max_size=3)
some_labels = st.lists(st.integers(-1, 4), min_size=8, max_size=8)


def at(partition: Partition, where: int) -> int:
    """One of the clusters there are; sometimes one that is not."""
    numbers = [*sorted(partition.clusters), 1_000]
    return numbers[where % len(numbers)]


def all_at(partition: Partition, places: list[int]) -> list[int]:
    return [at(partition, where) for where in places]


def one_of(found: Sequence[Any], where: int) -> Any:
    if not found:
        raise DataError("There is none yet.")
    return found[where % len(found)]


def split_in_two(partition: Partition, ids: Ids, names: tuple[str, str], first: int) -> op.Operation:
    return op.recluster(partition, [(names[0], ids[::2]), (names[1], ids[1::2])], first)


def put_under(partition: Partition, number: int, parent: int | None) -> op.Operation:
    """A change of level as a page could ask for it; often one that is not allowed."""
    cluster = partition.cluster(number)
    change = changes.ClusterChange(cluster, replace(cluster, parent=parent))
    return op.Operation(op.OperationKind.RENAME, "", ChangeSet((change,) if change.old != change.new else ()))


def entered(partition: Partition, key: str, entry: Entry | None) -> op.Operation:
    change = changes.EntryChange(EntryKind.ANSWER, key, partition.entries.get((EntryKind.ANSWER, key)), entry)
    return op.entries(op.OperationKind.NOTE, "", [change])


json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
some_ids = st.lists(st.sampled_from([*IDS.tolist(), 1_234]), max_size=2).map(tuple)
an_entry = st.builds(
    Entry,
    st.dictionaries(st.text(max_size=3), json, max_size=2),
    some_ids,
    st.lists(st.integers(1, 5), max_size=2).map(tuple),
)

a_codebook_entry = st.builds(CodebookEntry, text, text, text, text, some_ids, some_ids)
intentions: st.SearchStrategy[Choose] = st.one_of(
    st.builds(lambda i, w: lambda p, n: op.assign(p, i, at(p, w)), some, place),
    st.builds(lambda i, w: lambda p, n: op.accept(p, {at(p, w): i}), some, place),
    st.builds(lambda i: lambda p, n: op.unassign(p, i), some),
    st.builds(lambda i, t: lambda p, n: op.create(p, n, t, i), some, text),
    st.builds(lambda v, w: lambda p, n: op.merge(p, all_at(p, v), at(p, w)), st.lists(place), place),
    st.builds(lambda w, a, b: lambda p, n: split_in_two(p, p.members(at(p, w)), (a, b), n), place, text, text),
    st.builds(lambda i, a, b: lambda p, n: split_in_two(p, i, (a, b), n), some, text, text),
    st.builds(lambda w, t: lambda p, n: op.rename(p, at(p, w), t), place, text),
    st.builds(lambda w, c: lambda p, n: op.recolour(p, at(p, w), c), place, st.integers(-1, 36)),
    st.builds(lambda w: lambda p, n: op.delete(p, at(p, w)), place),
    st.builds(lambda i, u: lambda p, n: op.mark(p, i, u), some, st.booleans()),
    st.builds(lambda i, t: lambda p, n: op.note(p, i, t), some, text),
    st.builds(lambda w, v: lambda p, n: put_under(p, at(p, w), at(p, v)), place, place),
    st.builds(lambda w: lambda p, n: put_under(p, at(p, w), None), place),
    st.builds(lambda k, e: lambda p, n: entered(p, k, e), st.sampled_from("ab"), st.none() | an_entry),
    st.builds(lambda a: lambda p, n: coding.allow_several(p, a), st.booleans()),
    st.builds(lambda i, w: lambda p, n: coding.add_code(p, i, at(p, w), n), some, place),
    st.builds(lambda i, w: lambda p, n: coding.remove_code(p, i, at(p, w), n), some, place),
    st.builds(lambda i, w: lambda p, n: coding.toggle_code(p, i, at(p, w), n), some, place),
    st.builds(lambda i, t: lambda p, n: coding.create_code(p, n, t, i), some, text),
    st.builds(lambda v, w: lambda p, n: coding.put_under(p, all_at(p, v), at(p, w)), places, place),
    st.builds(lambda v, t: lambda p, n: coding.group(p, [coding.ClusterGroup(t, (*all_at(p, v),))], n), places, text),
    st.builds(lambda v: lambda p, n: coding.move_out(p, all_at(p, v)), places),
    st.builds(lambda w: lambda p, n: coding.dissolve(p, at(p, w)), place),
    st.builds(lambda w, e: lambda p, n: book.write(p, at(p, w), e), place, a_codebook_entry),
    st.builds(lambda w, i, c: lambda p, n: book.add_examples(p, at(p, w), i, c), place, some_ids, st.booleans()),
    st.builds(lambda i: lambda p, n: book.add_own_examples(p, i), some),
    st.builds(lambda t: lambda p, n: book.record_version(p, f"v{n}{len(versions(p))}", t), text),
    st.builds(lambda w: lambda p, n: book.restore_version(p, one_of(versions(p), w)), place),
    st.builds(lambda k, i, t: lambda p, n: book.choose_training(p, [f"{k}{j}" for j in i], i, t), text, some_ids, text),
    st.builds(lambda w: lambda p, n: book.drop_training(p, one_of(training_items(p), w)), place),
)


class LabellingSession:
    def __init__(self, first: Partition) -> None:
        self.first = self.state = first
        self.issued = max(first.clusters)
        self.steps: list[changes.Step] = []
        self.change_sets: list[ChangeSet] = []

    def enter(self, kind: changes.Kind, change_set: ChangeSet, target: int | None = None) -> None:
        before, self.state = self.state, apply(self.state, change_set)
        check(self.first, self.state)
        check_difference(before, self.state)
        self.issued = max([self.issued, *change_set.created()])
        self.steps.append(changes.Step(len(self.steps) + 1, kind, "", "", "ada", NOW, target))
        self.change_sets.append(change_set)

    def do(self, choose: Choose) -> None:
        before = self.state.to_bytes()
        try:
            change_set = choose(self.state, self.issued + 1).change_set
            apply(self.state, change_set)
        except ThemescopeError:
            assert self.state.to_bytes() == before
            return
        if change_set:
            self.enter(changes.Kind.DO, change_set)

    def undo(self) -> bool:
        ids = changes.undo_state(self.steps).undoable
        if ids:
            self.enter(changes.Kind.UNDO, self.change_sets[ids[-1] - 1].inverse(), ids[-1])
        return bool(ids)

    def redo(self) -> bool:
        ids = changes.undo_state(self.steps).redoable
        if ids:
            self.enter(changes.Kind.REDO, self.change_sets[ids[-1] - 1], ids[-1])
        return bool(ids)

    def act(self, actions: Iterable[Choose | str]) -> None:
        """Do operations, and undo and redo where their names stand."""
        for action in actions:
            if isinstance(action, str):
                getattr(self, action)()
            else:
                self.do(action)

    def check_history(self) -> None:
        """The log leads from the start to the end and back: step by step, at once, and by undoing and redoing."""
        assert changes.replay(self.first, self.change_sets).to_bytes() == self.state.to_bytes()
        assert changes.rewind(self.state, self.change_sets).to_bytes() == self.first.to_bytes()
        check_difference(self.first, self.state)
        at_end, count = self.state.to_bytes(), 0
        while self.undo():
            count += 1
        assert self.state.to_bytes() == self.first.to_bytes()
        for _ in range(count):
            assert self.redo()
        assert self.state.to_bytes() == at_end


@settings(max_examples=150)
@given(st.booleans(), st.lists(st.one_of(intentions, st.sampled_from(["undo", "redo"])), max_size=14))
def test_any_sequence_of_operations_and_undos_leaves_a_partition(levels: bool, actions: list[Choose | str]) -> None:
    session = LabellingSession(with_levels() if levels else made())
    session.act(actions)
    session.check_history()


def test_a_merge_or_a_deletion_touches_no_other_cluster_and_loses_no_sub_theme() -> None:
    before = op.create(made(), 3, "Sport", np.array([99]))
    whole = apply(made(), before.change_set)
    after = apply(whole, op.merge(whole, [2], 1).change_set)
    assert sorted(after.clusters) == [1, 3]
    assert after.clusters[3] == whole.clusters[3]
    assert after.clusters[1] == whole.clusters[1]
    assert after.members(3).tolist() == [99]
    p = with_levels()

    def parents(operation: op.Operation) -> dict[int, int | None]:
        return {n: c.parent for n, c in apply(p, operation.change_set).clusters.items()}

    assert parents(op.delete(p, 1)) == {2: None, 3: None, 4: None}
    assert parents(op.merge(p, [1], 4)) == {2: 4, 3: 4, 4: None}
    assert parents(op.merge(p, [1], 2)) == {2: None, 3: 2, 4: None}
    assert parents(op.merge(p, [4], 2)) == {1: None, 2: 1, 3: 1}
    for number, parent in ((4, 2), (1, 4), (4, 4), (4, 77)):  # a third level, and no theme
        with pytest.raises(StaleChangeError):
            apply(p, put_under(p, number, parent).change_set)


def test_a_change_that_was_made_for_another_state_is_refused() -> None:
    p = made()
    mine, theirs = op.assign(p, np.array([3, 5]), 2), op.assign(p, np.array([5, 17]), 1)
    with pytest.raises(StaleChangeError) as error:
        apply(apply(p, op.unassign(p, np.array([3])).change_set), mine.change_set)
    assert error.value.sentences == [3]
    marked = op.mark(p, np.array([5]), True).change_set
    assert apply(apply(p, theirs.change_set), marked).uncertain.sum() == 1
    gone, moved = op.delete(p, 2), op.assign(p, np.array([3]), 2)
    with pytest.raises(StaleChangeError):
        apply(apply(p, moved.change_set), gone.change_set)
    with pytest.raises(StaleChangeError):
        apply(apply(p, gone.change_set), moved.change_set)


def test_what_changes_nothing_is_empty() -> None:
    p = made()
    for done in (op.assign(p, np.array([3, 40]), 1), op.mark(p, IDS, False), op.note(p, IDS, " "), op.merge(p, [1], 1)):
        assert not done.change_set
    assert not op.rename(p, 1, " History ").change_set


def test_names_notes_and_colours_of_clusters() -> None:
    p = made()
    p = apply(p, op.rename(p, 1, "a\0b\ud800").change_set)
    p = apply(p, op.note(p, np.array([3]), "\0 =1+1 <b> \u202e").change_set)
    assert p.clusters[1].name == "a\ufffdb\ufffd"
    assert p.notes == {3: "\ufffd =1+1 <b> \u202e"}
    assert free_colour(p) == 2 and free_name(p, "Economy") == "Economy 2"


def with_levels() -> Partition:
    clusters = [Cluster(1, "Past", 0), Cluster(2, "War", 1, 1), Cluster(3, "Art", 2, 1), Cluster(4, "Money", 3)]
    return start(IDS, [1, 2, 3, 4, UNASSIGNED, 2, 3, 4], clusters)


def test_an_entry_follows_its_clusters_and_its_conflicts_are_found() -> None:
    p = made()
    cluster, text = changes.ClusterChange(None, Cluster(3, "New", 5)), Entry({"definition": "x"}, (3,), (3,))
    mine = ChangeSet((cluster, changes.EntryChange(EntryKind.CODE, "3", None, text)))
    moved = apply(p, changes.renumbered(mine, {3: 8}))
    assert moved.clusters[8].name == "New"
    assert moved.entries == {(EntryKind.CODE, "8"): Entry({"definition": "x"}, (3,), (8,))}
    first, other = entered(p, "a", Entry({"yes": True})), entered(p, "a", Entry({"yes": 1}))
    after = apply(p, first.change_set)
    with pytest.raises(StaleChangeError):
        apply(after, other.change_set)
    forced = apply(after, changes.rebased(after, other.change_set))
    assert forced.entries[EntryKind.ANSWER, "a"].data == {"yes": 1}
    assert forced.to_bytes() != after.to_bytes()


def test_every_person_has_their_own_undo() -> None:
    def step(id: int, person: str, kind: changes.Kind = changes.Kind.DO, target: int | None = None) -> changes.Step:
        return changes.Step(id, kind, "assign", "", person, NOW, target)

    log = [step(1, "ada"), step(2, "ben"), step(3, "ada"), step(4, "ada", changes.Kind.UNDO, 3)]
    assert changes.undo_state(log, "ada") == changes.UndoState((1,), (3,))
    assert changes.undo_state(log, "ben") == changes.UndoState((2,), ())
    assert changes.undo_state([*log, step(5, "ada", changes.Kind.REDO, 3)], "ada") == changes.UndoState((1, 3), ())
    assert changes.undo_state([*log, step(5, "ada")], "ada") == changes.UndoState((1, 5), ())


def test_a_start_is_checked() -> None:
    with pytest.raises(DataError, match="occur twice"):
        start([1, 1])
    with pytest.raises(DataError, match="does not exist"):
        start([1], [5])
    assert start([2, 1]).sizes() == {UNASSIGNED: 2}
    with pytest.raises(DataError, match="not part"):
        made().rows([4])


NEW = np.array([1, 7, 50, 120])


@given(st.lists(st.sampled_from(NEW.tolist()), unique=True, min_size=1), some_labels)
def test_sentences_enter_and_leave_exactly(ids: list[int], labels: list[int]) -> None:
    """They enter unassigned and leave as they entered; a state with other sentences is reached, and left again."""
    first = made()
    entered = op.extend(first, np.array(sorted(ids), np.int64), "wave 2").change_set
    grown = apply(first, entered)
    assert grown.ids.tolist() == sorted([*IDS.tolist(), *ids])
    assert grown.only(first.ids).to_bytes() == first.to_bytes()
    assert apply(grown, entered.inverse()).to_bytes() == first.to_bytes()
    assert not op.extend(grown, np.array(sorted(ids), np.int64), "wave 2").change_set
    numbers = np.array((labels * 2)[: len(grown.ids)])
    later = replace(grown, numbers=np.where(numbers > 0, 1, UNASSIGNED), notes={int(ids[0]): "new"})
    for before, after in ((first, later), (later, first)):
        assert apply(before, changes.difference(before, after)).to_bytes() == after.to_bytes()
        assert apply(after, changes.difference(before, after).inverse()).to_bytes() == before.to_bytes()
    with pytest.raises(StaleChangeError) as stale:
        apply(later, entered.inverse())
    assert ids[0] in stale.value.sentences
    with pytest.raises(StaleChangeError):
        apply(grown, entered)
    assert not changes.rebased(grown, entered)
    assert apply(first, changes.rebased(first, entered)).to_bytes() == grown.to_bytes()


@pytest.mark.parametrize("name", ["café", "CAFÉ", "cafe\u0301", "ca\u200bfé", "caf\u00e9\u202e", "ｃａｆé", " café "])
def test_names_of_clusters_that_look_the_same_or_cannot_be_used_are_refused(name: str) -> None:
    p = start(list(range(3)), [UNASSIGNED] * 3, [Cluster(1, "Café", 0), Cluster(2, "C++", 1)])
    with pytest.raises(DuplicateNameError, match="A code called 'Café' exists already"):
        op.create(p, 3, name, np.array([0]))
    with pytest.raises(DuplicateNameError):
        op.rename(p, 2, name)
    for unusable in ("", " \n ", "x" * 201, "\u200b\u200d"):
        with pytest.raises(DataError):
            op.rename(p, 2, unusable)
    assert apply(p, op.rename(p, 1, name).change_set).clusters[1].name == clean(" ".join(name.split()))
    assert free_name(p, "\u200b\u200d") == "Cluster" and free_name(p, name).endswith(" 2")
