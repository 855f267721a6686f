"""Operations on the codebook and on the training items of a labelling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from themescope.core.errors import DataError
from themescope.core.labelling.changes import Change, ChangeSet, ClusterChange, EntryChange
from themescope.core.labelling.codebook.entries import NAME_LIMIT as VERSION_NAME_LIMIT
from themescope.core.labelling.codebook.entries import (
    VERSION_LIMIT,
    CodebookEntry,
    PortableCode,
    Version,
    change,
    clean_text,
    codes,
    entry_for,
    entry_of,
    one_line,
    packed_version,
    versions,
    with_example,
)
from themescope.core.labelling.operations import Operation, OperationKind, entries
from themescope.core.labelling.partition import (
    COLOURS,
    NAME_LIMIT,
    UNASSIGNED,
    Cluster,
    Entry,
    EntryKind,
    Partition,
    check_codes,
    code_clusters,
    free_colour,
    has_code,
)
from themescope.core.labelling.task_items import EXPLANATION_LIMIT, ITEM_LIMIT, TrainingItem, training_items
from themescope.core.text.cleaning import clean, folded_name
from themescope.core.types import Ids

MOST_CODES = 2_000
"""Maximum number of codes of a file."""


def write(partition: Partition, number: int, entry: CodebookEntry) -> Operation:
    """Replace the codebook entry of a cluster; an empty one removes it."""
    name = partition.cluster(number).name
    return entries(OperationKind.CODEBOOK, f"codebook entry of {name}", [change(partition, number, entry)])


def add_examples(partition: Partition, number: int, ids: Iterable[int], counter: bool = False) -> Operation:
    """Make sentences examples of a cluster, or counter-examples."""
    name, added = partition.cluster(number).name, tuple(ids)
    made = change(partition, number, with_example(entry_of(partition, number), added, counter))
    count = f"{len(added)} {'counter-' if counter else ''}example{'' if len(added) == 1 else 's'}"
    return entries(OperationKind.CODEBOOK, f"{count} of {name}", [made])


def add_own_examples(partition: Partition, ids: Ids) -> Operation:
    """Make sentences examples of their codes, without unassigned ones; raise :class:`DataError` if all are so."""
    some = partition.only(ids)
    own = {n: held for n in sorted(code_clusters(some)) if (held := some.ids[has_code(some, n)].tolist())}
    if not own:
        raise DataError("An example needs a cluster. Assign the sentence first.")
    made = [change(partition, n, with_example(entry_of(partition, n), listed)) for n, listed in own.items()]
    count = len({id for held in own.values() for id in held})
    names = ", ".join(partition.clusters[number].name for number in own)
    return entries(OperationKind.CODEBOOK, f"{count} example{'' if count == 1 else 's'} of {names}", made)


def record_version(partition: Partition, key: str, name: str) -> Operation:
    """Record the present codebook as a version; ``key`` is a new one.

    Raises :class:`DataError` for a name that is empty, overlong or taken, without clusters, or for too many versions.
    """
    known, name = versions(partition), one_line(name)
    if not name or len(name) > VERSION_NAME_LIMIT:
        raise DataError(f"A version needs a name of at most {VERSION_NAME_LIMIT} characters.")
    if any(version.name == name for version in known):
        raise DataError(f"There is a version “{name}” already. Choose another name.")
    if not partition.clusters:
        raise DataError("There are no clusters yet, so there is nothing to record.")
    if len(known) >= VERSION_LIMIT:
        raise DataError(f"A codebook may have {VERSION_LIMIT} versions.")
    number = max((version.number for version in known), default=0) + 1
    made = EntryChange(EntryKind.VERSION, key, None, packed_version(number, name, codes(partition)))
    return entries(OperationKind.VERSION, f"version “{name}” of the codebook", [made])


def restore_version(partition: Partition, version: Version) -> Operation:
    """Give the clusters their codebook entries of a version.

    Clusters that the version does not have keep their texts, and those that were deleted since are left out.
    """
    there = (code for code in version.codes if code.cluster.number in partition.clusters)
    made = [change(partition, code.cluster.number, code.entry) for code in there]
    return entries(OperationKind.CODEBOOK, f"codebook back to version “{version.name}”", made)


def choose_training(partition: Partition, keys: Iterable[str], ids: Sequence[int], explanation: str = "") -> Operation:
    """Make assigned sentences training items of their present clusters.

    ``keys`` are new keys, one for each sentence that is not an item yet; an item keeps its key. Raises
    :class:`DataError` if a sentence is unassigned or has several codes, the explanation is too long, or there are too
    many items.
    """
    known, fresh = {item.sentence: item for item in training_items(partition)}, iter(keys)
    text, found = _explanation(explanation), []
    for id in dict.fromkeys(ids):
        number = int(partition.numbers[partition.rows([id])[0]])
        if number == UNASSIGNED:
            raise DataError("A gold item needs a cluster. Assign the sentence first.")
        check_codes(partition, [number], "Choose gold items that have")
        key = known[id].key if id in known else next(fresh)
        found.append(_item_change(partition, TrainingItem(key, id, number, text)))
    if len(known) + sum(made.old is None for made in found) > ITEM_LIMIT:
        raise DataError(f"A coding may have {ITEM_LIMIT} gold items.")
    made = [change for change in found if change.old != change.new]
    noun = "gold item" if len(made) == 1 else "gold items"
    return entries(OperationKind.TRAINING, f"{len(made)} {noun}", made)


def explain_training(partition: Partition, item: TrainingItem, explanation: str) -> Operation:
    """Change the explanation of a training item; raise :class:`DataError` if it is too long."""
    made = _item_change(partition, replace(item, explanation=_explanation(explanation)))
    return entries(OperationKind.TRAINING, "explanation of a gold item", [made])


def drop_training(partition: Partition, item: TrainingItem) -> Operation:
    """Make a sentence no training item."""
    made = replace(_item_change(partition, item), new=None)
    return entries(OperationKind.TRAINING, "gold item removed", [made])


def _explanation(text: str) -> str:
    text = clean_text(text)
    if len(text) > EXPLANATION_LIMIT:
        raise DataError(f"An explanation may have {EXPLANATION_LIMIT:,} characters; this one has {len(text):,}.")
    return text


def _item_change(partition: Partition, item: TrainingItem) -> EntryChange:
    old = partition.entries.get((EntryKind.TRAINING, item.key))
    new = Entry({"explanation": item.explanation}, (item.sentence,), (item.cluster,))
    return EntryChange(EntryKind.TRAINING, item.key, old, new)


@dataclass(frozen=True, slots=True)
class Adoption:
    """Codes of a file as an operation, with what changes."""

    operation: Operation
    created: int
    """Number of new clusters."""
    changed: int
    """Number of clusters with another entry."""
    missing: int
    """Number of example sentences that the labelling does not have."""
    numbers: Mapping[int, int]
    """Index of a code in the file → number of its cluster."""


def adopt(
    partition: Partition, codes: Sequence[PortableCode], found: Callable[[str], int | None], first_number: int
) -> Adoption:
    """Take over the codes of a file: entries of clusters with the same name are replaced, other codes are created.

    ``found`` returns the id of a sentence for a reference. Clusters that the file does not have stay as they are.
    Raises :class:`DataError` for a file without codes, or with too many.
    """
    created, known = _clusters(partition, codes, first_number)
    made: list[Change] = [ClusterChange(None, cluster) for cluster in created]
    changed = missing = 0
    for place, number in known.items():
        entry, lost = entry_for(codes[place], found)
        one = change(partition, number, entry)
        missing += lost
        if one.old != one.new:
            made.append(one)
            changed += 1
    summary = f"codebook of {len(known):,} codes imported"
    operation = Operation(OperationKind.CODEBOOK, summary, ChangeSet(tuple(made)))
    return Adoption(operation, len(created), changed, missing, known)


def _clusters(partition: Partition, codes: Sequence[PortableCode], first: int) -> tuple[list[Cluster], dict[int, int]]:
    """Return the clusters that are new, and the index of each code → the number of its cluster, themes first."""
    if not codes or len(codes) > MOST_CODES:
        raise DataError(f"A codebook needs 1 to {MOST_CODES:,} codes; this file has {len(codes):,}.")
    clusters = dict(partition.clusters)
    by_name = {folded_name(cluster.name): number for number, cluster in clusters.items()}
    known: dict[int, int] = {}
    for place, name in sorted(enumerate(_names(codes)), key=lambda pair: bool(codes[pair[0]].theme)):
        code, form = codes[place], folded_name(name)
        if form not in by_name:
            now = replace(partition, clusters=clusters)
            above = clusters.get(by_name.get(folded_name(code_name(code.theme)), -1)) if code.theme else None
            parent = None if above is None else above.number if above.parent is None else above.parent
            colour = free_colour(now) if code.colour not in range(COLOURS) else int(code.colour or 0)
            cluster = Cluster(first + len(clusters) - len(partition.clusters), name, colour, parent)
            clusters[cluster.number], by_name[form] = cluster, cluster.number
        known[place] = by_name[form]
    return [cluster for number, cluster in clusters.items() if number not in partition.clusters], known


def _names(codes: Iterable[PortableCode]) -> Iterator[str]:
    """Yield the name of the cluster of each code; names that are repeated, or look the same, are numbered."""
    taken: set[str] = set()
    for code in codes:
        name, base, number = code_name(code.name), code_name(code.name), 1
        while folded_name(name) in taken:
            number += 1
            name = f"{base[: NAME_LIMIT - 8]} ({number})"
        taken.add(folded_name(name))
        yield name


def code_name(name: str) -> str:
    """Return the name of a cluster for a name in a file."""
    return clean(one_line(name))[:NAME_LIMIT].strip() or "Code"
