"""Codebook entry of a cluster: definition, rules, notes and example sentences.

It is stored as an entry of the labelling (:mod:`themescope.core.labelling.partition`) whose key is the number of the
cluster, so that its changes can be undone, and conflicts between people are found. An entry without any text is not
stored.

A version of a codebook is an entry with the names, levels and texts of all clusters. It does not change afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from themescope.core.errors import DataError
from themescope.core.labelling.changes import EntryChange
from themescope.core.labelling.markup import (
    NOT_IN_XML,
    Block,
    Explained,
    HeadingBlock,
    ParagraphBlock,
    Together,
    counted,
)
from themescope.core.labelling.partition import COLOURS, Cluster, Entry, EntryKey, EntryKind, Partition, code_clusters

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
    """Return every code with its codebook entry, each theme followed by its sub-themes, by number."""
    known = code_clusters(partition)
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
    kept, gone = entry_of(partition, into.number), []
    joined: dict[str, Any] = {name: getattr(kept, name) for name in (*TEXTS, *SENTENCES)}
    for other in others:
        gone += removed(partition, other.number)
        second = entry_of(partition, other.number)
        for name in TEXTS:
            own, added = joined[name], getattr(second, name)
            both = own and added and own != added
            joined[name] = f"{own}\n\n{other.name}:\n{added}"[:TEXT_LIMIT] if both else own or added
        for name in SENTENCES:
            joined[name] = tuple(dict.fromkeys(joined[name] + getattr(second, name)))[:EXAMPLE_LIMIT]
    made = change(partition, into.number, CodebookEntry(**joined))
    return [*gone, made] if made.old != made.new else gone


def with_example(entry: CodebookEntry, ids: Iterable[int], counter: bool = False) -> CodebookEntry:
    """Return the entry with sentences as examples or counter-examples; a sentence is only one of them."""
    added = tuple(ids)
    name, other = ("counter_examples", "examples") if counter else ("examples", "counter_examples")
    kept = tuple(id for id in getattr(entry, other) if id not in added)
    return replace(entry, **{name: getattr(entry, name) + added, other: kept})


def only_examples(entry: CodebookEntry, ids: Collection[int]) -> CodebookEntry:
    """Return the entry with those of its sentences that are among ``ids``."""
    kept: dict[str, Any] = {name: tuple(id for id in getattr(entry, name) if id in ids) for name in SENTENCES}
    return replace(entry, **kept)


# --- versions ---------------------------------------------------------------------------------------------------------


NAME_LIMIT, VERSION_LIMIT = 120, 200
"""Maximum number of characters of a name, and of versions of a codebook."""
_WORDS = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")
_COMPARED = 3_000
"""Maximum number of words that are compared one by one; longer texts are compared by lines."""


@dataclass(frozen=True, slots=True)
class Version:
    """Named state of a codebook."""

    key: str
    """Key of its entry."""
    number: int
    """Number from 1."""
    name: str
    codes: tuple[Code, ...]


def versions(partition: Partition) -> list[Version]:
    """Return the versions of the codebook of a labelling, the oldest first."""
    kept = (_version(key, entry) for (kind, key), entry in partition.entries.items() if kind is EntryKind.VERSION)
    return sorted(kept, key=lambda version: (version.number, version.key))


KINDS = frozenset({EntryKind.CODE, EntryKind.VERSION, EntryKind.CODES})
"""Kinds of entries that :func:`entries_with` returns."""


def entries_with(partition: Partition, ids: Collection[int]) -> dict[EntryKey, Entry]:
    """Return the entries of the codebook and its versions, with the example sentences that are among ``ids``.

    Those about several codes per sentence are kept, too.
    """
    kept = {key: only_known(key[0], entry, ids) for key, entry in partition.entries.items() if key[0] in KINDS}
    return {key: entry for key, entry in kept.items() if entry is not None}


def only_known(kind: EntryKind, entry: Entry, ids: Collection[int]) -> Entry | None:
    """Return an entry of one of the :data:`KINDS` with the example sentences among ``ids``; None if nothing is left."""
    if kind is EntryKind.CODE:
        return packed(only_examples(unpacked(entry), ids))
    if kind is EntryKind.VERSION:
        version = _version("", entry)
        listed = [Code(code.cluster, only_examples(code.entry, ids)) for code in version.codes]
        return packed_version(version.number, version.name, listed)
    return entry


def packed_version(number: int, name: str, listed: Sequence[Code]) -> Entry:
    """Return the entry of a version: its sentences are those of all codes in turn, its clusters likewise."""
    places: dict[int | None, int] = {code.cluster.number: place for place, code in enumerate(listed)}
    rows: list[dict[str, Any]] = []
    sentences: list[int] = []
    for code in listed:
        entry, cluster = packed(code.entry) or Entry(), code.cluster
        head = {"name": cluster.name, "colour": cluster.colour, "sentences": len(entry.sentences)}
        rows.append({**head, "parent": places.get(cluster.parent), "texts": dict(entry.data)})
        sentences += entry.sentences
    data = {"number": number, "name": name, "codes": rows}
    return Entry(data, tuple(sentences), tuple(code.cluster.number for code in listed))


def _version(key: str, entry: Entry) -> Version:
    """Return the version of an entry; what is not of the form that :func:`packed_version` writes is left out."""
    rows, at, found = entry.data.get("codes"), 0, []
    for number, row in zip(entry.clusters, rows if isinstance(rows, list) else [], strict=False):
        try:
            size, above = int(row["sentences"]), row["parent"]
            parent = None if above is None else entry.clusters[above]
            cluster = Cluster(number, str(row["name"]), int(row["colour"]), parent)
            texts: Mapping[str, Any] = dict(row["texts"])
        except (KeyError, TypeError, ValueError, IndexError):
            break
        found.append(Code(cluster, unpacked(Entry(texts, entry.sentences[at : at + size]))))
        at += size
    place, name = entry.data.get("number"), entry.data.get("name")
    return Version(key, place if isinstance(place, int) else 0, name if isinstance(name, str) else key, tuple(found))


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text that is in both states, only in the old or only in the new one."""

    text: str
    state: str = ""
    """"", "old" or "new"."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs in one code between two states of a codebook."""

    old: Code | None
    """None for a code that was added."""
    new: Code | None
    """None for a code that was removed."""
    texts: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    """Title of each field that differs → its words."""
    added: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Title of each kind of examples → ids of the sentences that are new."""
    gone: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Likewise for those that are no longer there."""

    @property
    def kind(self) -> str:
        """Return "added", "removed", "renamed" or "changed"; "" if nothing differs."""
        if self.old is None or self.new is None:
            return "added" if self.old is None else "removed"
        if self.old.cluster.name != self.new.cluster.name:
            return "renamed"
        moved = self.old.cluster.parent != self.new.cluster.parent
        return "changed" if moved or self.texts or self.added or self.gone else ""


def differences(old: Iterable[Code], new: Iterable[Code]) -> list[Difference]:
    """Return what differs between two states of a codebook, codes matched by number: those of ``new`` first."""
    before, after = ({code.cluster.number: code for code in listed} for listed in (old, new))
    numbers = [*after, *(number for number in before if number not in after)]
    found = []
    for one, other in ((before.get(number), after.get(number)) for number in numbers):
        sides = [code.entry if code else CodebookEntry() for code in (one, other)]
        pairs = [(title, *(getattr(side, name) for side in sides)) for name, title in TEXTS.items()]
        texts = {title: tuple(word_difference(a, b)) for title, a, b in pairs if a != b}
        pairs = [(title, *(getattr(side, name) for side in sides)) for name, title in SENTENCES.items()]
        added = {title: tuple(i for i in b if i not in a) for title, a, b in pairs if not {*b} <= {*a}}
        gone = {title: tuple(i for i in a if i not in b) for title, a, b in pairs if not {*a} <= {*b}}
        found.append(Difference(one, other, texts, added, gone))
    return [one for one in found if one.kind]


def word_difference(old: str, new: str) -> list[Piece]:
    """Return the pieces of two texts, compared word by word; the pieces of each state give its text."""
    split = _WORDS.findall if max(len(old), len(new)) <= _COMPARED * 6 else lambda text: text.splitlines(keepends=True)
    a, b = split(old), split(new)
    pieces: list[Piece] = []
    for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=max(len(a), len(b)) > _COMPARED).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("".join(a[i:j])))
            continue
        pieces += [Piece("".join(a[i:j]), "old")] if j > i else []
        pieces += [Piece("".join(b[k:m]), "new")] if m > k else []
    return pieces


# Codes without ids, as files hold them: example sentences are given by their text and place

_TITLES = {**TEXTS, **SENTENCES}
_HEADED = {f"{title}:": name for name, title in _TITLES.items() if name != "definition"}
_LIKE_HEADING = re.compile(r"\\*(?:" + "|".join(map(re.escape, _HEADED)) + ")")
_ITEM = "- "


@dataclass(frozen=True, slots=True)
class PortableCode:
    """A code as files hold it."""

    name: str
    theme: str = ""
    """Name of its theme, if it is a sub-theme."""
    colour: int | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """Field → text, of :data:`themescope.core.labelling.codebook.entries.TEXTS`; empty ones are left out."""
    examples: tuple[str, ...] = ()
    """Sentences as :func:`reference` writes them, or texts of sentences."""
    counter_examples: tuple[str, ...] = ()
    sentences: int = 0
    """Number of sentences in the cluster."""


def one_line(text: str) -> str:
    """Return ``text`` with single spaces."""
    return " ".join(clean_text(text).split())


def reference(text: str, article: str, number: int) -> str:
    """Return the text of a sentence with its place: its article and its number in it, from 1."""
    return f"{one_line(text)} ({one_line(article)}, sentence {number})"


def text_of(reference: str) -> str:
    """Return the text in a reference; texts without a place stay."""
    head, _, number = reference.rpartition(", sentence ")
    text, place, _ = head.rpartition(" (")
    return text if place and number.endswith(")") and number[:-1].isdecimal() else reference


def portable(listed: Iterable[Code], references: Mapping[int, str], sizes: Mapping[int, int]) -> list[PortableCode]:
    """Return codes with the references of their sentences; ``sizes`` are the numbers of sentences of clusters."""
    listed, found = list(listed), []
    names = {None: ""} | {code.cluster.number: code.cluster.name for code in listed}
    for cluster, entry in ((code.cluster, code.entry) for code in listed):
        texts = {name: text for name in TEXTS if (text := getattr(entry, name))}
        shown = {name: tuple(references[id] for id in getattr(entry, name)) for name in SENTENCES}
        size = sizes.get(cluster.number, 0)
        found.append(PortableCode(cluster.name, names[cluster.parent], cluster.colour, texts, sentences=size, **shown))
    return found


def entry_for(code: PortableCode, found: Callable[[str], int | None]) -> tuple[CodebookEntry, int]:
    """Return the codebook entry of a code, and how many of its sentences ``found`` does not know.

    ``found`` returns the id of a sentence for a reference. What is beyond the limits is cut.
    """
    missing, ids = 0, dict[str, Any]()
    for name in SENTENCES:
        wanted = [found(shown) for shown in getattr(code, name)]
        ids[name] = tuple(dict.fromkeys(id for id in wanted if id is not None))[:EXAMPLE_LIMIT]
        missing += wanted.count(None)
    texts: dict[str, Any] = {name: clean_text(code.texts.get(name, ""))[:TEXT_LIMIT].strip() for name in TEXTS}
    ids["counter_examples"] = tuple(id for id in ids["counter_examples"] if id not in ids["examples"])
    return CodebookEntry(**texts, **ids), missing


def description(code: PortableCode) -> str:
    """Return all fields of a code as one text: the definition, and the other fields below their titles."""
    parts = [_guarded(code.texts.get("definition", ""))]
    for name, title in _TITLES.items():
        if name != "definition":
            listed = "\n".join(_ITEM + one_line(item) for item in getattr(code, name, ()))
            body = _guarded(code.texts.get(name, "")) if name in TEXTS else listed
            parts += [f"{title}:\n{body}"] if body else []
    return "\n\n".join(part for part in parts if part)


def described(code: PortableCode, text: str) -> PortableCode:
    """Return the code with the fields that :func:`description` wrote; any other text is its definition."""
    parts: dict[str, list[str]] = {"definition": []}
    lines = parts["definition"]
    for line in clean_text(text).split("\n"):
        name = _HEADED.get(line)
        if name is None:
            lines.append(line[1:] if line.startswith("\\") and _LIKE_HEADING.fullmatch(line) else line)
        else:
            lines = parts.setdefault(name, [])
    texts = {name: found for name in TEXTS if (found := "\n".join(parts.get(name, ())).strip())}
    listed = ([line.removeprefix(_ITEM) for line in parts.get(name, ()) if line.strip()] for name in SENTENCES)
    examples, counter_examples = map(tuple, listed)
    return replace(code, texts=texts, examples=examples, counter_examples=counter_examples)


def _guarded(text: str) -> str:
    lines = text.split("\n")
    return "\n".join("\\" + line if _LIKE_HEADING.fullmatch(line) else line for line in lines)


# Nine hues of Paul Tol's schemes (SRON/EPS/TN/09-002), in four shades: one colour for each place of the palette.
_HUES = (0x1B7F79, 0xC2542D, 0x4A5FB0, 0xA8891B, 0x8A2F6B, 0x3F8F3F, 0x2F89C5, 0xC0587E, 0x6B6B2A)


def hex_colour(place: int) -> str:
    """Return the colour of a place of the palette as ``#rrggbb``; places with the same hue differ in lightness."""
    hue, white = _HUES[place % len(_HUES)], 0.18 * (place // len(_HUES))
    parts = (hue >> shift & 255 for shift in (16, 8, 0))
    return "#" + "".join(f"{round(part + (255 - part) * white):02x}" for part in parts)


def nearest_colour(shown: str) -> int | None:
    """Return the place of the palette that is nearest to a colour such as ``#1b7f79`` or ``#fff``; None for none."""
    digits = shown.strip().removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    if not re.fullmatch("[0-9A-Fa-f]{6}", digits):
        return None

    def apart(place: int) -> int:
        other = hex_colour(place)[1:]
        return sum((int(digits[at : at + 2], 16) - int(other[at : at + 2], 16)) ** 2 for at in (0, 2, 4))

    return min(range(COLOURS), key=apart)


# --- documents --------------------------------------------------------------------------------------------------------


FORMAT, FORMAT_VERSION = "themescope codebook", 1
HEADER = ("code", "theme", *TEXTS, *SENTENCES, "sentences")
"""Columns of the table. Each line of a cell of examples is one sentence."""
PRINTED = """
body { font: 11pt/1.45 Georgia, "Times New Roman", serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1f2a33; }
h1, h2, h3, dt { font-family: system-ui, sans-serif; line-height: 1.25; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; border-top: 1px solid #b9bcc0; padding-top: 1rem; } h3 { font-size: 1.08rem; }
.note { font-weight: normal; color: #55606a; font-size: .9em; }
dl { margin: 0; } dt { font-size: .85rem; font-weight: 600; margin-top: .7rem; } dd { margin: .15rem 0 0; white-space: pre-wrap; }
ul { margin: .2rem 0; padding-left: 1.2rem; } section { break-inside: avoid-page; }
@media print { body { margin: 0; max-width: none; } h2, h3, dt { break-after: avoid; } @page { margin: 2cm; } }
"""  # noqa: E501
"""Style of the page for printing."""


def blocks(title: str, about: str, codes: Sequence[PortableCode]) -> list[Block]:
    """Return a codebook for people to read; ``about`` is the line below its title."""
    found: list[Block] = [HeadingBlock(1, title), *([ParagraphBlock(about)] if about else [])]
    for code in codes:
        entry: list[Block] = [Explained(shown, text) for name, shown in TEXTS.items() if (text := code.texts.get(name))]
        entry += [Explained(shown, items) for name, shown in SENTENCES.items() if (items := getattr(code, name))]
        heading = HeadingBlock(3 if code.theme else 2, code.name, counted(code.sentences, "sentence"))
        found.append(Together([heading, *(entry or [ParagraphBlock("No codebook entry yet.")])]))
    return found


def json_text(title: str, codes: Iterable[PortableCode]) -> str:
    """Return a codebook as JSON, which :func:`from_json` reads."""
    listed = [
        {"name": c.name, "theme": c.theme, "colour": c.colour, **c.texts}
        | {name: list(getattr(c, name)) for name in SENTENCES}
        | {"sentences": c.sentences}
        for c in codes
    ]
    document = {"format": FORMAT, "version": FORMAT_VERSION, "name": title, "codes": listed}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> list[PortableCode]:
    """Return the codes of a JSON codebook; raise :class:`DataError` for another file."""
    try:
        document = json.loads(text)
        if document["format"] != FORMAT or document["version"] != FORMAT_VERSION:
            raise ValueError(document)
        return [_code(row) for row in document["codes"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError("This is not a codebook in JSON as Themescope writes it. Export it again.") from None


def _code(row: dict[str, Any]) -> PortableCode:
    texts = {name: string(row[name]) for name in TEXTS if row.get(name)}
    examples, counter = (tuple(map(string, row.get(name, ()))) for name in SENTENCES)
    colour = row.get("colour")
    if not isinstance(colour, int | None):
        raise TypeError(row)
    return PortableCode(string(row["name"]), string(row.get("theme", "")), colour, texts, examples, counter)


def string(value: Any) -> str:
    """Return ``value`` if it is a string; raise ``TypeError`` otherwise."""
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def rows(codes: Iterable[PortableCode]) -> list[tuple[Any, ...]]:
    """Return the rows of the table, see :data:`HEADER`."""

    def row(code: PortableCode) -> tuple[Any, ...]:
        texts = (code.texts.get(name, "") for name in TEXTS)
        return code.name, code.theme, *texts, *("\n".join(getattr(code, name)) for name in SENTENCES), code.sentences

    return [row(code) for code in codes]


_ALIASES = {
    "tag": "code",
    "code name": "code",
    "codename": "code",
    "parent code": "theme",
    "parent": "theme",
    "code memo": "definition",
    "memo": "definition",
    "description": "definition",
}
"""Columns of the lists of codes of MAXQDA, Taguette and QualCoder, in small letters → ours."""


def from_lines(lines: Iterable[str]) -> list[PortableCode]:
    """Return the codes of a list of QualCoder: one in each line, "theme>>code", and its memo after a tab."""
    found = []
    for line in lines:
        path, _, memo = line.partition("\t")
        theme, _, name = path.rpartition(">>")
        if name.strip():
            texts = {"definition": memo.strip()} if memo.strip() else {}
            found.append(PortableCode(name.strip(), theme.replace(">>", " / ").strip(), texts=texts))
    listed = {code.name for code in found if not code.theme}
    missing = dict.fromkeys(code.theme for code in found if code.theme and code.theme not in listed)
    return [*map(PortableCode, missing), *found]


def from_rows(header: Sequence[str], cells: Iterable[Sequence[str]]) -> list[PortableCode]:
    """Return the codes of a table; raise :class:`DataError` without a column ``code`` or one that others call so."""
    if HEADER[0] not in header:
        header = [_ALIASES.get(name.strip().lower(), name.strip().lower()) for name in header]
    if HEADER[0] not in header:
        raise DataError(f"A table of codes needs a column “{HEADER[0]}”. It may have: {', '.join(HEADER[1:-1])}.")
    found = []
    for row in (dict(zip(header, values, strict=False)) for values in cells):
        if name := row.get(HEADER[0], "").strip():
            texts = {text: row[text] for text in TEXTS if row.get(text)}
            examples, counter = (tuple(filter(None, row.get(kind, "").split("\n"))) for kind in SENTENCES)
            found.append(PortableCode(name, row.get("theme", "").strip(), None, texts, examples, counter))
    return found
