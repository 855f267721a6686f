"""Markdown documents: headings, paragraphs and block quotes, parsed by markdown-it-py (CommonMark)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.config import Config, option
from core.protocols import Report
from core.readers.outline import BaseReader, Outline, title_of
from core.readers.streams import FileHead, whole_text
from core.types import Article

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
"""A tiny file in this format."""


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
        self._skipped.clear()
        tokens = MarkdownIt("commonmark").enable("table").parse(_without_front_matter(whole_text(path, report)))
        outline, named = Outline(title_of(path.name), source=path.name), False
        for kind, level, text in self._blocks(tokens):
            if kind == "heading" and level == 1 and not self.config.one_article:
                yield from self._finished(outline, named)
                outline, named = Outline(text or title_of(path.name), source=path.name), True
            elif kind == "heading":
                outline.heading(text, level + self.config.one_article)
            else:
                outline.paragraph(text)
        yield from self._finished(outline)

    def _blocks(self, tokens: Sequence[Token]) -> Iterator[tuple[str, int, str]]:
        """Yield (kind, level, text) of every heading and paragraph to keep."""
        lists = tables = 0
        for index, token in enumerate(tokens):
            lists += token.nesting * (token.type in ("bullet_list_open", "ordered_list_open", *_LIST_ENDS))
            tables += token.nesting * (token.type in ("table_open", "table_close"))
            if token.type in ("fence", "code_block"):
                self._skipped["code block"] += 1
            elif token.type == "table_open":
                self._skipped["table"] += 1
            elif token.type != "inline" or tables:
                continue
            elif tokens[index - 1].type == "heading_open":
                yield "heading", int(tokens[index - 1].tag[1:]), text_of(token)
            elif lists and not self.config.keep_lists:
                self._skipped["list item"] += 1
            else:
                yield "paragraph", 0, text_of(token)


_LIST_ENDS = ("bullet_list_close", "ordered_list_close")


def text_of(inline: Token) -> str:
    """Return the text of a heading or paragraph with link labels and code, without images and HTML tags."""
    pieces = []
    for child in inline.children or ():
        if child.type in ("text", "code_inline"):
            pieces.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
    return " ".join("".join(pieces).split())


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
