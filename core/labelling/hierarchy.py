"""Themes and sub-themes: the two levels of the clusters of a labelling, and operations that change them.

A cluster without a parent is a theme; its sub-themes are clusters of their own, and it may have sentences besides
theirs. No operation loses a cluster or a sentence: a theme that is put under another one takes its sub-themes along, as
sub-themes of the other one, because there are two levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling.changes import Change, ChangeSet, ClusterChange
from themescope.core.labelling.code_sets import check_codes, code_clusters, holding
from themescope.core.labelling.codebook import entries as codebook
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Operation, OperationKind, new_cluster
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Partition
from themescope.core.types import Ids


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


def theme_numbers(partition: Partition) -> Ids:
    """Return the (n,) number of the theme of each sentence, or :data:`UNASSIGNED`."""
    known = np.array([UNASSIGNED, *sorted(partition.clusters)], dtype=np.int64)
    themes = [UNASSIGNED, *(theme_of(partition.clusters, int(n)) for n in known[1:])]
    found: Ids = np.array(themes, dtype=np.int64)[np.searchsorted(known, partition.numbers)]
    return found


def at_theme_level(partition: Partition) -> Partition:
    """Return the partition into themes, for display: each sentence of a sub-theme is in its theme."""
    themes = {n: c for n, c in partition.clusters.items() if c.parent is None}
    return replace(partition, numbers=theme_numbers(partition), clusters=themes)


def total_sizes(partition: Partition) -> dict[int, int]:
    """Return the number of sentences with each code or one of its sub-themes."""
    sizes, known = partition.sizes(), code_clusters(partition)
    below = {number: [number, *(c.number for c in partition.children(number))] for number in known}
    return {number: sum(sizes[n] for n in holding(partition, *inside)) for number, inside in below.items()}


def put_under(partition: Partition, numbers: Iterable[int], theme: int) -> Operation:
    """Make clusters sub-themes of a theme, each with its own sub-themes.

    Raises :class:`DataError` if ``theme`` is a sub-theme itself.
    """
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
    changes = _turned(partition, numbers, None)
    what = changes[0].new.name if len(changes) == 1 and changes[0].new else counted(len(changes), "cluster")
    return Operation(OperationKind.UNGROUP, f"{what} moved out", ChangeSet(tuple(changes)))


def dissolve(partition: Partition, theme: int) -> Operation:
    """Make the sub-themes of a theme themes.

    The theme is deleted with its codebook entry unless it has sentences of its own.
    """
    above = partition.cluster(theme)
    changes: list[Change] = [*_turned(partition, [c.number for c in partition.children(theme)], None)]
    if changes and not len(partition.members(theme)) and holding(partition, theme) == [theme]:
        changes += [ClusterChange(above, None), *codebook.removed(partition, theme)]
    return Operation(OperationKind.UNGROUP, f"{above.name} dissolved", ChangeSet(tuple(changes)))


def _moved(partition: Partition, numbers: Iterable[int], theme: int) -> list[ClusterChange]:
    wanted = [partition.cluster(number).number for number in numbers if number != theme]
    return _turned(partition, with_sub_themes(partition, wanted), theme)


def _turned(partition: Partition, numbers: Iterable[int], parent: int | None) -> list[ClusterChange]:
    found = [partition.cluster(number) for number in dict.fromkeys(numbers)]
    check_codes(partition, [cluster.number for cluster in found], "Move")
    return [ClusterChange(c, replace(c, parent=parent)) for c in found if c.parent != parent]
