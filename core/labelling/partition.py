"""The state of a labelling: clusters with names and colours, the cluster, mark and note of every sentence, and entries.

Entries are answers, codebook texts and other records that are part of the history. An entry never contains the number
of a sentence or a cluster in its data, because these change when a labelling is imported or when two people create
clusters at the same time; it refers to them in fields of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.text.cleaning import folded_name
from themescope.core.types import Ids, Mask


class EntryKind(StrEnum):
    """Kinds of entries."""

    ANSWER = "answer"
    """Answer to a question about sentences, which development versions of 0.3 asked."""
    CODE = "code"
    """Codebook entry of a cluster; the key is the number of the cluster."""
    VERSION = "version"
    """Named state of the codebook."""
    TRAINING = "training"
    """Gold item: sentence with its right cluster."""
    DISMISSED = "dismissed"
    """Suggestion that a person dismissed, such as a new theme of a wave."""
    METRIC = "metric"
    """Metric learned from the labels, which development versions of 0.3 used."""
    CODES = "codes"
    """Codes of a cluster that is a combination, see :mod:`themescope.core.labelling.partition`."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Content of an entry, compared by its JSON. ``data`` holds only what JSON can represent."""

    data: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[int, ...] = ()
    """Ids of sentences of the labelling, in an order that the kind defines."""
    clusters: tuple[int, ...] = ()
    """Numbers of clusters, in an order that the kind defines; they may have been deleted since."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self._json() == other._json()

    def __hash__(self) -> int:
        return hash(self._json())

    def _json(self) -> str:
        return json.dumps(self.packed(), sort_keys=True)

    def packed(self) -> list[Any]:
        """Return the entry as a JSON value."""
        return [dict(self.data), list(self.sentences), list(self.clusters)]

    def with_sentences(self, names: Mapping[int, int]) -> Entry:
        """Return the entry with its sentence ids replaced; the mapping must contain all of them."""
        return replace(self, sentences=tuple(names[id] for id in self.sentences))

    def with_clusters(self, names: Mapping[int, int]) -> Entry:
        """Return the entry with cluster numbers replaced; those not in the mapping stay."""
        return replace(self, clusters=tuple(names.get(number, number) for number in self.clusters))


EntryKey: TypeAlias = tuple[EntryKind, str]


def unpacked(value: Any) -> Entry:
    """Return the entry of a value of :meth:`Entry.packed`; raise ``ValueError`` or ``TypeError`` for other values."""
    data, sentences, clusters = value
    numbers = [*sentences, *clusters]
    if not isinstance(data, dict) or any(type(number) is not int or abs(number) >= 2**63 for number in numbers):
        raise TypeError(value)
    json.dumps(data, allow_nan=False)
    return Entry(data, tuple(sentences), tuple(clusters))


# --- partition --------------------------------------------------------------------------------------------------------


UNASSIGNED = -1
"""Cluster number of an unassigned sentence."""
COLOURS = 36
"""Number of colours. A colour is an index of a palette of nine hues with four symbols, for every theme of the page."""
NAME_LIMIT = 200
"""Maximum number of characters of the name of a cluster."""
Rows = npt.NDArray[np.intp]  # (m,) indices into ``Partition.ids``


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster. Its number is never reused, even after the cluster is deleted."""

    number: int
    name: str
    colour: int
    parent: int | None = None
    """Number of the theme of which this is a sub-theme; None for a theme. There are two levels."""

    def packed(self) -> list[Any]:
        """Return the cluster as a JSON value; themes are written as version 0.1 wrote clusters."""
        own = [self.number, self.name, self.colour]
        return own if self.parent is None else [*own, self.parent]


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """State of a labelling; row i of every array is sentence ``ids[i]``."""

    ids: Ids
    """(n,) sentence ids, ascending, each once."""
    numbers: Ids
    """(n,) cluster number of each sentence, or :data:`UNASSIGNED`."""
    uncertain: Mask
    """(n,) mask of sentences marked uncertain."""
    notes: Mapping[int, str] = field(default_factory=dict)
    """Sentence id → note, for sentences with a note."""
    clusters: Mapping[int, Cluster] = field(default_factory=dict)
    """Number → cluster, including empty clusters."""
    entries: Mapping[EntryKey, Entry] = field(default_factory=dict)
    """(kind, key) → entry, see :mod:`themescope.core.labelling.partition`."""

    def rows(self, ids: Iterable[int] | Ids) -> Rows:
        """Return the (m,) rows of sentences in order. Raises :class:`DataError` for one outside the labelling."""
        wanted = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
        if not len(wanted):
            return np.empty(0, dtype=np.intp)
        found = np.minimum(np.searchsorted(self.ids, wanted), max(len(self.ids) - 1, 0))
        if not len(self.ids) or (self.ids[found] != wanted).any():
            raise DataError("Some of these sentences are not part of this coding. Load the page again.")
        return found

    def members(self, number: int) -> Ids:
        """Return the ids of the sentences in a cluster (or of the unassigned ones), ascending."""
        return np.asarray(self.ids[self.numbers == number])

    def sizes(self) -> dict[int, int]:
        """Return the size of every cluster by number, including :data:`UNASSIGNED`."""
        found, counts = np.unique(self.numbers, return_counts=True)
        counted = dict(zip(found.tolist(), counts.tolist(), strict=True))
        return {number: counted.get(number, 0) for number in (*self.clusters, UNASSIGNED)}

    def cluster(self, number: int) -> Cluster:
        """Return the cluster with that number. Raises :class:`DataError` if there is none."""
        if number not in self.clusters:
            raise DataError("That code no longer exists. Load the page again.")
        return self.clusters[number]

    def to_bytes(self) -> bytes:
        """Return a canonical serialisation: equal states give equal bytes, different states different bytes."""
        parts: list[Any] = [[c.packed() for _, c in sorted(self.clusters.items())], sorted(self.notes.items())]
        if self.entries:
            parts.append([[*key, *entry.packed()] for key, entry in sorted(self.entries.items(), key=itemgetter(0))])
        head = json.dumps(parts, ensure_ascii=True, sort_keys=True).encode("ascii")
        arrays = (self.ids.astype("<i8"), self.numbers.astype("<i8"), self.uncertain.astype("u1"))
        return b"|".join([head, *(array.tobytes() for array in arrays)])

    def children(self, number: int) -> list[Cluster]:
        """Return the sub-themes of a theme, by number."""
        return [c for _, c in sorted(self.clusters.items()) if c.parent == number]

    def only(self, ids: Ids) -> Partition:
        """Return the partition of some of the sentences, with all clusters and entries."""
        rows = np.sort(self.rows(np.unique(ids)))
        ids = self.ids[rows]
        notes = {i: self.notes[i] for i in ids.tolist() if i in self.notes}
        return replace(self, ids=ids, numbers=self.numbers[rows], uncertain=self.uncertain[rows], notes=notes)

    def extended(self, ids: Ids) -> Partition:
        """Return the partition with other sentences besides, unassigned."""
        joined = np.concatenate([self.ids, ids])
        order = np.argsort(joined, kind="stable")
        numbers = np.concatenate([self.numbers, np.full(len(ids), UNASSIGNED, np.int64)])
        uncertain = np.concatenate([self.uncertain, np.zeros(len(ids), np.bool_)])
        return replace(self, ids=joined[order], numbers=numbers[order], uncertain=uncertain[order])

    def with_clusters(self, clusters: Mapping[int, Cluster]) -> Partition:
        """Return the partition with other clusters."""
        return replace(self, clusters=clusters)


def start(
    ids: Iterable[int] | Ids, numbers: Iterable[int] | Ids | None = None, clusters: Iterable[Cluster] = ()
) -> Partition:
    """Return an initial partition; without ``numbers`` all sentences are unassigned.

    Raises :class:`DataError` if a sentence occurs twice, or is in a cluster that is not in ``clusters``.
    """
    given = np.array(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
    order = np.argsort(given, kind="stable")
    given = given[order]
    if len(given) > 1 and (given[1:] == given[:-1]).any():
        raise DataError("A sentence can occur only once in a coding; some occur twice.")
    known = {cluster.number: cluster for cluster in clusters}
    if numbers is None:
        placed = np.full(len(given), UNASSIGNED, dtype=np.int64)
    else:
        placed = np.array(numbers if isinstance(numbers, np.ndarray) else list(numbers), dtype=np.int64)[order]
    if not set(np.unique(placed).tolist()) <= {*known, UNASSIGNED}:
        raise DataError("Some units have a code that does not exist in the coding.")
    return Partition(given, placed, np.zeros(len(given), dtype=np.bool_), {}, known)


def misplaced(clusters: Mapping[int, Cluster]) -> list[int]:
    """Return the numbers of the sub-themes whose theme does not exist or is a sub-theme itself."""
    parents = {number: c.parent for number, c in clusters.items() if c.parent is not None}
    return sorted(n for n, parent in parents.items() if parent == n or parent not in clusters or parent in parents)


def free_colour(partition: Partition) -> int:
    """Return the first of the least used colours of the palette."""
    used = np.bincount([c.colour for c in partition.clusters.values()], minlength=COLOURS)
    return int(np.argmin(used))


def free_name(partition: Partition, wanted: str) -> str:
    """Return ``wanted``, with the first free number appended if it is taken: ``wanted 2``."""
    return _numbered(wanted, {folded_name(c.name) for c in partition.clusters.values()})


def _numbered(wanted: str, taken: Container[str]) -> str:
    name, number = wanted.strip()[:NAME_LIMIT].strip(), 1
    base = name = name if folded_name(name) else "Cluster"
    while folded_name(name) in taken:
        number += 1
        name = f"{base[: NAME_LIMIT - 8].strip()} {number}"
    return name


def distinct_names(partition: Partition) -> Partition:
    """Return the partition with numbers at the names of clusters that another one with a smaller number has too."""
    clusters, seen = dict(partition.clusters), set[str]()
    taken = {folded_name(c.name) for c in clusters.values()}
    for number, cluster in sorted(clusters.items()):
        form = folded_name(cluster.name)
        if form in seen:
            clusters[number] = replace(cluster, name=_numbered(cluster.name, taken))
            taken.add(folded_name(clusters[number].name))
        seen.add(form)
    return partition.with_clusters(clusters)


# Several codes per sentence: clusters that are combinations of codes

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


def has_code(partition: Partition, *codes: int) -> Mask:
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


def moved(partition: Partition, ids: Ids, turn: Callable[[CodeSet], CodeSet], first: int) -> tuple[Partition, int]:
    """Return the partition after the codes of sentences were turned, and the next free number.

    Combinations that do not exist yet are made, with numbers from ``first`` on.
    """
    rows, held = partition.rows(np.unique(ids)), code_sets(partition)
    numbers, known = partition.numbers.copy(), partition
    for number in np.unique(partition.numbers[rows]).tolist():
        wanted = turn(held[number])
        target = _cluster_of(known, wanted)
        if target is None:
            target, first = first, first + 1
            known = _with_combination(known, target, wanted)
        numbers[rows[partition.numbers[rows] == number]] = target
    return replace(known, numbers=numbers), first


def coded(partition: Partition, wanted: Mapping[int, CodeSet]) -> Partition:
    """Return the partition with the codes of sentences, id → clusters; several are allowed if one has several."""
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

    A combination that becomes equal to another cluster is merged with it; no new cluster is made.
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
    entries = {**partition.entries, (EntryKind.CODES, str(number)): Entry(clusters=tuple(sorted(held)))}
    return replace(partition, clusters={**partition.clusters, number: cluster}, entries=entries)
