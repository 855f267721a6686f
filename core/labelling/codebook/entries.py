"""Codebook entry of a cluster: definition, rules, notes and example sentences.

It is stored as an entry of the labelling (:mod:`themescope.core.labelling.entries`) whose key is the number of the
cluster, so that its changes can be undone, and conflicts between people are found. An entry without any text is not
stored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from themescope.core.errors import DataError
from themescope.core.labelling.changes import EntryChange
from themescope.core.labelling.entries import Entry, EntryKind
from themescope.core.labelling.partition import Cluster, Partition

TEXT_LIMIT, EXAMPLE_LIMIT = 20_000, 50
"""Maximum number of characters of a text, and of sentences of one kind of examples."""
TEXTS: Mapping[str, str] = {
    "definition": "Definition",
    "include": "Inclusion rules",
    "exclude": "Exclusion rules",
    "notes": "Notes",
}
"""Fields that are texts, with their titles."""
SENTENCES: Mapping[str, str] = {"examples": "Examples", "counter_examples": "Counter-examples"}
"""Fields that are sentences, with their titles."""
NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""Characters that XML 1.0 cannot hold (section 2.2)."""
_COUNT = "examples"
"""Key in the data of the number of sentences that are examples; the others are counter-examples."""


@dataclass(frozen=True, slots=True)
class CodebookEntry:
    """Texts and example sentences of one cluster; see :func:`checked` for what a text may contain."""

    definition: str = ""
    include: str = ""
    """Rules for what belongs into the cluster."""
    exclude: str = ""
    """Rules for what does not, although one might think so."""
    notes: str = ""
    examples: tuple[int, ...] = ()
    """Ids of sentences that belong into the cluster."""
    counter_examples: tuple[int, ...] = ()
    """Ids of sentences that do not."""

    def __bool__(self) -> bool:
        return self != CodebookEntry()


def checked(entry: CodebookEntry) -> CodebookEntry:
    """Return an entry with trimmed texts, of characters that XML can hold, and with each sentence once.

    Raises :class:`DataError` for a text of more than :data:`TEXT_LIMIT` characters or too many sentences.
    """
    texts = {name: clean_text(getattr(entry, name)) for name in TEXTS}
    for name, text in texts.items():
        if len(text) > TEXT_LIMIT:
            raise DataError(f"{TEXTS[name]} may have {TEXT_LIMIT:,} characters; these are {len(text):,}.")
    examples = tuple(dict.fromkeys(entry.examples))
    counter = tuple(id for id in dict.fromkeys(entry.counter_examples) if id not in examples)
    if max(len(examples), len(counter)) > EXAMPLE_LIMIT:
        raise DataError(f"A cluster may have {EXAMPLE_LIMIT} examples and as many counter-examples. Remove one first.")
    return CodebookEntry(**texts, examples=examples, counter_examples=counter)


def clean_text(text: str) -> str:
    """Return ``text`` trimmed, with line ends as newlines, and characters that XML cannot hold replaced."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return NOT_IN_XML.sub("\ufffd", lines).strip()


def packed(entry: CodebookEntry) -> Entry | None:
    """Return the entry of the labelling; None for an empty one."""
    if not entry:
        return None
    data: dict[str, Any] = {name: getattr(entry, name) for name in TEXTS if getattr(entry, name)}
    return Entry(data | {_COUNT: len(entry.examples)}, entry.examples + entry.counter_examples)


def unpacked(entry: Entry | None) -> CodebookEntry:
    """Return the codebook entry that :func:`packed` has stored; what is not of its form is left out."""
    if entry is None:
        return CodebookEntry()
    texts = {name: value for name in TEXTS if isinstance(value := entry.data.get(name), str)}
    count = entry.data.get(_COUNT)
    split = count if isinstance(count, int) else len(entry.sentences)
    return CodebookEntry(**texts, examples=entry.sentences[:split], counter_examples=entry.sentences[split:])


def entry_of(partition: Partition, number: int) -> CodebookEntry:
    """Return the codebook entry of a cluster, an empty one if nobody has written it."""
    return unpacked(partition.entries.get((EntryKind.CODE, str(number))))


@dataclass(frozen=True, slots=True)
class Code:
    """A cluster with its codebook entry."""

    cluster: Cluster
    entry: CodebookEntry


def codes(partition: Partition) -> list[Code]:
    """Return every cluster with its codebook entry, each theme followed by its sub-themes, by number."""
    known = partition.clusters
    order = sorted(known, key=lambda n: (n if (above := known[n].parent) is None else above, known[n].parent or -1, n))
    return [Code(known[number], entry_of(partition, number)) for number in order]


def change(partition: Partition, number: int, entry: CodebookEntry) -> EntryChange:
    """Return the change that gives a cluster a codebook entry."""
    key = str(number)
    return EntryChange(EntryKind.CODE, key, partition.entries.get((EntryKind.CODE, key)), packed(checked(entry)))


def removed(partition: Partition, number: int) -> list[EntryChange]:
    """Return the change that removes the codebook entry of a cluster that is deleted; none without an entry."""
    return [made for made in [change(partition, number, CodebookEntry())] if made.old is not None]


def merged(partition: Partition, others: Iterable[Cluster], into: Cluster) -> list[EntryChange]:
    """Return the changes of a merge: the kept cluster gets the texts of the others too, under the names of theirs.

    Texts and examples beyond the limits are left out at the end; undoing the merge restores them.
    """
    joined, gone = entry_of(partition, into.number), []
    for other in others:
        gone += removed(partition, other.number)
        joined = _joined(joined, entry_of(partition, other.number), other.name)
    made = change(partition, into.number, joined)
    return [*gone, made] if made.old != made.new else gone


def _joined(first: CodebookEntry, second: CodebookEntry, name: str) -> CodebookEntry:
    """Return an entry with the texts of both, the second below its name, and the sentences of both."""
    found: dict[str, Any] = {}
    for text in TEXTS:
        own, other = getattr(first, text), getattr(second, text)
        added = f"{name}:\n{other}" if own else other
        found[text] = f"{own}\n\n{added}"[:TEXT_LIMIT] if own and other and own != other else own or other
    for sentences in SENTENCES:
        both = dict.fromkeys(getattr(first, sentences) + getattr(second, sentences))
        found[sentences] = tuple(both)[:EXAMPLE_LIMIT]
    return CodebookEntry(**found)


def with_example(entry: CodebookEntry, ids: Iterable[int], counter: bool = False) -> CodebookEntry:
    """Return the entry with sentences as examples or counter-examples; a sentence is only one of them."""
    added = tuple(ids)
    name, other = ("counter_examples", "examples") if counter else ("examples", "counter_examples")
    kept = tuple(id for id in getattr(entry, other) if id not in added)
    return replace(entry, **{name: getattr(entry, name) + added, other: kept})


def without_examples(entry: CodebookEntry, ids: Collection[int]) -> CodebookEntry:
    """Return the entry without these sentences."""
    kept: dict[str, Any] = {name: tuple(i for i in getattr(entry, name) if i not in ids) for name in SENTENCES}
    return replace(entry, **kept)


def only_examples(entry: CodebookEntry, ids: Collection[int]) -> CodebookEntry:
    """Return the entry with those of its sentences that are among ``ids``."""
    return without_examples(entry, {*entry.examples, *entry.counter_examples}.difference(ids))
