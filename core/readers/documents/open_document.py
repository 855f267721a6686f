"""OpenDocument texts (ODT): text under headings, with lists; tables, notes and headers are listed. And EPUB."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from themescope.core.errors import ReadError
from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind
from themescope.core.readers.documents.packages import (
    Package,
    attribute,
    decoded,
    local,
    made,
    media_type,
    names_in,
    walk,
)
from themescope.core.readers.html import PAGE_TITLE, html_blocks
from themescope.core.readers.streams import FileHead
from themescope.core.types import Report

_TYPE = "application/vnd.oasis.opendocument.text"
_SPACES = {"tab": "\t", "line-break": "\n", "s": " ", "soft-page-break": ""}
_LISTED = {
    "note": "footnote",
    "annotation": "comment",
    "tracked-changes": "deleted text",
    "table-of-content": "table of contents",
    "alphabetical-index": "index",
    "hidden-text": "hidden text",
    "ruby-text": "pronunciation",
    "title": "description of a picture",
    "desc": "description of a picture",
    **{f"{part}{pages}": part for part in ("header", "footer") for pages in ("", "-left", "-first")},
}
"""Elements whose text is listed only."""
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_WITHOUT_TEXT = frozenset([f"{_TEXT}note-citation", "{http://purl.org/dc/elements/1.1/}date", f"{_META}date-string"])
"""Numbers of notes, and dates of comments."""


class OpenDocument(DocumentReader[DocumentConfig]):
    """Reader of an ODT file as one article, titled by its paragraph in the style Title, or the file name."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the document."""
        package = Package(path, report)
        content, styles = package.xml("content.xml"), package.xml("styles.xml")
        if content is None:
            problem = "its part content.xml is missing, so nothing can be read."
            raise ReadError(path, problem, advice="Save it again.")
        roots = [content] if styles is None else [content, styles]
        parents = {
            attribute(value, "name"): attribute(value, "parent-style-name")
            for root in roots
            for event, value in walk(root)
            if event == "start" and local(value.tag) == "style"
        }
        yield Document("", (block for root in roots for block in _read(root, parents)))


def _read(root: Any, parents: dict[str, str]) -> Iterator[Block]:
    """Yield the blocks of a part. Of the styles, only headers and footers have text."""
    inside: Counter[str] = Counter()
    sinks: list[tuple[str, list[str]]] = []  # reason to list it, and text, of every open element that collects text
    tables = rows = without_text = 0
    for event, value in walk(root):
        if event == "text":
            if sinks and not without_text:
                sinks[-1][1].append(value)
            continue
        name = local(value.tag)
        step = 1 if event == "start" else -1
        inside[name] += step
        without_text += step * (value.tag in _WITHOUT_TEXT)
        reason = _reason(value)
        if event == "start":
            if name == "table" and inside["table"] == 1:
                tables, rows = tables + 1, 0
            rows += name == "table-row" and inside["table"] == 1
            if reason or name in ("p", "h"):
                sinks.append((reason, []))
            elif sinks and name in _SPACES:
                count = attribute(value, "c")
                sinks[-1][1].append(_SPACES[name] * (int(count) if count.isdecimal() and len(count) < 5 else 1))
        elif name == "creator" and sinks:
            sinks[-1][1].append(": ")
        elif reason:
            yield Block(reason, "".join(sinks.pop()[1]))
        elif name in ("p", "h"):
            text = "".join(sinks.pop()[1])
            around = next((pieces for reason, pieces in reversed(sinks) if reason), None)
            if around is not None:
                around.append(f"{text} ")
            else:
                place = f"table {tables}, row {rows}" if inside["table"] else ""
                yield from _paragraph(value, text, bool(inside["list"]), place, parents)


def _reason(element: Any) -> str:
    """Return why the text of an element is listed only, "" if it is not."""
    namespace, _, name = element.tag.rpartition("}")
    if name in ("title", "desc") and "svg" not in namespace:
        return ""
    if name == "note" and attribute(element, "note-class") == "endnote":
        return "endnote"
    return _LISTED.get(name, "")


def _paragraph(element: Any, text: str, in_list: bool, place: str, parents: dict[str, str]) -> Iterator[Block]:
    level, styles = 0, [attribute(element, "style-name")]
    while (parent := parents.get(styles[-1])) and parent not in styles:
        styles.append(parent)
    if place:
        kind = Kind.TABLE
    elif "Title" in styles:
        kind, level = Kind.TITLE, 1
    elif local(element.tag) == "h":
        outline = attribute(element, "outline-level")
        kind, level = Kind.HEADING, int(outline) if outline.isdecimal() and len(outline) < 3 else 1
    else:
        kind = Kind.LIST if in_list else Kind.PARAGRAPH
    for part in text.split("\n\n"):
        yield Block(kind, part, level, place)


def recognises(head: FileHead) -> bool:
    """Return whether a file is an OpenDocument text."""
    if found := media_type(head):
        return found.startswith(_TYPE.encode())
    return head.suffix == ".odt" and "content.xml" in names_in(head)


def made_of(body: str) -> bytes:
    """Return an ODT file of the XML of a text."""
    spaces = ("office", "text", "table")
    names = "".join(f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in spaces)
    content = (
        f'<office:document-content{names} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:body><office:text>'
        f"{body}</office:text></office:body></office:document-content>"
    )
    return made({"mimetype": _TYPE, "content.xml": content})


SAMPLE = made_of(
    '<text:p text:style-name="Title">Ada</text:p><text:p>Ada is a town. It is old.</text:p>'
    '<text:h text:outline-level="1">History</text:h><text:p>It was founded in 1200.</text:p>'
    "<text:p>Then it grew.</text:p>"
)


# Electronic books (EPUB): the chapters in reading order, each an HTML page

_CONTAINER, _EPUB_TYPE = "META-INF/container.xml", b"application/epub+zip"


class Epub(DocumentReader[DocumentConfig]):
    """Reader of a book as one article with a section for each chapter."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the book."""
        package = Package(path, report)
        if "META-INF/rights.xml" in package.names:
            raise ReadError(path, "this book is protected against copying.", advice="Use a copy without protection.")
        root = _first(package.xml(_CONTAINER), "rootfile")
        name = attribute(root, "full-path") if root is not None else ""
        book = package.xml(name)
        if book is None:
            advice = "Save it again, for example with Calibre."
            raise ReadError(path, "this book has no list of chapters.", advice=advice)
        element = _first(book, "title")
        title = "".join(element.itertext()) if element is not None else ""
        yield Document(" ".join(title.split()), self._blocks(package, book, posixpath.dirname(name)))

    def _blocks(self, package: Package, book: Any, folder: str) -> Iterator[Block]:
        files, order = {}, []
        for each in book.iter():
            if local(each.tag) == "item" and attribute(each, "media-type") in ("application/xhtml+xml", "text/html"):
                target = posixpath.join(folder, unquote(attribute(each, "href")))
                files[attribute(each, "id")] = posixpath.normpath(target)
            elif local(each.tag) == "itemref":
                order.append((attribute(each, "idref"), attribute(each, "linear") != "no"))
        outside = [(id, False) for id in files if id not in {id for id, _ in order}]
        for id, linear in [*order, *outside]:
            if id not in files:
                continue
            found = html_blocks(decoded(package.read(files[id]), "", self.account, files[id]))
            if not linear:
                text = " ".join(block.text for block in found)
                yield Block("text outside of the reading order", text, place=files[id])
                continue
            headed = any(block.kind in (Kind.TITLE, Kind.HEADING) for block in found)
            for block in found:
                if block.kind == Kind.TITLE or (block.kind == PAGE_TITLE and not headed):
                    yield Block(Kind.HEADING, block.text, 1)
                elif block.kind == Kind.HEADING:
                    yield block._replace(level=block.level + 1)
                else:
                    yield block


def _first(root: Any, name: str) -> Any:
    """Return the first element of a name, None if there is none."""
    return next((each for each in root.iter() if local(each.tag) == name), None) if root is not None else None


def recognises_epub(head: FileHead) -> bool:
    """Return whether a file is an EPUB book."""
    if found := media_type(head):
        return found.startswith(_EPUB_TYPE)
    return _CONTAINER in names_in(head)


def epub_of(*chapters: str) -> bytes:
    """Return an EPUB file of the HTML of chapters."""
    items = "".join(
        f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    return made(
        {
            "mimetype": _EPUB_TYPE.decode(),
            _CONTAINER: '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
            "book.opf": f"<package><metadata><title>Ada</title></metadata><manifest>{items}</manifest>"
            f"<spine>{spine}</spine></package>",
            **{f"c{n}.xhtml": f"<html><body>{chapter}</body></html>" for n, chapter in enumerate(chapters)},
        }
    )


EPUB_SAMPLE = epub_of(
    "<h1>Start</h1><p>Ada is a town.</p>", "<h1>History</h1><p>It was founded in 1200.</p><p>Then it grew.</p>"
)
