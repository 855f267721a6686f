"""How much clusters have changed since they were named, and suggestions that people dismissed.

Merges of two clusters, names that may be out of date and outliers are suggested. A dismissal is an entry of the
labelling, so that it is shared, undoable, and part of exports; it counts until the clusters have changed much.

The name of a cluster counts from the step that gave it. Undoing a renaming brings back the earlier name, which counts
from where it was given. A share is that of the sentences that are not common to both states, of those in either
(Jaccard distance).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from themescope.core.labelling.changes import ChangeSet, ClusterChange, EntryChange, Field, Kind, SentenceChanges, Step
from themescope.core.labelling.code_sets import code_clusters
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Operation, OperationKind, entries, rename_all
from themescope.core.labelling.partition import UNASSIGNED, Entry, EntryKind, Partition
from themescope.core.types import Ids

OUTLIERS = "outliers"
"""Key of the entry with all sentences that are no outliers by a person's judgement."""
NEW_THEMES = "new themes"
"""Key of the entry with the sentences of all new themes that a person dismissed."""


def merge_key(first: int, second: int) -> str:
    """Return the key of the dismissal of a merge of two clusters."""
    return f"merge {min(first, second)} {max(first, second)}"


def name_key(number: int) -> str:
    """Return the key of the confirmation of a cluster's name."""
    return f"name {number}"


def dismiss_merge(partition: Partition, first: int, second: int) -> Operation:
    """Dismiss the suggestion to merge two clusters."""
    one, other = (partition.cluster(number) for number in sorted((first, second)))
    change = _again(partition, merge_key(first, second), (one.number, other.number))
    return entries(OperationKind.DISMISS, f"kept apart: {one.name} and {other.name}", [change])


def keep_names(partition: Partition, numbers: Iterable[int]) -> Operation:
    """Confirm the present names of clusters."""
    kept = list(dict.fromkeys(numbers))
    names = ", ".join(partition.cluster(number).name for number in kept)
    return entries(OperationKind.DISMISS, f"kept the name of {names}", confirmations(partition, kept))


def confirmations(partition: Partition, numbers: Iterable[int]) -> list[EntryChange]:
    """Return the changes that confirm the names of clusters."""
    return [_again(partition, name_key(number), (number,)) for number in numbers]


def accept_outliers(partition: Partition, ids: Ids) -> Operation:
    """Leave outliers where they are, so that they are no longer listed."""
    kept = np.union1d(accepted_outliers(partition), partition.ids[partition.rows(ids)])
    old = partition.entries.get((EntryKind.DISMISSED, OUTLIERS))
    change = EntryChange(EntryKind.DISMISSED, OUTLIERS, old, Entry(sentences=tuple(kept.tolist())))
    return entries(OperationKind.DISMISS, f"{counted(len(np.unique(ids)), 'outlier')} left in place", [change])


def accepted_outliers(partition: Partition) -> Ids:
    """Return the ascending ids of the sentences that were left where they are."""
    entry = partition.entries.get((EntryKind.DISMISSED, OUTLIERS))
    return np.array(sorted(entry.sentences) if entry else (), dtype=np.int64)


def dismiss_new_theme(partition: Partition, name: str, ids: Ids) -> Operation:
    """Dismiss the suggestion that sentences of a wave are a new theme."""
    old = partition.entries.get((EntryKind.DISMISSED, NEW_THEMES))
    known = np.union1d(old.sentences if old else (), partition.ids[partition.rows(ids)]).astype(np.int64)
    change = EntryChange(EntryKind.DISMISSED, NEW_THEMES, old, Entry(sentences=tuple(known.tolist())))
    return entries(OperationKind.DISMISS, f"no new theme: {name}", [change])


def in_no_new_theme(partition: Partition) -> Ids:
    """Return the ascending ids of the sentences of dismissed new themes."""
    entry = partition.entries.get((EntryKind.DISMISSED, NEW_THEMES))
    return np.array(entry.sentences if entry else (), dtype=np.int64)


def _again(partition: Partition, key: str, clusters: tuple[int, ...]) -> EntryChange:
    """Dismiss anew, which counts from now on also where the same suggestion was dismissed before."""
    old = partition.entries.get((EntryKind.DISMISSED, key))
    times = int(old.data.get("times", 0)) if old else 0
    return EntryChange(EntryKind.DISMISSED, key, old, Entry({"times": times + 1}, clusters=clusters))


def update_names(partition: Partition, names: Mapping[int, str]) -> Operation:
    """Give clusters new names in one step, and confirm those names that stay the same."""
    known = {number: name for number, name in names.items() if number in partition.clusters}
    same = [number for number, name in known.items() if partition.clusters[number].name == name]
    renamed = rename_all(partition, known)
    return replace(renamed, change_set=ChangeSet((*renamed.change_set, *confirmations(partition, same))))


# --- cluster changes --------------------------------------------------------------------------------------------------


CHANGED = 0.25
"""Share of changed sentences above which a name may be out of date, and above which a dismissal no longer counts."""


@dataclass(slots=True)
class _Since:
    """Sentences that a cluster has gained and lost since it got a name, or since a suggestion was dismissed."""

    name: str = ""
    """The name; "" for the one at the start until it is replaced."""
    gained: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)

    def gain(self, ids: set[int]) -> None:
        self.gained |= ids - self.lost
        self.lost -= ids

    def lose(self, ids: set[int]) -> None:
        self.lost |= ids - self.gained
        self.gained -= ids

    def share(self, size: int) -> float:
        """Return the share of changed sentences; 0 for a cluster that had none, whose name describes a plan."""
        before = size - len(self.gained) + len(self.lost)
        return (len(self.gained) + len(self.lost)) / (size + len(self.lost)) if before else 0.0


@dataclass(slots=True)
class _Marks:
    """What a cluster has gained and lost since each of several steps, of which one counts at present."""

    current: _Since = field(default_factory=_Since)
    all: list[_Since] = field(default_factory=list)
    by_step: dict[int, tuple[_Since, _Since]] = field(default_factory=dict)
    """Id of the step → what counted before and after it."""

    def __post_init__(self) -> None:
        self.all.append(self.current)

    def set(self, step: Step, name: str) -> None:
        """Count from this step on; undo and redo return to what counted before and after their target."""
        if step.kind is not Kind.DO:
            before, after = self.by_step.get(step.target or 0, (self.current, self.current))
            self.current = before if step.kind is Kind.UNDO else after
            return
        known = (since for since in reversed(self.all) if since.name == name)
        found = next(known, None) if step.operation == OperationKind.BACK else None
        if found is None:
            found = _Since(name)
            self.all.append(found)
        self.by_step[step.id] = self.current, found
        self.current = found


class ClusterChanges:
    """Changes of the clusters of a labelling, from all steps of its history in order. Not thread-safe."""

    def __init__(self) -> None:
        self.step = 0
        """Id of the last step."""
        self._names: defaultdict[int, _Marks] = defaultdict(_Marks)
        self._dismissals: defaultdict[int, defaultdict[str, _Marks]] = defaultdict(lambda: defaultdict(_Marks))

    def add(self, log: Iterable[tuple[Step, ChangeSet]]) -> None:
        """Add the next steps."""
        for step, change_set in log:
            self.step = step.id
            for change in change_set:
                if isinstance(change, SentenceChanges) and change.field is Field.CLUSTER:
                    self._move(change)
            for change in change_set:
                if isinstance(change, ClusterChange):
                    old, new = change.old, change.new
                    if new is not None and (old is None or old.name != new.name):
                        marks = self._names[new.number]
                        if old is not None and not marks.current.name:
                            marks.current.name = old.name
                        marks.set(step, new.name)
                elif isinstance(change, EntryChange) and change.kind is EntryKind.DISMISSED and change.new is not None:
                    for number in change.new.clusters:
                        self._dismissals[number][change.key].set(step, change.key)

    def stale_names(self, partition: Partition) -> dict[int, float]:
        """Return the codes whose names may be out of date, with the share of changed sentences."""
        sizes = partition.sizes()
        shares = {
            number: self._name_share(partition, number, sizes[number]) for number in sorted(code_clusters(partition))
        }
        return {number: share for number, share in shares.items() if share > CHANGED}

    def are_apart(self, partition: Partition, first: int, second: int) -> bool:
        """Return whether a person said that two clusters stay apart, and neither has changed much since."""
        key = merge_key(first, second)
        if (EntryKind.DISMISSED, key) not in partition.entries:
            return False
        sizes = {number: int((partition.numbers == number).sum()) for number in (first, second)}
        return all(self._dismissals[n][key].current.share(size) <= CHANGED for n, size in sizes.items())

    def _name_share(self, partition: Partition, number: int, size: int) -> float:
        share = self._names[number].current.share(size) if number in self._names else 0.0
        if (EntryKind.DISMISSED, name_key(number)) in partition.entries:
            share = min(share, self._dismissals[number][name_key(number)].current.share(size))
        return share

    def _move(self, change: SentenceChanges) -> None:
        ids = np.asarray(change.ids)
        for numbers, moves in ((np.asarray(change.old), _Since.lose), (np.asarray(change.new), _Since.gain)):
            for number in np.unique(numbers).tolist():
                if number != UNASSIGNED:
                    moved = set(ids[numbers == number].tolist())
                    for marks in (self._names[number], *self._dismissals[number].values()):
                        for since in marks.all:
                            moves(since, moved)
