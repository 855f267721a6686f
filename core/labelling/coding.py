"""Operations on labellings with several codes per sentence, see :mod:`themescope.core.labelling.code_sets`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling.changes import (
    ChangeSet,
    ClusterChange,
    EntryChange,
    Field,
    SentenceChanges,
    apply,
    difference,
)
from themescope.core.labelling.code_sets import (
    ALLOWED,
    CodeSet,
    allows_several,
    check_codes,
    code_clusters,
    code_sets,
    combinations,
    has_code,
    moved,
)
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Operation, OperationKind, accept, create, entries
from themescope.core.labelling.partition import Entry, EntryKind, Partition
from themescope.core.types import Ids


def allow_several(partition: Partition, allowed: bool) -> Operation:
    """Allow several codes per sentence, or one only.

    Raises :class:`DataError` where one is wanted and sentences have several.
    """
    used = np.isin(partition.numbers, [*combinations(partition)]).sum()
    if not allowed and used:
        have = "has" if used == 1 else "have"
        raise DataError(f"{counted(int(used), 'unit')} {have} several codes. Leave each one code first.")
    key, summary = (EntryKind.CODES, ALLOWED), f"{'several codes' if allowed else 'one code'} per unit"
    change = EntryChange(*key, partition.entries.get(key), Entry() if allowed else None)
    unused = ChangeSet() if allowed else difference(partition, _without_combinations(partition))
    made = entries(OperationKind.SEVERAL_CODES, summary, [change])
    return replace(made, change_set=ChangeSet((*unused, *made.change_set)))


def _without_combinations(partition: Partition) -> Partition:
    made = combinations(partition)
    clusters = {number: cluster for number, cluster in partition.clusters.items() if number not in made}
    kept = {key: entry for key, entry in partition.entries.items() if key[0] is not EntryKind.CODES}
    allowed = {key: entry for key, entry in partition.entries.items() if key == (EntryKind.CODES, ALLOWED)}
    return replace(partition, clusters=clusters, entries=kept | allowed)


def add_code(partition: Partition, ids: Ids, code: int, first_number: int) -> Operation:
    """Give sentences a code besides those that they have; new combinations are numbered from ``first_number`` on.

    Raises :class:`DataError` if the labelling has one code per sentence, or the cluster is a combination.
    """
    return _turned(partition, ids, code, first_number, given=True)


def remove_code(partition: Partition, ids: Ids, code: int, first_number: int) -> Operation:
    """Take a code from sentences, which keep their others; otherwise as :func:`add_code`."""
    return _turned(partition, ids, code, first_number, given=False)


def toggle_code(partition: Partition, ids: Ids, code: int, first_number: int) -> Operation:
    """Take a code from sentences if all have it, and give it to all otherwise; otherwise as :func:`add_code`."""
    given = not has_code(partition, code)[partition.rows(ids)].all()
    return _turned(partition, ids, code, first_number, given=given)


def _turned(partition: Partition, ids: Ids, code: int, first_number: int, given: bool) -> Operation:
    name = partition.cluster(code).name
    if not allows_several(partition):
        raise DataError("This coding has one code per sentence. Allow several codes first, or assign the sentences.")
    check_codes(partition, [code], "Use")
    ids = np.unique(ids)
    ids = ids[has_code(partition, code)[partition.rows(ids)] != given]
    one = CodeSet({code})
    after, _ = moved(partition, ids, _turn(one, CodeSet()) if given else _turn(CodeSet(), one), first_number)
    if given:  # which settles what was uncertain
        after = replace(after, uncertain=after.uncertain & ~np.isin(after.ids, ids))
    kind, sign = (OperationKind.ADD_CODE, "+") if given else (OperationKind.REMOVE_CODE, "−")
    return Operation(kind, f"{counted(len(ids), 'unit')} {sign} {name}", difference(partition, after))


def create_code(partition: Partition, number: int, name: str, ids: Ids) -> Operation:
    """Create a code, and give it to sentences: besides their codes where several are allowed, otherwise instead."""
    if not allows_several(partition):
        return create(partition, number, name, ids)
    made = create(partition, number, name, ids[:0])
    after = apply(partition, made.change_set)
    added = add_code(after, ids, number, number + 1)
    summary = f"{after.clusters[number].name} with {counted(len(added.change_set.sentences()), 'unit')}"
    return Operation(made.kind, summary, ChangeSet((*made.change_set, *added.change_set)))


def accept_codes(partition: Partition, wanted: Mapping[int, Ids], first_number: int) -> Operation:
    """Accept suggestions, code → sentence ids: a code besides the others where several are allowed."""
    made = accept(partition, wanted)
    if not allows_several(partition):
        return made
    after = partition
    for code, ids in wanted.items():
        after, first_number = moved(after, ids, _turn(CodeSet({code}), CodeSet()), first_number)
    return replace(made, change_set=difference(partition, after))


def onto(partition: Partition, change_set: ChangeSet, first_number: int) -> ChangeSet | None:
    """Return a change set that gives and takes the same codes in another state; None if there is none.

    It exists if the change set only gives and takes codes, and nobody has given or taken the same ones in the meantime:
    two people may give one sentence different codes without a conflict, and each may undo it.
    """
    made = {
        int(change.key): frozenset(entry.clusters)
        for change in change_set
        if isinstance(change, EntryChange) and change.kind is EntryKind.CODES and change.key != ALLOWED
        for entry in (change.old, change.new)
        if entry is not None
    }
    held, known = code_sets(partition) | made, {*code_clusters(partition)}
    now, after = code_sets(partition), partition
    for change in change_set:
        if isinstance(change, ClusterChange) and change.number in made:
            continue
        if isinstance(change, EntryChange) and change.kind is EntryKind.CODES and change.key != ALLOWED:
            continue
        if isinstance(change, SentenceChanges) and change.field is Field.UNCERTAIN and not np.any(change.new):
            after = replace(after, uncertain=after.uncertain & ~np.isin(after.ids, change.ids))
            continue
        if not isinstance(change, SentenceChanges) or change.field is not Field.CLUSTER:
            return None
        old, new = np.asarray(change.old), np.asarray(change.new)
        for pair in {*zip(old.tolist(), new.tolist(), strict=True)}:
            if not {*pair} <= held.keys():
                return None
            before, wanted = (held[number] for number in pair)
            given, taken = wanted - before, before - wanted
            ids = change.ids[(old == pair[0]) & (new == pair[1])]
            if not given | taken <= known or not np.isin(ids, partition.ids).all():
                return None
            there = [now[number] for number in np.unique(partition.numbers[partition.rows(ids)]).tolist()]
            if any(given & codes_of or not taken <= codes_of for codes_of in there):
                return None
            after, first_number = moved(after, ids, _turn(given, taken), first_number)
    return difference(partition, after)


def _turn(given: CodeSet, taken: CodeSet) -> Callable[[CodeSet], CodeSet]:
    return lambda held: held - taken | given
