"""Word documents (DOCX): text under headings, with lists; tables, notes, comments and headers are listed.

The XML is read directly, because libraries such as python-docx leave out text in tracked insertions, content controls
and text boxes without saying so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind
from themescope.core.readers.documents.packages import Package, attribute, local, made, names_in, walk
from themescope.core.readers.streams import FileHead
from themescope.core.types import Report

_MAIN = "word/document.xml"
_BREAKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
_OMITTED = {"del": "deleted text", "moveFrom": "moved text", "rt": "pronunciation", "delText": "deleted text"}
"""Elements whose text is listed only."""
_IGNORED = frozenset(["Fallback", "instrText", "delInstrText", "pPrChange", "rPrChange"])
"""Elements without text of their own: copies for older programs, and field codes."""
_PARTS = {"header": "header", "footer": "footer", "footnotes": "footnote", "endnotes": "endnote", "comments": "comment"}
_PART = re.compile(r"word/(header|footer|footnotes|endnotes|comments)\d*\.xml\Z")
_DRAWN = re.compile(r"word/(?:diagrams/data|charts/chart)\d*\.xml\Z")
_HEADING_STYLE = re.compile(r"heading (\d)")
_LINES = re.compile(r"\n\s*\n")


@dataclass(slots=True)
class _Open:
    """A paragraph that is being read."""

    style: str = ""
    level: int = 0
    listed: bool = False
    hidden: bool = False
    pieces: list[str] = field(default_factory=list)
    omitted: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    based_on: str
    level: int
    listed: bool


class Word(DocumentReader[DocumentConfig]):
    """Reader of a DOCX file as one article, titled by its paragraph in the style Title, or the file name."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the document."""
        yield Document("", self._blocks(Package(path, report)))

    def _blocks(self, package: Package) -> Iterator[Block]:
        styles = _styles(package.xml("word/styles.xml"))
        yield from _paragraphs(package.xml(_main_part(package)), styles)
        for name in sorted(package.names):
            if found := _PART.match(name):
                yield from _listed(package.xml(name), styles, _PARTS[found[1]])
            elif _DRAWN.match(name):
                texts = (value.text for event, value in walk(package.xml(name)) if event == "end" and value.text)
                yield Block("diagram", " ".join(texts), place=name)


def _main_part(package: Package) -> str:
    """Return the name of the part with the text, which some programs call otherwise."""
    if _MAIN in package.names:
        return _MAIN
    relations = package.xml("_rels/.rels")
    for each in relations if relations is not None else ():
        if attribute(each, "Type").endswith("/officeDocument"):
            return attribute(each, "Target").lstrip("/")
    return _MAIN


def _styles(root: Any) -> dict[str, _Style]:
    found = {}
    for style in root if root is not None else ():
        if local(style.tag) != "style":
            continue
        name, based_on, level, listed = "", "", 0, False
        for event, value in walk(style):
            if event == "start":
                match local(value.tag):
                    case "name":
                        name = attribute(value, "val").lower()
                    case "basedOn":
                        based_on = attribute(value, "val")
                    case "outlineLvl":
                        level = _outline(value)
                    case "numPr":
                        listed = True
        if heading := _HEADING_STYLE.match(name):
            level = int(heading[1])
        found[attribute(style, "styleId")] = _Style(name, based_on, level, listed or name.startswith("list"))
    return found


def _outline(element: Any) -> int:
    """Return the level of an outline, from 1; 0 for body text."""
    value = attribute(element, "val")
    return int(value) + 1 if value.isdecimal() and int(value) < 9 else 0


def _paragraphs(root: Any, styles: dict[str, _Style]) -> Iterator[Block]:
    """Yield the blocks of a part; the text of a box in a paragraph comes before it."""
    paragraphs: list[_Open] = []
    omitted: list[str] = []
    tables = ignored = rows = number = 0
    for event, value in walk(root) if root is not None else ():
        if event == "text":
            continue
        name = local(value.tag)
        step = 1 if event == "start" else -1
        ignored += step * (name in _IGNORED)
        if ignored:
            continue
        if name in _OMITTED:
            omitted = [*omitted, _OMITTED[name]] if step > 0 else omitted[:-1]
        if name == "tbl":
            tables += step
            number += step > 0 and tables == 1
            rows = 0 if tables == 1 and step > 0 else rows
        elif name == "tr" and tables == 1:
            rows += step > 0
        elif name == "p" and step > 0:
            paragraphs.append(_Open())
        elif name == "p" and paragraphs:
            place = f"table {number}, row {rows}" if tables else ""
            yield from _ended(paragraphs.pop(), styles, place)
        elif paragraphs:
            _read(name, value, step, paragraphs[-1], omitted)


def _read(name: str, element: Any, step: int, paragraph: _Open, omitted: list[str]) -> None:
    """Add a property or a text of a paragraph."""
    if step > 0:
        match name:
            case "pStyle":
                paragraph.style = attribute(element, "val")
            case "outlineLvl":
                paragraph.level = _outline(element)
            case "numPr":
                paragraph.listed = True
            case "r":
                paragraph.hidden = False
            case "vanish":
                paragraph.hidden = attribute(element, "val") not in ("0", "false", "off")
        return
    if name in ("t", "delText"):
        text = element.text or ""
    elif name == "sym":
        code = attribute(element, "char")
        text = chr(int(code, 16)) if re.fullmatch("[0-9A-Fa-f]{1,4}", code) else ""
    else:
        text = _BREAKS.get(name, "")
        if name == "br" and attribute(element, "type") in ("page", "column"):
            text = "\n\n"
    if text and (omitted or paragraph.hidden):
        paragraph.omitted.setdefault(omitted[-1] if omitted else "hidden text", []).append(text)
    else:
        paragraph.pieces.append(text)


def _ended(paragraph: _Open, styles: dict[str, _Style], place: str) -> Iterator[Block]:
    chain: list[_Style] = []  # its style, and those that it is based on
    style = styles.get(paragraph.style)
    while style is not None and style not in chain:
        chain.append(style)
        style = styles.get(style.based_on)
    names = [style.name for style in chain] or [paragraph.style.lower()]
    level = paragraph.level or next((style.level for style in chain if style.level), 0)
    if place:
        kind = Kind.TABLE
    elif any(name.startswith("toc ") for name in names):
        kind = "table of contents"
    elif "title" in names:
        kind, level = Kind.TITLE, 1
    elif level:
        kind = Kind.HEADING
    elif paragraph.listed or any(style.listed for style in chain):
        kind = Kind.LIST
    else:
        kind = Kind.PARAGRAPH
    text = "".join(paragraph.pieces)
    for part in [text] if kind in (Kind.TITLE, Kind.HEADING) else _LINES.split(text):
        yield Block(kind, part, level, place)
    for reason, pieces in paragraph.omitted.items():
        yield Block(reason, "".join(pieces), place=place)


def _listed(root: Any, styles: dict[str, _Style], kind: str) -> Iterator[Block]:
    """Yield the text of notes, comments, headers or footers, which is listed only."""
    if kind in ("header", "footer"):
        yield Block(kind, " ".join(block.text for block in _paragraphs(root, styles)))
        return
    number = 0
    for entry in root if root is not None else ():
        text = " ".join(block.text for block in _paragraphs(entry, styles) if block.text.strip())
        number += bool(text)
        author = attribute(entry, "author")
        yield Block(kind, f"{author}: {text}" if author and text else text, place=f"{kind} {number}")


def recognises(head: FileHead) -> bool:
    """Return whether a file is a Word document."""
    names = names_in(head)
    return _MAIN in names or (head.suffix == ".docx" and "_rels/.rels" in names)


_NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SAMPLE = made(
    {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        _MAIN: f"<w:document {_NAMESPACE}><w:body>"
        + "".join(
            f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
            for style, text in (
                ("Title", "Ada"),
                ("", "Ada is a town. It is old."),
                ("H1", "History"),
                ("", "It was founded in 1200."),
                ("", "Then it grew."),
            )
        )
        + "</w:body></w:document>",
        "word/styles.xml": f'<w:styles {_NAMESPACE}><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
        "</w:styles>",
    }
)
