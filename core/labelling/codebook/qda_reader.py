"""Reader of REFI-QDA projects (``.qdpx``), of Themescope and of other programs; see ``qda_project``.

What is in a project but not read is counted, with its place: sources without a text, their coded passages, and codes
that the codebook does not have.
"""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from themescope.core.errors import ReadError
from themescope.core.labelling.codebook.entries import TEXT_LIMIT, PortableCode
from themescope.core.labelling.codebook.qda_project import (
    HEADINGS,
    ORIGIN,
    PROBABILITY,
    PROJECT_ORIGIN,
    QDE,
    REDO,
    SOURCES,
    UNCERTAIN,
    CodedPassage,
    CodeReader,
    Fits,
    Positions,
    QdaSpan,
    TextSource,
    events,
    fits_of_project,
    local_name,
    same,
    ways_of_text,
)
from themescope.core.labelling.provenance import Maker, Source
from themescope.core.readers.streams import excessive_size
from themescope.core.types import ReadAccount

FILE_LIMIT, BYTE_LIMIT, XML_LIMIT = 50_000, 2_000_000_000, 500_000_000
"""Maximum number of files of an archive, of bytes unpacked, and of bytes of its XML."""
_SOURCE_LIMIT, _NOTE_LIMIT = 64_000_000, 1_000_000
_DAMAGE = (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError)
_INTERNAL = re.compile(r"(?:internal://)?(?:sources[/\\])?([^/\\]+)", re.IGNORECASE)
_ID = re.compile(r"\{?[0-9a-f]{8}-[0-9a-f-]{27}\}?", re.IGNORECASE)
OUTSIDE = "text that is not in the archive"
_SOURCES = {
    "PictureSource": "picture",
    "PDFSource": "PDF document without text",
    "AudioSource": "recording",
    "VideoSource": "recording",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """Selection as the XML has it, with the ids of codes and notes."""

    passage: CodedPassage
    codes: tuple[str, ...]
    notes: tuple[str, ...]
    user: str
    description: str


@dataclass(frozen=True, slots=True)
class _FoundSource:
    name: str
    path: str
    content: str
    selections: tuple[_Found, ...]
    headings: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class ProjectReader:
    """Reader of a project. Opening it checks names and sizes, and reads codes and selections; texts are read later.

    Raises :class:`ReadError` if the file is not such a project, is damaged or too large, or its XML has entities.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = self.origin = ""
        """Name of the project, and the program that wrote it, as it calls itself."""
        self.account = ReadAccount()
        """What is not read, such as pictures."""
        self._codes = CodeReader(path.name)
        self._sources: list[_FoundSource] = []
        self._places: dict[str, tuple[str, str]] = {}
        """Id of a note → (path, content)."""
        self._notes: dict[str, str] = {}
        """Path of a note → its text."""
        self._users: dict[str, Maker] = {}
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
            raise self._damaged("this file is not a REFI-QDA project (a zip archive), or is incomplete.") from None
        try:
            self._entries = self._checked()
            with self._converted():
                self._read()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> ProjectReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def coders(self) -> list[str]:
        """Names of the people who coded in it."""
        return sorted({maker.coder for maker in self._users.values() if maker.coder})

    def titles(self) -> list[str]:
        """Return the names of the texts."""
        return [found.name for found in self._sources]

    @property
    def own(self) -> bool:
        """Whether Themescope has written the project."""
        return self.origin.startswith(ORIGIN)

    @property
    def codes(self) -> list[PortableCode]:
        """The codes in their order. Notes of a code are its notes, below those of its description."""
        made = []
        for code, notes in zip(self._codes.codes, self._codes.notes, strict=True):
            joined = "\n\n".join(filter(None, [code.texts.get("notes", ""), *map(self._note, notes)]))
            made.append(replace(code, texts={**code.texts, "notes": joined}) if joined else code)
        return made

    def sources(self) -> Iterator[TextSource]:
        """Yield the texts with their selections; the codes of a selection are indices of :attr:`codes`, as texts."""
        place = {id: str(at) for at, id in enumerate(self._codes.guids)}
        for found, content in self._texts():
            passages = [one.passage for one in found.selections]
            spans: Sequence[tuple[int, int]] = [(one.start, one.end) for one in passages]
            if not self.own:
                positions = Positions(content, passages)
                content = positions.text
                fitting, *others = map(positions.spans, ways_of_text(positions.fits(), self._fits)) if spans else [[]]
                for at, span in enumerate(fitting or ()):
                    if any(other is not None and other[at] != span for other in others):
                        where = f"{found.name}, {span[0]:,}–{span[1]:,}"
                        self.account.change("passage whose position is uncertain", where, content[slice(*span)])
                if fitting is None:
                    for one in passages:
                        reason = "coded passage whose position does not fit the text"
                        self.account.skip(reason, f"{found.name}, {one.start:,}–{one.end:,}", one.name)
                spans = fitting or []
            selections = [self._selection(*two, place) for two in zip(found.selections, spans, strict=bool(spans))]
            codes = tuple(place[id] for id in found.codes if id in place)
            yield TextSource(found.name, content, selections, found.headings, codes)

    def _texts(self, counted: bool = True) -> Iterator[tuple[_FoundSource, str]]:
        read: set[str] = set()
        for found in self._sources:
            entry = self._entry(found.path)
            again = entry is not None and entry.filename in read
            if entry is not None:
                read.add(entry.filename)
            if again and counted:
                self.account.skip("source with the text of another one", found.name)
            content = None if again else self._text(found.path, found.content, found.name, counted=counted)
            if content is not None:
                yield found, content
            elif counted and found.selections:
                self.account.skip("coded passage of a text that is not read", found.name, n=len(found.selections))

    @cached_property
    def _fits(self) -> Fits:
        """How well each way of counting fits all texts."""
        listed = (Positions(text, [one.passage for one in found.selections]) for found, text in self._texts(False))
        return fits_of_project((positions.fits() for positions in listed), self.origin)

    def _selection(self, one: _Found, span: tuple[int, int], place: Mapping[str, str]) -> QdaSpan:
        codes = tuple(place[id] for id in one.codes if id in place)
        if len(codes) < len(one.codes):
            self.account.skip("code of a passage that the codebook does not have", n=len(one.codes) - len(codes))
        texts = [self._note(id) for id in one.notes if id != UNCERTAIN]
        texts += [] if self.own else [one.description.strip()]
        note = "\n\n".join(filter(None, texts))
        # Codings without a user are imported from a file that does not say who made them.
        maker = self._users.get(one.user, Maker(Source.IMPORTED))
        return QdaSpan(*span, codes, note, UNCERTAIN in one.notes, maker, _probability(one.description))

    def _note(self, id: str) -> str:
        """Return the text of a note. Many notes may name one file, which is read once."""
        path, content = self._places.get(id, ("", ""))
        if not path:
            return content
        if path not in self._notes:
            text = self._text(path, content, "note", _NOTE_LIMIT) or ""
            if len(text) > TEXT_LIMIT:
                self.account.change(f"note cut after {TEXT_LIMIT:,} characters", path[-80:])
            self._notes[path] = text[:TEXT_LIMIT]
        return self._notes[path]

    def _entry(self, path: str) -> zipfile.ZipInfo | None:
        named = _INTERNAL.fullmatch(path)
        return self._entries.get(f"{SOURCES}{named[1]}".lower()) if named else None

    def _text(self, path: str, content: str, name: str, most: int = _SOURCE_LIMIT, counted: bool = True) -> str | None:
        """Return the text of a source or a note: that in the XML, or of a file of the archive; None if it has none."""
        if not path:
            return content
        entry = self._entry(path)
        if entry is None:
            why = OUTSIDE
        elif entry.file_size > most:
            why = f"text of more than {most // 1_000_000} MB"
        else:
            with self._converted():
                found = self._zip.read(entry)
            try:
                return found.decode("utf-16" if found[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
            except UnicodeDecodeError:
                why = "text that is not in UTF-8"
        if counted:
            self.account.skip(why, name, path[-80:])
        return None

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        entries = [entry for entry in self._zip.infolist() if not entry.is_dir()]
        if len(entries) > FILE_LIMIT:
            raise self._damaged(f"it contains {len(entries):,} files, which is too many.")
        if any(entry.flag_bits & 0x1 for entry in entries):
            raise self._damaged("it is encrypted.")
        if size := excessive_size(entries, BYTE_LIMIT):
            raise self._damaged(f"it unpacks to {size}, which is too much.")
        found = {entry.filename.replace("\\", "/").lower(): entry for entry in entries}
        if QDE not in found:
            raise self._damaged(f"it has no {QDE}, so it is not a REFI-QDA project.")
        if len(found) < len(entries) or found[QDE].file_size > XML_LIMIT:
            raise self._damaged(f"it contains a name twice, or {QDE} is too large.")
        return found

    def _read(self) -> None:
        inside, root = list[str](), ""
        with self._zip.open(self._entries[QDE]) as stream:
            for event, kind, found in events(stream, self._path.name):
                if not root:
                    root = kind
                    self.name, self.origin = found.get("name") or self._path.stem, found.get("origin") or ""
                    if root != "Project":
                        raise self._damaged(f"its XML begins with {root[:40]!r}, not with a project.")
                if event == "start":
                    inside.append(kind)
                    continue
                inside.pop()
                if len(inside) == 2 or (inside == ["Project", "CodeBook", "Codes"] and kind == "Code"):
                    self._take(inside[1], kind, found)
                    found.clear()

    def _take(self, part: str, kind: str, found: Any) -> None:
        if part == "CodeBook" and kind == "Code":
            self._codes.add(found)
        elif part == "Sources":
            self._take_source(kind, found)
        elif part in ("Sets", "Cases", "Variables", "Links", "Graphs"):
            self.account.skip(kind.lower(), found.get("name") or "")
        elif part == "Users":
            self._users[same(found.get("guid"))] = _maker(found, self.origin)
        elif part == "Notes":
            self._places[same(found.get("guid"))] = _place(found)

    def _take_source(self, kind: str, found: Any) -> None:
        """Add a source; of a PDF document, that is its text, and of others, what is not read is counted."""
        texts = [found] if kind == "TextSource" else [x for x in found if _is(x, "Representation")]
        name = (found.get("name") or "").strip()
        for text in texts:
            path, written = _place(text)
            if not path and not written:
                self.account.skip("source without a plain text", name)
                continue
            stem = re.split(r"[/\\]", path)[-1].removesuffix(".txt")
            unnamed = f"Text {len(self._sources) + 1}" if not stem or _ID.fullmatch(stem) else stem
            parts = [*text, *(found if found is not text else ())]
            self._sources.append(self._source(parts, name or unnamed, path, written))
        if not texts:
            self.account.skip(_SOURCES.get(kind, kind), name)
        read = [one for text in texts for one in (*text, *found) if _is(one, "PlainTextSelection")]
        for one in found.iter():
            coded = any(_is(child, "Coding") for child in one)
            if coded and local_name(one.tag).endswith("Selection") and one not in read:
                self.account.skip("coded passage of a picture, recording or page", name, one.get("name") or "")

    def _source(self, found: Sequence[Any], name: str, path: str, content: str) -> _FoundSource:
        selections = tuple(each for one in found if _is(one, "PlainTextSelection") for each in self._found(one))
        first, *titles = _text_of(found, "Description").split("\n")
        headings = tuple(titles) if first == HEADINGS else ()
        codings = (one for one in found if _is(one, "Coding"))
        codes = tuple(same(ref.get("targetGUID")) for one in codings for ref in one)
        return _FoundSource(name, path, content, selections, headings, codes)

    def _found(self, one: Any) -> Iterator[_Found]:
        """Yield a selection for each user who coded it; its notes are those of the first."""
        try:
            start, end, name = int(one.get("startPosition")), int(one.get("endPosition")), one.get("name") or ""
        except (TypeError, ValueError):
            raise self._damaged("a selection has no position.") from None
        notes: dict[str, None] = {}
        by: dict[str, dict[str, None]] = {}
        own = same(one.get("creatingUser"))
        for part in one:
            codes = [same(child.get("targetGUID")) for child in part.iter() if _is(child, "CodeRef")]
            if codes:
                by.setdefault(same(part.get("creatingUser")) or own, {}).update(dict.fromkeys(codes))
            notes |= {same(child.get("targetGUID")): None for child in part.iter() if _is(child, "NoteRef")}
        written = _text_of(one, "Description")
        for user, given in (by or {own: {}}).items():
            yield _Found(CodedPassage(start, end, name), tuple(given), tuple(notes), user, written)
            notes = {}
            written = written if written.startswith(PROBABILITY) else ""

    @contextmanager
    def _converted(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise self._damaged(f"a part of it is damaged ({type(error).__name__}).") from None

    def _damaged(self, problem: str) -> ReadError:
        return ReadError(self._path, problem, "", REDO)


def _is(element: Any, name: str) -> bool:
    return local_name(element.tag) == name


def _text_of(parts: Iterable[Any], name: str) -> str:
    return next((part.text or "" for part in parts if _is(part, name)), "")


def _place(found: Any) -> tuple[str, str]:
    """Return the path and the text of a source or a note, of which one is empty."""
    text = _text_of(found, "PlainTextContent")
    return ("" if text else found.get("plainTextPath") or ""), text


def _maker(user: Any, origin: str) -> Maker:
    """Return who a user is: in projects of other programs, a coder of whom nothing else is known."""
    name, source = user.get("name") or "", user.get("id")
    if origin == PROJECT_ORIGIN:
        known = Source(source) if source in {*Source} else Source.HUMAN
        return Maker(known, "" if known is Source.HUMAN and name == "me" else name)
    if origin == ORIGIN:
        return Maker(Source.MACHINE, f"{name} or a machine (Themescope 0.2)")
    return Maker(Source.IMPORTED, name)


def _probability(description: str) -> float | None:
    try:
        value = float(description.removeprefix(PROBABILITY)) if description.startswith(PROBABILITY) else -1.0
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None
