"""Detection of file formats by content, and previews of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from themescope.core.errors import ReadError
from themescope.core.protocols import SILENT
from themescope.core.readers import REGISTRY
from themescope.core.readers.dataset_folders import files_below, is_dataset
from themescope.core.readers.documents.packages import media_type, names_in, whole_bytes
from themescope.core.readers.streams import FileHead
from themescope.core.registry import resolve
from themescope.core.types import Article

_UNPACK, _AS_TABLE = "Unpack it first.", "Export it as CSV or Excel, with the labels of its values."
_IMAGE = ("an image", "Save what it says as text, or as a PDF with text.")
_BINARIES = {
    b"PK\x03\x04": ("a damaged ZIP archive (or a document packed as one)", "Save it again."),
    b"7z\xbc\xaf": ("a 7-Zip archive", _UNPACK), b"\x28\xb5\x2f\xfd": ("a Zstandard archive", _UNPACK),
    b"Rar!": ("a RAR archive", _UNPACK), b"SQLite format 3": ("an SQLite database", "Export its table as CSV."),
    b"$FL": ("an SPSS file (.sav)", _AS_TABLE), b"<stata_dta>": ("a Stata file (.dta)", _AS_TABLE),
    b"\x89PNG": _IMAGE, b"\xff\xd8\xff": _IMAGE,
    b"ID3": ("a recording", "Transcribe it first."), b"RIFF": ("a recording", "Transcribe it first."),
}  # fmt: skip
"""Beginning of a file → what it is, and what to do."""
_OLE = b"\xd0\xcf\x11\xe0"
_OLD = {
    "EncryptedPackage": (
        "an Office document encrypted with a password",
        "Open it, remove the password (File, Info, Protect), and save it again.",
    ),
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
    structured = (card for card in cards if "text" not in card.tags)
    running = (card for card in cards if "text" in card.tags)
    for card in structured:
        if resolve(card.detector)(head):
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
    return next(card.id for card in running if resolve(card.detector)(head))


def _refuse(head: FileHead) -> None:
    """Raise :class:`ReadError` for documents of known programs that no reader supports, with what to do."""
    known: tuple[str, str] | None = None
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
