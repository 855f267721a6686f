"""Elementary changes of a labelling. Each contains the previous values, for conflict checks and undo.

If the current values differ from the previous values of a change, applying it raises :class:`StaleChangeError` and
changes nothing. Undo is therefore exact, or rejected.

The history of a labelling is append-only. Undo appends the inverse of the change set of a step, redo appends the change
set again. The undone steps follow from the history alone, so they are the same after a reload and for every user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.errors import ConflictError
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Entry, EntryKind, Partition, broken, misplaced
from themescope.core.types import Ids


class Field(StrEnum):
    """Fields of a sentence that can change."""

    CLUSTER = "cluster"
    UNCERTAIN = "uncertain"
    NOTE = "note"
    MEMBER = "member"
    """Whether the sentence is part of the labelling; it enters unassigned, and leaves only so."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceChanges:
    """Change of one field of m different sentences; row i of every array is one sentence."""

    field: Field
    ids: Ids
    old: Sequence[Any] | npt.NDArray[Any]
    """(m,) cluster numbers, truth values as 0 and 1, or notes."""
    new: Sequence[Any] | npt.NDArray[Any]
    probability: npt.NDArray[np.float64] | None = None
    """(m,) probabilities of new clusters that a model chose; None without any. A change back has none of its own."""

    def only(self, ids: Ids) -> SentenceChanges:
        """Return the change of some sentences, as far as it concerns them."""
        kept = np.isin(self.ids, ids)
        if kept.all():
            return self
        probability = None if self.probability is None else self.probability[kept]
        old, new = np.asarray(self.old)[kept], np.asarray(self.new)[kept]
        return replace(self, ids=self.ids[kept], old=old, new=new, probability=probability)

    def inverse(self) -> SentenceChanges:
        """Return the inverse change."""
        return replace(self, old=self.new, new=self.old, probability=None)


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """Creation (``old`` None), deletion (``new`` None), renaming or recolouring of a cluster."""

    old: Cluster | None
    new: Cluster | None

    @property
    def number(self) -> int:
        """Number of the cluster."""
        known = self.old or self.new
        assert known is not None
        return known.number

    def inverse(self) -> ClusterChange:
        """Return the inverse change."""
        return ClusterChange(self.new, self.old)


@dataclass(frozen=True, slots=True)
class EntryChange:
    """Creation (``old`` None), deletion (``new`` None) or change of an entry."""

    kind: EntryKind
    key: str
    old: Entry | None
    new: Entry | None

    def inverse(self) -> EntryChange:
        """Return the inverse change."""
        return replace(self, old=self.new, new=self.old)


Change: TypeAlias = SentenceChanges | ClusterChange | EntryChange


@dataclass(frozen=True, slots=True, eq=False)
class ChangeSet:
    """Atomic, ordered changes."""

    changes: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def inverse(self) -> ChangeSet:
        """Return the inverse change set."""
        return ChangeSet(tuple(change.inverse() for change in reversed(self.changes)))

    def sentences(self) -> Ids:
        """Return the (m,) unique ids of the changed sentences, ascending."""
        parts = [change.ids for change in self.changes if isinstance(change, SentenceChanges)]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)

    def created(self) -> list[int]:
        """Return the numbers of the created clusters."""
        return [c.number for c in self.changes if isinstance(c, ClusterChange) and c.old is None]

    def deleted(self) -> list[int]:
        """Return the numbers of the deleted clusters."""
        return [c.number for c in self.changes if isinstance(c, ClusterChange) and c.new is None]


class StaleChangeError(ConflictError):
    """A conflict with an earlier change by another user of ``sentences`` or ``clusters``. Nothing was changed."""

    def __init__(self, sentences: Iterable[int] = (), clusters: Iterable[int] = (), problem: str = "") -> None:
        self.sentences, self.clusters = sorted(int(i) for i in sentences), sorted(clusters)
        problem = problem or "Another user has changed this in the meantime."
        super().__init__(f"{problem} Nothing was overwritten.")


def marked(partition: Partition, field: Field, ids: Ids, new: Any) -> SentenceChanges | None:
    """Set a field of sentences to one value; unchanged sentences are omitted, None if none changes."""
    ids = np.unique(np.asarray(ids, dtype=np.int64))
    old = values(partition, field, partition.rows(ids))
    other = np.array([value != new for value in old], dtype=bool) if field is Field.NOTE else np.asarray(old) != new
    if not other.any():
        return None
    kept = np.asarray(old, dtype=object if field is Field.NOTE else np.int64)[other]
    given = np.full(len(kept), new, dtype=object if field is Field.NOTE else np.int64)
    return SentenceChanges(field, ids[other], kept, given)


def values(partition: Partition, field: Field, rows: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return the (m,) values of ``field`` in these rows."""
    if field is Field.CLUSTER:
        return partition.numbers[rows]
    if field is Field.UNCERTAIN:
        return partition.uncertain[rows].astype(np.int64)
    found = np.empty(len(rows), dtype=object)
    found[:] = [partition.notes.get(int(i), "") for i in partition.ids[rows]]
    return found


def apply(partition: Partition, change_set: ChangeSet) -> Partition:
    """Return the partition after ``change_set``.

    Raises :class:`StaleChangeError` if a current value differs from that in the change set, a sentence would be in an
    unknown cluster, the levels of the clusters would not be two, or a combination would lack one of its codes.
    """
    clusters, entries = dict(partition.clusters), dict(partition.entries)
    after = replace(partition, clusters=clusters, entries=entries)
    for change in change_set:
        if isinstance(change, ClusterChange):
            if clusters.get(change.number) != change.old:
                raise StaleChangeError(clusters=[change.number])
            if change.new is None:
                del clusters[change.number]
            else:
                clusters[change.number] = change.new
        elif isinstance(change, EntryChange):
            key = change.kind, change.key
            if entries.get(key) != change.old:
                raise StaleChangeError(sentences=change.old.sentences if change.old else ())
            if change.new is None:
                entries.pop(key, None)
            else:
                after.rows(change.new.sentences)
                entries[key] = change.new
        else:
            after = _write(after, change)
    moves = [c.new for c in change_set if isinstance(c, SentenceChanges) and c.field is Field.CLUSTER]
    gone = [n for n in {int(n) for new in moves for n in np.unique(new)} if n != UNASSIGNED and n not in after.clusters]
    left = after.ids[np.isin(after.numbers, change_set.deleted())]
    if gone or len(left):
        raise StaleChangeError(left.tolist(), gone or change_set.deleted())
    wrong = misplaced(clusters)
    if not wrong and any(isinstance(change, ClusterChange | EntryChange) for change in change_set):
        wrong = broken(clusters, entries)
    if wrong:
        raise StaleChangeError(clusters=wrong)
    return after


def _write(partition: Partition, change: SentenceChanges) -> Partition:
    if change.field is Field.MEMBER:  # sentences that leave must be as when they entered
        enter = np.asarray(change.new, dtype=bool)
        wrong, leave = np.isin(change.ids, partition.ids) == enter, change.ids[~enter]
        if wrong.any():
            raise StaleChangeError(change.ids[wrong].tolist())
        rows, named = partition.rows(leave), [id for entry in partition.entries.values() for id in entry.sentences]
        used = (partition.numbers[rows] != UNASSIGNED) | partition.uncertain[rows]
        used |= np.isin(leave, [*partition.notes, *named])
        if used.any():
            raise StaleChangeError(leave[used].tolist())
        return partition.only(np.setdiff1d(partition.ids, leave)).extended(change.ids[enter])
    rows = partition.rows(change.ids)
    differ = np.asarray(values(partition, change.field, rows) != np.asarray(change.old), dtype=bool)
    if differ.any():
        raise StaleChangeError(change.ids[differ].tolist())
    if change.field is Field.NOTE:
        notes = dict(partition.notes) | {int(i): str(note) for i, note in zip(change.ids, change.new, strict=True)}
        return replace(partition, notes={i: note for i, note in notes.items() if note})
    if change.field is Field.UNCERTAIN:
        uncertain = partition.uncertain.copy()
        uncertain[rows] = np.asarray(change.new, dtype=np.bool_)
        return replace(partition, uncertain=uncertain)
    numbers = partition.numbers.copy()
    numbers[rows] = np.asarray(change.new, dtype=np.int64)
    return replace(partition, numbers=numbers)


def membership(ids: Ids, inside: bool) -> list[Change]:
    """Return the change by which sentences enter or leave; none without sentences."""
    new = np.full(len(ids), int(inside), np.int64)
    return [SentenceChanges(Field.MEMBER, ids, 1 - new, new)] if len(ids) else []


def difference(before: Partition, after: Partition) -> ChangeSet:
    """Return the shortest change set between two states of a labelling."""
    enter, leave = np.setdiff1d(after.ids, before.ids), np.setdiff1d(before.ids, after.ids)
    before, after = before.extended(enter), after.extended(leave)
    numbers = sorted({*before.clusters, *after.clusters})
    pairs = [(before.clusters.get(n), after.clusters.get(n)) for n in numbers]
    turned = [ClusterChange(old, new) for old, new in pairs if old != new]
    every = np.arange(len(before.ids))
    moved = []
    for field in (Field.CLUSTER, Field.UNCERTAIN, Field.NOTE):
        old, new = values(before, field, every), values(after, field, every)
        differ = np.flatnonzero(np.asarray(old != new, dtype=bool))
        if len(differ):
            moved.append(SentenceChanges(field, before.ids[differ], old[differ], new[differ]))
    stay, go = [c for c in turned if c.new is not None], [c for c in turned if c.new is None]
    keys = sorted({*before.entries, *after.entries})
    entered = [EntryChange(*key, before.entries.get(key), after.entries.get(key)) for key in keys]
    others = (change for change in entered if change.old != change.new)
    return ChangeSet((*membership(enter, True), *stay, *moved, *go, *others, *membership(leave, False)))


def renumbered(change_set: ChangeSet, names: dict[int, int]) -> ChangeSet:
    """Return the change set with new numbers for its created clusters, if theirs are taken."""

    def named(cluster: Cluster | None) -> Cluster | None:
        if cluster is None:
            return None
        parent = None if cluster.parent is None else names.get(cluster.parent, cluster.parent)
        return replace(cluster, number=names.get(cluster.number, cluster.number), parent=parent)

    def turned(change: Change) -> Change:
        if isinstance(change, ClusterChange):
            return ClusterChange(named(change.old), named(change.new))
        if isinstance(change, EntryChange):
            of_cluster = change.kind in (EntryKind.CODE, EntryKind.CODES) and change.key.isdecimal()
            key = str(names.get(int(change.key), int(change.key))) if of_cluster else change.key
            sides = (entry and entry.with_clusters(names) for entry in (change.old, change.new))
            return EntryChange(change.kind, key, *sides)
        if change.field is not Field.CLUSTER:
            return change
        new = np.array([names.get(int(n), int(n)) for n in change.new], dtype=np.int64)
        return replace(change, new=new)

    return ChangeSet(tuple(turned(change) for change in change_set))


def rebased(partition: Partition, change_set: ChangeSet) -> ChangeSet:
    """Return ``change_set`` rebased on another state: its new values replace the current ones.

    Sentences that were added to a deleted cluster in the meantime become unassigned with the others.
    """
    gone = np.isin(partition.numbers, change_set.deleted())
    left = np.setdiff1d(partition.ids[gone], change_set.sentences())
    changes: list[Change] = []
    for change in change_set:
        if isinstance(change, ClusterChange):
            now = partition.clusters.get(change.number)
            if change.new is None and len(left):
                old = partition.numbers[partition.rows(left)]
                changes.append(SentenceChanges(Field.CLUSTER, left, old, np.full(len(left), UNASSIGNED, np.int64)))
                left = left[:0]
            if now != change.new:
                changes.append(ClusterChange(now, change.new))
            continue
        if isinstance(change, EntryChange):
            there = partition.entries.get((change.kind, change.key))
            if there != change.new:
                changes.append(replace(change, old=there))
            continue
        if change.field is Field.MEMBER:
            differ = np.isin(change.ids, partition.ids) != np.asarray(change.new, bool)
            changes += membership(change.ids[differ], bool(change.new[0]))
            continue
        old, new = values(partition, change.field, partition.rows(change.ids)), np.asarray(change.new)
        differ = np.asarray(old != new, dtype=bool)
        if differ.any():
            changes.append(replace(change, old=old, new=new).only(change.ids[differ]))
    return ChangeSet(tuple(changes))


# --- history ----------------------------------------------------------------------------------------------------------


class Kind(StrEnum):
    """Kind of a step: an operation, or the undo or redo of another step."""

    DO = "do"
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the history, without its change set."""

    id: int
    kind: Kind
    operation: str
    """Kind of the operation; for undo and redo, that of the target step."""
    summary: str
    """One line for the history."""
    person: str
    when: datetime
    target: int | None = None
    """Id of the step that is undone or redone, or to the state after which a step went back (0: the start)."""
    reason: str = ""
    """Reason given by the person."""
    selection_method: str = ""
    """Method by which the sentences were selected: lasso, table, key or search."""
    size: int = 0
    """Number of changed sentences."""
    coder: str = ""
    """Model, method or program that placed the sentences; "" where the person did."""


@dataclass(frozen=True, slots=True)
class UndoState:
    """Ids of the steps that a user can undo and redo, the next one last."""

    undoable: tuple[int, ...] = ()
    redoable: tuple[int, ...] = ()


WITHDRAW = "withdraw"
"""Operation by which the sentences of removed documents leave; only the corpus can take it back."""
PRACTICE = "practice"
"""Attempt at the gold items of a labelling, which changed nothing; of versions until 0.3."""
NO_LABELLING = frozenset({WITHDRAW, PRACTICE})
"""Operations by which nobody labels, and which nobody undoes in the history."""


def undo_state(steps: Iterable[Step], person: str | None = None) -> UndoState:
    """Return the undo state after ``steps`` in order, of one person if given. A new step clears what can be redone."""
    done: list[int] = []
    undone: list[int] = []
    for step in steps:
        if (person is not None and step.person != person) or step.operation in NO_LABELLING:
            continue
        if step.kind is Kind.DO:
            done.append(step.id)
            undone.clear()
            continue
        assert step.target is not None
        source, sink = (done, undone) if step.kind is Kind.UNDO else (undone, done)
        if step.target in source:
            source.remove(step.target)
        sink.append(step.target)
    return UndoState(tuple(done), tuple(undone))


def replay(start: Partition, change_sets: Iterable[ChangeSet]) -> Partition:
    """Return the state after applying change sets in order."""
    for change_set in change_sets:
        start = apply(start, change_set)
    return start


def rewind(now: Partition, change_sets: Sequence[ChangeSet]) -> Partition:
    """Return the state before the given last change sets of a history."""
    return replay(now, (change_set.inverse() for change_set in reversed(change_sets)))
