"""XML of the REFI-QDA standard 1.5 (www.qdasoftware.org): writing of elements, and reading without entities.

Codebooks have the namespace ``urn:QDA-XML:codebook:1.0``, projects ``urn:QDA-XML:project:1.0``.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

from themescope.core.errors import ReadError, optional_module
from themescope.core.labelling.codebook.portable import PortableCode, described, description, hex_colour, nearest_colour
from themescope.core.labelling.markup import NOT_IN_XML
from themescope.core.readers.account import ReadAccount

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


def text(name: str, content: str) -> str:
    """Return an element with a text; nothing without one."""
    return element(name, {}, escape(clean(content), {"\r": "&#13;"})) if content else ""


def clean(content: str) -> str:
    """Return a text with characters that XML cannot hold replaced; line ends stay."""
    return NOT_IN_XML.sub("\ufffd", content)


def code_element(
    code: PortableCode, children: Iterable[PortableCode], seed: str, notes: Mapping[str, str] | None = None
) -> str:
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
        text("Description", description(shown)),
        element("NoteRef", {"targetGUID": reference}) if reference else "",
        *(code_element(child, (), seed, notes) for child in children),
    )


def codes_element(codes: Iterable[PortableCode], seed: str, notes: Mapping[str, str] | None = None) -> str:
    """Return the element of all codes, sub-themes within their themes."""
    listed = list(codes)
    below: dict[str, list[PortableCode]] = {}
    for code in listed:
        below.setdefault(code.theme, []).append(code)
    themes = below.get("", [])
    return element("Codes", {}, *(code_element(code, below.get(code.name, ()), seed, notes) for code in themes))


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
    """Codes of a file in their order, with their ids."""

    def __init__(self) -> None:
        self.codes: list[PortableCode] = []
        self.guids: list[str] = []
        self.notes: list[list[str]] = []
        """Ids of the notes of each code."""

    def add(self, found: Any, theme: str = "", path: tuple[str, ...] = ()) -> None:
        """Add the element of a code with the codes in it; those below the second level get the names above them."""
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
    reader, root, level = CodeReader(), "", 0
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
            check_codes(reader, name)
    if not reader.codes:
        raise ReadError(name, "it has no codes.", "", REDO)
    return reader.codes


def check_codes(reader: CodeReader, name: str) -> None:
    """Raise :class:`ReadError` for more than :data:`CODE_LIMIT` codes."""
    if len(reader.codes) > CODE_LIMIT:
        raise ReadError(name, f"it has more than {CODE_LIMIT:,} codes.", "", "Export a part of it.")
