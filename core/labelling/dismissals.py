"""Suggestions that people dismissed: merges of two clusters, names that may be out of date, and outliers.

A dismissal is an entry of the labelling, so that it is shared, undoable, and part of exports. How long it counts
follows from the history, see :mod:`themescope.core.labelling.cluster_changes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from themescope.core.labelling.changes import ChangeSet, EntryChange
from themescope.core.labelling.entries import Entry, EntryKind
from themescope.core.labelling.operations import Operation, OperationKind, entries, rename_all
from themescope.core.labelling.partition import Partition
from themescope.core.types import Ids

OUTLIERS = "outliers"
"""Key of the entry with all sentences that are no outliers by a person's judgement."""


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
    count = len(np.unique(ids))
    return entries(
        OperationKind.DISMISS, f"{count:,} {'outlier' if count == 1 else 'outliers'} left in place", [change]
    )


def accepted_outliers(partition: Partition) -> Ids:
    """Return the ascending ids of the sentences that were left where they are."""
    entry = partition.entries.get((EntryKind.DISMISSED, OUTLIERS))
    return np.array(sorted(entry.sentences) if entry else (), dtype=np.int64)


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
