"""ZIP files whose members are parts of one document, and their XML."""

from __future__ import annotations

import codecs
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from themescope.core.errors import ReadError, optional_module
from themescope.core.readers.streams import FileHead, excessive_size, guesses, is_certain, open_stream
from themescope.core.types import SILENT, ReadAccount, Report

DAMAGE = (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, OSError, zlib.error, lzma.LZMAError)
"""Exceptions of ``zipfile`` for archives that are damaged or encrypted."""
MOST_BYTES = 500_000_000
"""Maximum size of a document, and of its parts when decompressed."""


def whole_bytes(path: Path, report: Report = SILENT) -> bytes:
    """Return the decompressed bytes of a file. Raises :class:`ReadError` beyond ``MOST_BYTES``."""
    data = bytearray()
    with open_stream(path, report) as stream:
        while block := stream.read():
            data += block
            if len(data) > MOST_BYTES:
                raise ReadError(path, f"it is larger than {MOST_BYTES // 1_000_000:,} MB.", advice="Divide it.")
    return bytes(data)


class Package:
    """The parts of a document. Raises :class:`ReadError` if it is damaged, encrypted, or too large."""

    def __init__(self, path: Path, report: Report = SILENT) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(whole_bytes(path, report)))
        except DAMAGE:
            raise self._damaged() from None
        self.members = self._zip.infolist()
        """The parts in the order of the file."""
        self.names = [member.filename for member in self.members]
        if size := excessive_size(self.members, MOST_BYTES):
            raise ReadError(path, f"it has {size} when decompressed, which is too much.")

    def _damaged(self) -> ReadError:
        return ReadError(self._path, "the file is damaged or encrypted.", advice="Save it again without a password.")

    def read(self, name: str) -> bytes:
        """Return the bytes of a part, none if there is no such part."""
        if name not in self.names:
            return b""
        try:
            return self._zip.read(name)
        except DAMAGE:
            raise self._damaged() from None

    def xml(self, name: str) -> Any:
        """Return the root element of a part, None if there is no such part."""
        if b"encryption-data" in self.read("META-INF/manifest.xml"):
            advice = "Open it, and save it again without a password."
            raise ReadError(self._path, "this document is encrypted with a password.", advice=advice)
        data = self.read(name)
        return parsed_xml(self._path, data, name) if data else None


def parsed_xml(path: Path, data: bytes, name: str = "") -> Any:
    """Return the root element of XML. Raises :class:`ReadError` for damaged XML, and for entities."""
    defused = optional_module("defusedxml", "Reading documents", "defusedxml", "app")
    from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

    try:
        return fromstring(data)
    except defused.DefusedXmlException:
        raise ReadError(path, "it has XML entities, which are not read.", name, "Save it again.") from None
    except (ParseError, UnicodeError, LookupError, ValueError) as error:
        raise ReadError(path, f"this part is not XML ({error}).", name, "Save the file again.") from None


def names_in(head: FileHead) -> list[str]:
    """Return the names of the parts of a file, none if it is not a ZIP file."""
    if not head.data.startswith(b"PK\x03\x04"):
        return []
    try:
        return zipfile.ZipFile(io.BytesIO(whole_bytes(head.path))).namelist()
    except (ReadError, *DAMAGE):  # one that is too large when decompressed is refused by its reader, which says so
        return []


def media_type(head: FileHead) -> bytes:
    """Return the beginning of the part that says what a document is, empty without such a part."""
    if head.data[8:10] == b"\0\0" and head.data[30:].startswith(b"mimetype"):
        return head.data[38:138]
    if "mimetype" not in names_in(head):
        return b""
    try:  # some programs compress it, or write it later
        with zipfile.ZipFile(io.BytesIO(whole_bytes(head.path))) as parts, parts.open("mimetype") as part:
            return part.read(100)
    except DAMAGE:
        return b""


def local(tag: str) -> str:
    """Return the name of an element or attribute without its namespace."""
    return tag.rpartition("}")[2]


def attribute(element: Any, name: str) -> str:
    """Return the value of an attribute, whatever its namespace, "" if there is none."""
    return next((str(value) for key, value in element.attrib.items() if local(key) == name), "")


def walk(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield ("start", element), ("text", text) and ("end", element) in document order, at any depth."""
    waiting: list[tuple[str, Any]] = [("start", root)]
    while waiting:
        event, value = waiting.pop()
        yield event, value
        if event != "start":
            continue
        waiting.append(("end", value))
        for child in reversed(value):
            if child.tail:
                waiting.append(("text", child.tail))
            waiting.append(("start", child))
        if value.text:
            waiting.append(("text", value.text))


def decoded(data: bytes, declared: str, account: ReadAccount, place: str = "") -> str:
    """Return the text of a part of a file. Characters that are not in the declared encoding are counted as changed."""
    encodings = [declared] if declared else []
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    for encoding in [*encodings, "utf-8-sig"]:
        try:
            return data.decode(encoding)
        except (LookupError, ValueError):  # unknown, not the right one, or a name with a NUL
            continue
    found = guesses(data)
    if is_certain(found):
        return found[0].text
    text = data.decode("utf-8", "replace")
    account.change("character in another encoding than declared", place, "\ufffd", n=text.count("\ufffd"))
    return text


def made(parts: dict[str, str]) -> bytes:
    """Return a ZIP file of parts, which are not compressed."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return data.getvalue()
