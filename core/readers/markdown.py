"""Markdown documents: headings, paragraphs and block quotes, parsed by pulldown-cmark (CommonMark)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from themescope.core.config import Config, option
from themescope.core.errors import optional_module
from themescope.core.protocols import Report
from themescope.core.readers.outline import BaseReader, Outline, title_of
from themescope.core.readers.streams import FileHead, whole_text
from themescope.core.types import Article

_MARKDOWN = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+\S|\S.*\n {0,3}(?:={3,}|-{3,})[ \t]*$)", re.MULTILINE)

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
class MarkdownConfig(Config):
    """Settings of the reader."""

    keep_lists: bool = option(False, "Keep every list item as a paragraph; otherwise lists are skipped.")
    one_article: bool = option(
        False, "Read the whole file as one article; otherwise every first-level heading starts an article."
    )


class Markdown(BaseReader):
    """Reader of a Markdown document, without code, tables, images and raw HTML."""

    config: MarkdownConfig

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield articles in file order."""
        self.account.clear()
        outline, named = Outline(title_of(path.name), source=path.name), False
        for block in self._kept(blocks(_without_front_matter(whole_text(path, report)))):
            if block.level == 1 and not self.config.one_article:
                yield from self._finished(outline, named)
                outline, named = Outline(block.text or title_of(path.name), source=path.name), True
            elif block.level:
                outline.heading(block.text, block.level + self.config.one_article)
            else:
                outline.paragraph(block.text)
        yield from self._finished(outline)

    def _kept(self, found: Iterable[Block]) -> Iterator[Block]:
        for block in found:
            if block.kind in ("code block", "table") or (block.kind == "list item" and not self.config.keep_lists):
                self.account.skip(block.kind)
            else:
                yield block


class Block(NamedTuple):
    """A block of a document."""

    kind: str
    """"heading", "paragraph", "list item" (a paragraph in a list), "code block" or "table"."""
    level: int = 0
    """Level of a heading, from 1."""
    text: str = ""
    """Text with link labels and code, without images and HTML tags."""


_INLINE = frozenset(["Emphasis", "Strong", "Link", "Image"])
_WITHOUT_TEXT = {"CodeBlock": "code block", "Table": "table", "HtmlBlock": ""}


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a document in order, without those of raw HTML."""
    pyromark = optional_module("pyromark", "Reading Markdown", "pyromark", "files")
    state = _State()
    events: Iterator[Any] = pyromark.events(text, options=pyromark.Options.ENABLE_TABLES)
    for event in events:
        kind, value = (event, "") if isinstance(event, str) else next(iter(event.items()))
        name = value if isinstance(value, str) else next(iter(value))
        step = {"Start": 1, "End": -1}.get(kind, 0)
        if kind != "Rule" and (step == 0 or name in _INLINE):
            state.add(kind, name, step)
            continue
        if (block := state.end_block()) is not None:
            yield block
        if step:
            state.enter(name, value, step)
        if step == 1 and (without_text := _WITHOUT_TEXT.get(name)):
            yield Block(without_text)


class _State:
    """The open heading or paragraph, and the elements around it.

    The parser reports no paragraph around the text of an item in a list without blank lines, so any text opens one.
    """

    def __init__(self) -> None:
        self._pieces: list[str] | None = None
        self._level = self._lists = self._images = self._without_text = 0

    def add(self, kind: str, text: str, step: int) -> None:
        """Add a piece of text, or open (``step`` 1) or close (-1) an element inside a paragraph."""
        if self._without_text:
            return
        self._pieces = self._pieces or []
        self._images += step * (step != 0 and text == "Image")
        if not self._images and kind in ("Text", "Code"):
            self._pieces.append(text)
        elif kind in ("SoftBreak", "HardBreak"):
            self._pieces.append(" ")

    def enter(self, name: str, value: Any, step: int) -> None:
        """Open (``step`` 1) or close (-1) an element around paragraphs, a paragraph or a heading."""
        self._lists += step * (name == "List")
        self._without_text += step * (name in _WITHOUT_TEXT)
        if step == 1 and name in ("Paragraph", "Heading"):
            self._pieces = []
        if step == 1 and name == "Heading":
            self._level = int(value[name]["level"].removeprefix("H"))

    def end_block(self) -> Block | None:
        """Return the open block, if any, and close it."""
        pieces, level = self._pieces, self._level
        self._pieces, self._level = None, 0
        if pieces is None:
            return None
        kind = "heading" if level else "list item" if self._lists else "paragraph"
        return Block(kind, level, " ".join("".join(pieces).split()))


def _without_front_matter(text: str) -> str:
    """Return the text without the YAML block of static site generators at its start."""
    if text.startswith("---\n"):
        _, end, rest = text[4:].partition("\n---\n")
        if end:
            return rest
    return text


def recognises(head: FileHead) -> bool:
    """Return whether a text has a Markdown heading, or its file a suffix of Markdown."""
    return bool(_MARKDOWN.search(head.text)) or head.suffix in (".md", ".markdown")
