"""Which reader a file is for, by what is in it; compression is looked through."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from core.errors import ReadError
from core.readers.headed_text import heading_of
from core.readers.newsgroups import is_archive, is_json_message, is_message
from core.readers.scb_csv import COLUMNS, fold
from core.readers.streams import head
from core.readers.summaries import has_summaries

_BINARIES = {
    b"PK\x03\x04": "a ZIP archive (or a document packed as one)",
    b"%PDF": "a PDF document",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"PAR1": "a Parquet table",
    b"SQLite format 3": "an SQLite database",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"Rar!": "a RAR archive",
}
_KNOWN = (
    "Known are: MediaWiki dumps, JSON lines, the SCB CSV, Reuters-21578, 20 Newsgroups, Markdown, HTML, text with "
    "= Heading = lines, plain text."
)
_REUTERS = re.compile(r"(?:<!doctype\s+lewis[^>]*>\s*)?<REUTERS\s", re.I)
_HTML = re.compile(
    r"(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|h[1-6]|p|div|article)\b",
    re.I | re.S,
)
_XML = re.compile(r"\s*<(?:\?xml|[A-Za-z][\w:.-]*[\s>/])")
_JSON = re.compile(r'\s*\{\s*(?:"|\}|\n|$)')
_MARKDOWN = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+\S|\S.*\n {0,3}(?:={3,}|-{3,})[ \t]*$)", re.MULTILINE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def detect(path: Path) -> str:
    """Id of the reader for a file. Raises :class:`ReadError` for what no reader knows."""
    beginning = head(path)
    if is_archive(beginning):
        return "newsgroups"
    text = _text(path, beginning)
    start = text.lstrip()
    if start.startswith(("<", "{")):
        found = _marked_up(path, start) if start.startswith("<") else _json(start)
        if found:
            return found
    if start.startswith("["):
        return _bracketed(path, start)
    if _is_scb(start):
        return "scb-csv"
    if is_message(start):
        return "newsgroups"
    if any(heading_of(line) for line in text.splitlines()):
        return "headed-text"
    return "markdown" if _MARKDOWN.search(text) or _suffix(path) in (".md", ".markdown") else "plain"


def _marked_up(path: Path, start: str) -> str:
    """Which reader of marked-up text; "" for text that only begins with a bracket."""
    if "<mediawiki" in start[:4096]:
        return "mediawiki-dump"
    if _REUTERS.match(start):
        return "reuters-sgml"
    if _HTML.match(start):
        return "html"
    if _XML.match(start):
        raise ReadError(path, "this is XML, but not a MediaWiki dump.", "line 1", _KNOWN)
    return ""


def _json(start: str) -> str:
    """Which reader of JSON lines; "" for text that only begins with a brace."""
    if not _JSON.match(start):
        return ""
    if has_summaries(start):
        return "summaries"
    return "newsgroups" if is_json_message(start) else "jsonl"


def _bracketed(path: Path, start: str) -> str:
    if re.match(r"\[\s*(?:[\[{\"]|\])", start):
        advice = "Write one object on each line, without the brackets around them."
        raise ReadError(path, "this is a JSON array, not JSON lines.", "line 1", advice)
    return "markdown" if _MARKDOWN.search(start) else "plain"


def _is_scb(start: str) -> bool:
    """Whether the first line names at least two of the columns, so that the reader can name the missing ones."""
    first = start.partition("\n")[0]
    cells = {fold(cell.strip().strip('"')) for cell in first.split(",")}
    return len(cells & {fold(column) for column in COLUMNS}) >= 2


def _suffix(path: Path) -> str:
    packed = path.suffix.lower() in (".gz", ".bz2", ".xz")
    return (Path(path.stem).suffix if packed else path.suffix).lower()


def _text(path: Path, beginning: bytes) -> str:
    """Decode the beginning. What is not UTF-8 is left to the readers to name, unless it is plainly binary."""
    for magic, kind in _BINARIES.items():
        if beginning.startswith(magic):
            raise ReadError(path, f"this is {kind}, which no reader knows.", "byte 0", _KNOWN)
    for bom, encoding in _BOMS:
        if beginning.startswith(bom):
            return beginning[len(bom) :].decode(encoding, errors="replace")
    control = sum(beginning.count(byte) for byte in range(32) if byte not in (9, 10, 12, 13, 27))
    if b"\0" in beginning or control > len(beginning) // 20:
        at = next(index for index, byte in enumerate(beginning) if byte < 32 and byte not in (9, 10, 12, 13, 27))
        raise ReadError(path, "this is binary data, which no reader knows.", f"byte {at:,}", _KNOWN)
    return beginning.decode("utf-8", errors="replace")
