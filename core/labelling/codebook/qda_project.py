"""Projects of the REFI-QDA standard 1.5 (``.qdpx``): articles with coded sentences, codes and notes.

The file is a zip archive with ``project.qde`` (XML) and ``sources/`` (texts in UTF-8). A note of a sentence is a note
of its selection; sentences marked as uncertain refer to one note with a fixed id.

Positions count Unicode code points from 0, and the end is that of the position after the last one, as in the examples
of the standard (section 10.2 and annex A).
"""

from __future__ import annotations

import re
import shutil
import tempfile
import uuid
import zipfile
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise, product
from typing import IO, Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from themescope.core.errors import ReadError, optional_module
from themescope.core.labelling.codebook.entries import (
    PortableCode,
    described,
    description,
    hex_colour,
    nearest_colour,
    one_line,
)
from themescope.core.labelling.markup import NOT_IN_XML
from themescope.core.labelling.provenance import Maker, Source
from themescope.core.text.cleaning import comparable
from themescope.core.types import Index, ReadAccount, Sentence

# XML of the REFI-QDA standard 1.5 (www.qdasoftware.org): writing of elements, and reading without entities

CODEBOOK, PROJECT = "urn:QDA-XML:codebook:1.0", "urn:QDA-XML:project:1.0"
ORIGIN = "Themescope"
DEPTH_LIMIT, CODE_LIMIT = 50, 5_000
"""Maximum number of elements around each other, and of codes of a file."""
REDO = "Export it again from the program that made it."
_SPACE = uuid.UUID("6f1c7d1e-6d0b-5d8e-9f53-6a4f1f0a7c11")


def guid(*parts: object) -> str:
    """Return the id of an object: the same parts give the same id (UUID version 5)."""
    return str(uuid.uuid5(_SPACE, "\x1f".join(str(part) for part in parts)))


def element(name: str, attributes: Mapping[str, str | None], *content: str) -> str:
    """Return an element with escaped attributes, those of None left out; ``content`` is XML."""
    given = {key: clean(value) for key, value in attributes.items() if value is not None}
    marks = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
    shown = "".join(f" {key}={quoteattr(value, marks)}" for key, value in given.items())
    inner = "".join(content)
    return f"<{name}{shown}>{inner}</{name}>" if inner else f"<{name}{shown}/>"


def text_of(name: str, content: str) -> str:
    """Return an element with a text; nothing without one."""
    return element(name, {}, escape(clean(content), {"\r": "&#13;"})) if content else ""


def clean(content: str) -> str:
    """Return a text with characters that XML cannot hold replaced; line ends stay."""
    return NOT_IN_XML.sub("\ufffd", content)


def code_element(code: PortableCode, below: Iterable[PortableCode], seed: str, notes: Mapping[str, str] | None) -> str:
    """Return the element of a code with its sub-themes, in which every code has its ids from ``seed`` and its name.

    ``notes`` are the ids of notes by the name of the code, in projects, where notes are no part of the description.
    """
    shown = code if notes is None else replace(code, texts={k: v for k, v in code.texts.items() if k != "notes"})
    attributes = {"guid": guid(seed, "code", code.name), "name": code.name, "isCodable": "true"}
    colour = None if code.colour is None else hex_colour(code.colour)
    reference = (notes or {}).get(code.name)
    return element(
        "Code",
        attributes | {"color": colour},
        text_of("Description", description(shown)),
        element("NoteRef", {"targetGUID": reference}) if reference else "",
        *(code_element(child, (), seed, notes) for child in below),
    )


def codes_element(codes: Iterable[PortableCode], seed: str, notes: Mapping[str, str] | None = None) -> str:
    """Return the element of all codes, sub-themes within their themes."""
    below: dict[str, list[PortableCode]] = {"": []}
    for code in codes:
        below.setdefault(code.theme, []).append(code)
    return element("Codes", {}, *(code_element(code, below.get(code.name, ()), seed, notes) for code in below[""]))


def codebook(codes: Iterable[PortableCode], seed: str) -> bytes:
    """Return a codebook file (``.qdc``); ``codes`` are at least one."""
    body = element("CodeBook", {"xmlns": CODEBOOK, "origin": ORIGIN}, codes_element(codes, seed))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'.encode()


# --- reading ----------------------------------------------------------------------------------------------------------


def events(stream: IO[bytes], name: str) -> Iterator[tuple[str, str, Any]]:
    """Yield (event, local name, element) for the start and the end of each element.

    Raises :class:`ReadError` for XML that is damaged, too deep, or has a document type or entities.
    """
    from xml.etree.ElementTree import ParseError

    defused = optional_module("defusedxml", "Reading REFI-QDA files", "defusedxml", "app")
    from defusedxml.ElementTree import iterparse  # type: ignore[import-untyped]

    depth = 0
    try:
        for event, found in iterparse(stream, ("start", "end"), forbid_dtd=True):
            depth += 1 if event == "start" else -1
            if depth > DEPTH_LIMIT:
                raise ReadError(name, f"it has more than {DEPTH_LIMIT} elements around each other.", "", REDO)
            yield event, local_name(found.tag), found
    except defused.DefusedXmlException:
        problem = "it has a document type or entities, which Themescope does not read."
        raise ReadError(name, problem, "", REDO) from None
    except (ParseError, UnicodeError, LookupError, ValueError) as error:
        raise ReadError(name, f"this is not well-formed XML ({error}).", "", REDO) from None


def local_name(tag: str) -> str:
    """Return the name of an element without its namespace."""
    return tag.rpartition("}")[2]


class CodeReader:
    """Codes of the file ``name`` in their order, with their ids."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.codes: list[PortableCode] = []
        self.guids: list[str] = []
        self.notes: list[list[str]] = []
        """Ids of the notes of each code."""

    def add(self, found: Any, theme: str = "", path: tuple[str, ...] = ()) -> None:
        """Add the element of a code with the codes in it; those below the second level get the names above them.

        Raises :class:`ReadError` for more than :data:`CODE_LIMIT` codes.
        """
        if len(self.codes) == CODE_LIMIT:
            raise ReadError(self._name, f"it has more than {CODE_LIMIT:,} codes.", "", "Export a part of it.")
        name = " / ".join([*path[1:], found.get("name") or "Code"])
        parts = [(local_name(child.tag), child) for child in found]
        written = next((child.text or "" for kind, child in parts if kind == "Description"), "")
        colour = nearest_colour(found.get("color") or "")
        self.codes.append(described(PortableCode(name, theme, colour), written))
        self.guids.append(same(found.get("guid")))
        self.notes.append([same(child.get("targetGUID")) for kind, child in parts if kind == "NoteRef"])
        for kind, child in parts:
            if kind == "Code":
                self.add(child, theme or name, (*path, found.get("name") or "Code"))


def same(found: str | None) -> str:
    """Return an id in the form in which ids are compared: without braces, in small letters."""
    return (found or "").strip().strip("{}").lower()


def read_codebook(stream: IO[bytes], name: str, account: ReadAccount | None = None) -> list[PortableCode]:
    """Return the codes of a codebook file (``.qdc``); its sets are left out and counted.

    Raises :class:`ReadError` for another file, one without codes, or one with too many.
    """
    reader, root, level = CodeReader(name), "", 0
    for event, kind, found in events(stream, name):
        root = root or kind
        if root != "CodeBook":
            raise ReadError(name, f"this is XML with the element {root[:40]!r}, not a codebook.", "", REDO)
        if kind == "Set" and event == "end" and account is not None:
            account.skip("set of codes", found.get("name") or "")
        level += (event == "start") - (event == "end") if kind == "Code" else 0
        if kind == "Code" and event == "end" and level == 0:
            reader.add(found)
            found.clear()
    if not reader.codes:
        raise ReadError(name, "it has no codes.", "", REDO)
    return reader.codes


QDE, SOURCES = "project.qde", "sources/"
_IN_MEMORY = 10_000_000
_NAME_LENGTH = 80
UNCERTAIN = "e2f5d7f4-3a53-4c0e-8a0e-9f5e1b6f2d01"
"""Id of the note to which uncertain sentences refer."""
HEADINGS = "Sections:"
"""First line of the description of a text; the others are the titles of its sections."""
PROBABILITY = "Probability: "
"""Beginning of the description of a selection that a machine coded with a probability."""
PROJECT_ORIGIN = f"{ORIGIN} 0.3"
"""Origin of projects whose users tell people from machines. Version 0.2 wrote a person for the codings of a machine."""
_SOMEBODY = Maker(Source.HUMAN)
_TIME = (1980, 1, 1, 0, 0, 0)
_UNDATED = "1980-01-01T00:00:00Z"
"""Time of notes of which none is known: QualCoder reads no project without."""


@dataclass(frozen=True, slots=True)
class QdaSpan:
    """Part of a text, from ``start`` to before ``end``, with its codes and notes."""

    start: int
    end: int
    codes: tuple[str, ...] = ()
    """Names of codes."""
    note: str = ""
    uncertain: bool = False
    maker: Maker = _SOMEBODY
    """Who made the codings."""
    probability: float | None = None
    when: datetime | None = None
    others: Mapping[str, Maker] = field(default_factory=dict)
    """Code → who gave it, for the codes that somebody else gave."""


@dataclass(frozen=True, slots=True)
class TextSource:
    """Text with its selections."""

    name: str
    text: str
    selections: Sequence[QdaSpan] = ()
    headings: tuple[str, ...] = ()
    """Titles of its sections in their order, each of which is a paragraph of the text."""
    codes: tuple[str, ...] = ()
    """Codes of the text as a whole."""


@dataclass(frozen=True, slots=True)
class ProjectHead:
    """What a project has besides its sources."""

    name: str
    codes: Sequence[PortableCode]
    makers: Sequence[Maker] = ()
    """The users of the project. One that is no person has its source as the id, which the standard has beside the name.
    """
    seed: str = ""
    """Text from which the ids follow, so that a second export has the same ids."""


def write_project(out: IO[bytes], head: ProjectHead, sources: Iterable[TextSource]) -> None:
    """Write a project; the sources are taken one by one."""
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive,
        tempfile.SpooledTemporaryFile(_IN_MEMORY) as qde,
    ):
        for piece in _Writer(archive, head).pieces(sources):
            qde.write(piece.encode("utf-8"))
        qde.seek(0)
        with archive.open(_entry(QDE), "w", force_zip64=True) as stream:
            shutil.copyfileobj(qde, stream)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
    return entry


def _source_id(maker: Maker) -> str | None:
    return None if maker.source is Source.HUMAN else maker.source.value


class _Writer:
    """Writer of the XML of one project, and of its texts into the archive."""

    def __init__(self, archive: zipfile.ZipFile, head: ProjectHead) -> None:
        self._archive, self._head = archive, head
        self._notes: list[str] = []
        # The ids of people are those that version 0.2 wrote.
        self._users = {one: self._guid("user", *filter(None, [_source_id(one)]), one.coder) for one in head.makers}

    def _guid(self, *parts: object) -> str:
        return guid(self._head.seed, *parts)

    def pieces(self, sources: Iterable[TextSource]) -> Iterator[str]:
        """Yield the XML in pieces, in the order of the schema."""
        head = self._head
        yield '<?xml version="1.0" encoding="utf-8"?>\n'
        yield element("Project", {"xmlns": PROJECT, "name": head.name, "origin": PROJECT_ORIGIN})[:-2] + ">\n"
        if self._users:
            named = ((guid, maker.coder or "me", _source_id(maker)) for maker, guid in self._users.items())
            users = (element("User", {"guid": guid, "name": name, "id": id}) for guid, name, id in named)
            yield element("Users", {}, *users)
        if head.codes:
            written = {code.name: code.texts["notes"] for code in head.codes if code.texts.get("notes")}
            notes = {name: self._note(text, f"Notes on {name}", "code", name) for name, text in written.items()}
            yield element("CodeBook", {}, codes_element(head.codes, head.seed, notes))
        yield from self._enclosed("Sources", (self._source(at, source) for at, source in enumerate(sources)))
        yield from self._enclosed("Notes", self._notes)
        yield "</Project>\n"

    @staticmethod
    def _enclosed(name: str, pieces: Iterable[str]) -> Iterator[str]:
        """Yield an element around pieces, nothing without any: the schema has no empty lists."""
        opened = False
        for piece in pieces:
            yield piece + "\n" if opened else f"<{name}>\n{piece}\n"
            opened = True
        if opened:
            yield f"</{name}>\n"

    def _note(self, text: str, name: str, *key: object, by: Mapping[str, str | None] = {}) -> str:
        id = self._guid("note", *key)
        about = {"guid": id, "name": clean(name), **by, "creationDateTime": by.get("creationDateTime") or _UNDATED}
        if clean(text) == text:
            self._notes.append(element("Note", about, text_of("PlainTextContent", text)))
        else:
            self._notes.append(element("Note", about | {"plainTextPath": self._file(id, text)}))
        return id

    def _file(self, id: str, text: str) -> str:
        self._archive.writestr(_entry(f"{SOURCES}{id}.txt"), text.encode("utf-8"))
        return f"internal://{id}.txt"

    def _source(self, at: int, source: TextSource) -> str:
        id = self._guid("source", at, source.name)
        path = self._file(id, source.text)
        parts = [text_of("Description", "\n".join([HEADINGS, *source.headings]) if source.headings else "")]
        parts += [self._selection(id, source.text, one) for one in source.selections]
        return element("TextSource", {"guid": id, "name": source.name, "plainTextPath": path}, *parts)

    def _selection(self, source: str, text: str, one: QdaSpan) -> str:
        id = self._guid("selection", source, one.start, one.end)
        # An unlabelled time would be that of another zone elsewhere.
        when = None if one.when is None else one.when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        about = {"creatingUser": self._users.get(one.maker), "creationDateTime": when}
        by = {code: {**about, "creatingUser": self._users.get(maker)} for code, maker in one.others.items()}
        place = {"startPosition": str(one.start), "endPosition": str(one.end)}
        name = one_line(text[one.start : one.end])[:_NAME_LENGTH]
        codings = [
            element(
                "Coding",
                {"guid": self._guid("coding", id, code), **by.get(code, about)},
                element("CodeRef", {"targetGUID": self._guid("code", code)}),
            )
            for code in one.codes
        ]
        notes = [self._note(one.note, name, id, by=about)] if one.note else []
        if one.uncertain:
            notes.append(UNCERTAIN)
            shared = {"guid": UNCERTAIN, "name": "Uncertain", "creationDateTime": _UNDATED}
            text = text_of("PlainTextContent", "The labeller marked these sentences as uncertain.")
            note = element("Note", shared, text)
            if note not in self._notes[:1]:
                self._notes.insert(0, note)
        references = [element("NoteRef", {"targetGUID": note}) for note in notes]
        sure = "" if one.probability is None else f"{PROBABILITY}{one.probability!r}"
        # Other programs show what stands here, as the comment of a coding.
        inner = [text_of("Description", sure or one.note.removeprefix(PROBABILITY)), *codings, *references]
        return element("PlainTextSelection", {"guid": id, "name": name, **place, **about}, *inner)


# --- sources ----------------------------------------------------------------------------------------------------------


Span = tuple[int, int]
_LEAST_FOUND = 0.5
"""Least share of the sentences of an article that a text must contain to be taken for it."""
_FAR = 500
"""Number of characters between two sentences from which a sentence is doubted."""
_JUDGED = 2_000
"""Number of lines from which wrapping is judged."""


def layout(titles: Mapping[int, str], sentences: Sequence[Sentence]) -> tuple[str, list[Span]]:
    """Return the text of an article and the span of each sentence; ``titles`` are those of its sections.

    Sections and paragraphs are separated by an empty line, sentences by a space.
    """
    parts: list[str] = []
    spans: list[Span] = []
    at, last = 0, None
    for sentence in sentences:
        place = sentence.section, sentence.paragraph
        between = "" if last is None else " " if place == last else "\n\n"
        if last is None or place[0] != last[0]:
            title = titles.get(sentence.section, "").strip()
            between += f"{title}\n\n" if title else ""
        parts += [between, sentence.text]
        start = at + len(between)
        at, last = start + len(sentence.text), place
        spans.append((start, at))
    return "".join(parts), spans


def headings(titles: Mapping[int, str], sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """Return the titles that :func:`layout` writes, in their order, each in one line."""
    shown = dict.fromkeys(sentence.section for sentence in sentences)
    return tuple(one_line(title) for section in shown if (title := titles.get(section, "").strip()))


def sections(text: str, titles: Sequence[str], own: bool = True) -> list[tuple[str, list[str]]]:
    """Return the title and the paragraphs of each section of a text; paragraphs are separated by an empty line.

    ``titles`` are those of :func:`headings`; the section before the first has no title. In a text that is not our
    ``own``, every line is a paragraph, unless its lines were wrapped.
    """
    found: list[tuple[str, list[str]]] = [("", [])]
    waiting = list(titles)
    lines = not own and not _wrapped(text.splitlines()[:_JUDGED])
    for paragraph in text.splitlines() if lines else re.split(r"\n\s*\n", text):
        if waiting and one_line(paragraph) == waiting[0]:
            found.append((waiting.pop(0), []))
        elif paragraph.strip():
            found[-1][1].append(one_line(paragraph))
    return [(title, paragraphs) for title, paragraphs in found if title or paragraphs]


def _wrapped(lines: Sequence[str]) -> bool:
    """Return whether lines were wrapped: in most, the first word of the next one had no more place."""
    stripped = [line.strip() for line in lines]
    pairs = [(one, two) for one, two in pairwise(stripped) if one and two]
    longest = max(map(len, stripped), default=0)
    full = sum(len(one) + 1 + len(two.split(maxsplit=1)[0]) > longest for one, two in pairs)
    return len(pairs) > 2 and 2 * full > len(pairs)


def located(titles: Mapping[int, str], sentences: Sequence[Sentence], text: str) -> list[Span | None] | None:
    """Return the span of each sentence in a text; None if the text is not that of the article.

    A text that Themescope has written is recognised exactly. In others, the sentences are searched one after the other,
    whatever the spaces, quotation marks and Unicode forms are.
    """
    own, spans = layout(titles, sentences)
    if own == text:
        return [*spans]
    searched = _search([sentence.text for sentence in sentences], text)
    found = sum(span is not None for span in searched)
    return searched if found and found >= _LEAST_FOUND * len(searched) else None


def _search(sentences: Sequence[str], text: str) -> list[Span | None]:
    # The text as it is compared, without spaces, and the place in ``text`` of each of its characters.
    kept: list[str] = []
    places = array("q")
    for word in re.finditer(r"\S+", text):
        form = comparable(word.group())
        kept.append(form)
        length = word.end() - word.start()
        places.extend(word.start() + at * length // len(form) for at in range(len(form)))
    flat, found = "".join(kept), list[Span | None]()
    wanted = ["".join(comparable(sentence).split()) for sentence in sentences]
    at = 0
    for row, one in enumerate(wanted):
        start = flat.find(one, at) if one else -1
        if start - at > _FAR:
            # It may be missing here, and occur again below: the next ones decide.
            near = (flat.find(other, at, start) for other in wanted[row + 1 : row + 4] if other)
            start = -1 if any(place >= 0 for place in near) else start
        if start < 0:
            found.append(None)
            continue
        at = start + len(one)
        found.append((places[start], places[at - 1] + 1))
    return found


class Spans:
    """Sentences of a text by position."""

    def __init__(self, spans: Sequence[Span | None]) -> None:
        self._rows = [row for row, span in enumerate(spans) if span is not None]
        known = [span for span in spans if span is not None]
        self._starts, self._ends = [start for start, _ in known], [end for _, end in known]

    def covered(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return (row, number of common characters) for the sentences of which a selection has at least half.

        An empty sentence is covered by a selection around it.
        """
        return [(row, common) for row, common, size in self.touched(start, end) if 2 * common >= size]

    def touched(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Return (row, number of common characters, length) for the sentences of which a selection has a part."""
        found = []
        for at in range(bisect_left(self._ends, start), bisect_right(self._starts, end)):
            first, last = self._starts[at], self._ends[at]
            common = min(last, end) - max(first, start)
            if common > 0 or (common == 0 and first == last and start <= first <= end):
                found.append((self._rows[at], common, last - first))
        return found


# Ways in which programs count positions in a text, and which of them a project uses

MARK = "\ufeff"


class Way(NamedTuple):
    """A way of counting positions; the first of each field is that of the standard."""

    unit: int = 0
    """0: code points, 1: UTF-16 units, 2: bytes of UTF-8."""
    line_end: int = 0
    """0: as many as the file has, 1: one, 2: two."""
    mark: bool = False
    """Whether the byte order mark at the beginning counts."""


WAYS = sorted((Way(*one) for one in product((0, 1, 2), (0, 1, 2), (False, True))), key=lambda w: (sum(w), w[::-1]))
"""Every way, the usual ones first."""


class CodedPassage(NamedTuple):
    """Positions of a passage as a file has them, and its name, which may be the beginning of its text."""

    start: int
    end: int
    name: str = ""


_SENTENCE_ENDS = frozenset('.!?…。！？।؟"”’»」)')
_QDA_POSITIONS_JUDGED = 2_000
"""Number of passages of a text from which its way is judged."""
_WORTH, _INSIDE, _QUOTE_WORTH = (-4, -2, 1, 2), -8, 6
"""About the log-odds of a limit against one at random, see ``_start``; of a passage inside a character; and of a name.
"""
_QUOTED = 24
_PROGRAMS = (("nvivo", Way(1)), ("atlas", Way(0, 1)), ("", Way()))
"""Origins of projects, in small letters, and how these programs count."""
_PROGRAM_WORTH, _CLEARLY, _RIVAL = 3, 6, 6
_LEAST_FIT, _MANY = 0.5, 10


Fits = Mapping[Way, int]


class Positions:
    """Positions in one text, of which a byte order mark at the beginning is no part."""

    def __init__(self, content: str, passages: Sequence[CodedPassage]) -> None:
        self.text = content.removeprefix(MARK)
        self._passages = passages
        self._marked = len(self.text) < len(content)
        self._points = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)

    def fits(self) -> Fits:
        """Return how well each way fits the passages."""
        return {
            way: sum(self._fit(*one) for one in self._converted(way, self._passages[:_QDA_POSITIONS_JUDGED]))
            for way in WAYS
        }

    def spans(self, way: Way) -> list[tuple[int, int]] | None:
        """Return the start and the end of each passage in the text; None if they fit it in no way."""
        found = self._converted(way, self._passages)
        fits = [self._start(start) for start, *_ in found] + [self._end(end) for _, end, *_ in found]
        spaced = 15 * self.text.count(" ") > len(self.text)
        if spaced and len(fits) >= _MANY and sum(map(bool, fits)) < _LEAST_FIT * len(fits):
            return None
        return [(start, end) for start, end, _, _ in found]

    def _places(self, way: Way) -> Index:
        """Return the position of each character (n + 1,) as a way counts it."""
        points, widths = self._points, np.ones(len(self._points), dtype=np.int64)
        for limit in ((), (0xFFFF,), (0x7F, 0x7FF, 0xFFFF))[way.unit]:
            widths += points > limit
        if way.line_end:
            feed = points == 10
            joined = np.append(points[:-1] == 13, False)[: len(points)] & np.append(feed[1:], False)[: len(points)]
            widths[feed] = way.line_end
            widths[joined] = 0
        first = (3 if way.unit == 2 else 1) if way.mark and self._marked else 0
        return first + np.concatenate([[0], np.cumsum(widths)])

    def _converted(self, way: Way, passages: Sequence[CodedPassage]) -> list[tuple[int, int, bool, str]]:
        """Return (start, end, whether both are limits of characters, name) in the text."""
        places = self._places(way)
        asked = np.array([(one.start, one.end) for one in passages], dtype=np.int64).reshape(-1, 2)
        found = np.minimum(np.searchsorted(places, asked), len(places) - 1)
        exact = (places[found] == asked).all(axis=1)
        rows = zip(found.tolist(), exact.tolist(), passages, strict=True)
        return [(start, end, good, one.name) for (start, end), good, one in rows]

    def _fit(self, start: int, end: int, exact: bool, name: str) -> int:
        if not exact:
            return _INSIDE
        quoted = "".join(name.split()).rstrip("….")[:_QUOTED]
        named = bool(quoted) and "".join(self.text[start : start + 4 * _QUOTED].split()).startswith(quoted)
        return _WORTH[self._start(start)] + _WORTH[self._end(end)] + _QUOTE_WORTH * named

    def _start(self, at: int) -> int:
        """Return how likely a passage starts here: 3 at that of a line or sentence, 0 inside a word."""
        text = self.text
        if at == 0 or text[at - 1] == "\n" or (text[at - 1] == "\r" and text[at : at + 1] != "\n"):
            return 3
        if at >= len(text) or (text[at].isalnum() and text[at - 1].isalnum()):
            return 0
        if text[at].isspace():
            return 1
        return 3 if text[max(at - 3, 0) : at].rstrip()[-1:] in _SENTENCE_ENDS else 2

    def _end(self, at: int) -> int:
        text = self.text
        if at == 0 or (at < len(text) and text[at].isalnum() and text[at - 1].isalnum()):
            return 0
        if at == len(text) or text[at] in "\r\n" or text[at - 1] == "\n" or text[at - 1] in _SENTENCE_ENDS:
            return 3
        return 1 if text[at - 1].isspace() else 2


def fits_of_project(fits: Iterable[Fits], origin: str) -> Fits:
    """Return how well each way fits all texts of a project; that of the program that wrote it has an advantage."""
    usual = next(way for name, way in _PROGRAMS if name in origin.lower())
    total = {way: (_PROGRAM_WORTH if way == usual else 0) - sum(way) for way in WAYS}
    for fit in fits:
        total = {way: total[way] + fit[way] for way in WAYS}
    return total


def ways_of_text(fit: Fits, project: Fits) -> list[Way]:
    """Return the way of a text, that of the project unless another fits clearly better, and others nearly as likely."""
    follows = fit[max(WAYS, key=project.__getitem__)] >= max(fit.values()) - _CLEARLY
    judged = project if follows else fit
    best = max(WAYS, key=judged.__getitem__)
    return [best, *(way for way in WAYS if way != best and judged[way] >= judged[best] - _RIVAL)]
