"""Several codes per sentence: clusters that are combinations of codes.

A labelling may allow several codes for one sentence. The cluster of a sentence is then a code or a combination of
codes, which is a cluster of its own ("Housing + Rent"), made when it is first needed. History, undo, conflicts, tasks
and predictions work on clusters, so they are the same with one code and with several (label powerset, Tsoumakas and
Katakis 2007, "Multi-label classification: an overview", section 2.1). What is about codes, such as shares, agreement
and exports, goes through the sets of codes here.

The codes of a combination are an entry of the labelling (:attr:`EntryKind.CODES`) whose key is the number of the
cluster; an entry with the key :data:`ALLOWED` says that several codes are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.labelling.partition import (
    UNASSIGNED,
    Cluster,
    Entry,
    EntryKey,
    EntryKind,
    Partition,
    free_colour,
    free_name,
)
from themescope.core.types import Ids

ALLOWED = "allowed"
"""Key of the entry that allows several codes."""
CodeSet = frozenset[int]
"""Numbers of the codes of a sentence; empty if it is unassigned."""


def allows_several(partition: Partition) -> bool:
    """Return whether sentences may have several codes."""
    return (EntryKind.CODES, ALLOWED) in partition.entries


def combinations(partition: Partition) -> dict[int, CodeSet]:
    """Return the number of each combination with its codes."""
    kept = partition.entries.items()
    return {int(key): frozenset(entry.clusters) for (kind, key), entry in kept if _is_combination(kind, key)}


def _is_combination(kind: EntryKind, key: str) -> bool:
    return kind is EntryKind.CODES and key != ALLOWED


def code_sets(partition: Partition) -> dict[int, CodeSet]:
    """Return the codes of each cluster by number: its own number for a code, none for :data:`UNASSIGNED`."""
    return {UNASSIGNED: CodeSet()} | {n: CodeSet({n}) for n in partition.clusters} | combinations(partition)


def code_clusters(partition: Partition) -> dict[int, Cluster]:
    """Return the clusters that are codes, not combinations, by number."""
    made = combinations(partition)
    return {number: cluster for number, cluster in partition.clusters.items() if number not in made}


def holding(partition: Partition, *codes: int) -> list[int]:
    """Return the numbers of the clusters whose sentences have one of these codes: the codes, and combinations."""
    return [*codes, *(number for number, held in combinations(partition).items() if not held.isdisjoint(codes))]


def has_code(partition: Partition, *codes: int) -> npt.NDArray[np.bool_]:
    """Return the (n,) mask of the sentences with one of these codes."""
    return np.isin(partition.numbers, holding(partition, *codes))


def code_sizes(partition: Partition) -> dict[int, int]:
    """Return the number of sentences with each code; one with two codes counts for both."""
    sizes, made = partition.sizes(), combinations(partition)
    found = {number: sizes[number] for number in partition.clusters if number not in made}
    for number, held in made.items():
        for code in held:
            found[code] += sizes[number]
    return found


def code_names(partition: Partition) -> dict[int, tuple[str, ...]]:
    """Return the names of the codes of each cluster, in the order of their numbers; none for unassigned sentences."""
    names = {number: cluster.name for number, cluster in partition.clusters.items()}
    return {number: tuple(names[n] for n in sorted(held)) for number, held in code_sets(partition).items()}


def broken(clusters: Mapping[int, Cluster], entries: Mapping[EntryKey, Entry]) -> list[int]:
    """Return the numbers of combinations that do not exist as clusters, or whose codes are not two codes or more."""
    made = {int(key): entry.clusters for (kind, key), entry in entries.items() if _is_combination(kind, key)}
    return sorted(
        number
        for number, held in made.items()
        if number not in clusters
        or clusters[number].parent is not None
        or len({*held}) < 2
        or any(code not in clusters or code in made for code in held)
    )


def check_codes(partition: Partition, numbers: list[int], what: str) -> None:
    """Raise :class:`DataError` if one of these clusters is a combination of codes; ``what`` is done to codes only."""
    made = combinations(partition)
    wrong = next((number for number in numbers if number in made), None)
    if wrong is not None:
        name = partition.clusters[wrong].name
        raise DataError(f"“{name}” is a combination of codes. {what} one of its codes instead.")


def moved(
    partition: Partition, ids: Ids, turn: Callable[[CodeSet], CodeSet], first_number: int
) -> tuple[Partition, int]:
    """Return the partition after the codes of sentences were turned, and the next free number.

    Combinations that do not exist yet are made, with numbers from ``first_number`` on.
    """
    rows, held = partition.rows(np.unique(ids)), code_sets(partition)
    numbers, known = partition.numbers.copy(), partition
    for number in np.unique(partition.numbers[rows]).tolist():
        wanted = turn(held[number])
        target = _cluster_of(known, wanted)
        if target is None:
            target, first_number = first_number, first_number + 1
            known = _with_combination(known, target, wanted)
        numbers[rows[partition.numbers[rows] == number]] = target
    return replace(known, numbers=numbers), first_number


def coded(partition: Partition, wanted: Mapping[int, CodeSet]) -> Partition:
    """Return the partition with the codes of sentences: id → numbers of clusters.

    Several codes are allowed if one has several.
    """
    ids = np.array(sorted(wanted), dtype=np.int64)
    different = {held: place for place, held in enumerate(dict.fromkeys(wanted.values()))}
    of = np.array([different[wanted[id]] for id in ids.tolist()], dtype=np.int64)
    if any(len(held) > 1 for held in different):
        partition = replace(partition, entries={**partition.entries, (EntryKind.CODES, ALLOWED): Entry()})
    number = max(partition.clusters, default=0) + 1
    for held, place in different.items():
        partition, number = moved(partition, ids[of == place], partial(_only, held), number)
    return partition


def _only(held: CodeSet, before: CodeSet) -> CodeSet:
    return held


def rewritten(partition: Partition, turn: Callable[[CodeSet], CodeSet]) -> Partition:
    """Return the partition after the codes of every combination were turned.

    A combination that becomes equal to another cluster is merged with it, the others keep their number; no new cluster
    is made.
    """
    for number, held in sorted(combinations(partition).items()):
        wanted = turn(held)
        if wanted == held:
            continue
        target = _cluster_of(partition, wanted)
        if target is None:
            partition = _with_combination(partition, number, wanted)
            continue
        numbers = np.where(partition.numbers == number, target, partition.numbers)
        clusters = {n: cluster for n, cluster in partition.clusters.items() if n != number}
        kept = {key: entry for key, entry in partition.entries.items() if key != (EntryKind.CODES, str(number))}
        partition = replace(partition, numbers=numbers, clusters=clusters, entries=kept)
    return partition


def renamed(partition: Partition) -> Partition:
    """Return the partition with the names of combinations that follow from those of their codes."""
    for number, held in sorted(combinations(partition).items()):
        partition = _with_combination(partition, number, held)
    return partition


def _cluster_of(partition: Partition, wanted: CodeSet) -> int | None:
    return min((number for number, held in code_sets(partition).items() if held == wanted), default=None)


def _with_combination(partition: Partition, number: int, held: CodeSet) -> Partition:
    """Return the partition with a combination, new or changed; it is named by its codes, and keeps its colour."""
    name = " + ".join(partition.cluster(code).name for code in sorted(held))
    others = partition.with_clusters({n: cluster for n, cluster in partition.clusters.items() if n != number})
    known = partition.clusters.get(number)
    cluster = Cluster(number, free_name(others, name), free_colour(others) if known is None else known.colour)
    entry = Entry(clusters=tuple(sorted(held)))
    return replace(
        partition,
        clusters={**partition.clusters, number: cluster},
        entries={**partition.entries, (EntryKind.CODES, str(number)): entry},
    )
