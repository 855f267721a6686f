"""Electronic books (EPUB): the chapters in reading order, each an HTML page."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from themescope.core.errors import ReadError
from themescope.core.readers.blocks import HEADING, TITLE, Block, Document, DocumentConfig, DocumentReader
from themescope.core.readers.documents.packages import Package, attribute, decoded, local, made, media_type, names_in
from themescope.core.readers.html import PAGE_TITLE, html_blocks
from themescope.core.readers.streams import FileHead
from themescope.core.types import Report

_CONTAINER, _TYPE = "META-INF/container.xml", b"application/epub+zip"


class Epub(DocumentReader):
    """Reader of a book as one article with a section for each chapter."""

    config: DocumentConfig

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the book."""
        package = Package(path, report)
        if "META-INF/rights.xml" in package.names:
            raise ReadError(path, "this book is protected against copying.", advice="Use a copy without protection.")
        root, name = _first(package.xml(_CONTAINER), "rootfile"), ""
        if root is not None:
            name = attribute(root, "full-path")
        book = package.xml(name)
        if book is None:
            advice = "Save it again, for example with Calibre."
            raise ReadError(path, "this book has no list of chapters.", advice=advice)
        title = _first(book, "title")
        yield Document(" ".join("".join(title.itertext()).split()) if title is not None else "",
                       self._blocks(package, book, posixpath.dirname(name)))  # fmt: skip

    def _blocks(self, package: Package, book: Any, folder: str) -> Iterator[Block]:
        files, order = {}, []
        for each in book.iter():
            if local(each.tag) == "item" and attribute(each, "media-type") in ("application/xhtml+xml", "text/html"):
                files[attribute(each, "id")] = posixpath.normpath(
                    posixpath.join(folder, unquote(attribute(each, "href")))
                )
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
            headed = any(block.kind in (TITLE, HEADING) for block in found)
            for block in found:
                if block.kind == TITLE or (block.kind == PAGE_TITLE and not headed):
                    yield Block(HEADING, block.text, 1)
                elif block.kind == HEADING:
                    yield block._replace(level=block.level + 1)
                else:
                    yield block


def _first(root: Any, name: str) -> Any:
    """Return the first element of a name, None if there is none."""
    return next((each for each in root.iter() if local(each.tag) == name), None) if root is not None else None


def recognises(head: FileHead) -> bool:
    """Return whether a file is an EPUB book."""
    if found := media_type(head):
        return found.startswith(_TYPE)
    return _CONTAINER in names_in(head)


def made_of(*chapters: str) -> bytes:
    """Return an EPUB file of the HTML of chapters."""
    items = "".join(
        f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    return made(
        {
            "mimetype": _TYPE.decode(),
            _CONTAINER: '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
            "book.opf": f"<package><metadata><title>Ada</title></metadata><manifest>{items}</manifest>"
            f"<spine>{spine}</spine></package>",
            **{f"c{n}.xhtml": f"<html><body>{chapter}</body></html>" for n, chapter in enumerate(chapters)},
        }
    )


SAMPLE = made_of(
    "<h1>Start</h1><p>Ada is a town.</p>", "<h1>History</h1><p>It was founded in 1200.</p><p>Then it grew.</p>"
)
