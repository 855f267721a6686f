"""Operations on a labelling. Each function returns the change set of an operation without applying it.

The change set is empty if the operation changes nothing. The caller numbers new clusters, because a number is never
reused and only the history contains all numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from themescope.core.errors import DataError, DuplicateNameError
from themescope.core.labelling.changes import (
    WITHDRAW,
    Change,
    ChangeSet,
    ClusterChange,
    EntryChange,
    Field,
    SentenceChanges,
    difference,
    marked,
    membership,
)
from themescope.core.labelling.codebook import entries as codebook
from themescope.core.labelling.markup import counted
from themescope.core.labelling.partition import (
    COLOURS,
    NAME_LIMIT,
    UNASSIGNED,
    Cluster,
    Entry,
    EntryKind,
    Partition,
    check_codes,
    combinations,
    free_colour,
    has_code,
    renamed,
    rewritten,
)
from themescope.core.text.cleaning import clean, folded_name
from themescope.core.types import Ids

NOTE_LIMIT = 5_000
"""Maximum number of characters of a note."""
NONE_FITS = "None of the codes fits."
"""Note of a sentence for which a person found no code."""


class OperationKind(StrEnum):
    """Kinds of operations in the history."""

    ASSIGN = "assign"
    ACCEPT = "accept"
    UNASSIGN = "unassign"
    CREATE = "create"
    MERGE = "merge"
    RENAME = "rename"
    RECOLOUR = "recolour"
    DELETE = "delete"
    UNCERTAIN = "uncertain"
    CERTAIN = "certain"
    NOTE = "note"
    BACK = "back"
    RECLUSTER = "re-cluster"
    CODEBOOK = "codebook"
    VERSION = "version"
    TRAINING = "training"
    GROUP = "group"
    UNGROUP = "ungroup"
    DISMISS = "dismiss"
    METRIC = "metric"
    ANSWER = "answer"
    REOPEN = "take back"
    SMALL_CLUSTERS = "small clusters"
    EXTEND = "extend"
    WITHDRAW = WITHDRAW
    ADD_CODE = "add code"
    REMOVE_CODE = "remove code"
    SEVERAL_CODES = "several codes"
    APPROVE = "approve"
    """A person confirmed labels, or, in imported histories, marked the sentences as done in a task; nothing moved."""


BY_SIMILARITY = frozenset({OperationKind.RECLUSTER, OperationKind.METRIC, OperationKind.SMALL_CLUSTERS})
"""Operations that move sentences by their similarity, without a person's judgement of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operation: its kind, a summary, and its changes."""

    kind: OperationKind
    summary: str
    """One line for the history: ``3 sentences → Economy``."""
    change_set: ChangeSet
    coder: str = ""
    """Model, method or program that places the sentences; "" for the person who applies the operation."""


def assign(partition: Partition, ids: Ids, number: int) -> Operation:
    """Put sentences into a cluster, which settles those that were uncertain, also where they are in it already."""
    cluster = partition.cluster(number)
    settled = marked(partition, Field.UNCERTAIN, ids, 0)
    if settled is not None and (partition.numbers[partition.rows(ids)] == number).all():
        return approve(partition, ids)
    change = marked(partition, Field.CLUSTER, ids, number)
    unfit = [id for id in np.asarray(ids).tolist() if partition.notes.get(id) == NONE_FITS]
    fits = marked(partition, Field.NOTE, np.array(unfit, np.int64), "")
    return Operation(OperationKind.ASSIGN, f"{_sentences(change)} → {cluster.name}", _change_set(change, settled, fits))


def approve(partition: Partition, ids: Ids) -> Operation:
    """Make labels of a person of the labels that sentences have, which are then certain."""
    rows = partition.rows(ids)
    change = SentenceChanges(Field.CLUSTER, partition.ids[rows], partition.numbers[rows], partition.numbers[rows])
    settled = marked(partition, Field.UNCERTAIN, ids, 0)
    return Operation(OperationKind.APPROVE, f"{_sentences(change)} confirmed", _change_set(change, settled))


def accept(partition: Partition, wanted: Mapping[int, Ids]) -> Operation:
    """Accept suggestions: cluster number → sentence ids."""
    moved = {number: marked(partition, Field.CLUSTER, ids, number) for number, ids in wanted.items()}
    names = ", ".join(f"{_sentences(change)} → {partition.cluster(number).name}" for number, change in moved.items())
    settled = (marked(partition, Field.UNCERTAIN, ids, 0) for ids in wanted.values())
    return Operation(OperationKind.ACCEPT, names, _change_set(*moved.values(), *settled))


def unassign(partition: Partition, ids: Ids) -> Operation:
    """Unassign sentences."""
    change = marked(partition, Field.CLUSTER, ids, UNASSIGNED)
    return Operation(OperationKind.UNASSIGN, f"{_sentences(change)} → no code", _change_set(change))


def none_fits(partition: Partition, ids: Ids) -> Operation:
    """Say in the notes of sentences that none of the codes fits; they are in no cluster."""
    new = {Field.CLUSTER: UNASSIGNED, Field.UNCERTAIN: 0, Field.NOTE: NONE_FITS}
    changes = (marked(partition, field, ids, value) for field, value in new.items())
    return Operation(OperationKind.NOTE, f"{counted(len(ids), 'unit')}: none of the codes fits", _change_set(*changes))


def create(partition: Partition, number: int, name: str, ids: Ids, colour: int | None = None) -> Operation:
    """Create a cluster with the given sentences, possibly none."""
    cluster = new_cluster(partition, number, name, colour)
    change = marked(partition, Field.CLUSTER, ids, number)
    change_set = _change_set(ClusterChange(None, cluster), change, marked(partition, Field.UNCERTAIN, ids, 0))
    return Operation(OperationKind.CREATE, f"{cluster.name} with {_sentences(change)}", change_set)


def extend(partition: Partition, ids: Ids, what: str) -> Operation:
    """Add sentences to the labelling, unassigned; ``what`` they are, such as the name of a wave."""
    new = np.setdiff1d(ids, partition.ids)
    summary = f"{len(new):,} unit{'s' * (len(new) != 1)} of {what} added, without a code"
    return Operation(OperationKind.EXTEND, summary, ChangeSet(tuple(membership(new, True))))


def withdraw(partition: Partition, ids: Ids, what: str) -> Operation:
    """Take sentences out of the labelling; ``what`` was removed: a wave or documents, whose names leave with them.

    Codebook entries lose them as examples, and an answer about one of them, or a gold item, leaves with it.
    """
    gone = np.intersect1d(ids, partition.ids)
    summary = f"{counted(len(gone), 'unit')} of {what} left with it"
    return Operation(OperationKind.WITHDRAW, summary, difference(partition, without(partition, gone)))


def without(partition: Partition, ids: Ids) -> Partition:
    """Return the partition without those of its sentences that are among ``ids``."""
    kept = partition.only(np.setdiff1d(partition.ids, ids))
    left = frozenset(kept.ids.tolist())
    entries = {key: _entry_of(key[0], entry, left) for key, entry in partition.entries.items()}
    return replace(kept, entries={key: entry for key, entry in entries.items() if entry is not None})


def only_about(change_set: ChangeSet, ids: Collection[int]) -> ChangeSet:
    """Return the changes of the sentences ``ids``, and those of clusters and entries, without other sentences."""
    found: list[Change] = []
    for change in change_set:
        if isinstance(change, EntryChange):
            old, new = (entry and _entry_of(change.kind, entry, ids) for entry in (change.old, change.new))
            found += [replace(change, old=old, new=new)] if old != new else []
        elif isinstance(change, SentenceChanges):
            some = change.only(np.array([*ids], np.int64))
            found += [some] if len(some.ids) else []
        else:
            found.append(change)
    return ChangeSet(tuple(found))


def _entry_of(kind: EntryKind, entry: Entry, ids: Collection[int]) -> Entry | None:
    """Return an entry about the sentences ``ids`` alone; None if it cannot be."""
    if kind in codebook.KINDS:
        return codebook.only_known(kind, entry, ids)
    if kind is EntryKind.DISMISSED:
        return replace(entry, sentences=tuple(id for id in entry.sentences if id in ids))
    return entry if all(id in ids for id in entry.sentences) else None


def returned(partition: Partition, withdrawn: ChangeSet) -> ChangeSet:
    """Return the change set by which withdrawn sentences come back, as they were where that is still possible.

    A sentence whose cluster no longer exists comes back unassigned, and an entry that was changed since stays.
    """
    found: list[Change] = []
    for change in withdrawn.inverse():
        if isinstance(change, EntryChange):
            found += [change] if partition.entries.get((change.kind, change.key)) == change.old else []
        elif isinstance(change, SentenceChanges) and change.field is Field.CLUSTER:
            kept = np.isin(np.asarray(change.new, np.int64), [*partition.clusters])
            old, new = (np.asarray(side, np.int64)[kept] for side in (change.old, change.new))
            found += [SentenceChanges(Field.CLUSTER, change.ids[kept], old, new)] if kept.any() else []
        else:
            found.append(change)
    return ChangeSet(tuple(found))


def merge(partition: Partition, numbers: Iterable[int], into: int) -> Operation:
    """Merge several clusters into one of them, which gets the codebook texts of all.

    Sub-themes of the others go to the theme of the one that is kept.
    """
    kept = partition.cluster(into)
    others = [partition.cluster(n) for n in dict.fromkeys(numbers) if n != into]
    gone = {c.number for c in others}
    check_codes(partition, [into, *gone], "Merge")
    with_kept = rewritten(partition, lambda held: held - gone | {into} if held & gone else held)
    ids = partition.ids[np.isin(partition.numbers, [*gone])]
    change = marked(partition, Field.CLUSTER, ids, into)
    names = " + ".join(c.name for c in others)
    risen = kept.parent in gone
    above = into if risen or kept.parent is None else kept.parent
    moved = _moved_up(partition, gone, above, but=into)
    if risen:
        moved.append(ClusterChange(kept, replace(kept, parent=None)))
    texts = codebook.merged(partition, others, kept)
    deleted = (ClusterChange(c, None) for c in others)
    change_set = _change_set(*_rewriting(partition, with_kept), change, *moved, *deleted, *texts)
    return Operation(OperationKind.MERGE, f"{names} → {kept.name}, {_sentences(change)}", change_set)


def recluster(
    partition: Partition, parts: Sequence[tuple[str, Ids]], first: int, whole: Iterable[int] = (), clusterer: str = ""
) -> Operation:
    """Divide some sentences anew into ``parts``, which are (name, ids), and keep everything else.

    A cluster without other sentences is continued by the part with most of its sentences, which keeps its number,
    colour and sub-themes; clusters left over are deleted as by :func:`delete`. Other parts become new clusters, under
    the theme of the sentences if it is one theme. Raises :class:`DataError` if ``parts`` lack sentences of the clusters
    ``whole``.
    """
    rows = partition.rows(np.concatenate([np.empty(0, np.int64), *(np.asarray(ids, np.int64) for _, ids in parts)]))
    if not parts or any(not len(ids) for _, ids in parts) or len(np.unique(rows)) < len(rows):
        raise DataError("Sentences are re-clustered into one part or more, each with sentences of its own.")
    for cluster in map(partition.cluster, whole):
        if not np.isin(np.flatnonzero(partition.numbers == cluster.number), rows).all():
            raise DataError(f"The units of “{cluster.name}” have changed since the preview. Preview it again.")
    several = np.isin(partition.numbers[rows], [*combinations(partition)]).sum()
    if several:
        raise DataError(
            f"Splitting gives each unit one code, and {counted(int(several), 'unit')} here "
            f"{'has' if several == 1 else 'have'} several. Choose others, or leave each one code first."
        )
    continued, gone = _continued(partition, [partition.numbers[partition.rows(ids)] for _, ids in parts])
    after = _divided(partition, parts, continued, gone, first)
    texts = [change for number in sorted(gone) for change in codebook.removed(partition, number)]
    found = f"{counted(len(rows), 'unit')} in {counted(len(parts), 'code')}"
    names = ", ".join(partition.cluster(number).name for number in whole)
    change_set = ChangeSet((*difference(partition, after), *texts))
    return Operation(OperationKind.RECLUSTER, f"{names}: {found}" if names else found, change_set, clusterer)


def _divided(
    partition: Partition, parts: Sequence[tuple[str, Ids]], continued: Mapping[int, int], gone: set[int], first: int
) -> Partition:
    """Return the partition after a re-clustering; the parts that continue clusters get their names first."""
    together = np.unique(partition.numbers[partition.rows(np.concatenate([ids for _, ids in parts]))])
    above = {partition.clusters[int(n)].parent for n in together if n != UNASSIGNED} - gone
    parent = above.pop() if len(above) == 1 else None
    clusters = {n: replace(c, parent=None) if c.parent in gone else c for n, c in partition.clusters.items()}
    clusters = {n: c for n, c in clusters.items() if n not in gone}
    kept = {number: clusters.pop(number) for number in continued.values()}
    numbers = partition.numbers.copy()
    for place in sorted(range(len(parts)), key=lambda place: place not in continued):
        name, ids = parts[place]
        known = partition.with_clusters(clusters)
        if place in continued:
            cluster = replace(kept[continued[place]], name=_free(known, name))
        else:
            cluster, first = replace(new_cluster(known, first, name, None), parent=parent), first + 1
        clusters[cluster.number] = cluster
        numbers[partition.rows(ids)] = cluster.number
    return replace(partition, numbers=numbers, clusters=clusters)


def _continued(partition: Partition, parts: Sequence[Ids]) -> tuple[dict[int, int], set[int]]:
    """Return part → the cluster that it continues, and the clusters of which no sentence and no part is left.

    Codes of combinations are neither, because other sentences have them. ``parts`` are the present clusters of the
    sentences of each part. Largest overlaps come first.
    """
    sizes, together = partition.sizes(), np.concatenate(parts)
    kept = {UNASSIGNED, *(code for held in combinations(partition).values() for code in held)}
    whole = [int(n) for n in np.unique(together) if int(n) not in kept and (together == n).sum() == sizes[int(n)]]
    overlaps = [(int((part == n).sum()), place, n) for place, part in enumerate(parts) for n in whole]
    continued: dict[int, int] = {}
    for overlap, place, number in sorted(overlaps, key=lambda one: (-one[0], *one[1:])):
        if overlap and place not in continued and number not in continued.values():
            continued[place] = number
    return continued, {*whole} - {*continued.values()}


def rename(partition: Partition, number: int, name: str) -> Operation:
    """Rename a cluster, and the combinations with it."""
    old = partition.cluster(number)
    new = replace(old, name=_free(partition, name, but=number))
    check_codes(partition, [number], "Rename")
    after = renamed(partition.with_clusters({**partition.clusters, number: new})).clusters
    pairs = ((one, after[n]) for n, one in partition.clusters.items())
    change_set = ChangeSet(tuple(ClusterChange(one, other) for one, other in pairs if one != other))
    return Operation(OperationKind.RENAME, f"{old.name} is now {new.name}", change_set)


def recolour(partition: Partition, number: int, colour: int) -> Operation:
    """Change the colour of a cluster."""
    old = partition.cluster(number)
    new = replace(old, colour=_colour(colour))
    change = None if old == new else ClusterChange(old, new)
    return Operation(OperationKind.RECOLOUR, f"{old.name} in another colour", _change_set(change))


def delete(partition: Partition, number: int) -> Operation:
    """Delete a cluster and its codebook entry; its sub-themes become themes, its sentences keep other codes or none."""
    old = partition.cluster(number)
    check_codes(partition, [number], "Delete")
    rewriting = _rewriting(partition, rewritten(partition, lambda held: held - {number}))
    change = marked(partition, Field.CLUSTER, partition.members(number), UNASSIGNED)
    kept = int(has_code(partition, number).sum()) - (0 if change is None else len(change.ids))
    others = f", {counted(kept, 'unit')} left with other codes" if kept else ""
    summary = f"{old.name} deleted, {_sentences(change)} without a code{others}"
    moved = _moved_up(partition, {number}, None)
    texts = codebook.removed(partition, number)
    change_set = _change_set(*rewriting, change, *moved, ClusterChange(old, None), *texts)
    return Operation(OperationKind.DELETE, summary, change_set)


def _rewriting(partition: Partition, after: Partition) -> ChangeSet:
    """Return the change set to a partition with rewritten combinations, which is the same one if none are."""
    return ChangeSet() if after is partition else difference(partition, after)


def mark(partition: Partition, ids: Ids, uncertain: bool) -> Operation:
    """Mark sentences as uncertain or certain."""
    change = marked(partition, Field.UNCERTAIN, ids, int(uncertain))
    kind = OperationKind.UNCERTAIN if uncertain else OperationKind.CERTAIN
    return Operation(kind, f"{_sentences(change)} marked {kind}", _change_set(change))


def note(partition: Partition, ids: Ids, text: str) -> Operation:
    """Set the note of sentences; an empty note removes it."""
    text = _storable(text).strip()
    if len(text) > NOTE_LIMIT:
        raise DataError(f"A note may have {NOTE_LIMIT:,} characters; this one has {len(text):,}.")
    change = marked(partition, Field.NOTE, ids, text)
    done = "added to" if text else "removed from"
    return Operation(OperationKind.NOTE, f"note {done} {_sentences(change)}", _change_set(change))


def back(now: Partition, then: Partition, summary: str) -> Operation:
    """Restore an earlier state."""
    return Operation(OperationKind.BACK, summary, difference(now, then))


def around(now: Partition, then: Partition, fixed: int, coder: str) -> Operation:
    """Apply the result of re-clustering around ``fixed`` placed sentences by a model."""
    change_set = difference(now, then)
    summary = f"{len(change_set.sentences()):,} units moved around {fixed:,} placed ones"
    return Operation(OperationKind.RECLUSTER, summary, change_set, coder)


def entries(kind: OperationKind, summary: str, changes: Iterable[EntryChange]) -> Operation:
    """Change entries; changes from a value to the same value are left out."""
    return Operation(kind, summary, ChangeSet(tuple(change for change in changes if change.old != change.new)))


def new_cluster(partition: Partition, number: int, name: str, colour: int | None) -> Cluster:
    """Return a new theme; a missing colour is the first of the least used ones."""
    shade = free_colour(partition) if colour is None else _colour(colour)
    return Cluster(number, _free(partition, name), shade)


def _free(partition: Partition, name: str, but: int | None = None) -> str:
    """Return ``name`` trimmed; reject an empty or overlong name, and one that looks like that of another cluster."""
    name = " ".join(clean(_storable(name)).split())
    if len(name) > NAME_LIMIT:
        raise DataError(f"The name of a code may have {NAME_LIMIT} characters; this one has {len(name)}.")
    form = folded_name(name)
    if not form:
        raise DataError("A code needs a name.")
    for cluster in partition.clusters.values():
        if cluster.number != but and folded_name(cluster.name) == form:
            raise DuplicateNameError("code", cluster.name)
    return name


def _storable(text: str) -> str:
    """Return ``text`` with characters that databases cannot store (NUL, lone surrogates) replaced."""
    return "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)


def _colour(place: int) -> int:
    if not 0 <= place < COLOURS:
        raise DataError(f"A colour is an index of the palette, 0 to {COLOURS - 1}, not {place}.")
    return place


def _moved_up(partition: Partition, gone: set[int], parent: int | None, but: int | None = None) -> list[ClusterChange]:
    """Return the changes that give the sub-themes of clusters that will be gone another parent."""
    left = [c for _, c in sorted(partition.clusters.items()) if c.parent in gone and c.number not in {*gone, but}]
    return [ClusterChange(c, replace(c, parent=parent)) for c in left]


def _change_set(*changes: Change | None) -> ChangeSet:
    return ChangeSet(tuple(change for change in changes if change is not None))


def _sentences(change: SentenceChanges | None) -> str:
    return counted(0 if change is None else len(change.ids), "unit")


# Selections: sets of sentences with their origin, and the operations on sets

KINDS = ("lasso", "box", "search", "filter", "cluster", "theme", "section", "article", "list", "moved", "combined")
"""Ways to make a selection."""


@dataclass(frozen=True, slots=True)
class Origin:
    """How a selection was made: its kind, one of :data:`KINDS`, and facts in words, such as "lasso on map Claims"."""

    kind: str
    facts: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"{self.kind!r} is no way to make a selection; these are: {', '.join(KINDS)}.")

    def __str__(self) -> str:
        return " · ".join(self.facts)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON value."""
        return {"kind": self.kind, "facts": list(self.facts)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Origin:
        """Return the origin that :meth:`to_json` described; raise :class:`DataError` for another value."""
        facts = value.get("facts")
        if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
            raise DataError("The origin of a selection is a list of texts.")
        return cls(str(value.get("kind")), tuple(facts))


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """A set of sentences of one corpus. Make it with :func:`selected`."""

    corpus_id: int
    ids: Ids
    """(n,) sentence ids, ascending, each once."""
    origin: Origin

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def digest(self) -> str:
        """Hash of the ids."""
        return digest_of_ids(self.ids)


def selected(corpus_id: int, ids: Iterable[int] | Ids, origin: Origin) -> Selection:
    """Return a selection of sentence ids in any order."""
    given = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
    ordered = np.sort(given)  # np.unique takes ten times as long for a million different ids
    return Selection(corpus_id, ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0], origin)


def digest_of_ids(ids: Ids) -> str:
    """Return a hash of ascending ids."""
    return hashlib.sha256(np.ascontiguousarray(ids, dtype="<i8").tobytes()).hexdigest()[:32]
