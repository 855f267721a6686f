"""Markdown documents: headings, paragraphs, quotes and the text of HTML, parsed by pulldown-cmark (CommonMark)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from themescope.core.config import option
from themescope.core.errors import optional_module
from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind, title_of
from themescope.core.readers.html import html_blocks
from themescope.core.readers.plain_text import text_of
from themescope.core.readers.streams import ENCODINGS, FileHead
from themescope.core.types import Report

_ATX = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_SETEXT = re.compile(
    r"^ {0,3}\S.*\n {0,3}={3,}[ \t]*$"
    r"|(?:\A|\n[ \t]*\n) {0,3}[^\s\n](?:[^\n]*[^\s.!?…])?[ \t]*\n {0,3}-{3,}[ \t]*(?=\n[ \t]*(?:\n|\Z)|\Z)",
    re.MULTILINE,
)
_UNDERLINED_SENTENCE = re.compile(r"([.!?…][\"'”’»)]*[ \t]*\n)(?= {0,3}-{3,}[ \t]*(?:\n|\Z))")
"""The end of a sentence above a line of dashes, which separates answers; it is no heading."""
_SUFFIXES = (".md", ".markdown")
_FRONT_MATTER = "front matter"
_TITLE_LINE = re.compile(r"^title\s*[:=]\s*(.+)$", re.MULTILINE)

SAMPLE = b"""\
# Ada

Ada is a *town*. It
is old.

## History

### Early days

It was founded.

* item

# Bea

Bea is.
"""


@dataclass(frozen=True)
class MarkdownConfig(DocumentConfig):
    """Settings of the reader."""

    keep_lists: bool = option(False, "Keep every list item as a paragraph; otherwise lists are skipped.")
    one_article: bool = option(
        False, "Read the whole file as one article; otherwise every first-level heading starts an article."
    )
    encoding: str = option("", "Encoding of the text; empty: found from its bytes.", choices=("", *ENCODINGS))


class Markdown(DocumentReader[MarkdownConfig]):
    """Reader of a Markdown document; code, tables, footnotes and front matter are listed."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the documents in file order: one, or one for each first-level heading."""
        title, found, named = title_of(path.name), list[Block](), False
        text = text_of(path, report, self.config.encoding, self.account)
        text = _UNDERLINED_SENTENCE.sub(r"\1\n", text)
        for block in blocks(text, Kind.CODE if path.suffix.lower() in _SUFFIXES else Kind.PARAGRAPH):
            if block.level == 1 and block.kind == Kind.HEADING and not self.config.one_article:
                if named or any(each.kind != _FRONT_MATTER for each in found):
                    yield Document(title, found)
                    found = []
                title, named = " ".join(block.text.split()) or title_of(path.name), True
                continue
            front = _TITLE_LINE.search(block.text) if block.kind == _FRONT_MATTER else None
            title = front[1].strip().strip("\"'") if front else title
            found.append(block._replace(level=max(block.level - (not self.config.one_article), 0)))
        if named or found:
            yield Document(title, found)


_INLINE = frozenset(["Emphasis", "Strong", "Strikethrough", "Link", "Image"])
_AROUND = {
    "List": Kind.LIST,
    "Table": Kind.TABLE,
    "CodeBlock": Kind.CODE,
    "FootnoteDefinition": "footnote",
    "MetadataBlock": _FRONT_MATTER,
}
"""Element → kind of the blocks in it."""


def blocks(text: str, indented: str = Kind.CODE) -> Iterator[Block]:
    """Yield the blocks of a document in order; ``indented`` is the kind of indented blocks, which may be text."""
    pyromark = optional_module("pyromark", "Reading Markdown", "pyromark", "app")
    known = pyromark.Options
    options = known.ENABLE_TABLES | known.ENABLE_FOOTNOTES
    options |= known.ENABLE_YAML_STYLE_METADATA_BLOCKS | known.ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
    state = _State(indented)
    events: Iterator[Any] = pyromark.events(text, options=options)
    for event in events:
        kind, value = (event, "") if isinstance(event, str) else next(iter(event.items()))
        name = value if isinstance(value, str) else next(iter(value))
        step = {"Start": 1, "End": -1}.get(kind, 0)
        if kind != "Rule" and (step == 0 or name in _INLINE):
            yield from state.add(kind, name, step)
            continue
        yield from state.end_block()
        if step:
            state.enter(name, value, step)
    yield from state.end_block()


class _State:
    """The open heading or paragraph, and the elements around it.

    The parser reports no paragraph around the text of an item in a list without blank lines, so any text opens one.
    """

    def __init__(self, indented: str) -> None:
        self._indented = indented
        self._pieces: list[str] = []
        self._picture: list[str] = []
        self._html: list[str] = []
        self._around: list[str] = []
        self._level = self._images = self._rows = self._tables = 0

    def add(self, kind: str, text: str, step: int) -> Iterator[Block]:
        """Add a piece of text, or open (``step`` 1) or close (-1) an element inside a paragraph."""
        if text == "Image" and step:
            self._images += step
            if not self._images:
                yield Block("picture", "".join(self._picture))
                self._picture = []
        elif kind == "Html":
            self._html.append(text)
        elif kind in ("SoftBreak", "HardBreak", "Text", "Code", "InlineMath", "DisplayMath"):
            (self._picture if self._images else self._pieces).append("\n" if kind.endswith("Break") else text)
        elif kind == "InlineHtml" and text.lower().startswith("<br"):
            self._pieces.append(" ")

    def enter(self, name: str, value: Any, step: int) -> None:
        """Open (``step`` 1) or close (-1) an element around paragraphs, a paragraph or a heading."""
        if name in _AROUND:
            if step > 0:
                is_indented = name == "CodeBlock" and value[name] == "Indented"
                self._around.append(self._indented if is_indented else _AROUND[name])
            else:
                self._around.pop()
        self._tables += step > 0 and name == "Table"
        self._rows = 0 if name == "Table" else self._rows + (step > 0 and name in ("TableHead", "TableRow"))
        if step == 1 and name == "Heading":
            self._level = int(value[name]["level"].removeprefix("H"))

    def end_block(self) -> Iterator[Block]:
        """Yield the open block, if any, and close it."""
        text, level, html = "".join(self._pieces), self._level, "".join(self._html)
        self._pieces, self._html, self._level = [], [], 0
        around = self._around[-1] if self._around else Kind.PARAGRAPH
        if html:
            for block in html_blocks(html):
                yield block._replace(kind=Kind.HEADING) if block.kind == Kind.TITLE else block
        if text.strip():
            place = f"table {self._tables}, row {self._rows}" if around == Kind.TABLE else ""
            kind = next((kind for kind in self._around if kind not in (Kind.LIST, Kind.TABLE, Kind.PARAGRAPH)), around)
            for part in text.split("\n\n") if kind == Kind.PARAGRAPH else [text]:
                yield Block(Kind.HEADING if level and kind == Kind.PARAGRAPH else kind, part, level, place)


def recognises(head: FileHead) -> bool:
    """Return whether a text has a Markdown heading, or its file a suffix of Markdown."""
    return head.suffix in _SUFFIXES or bool(_ATX.search(head.text) or _SETEXT.search(head.text))
