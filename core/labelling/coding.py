"""Operations on labellings with several codes per sentence, and on the two levels of their clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling.changes import (
    Change,
    ChangeSet,
    ClusterChange,
    EntryChange,
    Field,
    SentenceChanges,
    apply,
    difference,
)
from themescope.core.labelling.codebook import entries as codebook
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Operation, OperationKind, accept, create, entries, new_cluster
from themescope.core.labelling.partition import (
    ALLOWED,
    UNASSIGNED,
    Cluster,
    CodeSet,
    Entry,
    EntryKind,
    Partition,
    allows_several,
    check_codes,
    code_clusters,
    code_sets,
    combinations,
    has_code,
    holding,
    moved,
)
from themescope.core.types import Ids


def allow_several(partition: Partition, allowed: bool) -> Operation:
    """Allow several codes per sentence, or one only, for which no sentence may have several (:class:`DataError`)."""
    used = np.isin(partition.numbers, [*combinations(partition)]).sum()
    if not allowed and used:
        have = "has" if used == 1 else "have"
        raise DataError(f"{counted(int(used), 'unit')} {have} several codes. Leave each one code first.")
    key, summary = (EntryKind.CODES, ALLOWED), f"{'several codes' if allowed else 'one code'} per unit"
    change = EntryChange(*key, partition.entries.get(key), Entry() if allowed else None)
    kept = {own: entry for own, entry in partition.entries.items() if own == key or own[0] is not EntryKind.CODES}
    bare = partition if allowed else replace(partition, clusters=code_clusters(partition), entries=kept)
    made = entries(OperationKind.SEVERAL_CODES, summary, [change])
    return replace(made, change_set=ChangeSet((*difference(partition, bare), *made.change_set)))


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


# Themes and sub-themes: the two levels of the clusters of a labelling, and operations that change them


@dataclass(frozen=True, slots=True)
class ClusterGroup:
    """Clusters that belong under one new theme."""

    name: str
    numbers: tuple[int, ...]


def theme_of(clusters: Mapping[int, Cluster], number: int) -> int:
    """Return the number of the theme of a cluster, which is its own number for a theme."""
    parent = clusters[number].parent
    return number if parent is None else parent


def in_order(partition: Partition) -> list[Cluster]:
    """Return the themes by number, each followed by its sub-themes, without combinations of codes."""
    clusters = code_clusters(partition)
    return sorted(clusters.values(), key=lambda c: (theme_of(clusters, c.number), c.parent is not None, c.number))


def ungrouped(partition: Partition) -> list[int]:
    """Return the numbers of the clusters that are neither sub-themes nor have sub-themes, ascending."""
    known = code_clusters(partition)
    above = {c.parent for c in known.values()}
    return sorted(n for n, c in known.items() if c.parent is None and n not in above)


def with_sub_themes(partition: Partition, numbers: Iterable[int]) -> list[int]:
    """Return the numbers of clusters and of their sub-themes, ascending."""
    wanted = set(numbers)
    return sorted(n for n, c in partition.clusters.items() if n in wanted or c.parent in wanted)


def at_theme_level(partition: Partition) -> Partition:
    """Return the partition into themes, for display: each sentence of a sub-theme is in its theme."""
    known = np.array([UNASSIGNED, *sorted(partition.clusters)], dtype=np.int64)
    above = [UNASSIGNED, *(theme_of(partition.clusters, int(n)) for n in known[1:])]
    numbers = np.array(above, dtype=np.int64)[np.searchsorted(known, partition.numbers)]
    themes = {n: c for n, c in partition.clusters.items() if c.parent is None}
    return replace(partition, numbers=numbers, clusters=themes)


def total_sizes(partition: Partition) -> dict[int, int]:
    """Return the number of sentences with each code or one of its sub-themes."""
    sizes, known = partition.sizes(), code_clusters(partition)
    below = {number: [number, *(c.number for c in partition.children(number))] for number in known}
    return {number: sum(sizes[n] for n in holding(partition, *inside)) for number, inside in below.items()}


def put_under(partition: Partition, numbers: Iterable[int], theme: int) -> Operation:
    """Make clusters and their sub-themes sub-themes of a theme; raise :class:`DataError` if it is a sub-theme."""
    above = partition.cluster(theme)
    check_codes(partition, [theme], "Choose")
    if above.parent is not None:
        raise DataError(f"“{above.name}” is a sub-code. Choose a theme, or move it out first.")
    changes = _moved(partition, numbers, theme)
    return Operation(OperationKind.GROUP, f"{counted(len(changes), 'code')} → {above.name}", ChangeSet(tuple(changes)))


def group(partition: Partition, groups: Sequence[ClusterGroup], first_number: int) -> Operation:
    """Put each group of clusters under a new theme without sentences of its own, in one step."""
    changes: list[Change] = []
    known = partition
    for place, wanted in enumerate(groups):
        theme = new_cluster(known, first_number + place, wanted.name, None)
        known = known.with_clusters({**known.clusters, theme.number: theme})
        moved = _moved(known, wanted.numbers, theme.number)
        if not moved:
            raise DataError(f"Choose codes for the theme “{theme.name}”.")
        known = known.with_clusters({**known.clusters, **{c.number: c.new for c in moved if c.new is not None}})
        changes += [ClusterChange(None, theme), *moved]
    names = ", ".join(wanted.name for wanted in groups)
    return Operation(OperationKind.GROUP, f"codes grouped as {names}", ChangeSet(tuple(changes)))


def move_out(partition: Partition, numbers: Iterable[int]) -> Operation:
    """Make sub-themes themes; themes stay what they are."""
    changes = _under(partition, numbers, None)
    what = changes[0].new.name if len(changes) == 1 and changes[0].new else counted(len(changes), "cluster")
    return Operation(OperationKind.UNGROUP, f"{what} moved out", ChangeSet(tuple(changes)))


def dissolve(partition: Partition, theme: int) -> Operation:
    """Make the sub-themes of a theme themes, and delete it with its entry unless it has sentences of its own."""
    above = partition.cluster(theme)
    changes: list[Change] = [*_under(partition, [c.number for c in partition.children(theme)], None)]
    if changes and not len(partition.members(theme)) and holding(partition, theme) == [theme]:
        changes += [ClusterChange(above, None), *codebook.removed(partition, theme)]
    return Operation(OperationKind.UNGROUP, f"{above.name} dissolved", ChangeSet(tuple(changes)))


def _moved(partition: Partition, numbers: Iterable[int], theme: int) -> list[ClusterChange]:
    wanted = [partition.cluster(number).number for number in numbers if number != theme]
    return _under(partition, with_sub_themes(partition, wanted), theme)


def _under(partition: Partition, numbers: Iterable[int], parent: int | None) -> list[ClusterChange]:
    found = [partition.cluster(number) for number in dict.fromkeys(numbers)]
    check_codes(partition, [cluster.number for cluster in found], "Move")
    return [ClusterChange(c, replace(c, parent=parent)) for c in found if c.parent != parent]
