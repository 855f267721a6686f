"""Detection of file formats by content, and previews of files."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from themescope.core.config import Config, option
from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.arrow_tables import files_below, is_dataset, unpack
from themescope.core.readers.blocks import BaseReader
from themescope.core.readers.documents.packages import DAMAGE, Package, made, media_type, names_in, whole_bytes
from themescope.core.readers.streams import ENCODINGS, FileHead, guesses, is_certain, is_utf8
from themescope.core.registry import resolve
from themescope.core.types import SILENT, UNREADABLE, Article, ReadAccount, Report

_UNPACK, _AS_TABLE = "Unpack it first.", "Export it as CSV or Excel, with the labels of its values."
_UNLOCK = "Open it, remove the password (File, Info, Protect), and save it again."
_IMAGE = ("an image", "Save what it says as text, or as a PDF with text.")
_BINARIES = {
    b"PK\x03\x04": ("a damaged ZIP archive (or a document packed as one)", "Save it again."),
    b"7z\xbc\xaf": ("a 7-Zip archive", _UNPACK),
    b"\x28\xb5\x2f\xfd": ("a Zstandard archive", _UNPACK),
    b"Rar!": ("a RAR archive", _UNPACK),
    b"SQLite format 3": ("an SQLite database", "Export its table as CSV."),
    b"$FL": ("an SPSS file (.sav)", _AS_TABLE),
    b"<stata_dta>": ("a Stata file (.dta)", _AS_TABLE),
    b"\x89PNG": _IMAGE,
    b"\xff\xd8\xff": _IMAGE,
    b"ID3": ("a recording", "Transcribe it first."),
    b"RIFF": ("a recording", "Transcribe it first."),
}
"""Beginning of a file → what it is, and what to do."""
_OLE = b"\xd0\xcf\x11\xe0"
_OLD = {
    "EncryptedPackage": ("an Office document encrypted with a password", _UNLOCK),
    "WordDocument": ("an old Word document (.doc)", "Save it as .docx."),
    "PowerPoint Document": ("an old PowerPoint presentation (.ppt)", "Export it as PDF."),
    "__substg1.0_": ("an Outlook message (.msg)", "Save it as .eml."),
}
"""Stream of a file of Microsoft's old container → what it is, and what to do."""
_PACKED = {
    "ppt/presentation.xml": ("a PowerPoint presentation (.pptx)", "Export it as PDF."),
    "Index/Document.iwa": ("a document of Pages, Keynote or Numbers", "Export it as Word or PDF, or as Excel."),
    "Index/Presentation.iwa": ("a Keynote presentation", "Export it as PDF."),
    "index.apxl": ("a Keynote presentation", "Export it as PDF."),
}
"""Part of a ZIP file → what it is, and what to do."""
_TYPES = {
    b"application/vnd.oasis.opendocument.presentation": ("an OpenDocument presentation (.odp)", "Export it as PDF."),
    b"application/vnd.oasis.opendocument.graphics": ("an OpenDocument drawing (.odg)", "Export it as PDF."),
    b"application/vnd.sun.xml.": ("a document of an old OpenOffice", "Save it as ODT, ODS or PDF."),
}
"""Media type in a ZIP file → what it is, and what to do."""
_ROOT = re.compile(r"<([A-Za-z][\w:.-]*)")
_XML = re.compile(r"<(?:\?xml|[A-Za-z][\w:.-]*[\s>/])")


def detect(path: Path) -> str:
    """Return the id of the reader for a file or the folder of a dataset, found by content; files are decompressed.

    Detectors of plug-ins run first, then the built-in ones in the order of their cards. Readers tagged ``text`` accept
    any text, so their detectors run after formats without a reader have been rejected.

    Raises :class:`ReadError` if no reader supports the format.
    """
    if is_dataset(path):
        return next(card.id for card in REGISTRY if "folders" in card.tags)
    head = FileHead.of(path)
    _refuse(head)
    cards = sorted(REGISTRY, key=lambda card: card.detector.startswith("themescope.core."))
    for card in cards:
        if "text" not in card.tags and resolve(card.detector)(head):
            return card.id
    known = "Supported formats: " + ", ".join(card.title for card in REGISTRY) + "."
    for magic, (name, advice) in _BINARIES.items():
        if head.data.startswith(magic):
            raise ReadError(head.path, f"this is {name}, which no reader supports.", "byte 0", advice)
    if head.binary_at is not None:
        raise ReadError(head.path, "this is binary data, which no reader supports.", f"byte {head.binary_at:,}", known)
    if _XML.match(head.text) and head.suffix not in (".md", ".markdown"):
        root = _ROOT.search(head.text)
        problem = f"this is XML with the root element <{root[1] if root else '?'}>, which no reader supports."
        raise ReadError(head.path, problem, "line 1", "Export it as CSV, JSON, RIS, TEI or text instead.")
    return next(card.id for card in cards if "text" in card.tags and resolve(card.detector)(head))


def _refuse(head: FileHead) -> None:
    """Raise :class:`ReadError` for documents of known programs that no reader supports, with what to do."""
    known: tuple[str, str] | None = None
    if 'class="page_body chat_page"' in head.text:
        known = "a chat that Telegram exported as HTML", "Export it as JSON (machine-readable)."
    elif head.suffix in (".xls", ".xlsx") and _XML.match(head.text):
        advice = "Open it, and save it as an Excel workbook (.xlsx)."
        known = "a table of HTML or XML that is named like a workbook", advice
    elif head.suffix == ".ipynb":
        known = "a Jupyter notebook", "Export it as Markdown."
    if head.data.startswith(_OLE):
        content = whole_bytes(head.path)
        known = next((what for name, what in _OLD.items() if name.encode("utf-16-le") in content), None)
    elif head.data.startswith(b"PK"):
        known = next((_PACKED[name] for name in names_in(head) if name in _PACKED), None)
        known = known or next((what for type, what in _TYPES.items() if media_type(head).startswith(type)), None)
    if known is not None:
        raise ReadError(head.path, f"this is {known[0]}, which no reader supports.", advice=known[1])


def files_of(path: Path) -> list[Path]:
    """Return a file or the folder of a dataset itself, and of another folder the visible files below it, sorted.

    Raises :class:`ReadError` for a folder without files.
    """
    found = [path] if is_dataset(path) else files_below(path)
    if not found:
        raise ReadError(path, "this folder has no files.")
    return found


def sample(reader_id: str) -> bytes:
    """Return a tiny file in the format of a reader, as an example for users and tests."""
    content: bytes = resolve(REGISTRY.get(reader_id).sample)
    return content


@dataclass(frozen=True, slots=True)
class Preview:
    """The first articles of a file."""

    reader: str
    articles: tuple[Article, ...]
    skipped: dict[str, int]
    """Number of items skipped before and between these articles, by reason."""


def preview(path: Path, reader_id: str | None = None, settings: Mapping[str, Any] | None = None, n: int = 5) -> Preview:
    """Read the first ``n`` articles, with paragraphs not yet split, by ``reader_id`` or the detected reader.

    Raises :class:`ReadError` if an error occurs in this part of the file.
    """
    id = reader_id or detect(path)
    reader = REGISTRY.build(id, settings)
    with closing(reader.read(path, SILENT)) as articles:
        first = tuple(islice(articles, n))
        return Preview(id, first, reader.skipped)


# ZIP archives of files: each file is read by the reader of its format

_DATASET = (".parquet", ".arrow")
_MOST_FILES = 10_000
_UTF8 = 0x800
"""Flag of a file whose name is UTF-8."""
_ID = re.compile(rb'(?<=["@])[UW][A-Z0-9]{6,}(?=["|>])')
"""Id of a person in the messages of Slack."""
_OF_NAMES = ("cp850", "cp852", "cp866", "cp932", "gb18030", "big5", "cp949")
"""Encodings of names in archives that Windows has made."""
_LEAST = 0.02
"""Score from which the encoding of names counts as certain: few of their words are stop words."""
SAMPLE = made({"Ada.txt": "It was founded in 1200,\nthen it grew.\n", "b/Bea.md": "# Bea\n\nBea is.\n"})


@dataclass(frozen=True)
class ArchiveConfig(Config):
    """Settings of the reader; every file has a reader of its own."""

    name_encoding: str = option(
        "",
        "Encoding of names of files that are not marked as UTF-8; empty: found from their bytes.",
        choices=("", *ENCODINGS),
    )


class Archive(BaseReader[ArchiveConfig]):
    """Reader of the files of a ZIP archive in the order of their names; files without a reader are listed."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield the articles of every file. Raises :class:`ReadError` if no file can be read."""
        self.account.clear()
        with tempfile.TemporaryDirectory() as folder:
            if (dataset := packed_dataset(path, Path(folder, path.stem))) is not None:
                reader = REGISTRY.build("table")
                yield from reader.read(dataset, report)
                self.account.add(_account_of(reader, ""))
                return
        package = Package(path, report)
        meant = self._readable_names(package)
        names = sorted(name for name in package.names if not _ignored(name))
        if len(names) > _MOST_FILES:
            raise ReadError(path, f"this ZIP file has more than {_MOST_FILES:,} files.")
        problems: list[str] = []
        people = _people_of_slack(package)
        with tempfile.TemporaryDirectory() as folder:
            for number, stored in enumerate(names):
                name = meant.get(stored, stored)
                if people and "/" not in stored:
                    text = package.read(stored).decode("utf-8", "replace")
                    self.account.skip("list of people or channels of Slack", name, text)
                    continue
                end = PurePosixPath(name).name.encode()[-240:]  # as many bytes as systems take for the name of a file
                file = Path(folder) / str(number) / (end.decode(errors="ignore") or "file")
                file.parent.mkdir()
                data = package.read(stored)
                file.write_bytes(_ID.sub(lambda id: people.get(id[0], id[0]), data) if people else data)
                try:
                    id = detect(file)
                    if id == "zip":
                        raise ReadError(file, "this is an archive in an archive.", advice="Unpack it first.")
                    reader = REGISTRY.build(id)
                    for article in reader.read(file, SILENT):
                        yield replace(article, source=name)
                    self.account.add(_account_of(reader, name))
                except ReadError as error:
                    problems.append(str(error))
                    self.account.skip(UNREADABLE, name, str(error))
                file.unlink()
        if names and len(problems) == len(names):
            raise ReadError(path, f"none of its {len(names):,} files can be read. The first: {problems[0]}")

    def _readable_names(self, package: Package) -> dict[str, str]:
        """Return name as stored → name as meant, for those that are not marked as UTF-8."""
        old = [one.filename for one in package.members if not one.flag_bits & _UTF8 and not one.filename.isascii()]
        if not old:
            return {}
        data = "\n".join(old).encode("cp437")  # zipfile has decoded them so
        encoding = self.config.name_encoding or ("utf-8" if is_utf8(data) else "")
        if not encoding and is_certain(found := guesses(data, _OF_NAMES), _LEAST):
            encoding = found[0].encoding
        uncertain = "uncertain, read as cp437; choose it (name_encoding) if they are wrong"
        self.account.notes["encoding of the names of files"] = encoding or uncertain
        return dict(zip(old, data.decode(encoding or "cp437", "replace").split("\n"), strict=True))


def _people_of_slack(package: Package) -> dict[bytes, bytes]:
    """Return id → name, both as in its JSON, of the people in an export of Slack; none for other archives."""
    if not {"users.json", "channels.json"} <= {*package.names}:
        return {}
    try:
        named = {one["id"]: one.get("real_name") or one["name"] for one in json.loads(package.read("users.json"))}
        return {id.encode(): json.dumps(name)[1:-1].encode() for id, name in named.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def _account_of(reader: object, name: str) -> ReadAccount:
    """Return the account of a reader, with the name of the file in its places."""
    account = reader.account if isinstance(reader, BaseReader) else ReadAccount()
    entries = [e._replace(place=f"{name}, {e.place}" if e.place and name else e.place or name) for e in account.entries]
    notes = {f"{name}, {key}" if name else key: note for key, note in account.notes.items()}
    return ReadAccount(account.skipped, account.changed, entries, notes)


def _ignored(name: str) -> bool:
    """Return whether a member is a folder, or a file that systems hide."""
    parts = PurePosixPath(name).parts
    return name.endswith("/") or not parts or any(part.startswith((".", "__MACOSX")) for part in parts)


def packed_dataset(path: Path, folder: Path) -> Path | None:
    """Unpack the Hugging Face dataset in a ZIP file below ``folder``; return its folder, None if it is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except DAMAGE:
        return None
    if not any(name.endswith((*_DATASET, "README.md", "state.json", "dataset_dict.json")) for name in names):
        return None
    try:
        return unpack(path, folder)
    except ReadError:
        if any(name.endswith(_DATASET) for name in names):
            raise
        return None


def recognises(head: FileHead) -> bool:
    """Return whether a file is a ZIP archive of files."""
    return any(not _ignored(name) for name in names_in(head))
