"""Blocks of documents, and the reader that makes an article of them.

A reader of a format yields everything with text, in page order, as blocks of some kind. What becomes a sentence, and
what is only listed in the account of the file, is decided here, in the same way for all formats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from themescope.core.config import Config, option
from themescope.core.protocols import Report
from themescope.core.readers.documents.turns import Layout, lines_of
from themescope.core.readers.outline import BaseReader, Outline, title_of
from themescope.core.readers.streams import check_article
from themescope.core.types import Article, Value

PARAGRAPH, HEADING, TITLE, LIST, TABLE = "paragraph", "heading", "title", "list item", "table cell"
CODE, PREFORMATTED = "code block", "preformatted text"
_OPTIONAL = {LIST: "lists", TABLE: "tables", CODE: "code blocks", PREFORMATTED: "preformatted text"}
"""Kinds that are running text in a document without any other."""


class Block(NamedTuple):
    """A piece of text of a document."""

    kind: str
    """PARAGRAPH, HEADING, TITLE, LIST or TABLE; any other kind, such as "footnote", is listed as left out."""
    text: str
    level: int = 0
    """Level of a heading, from 1."""
    place: str = ""
    """Where it stands, such as "page 3"; by default, after which paragraph."""
    values: Mapping[str, Value] = {}
    """Column → value of its sentences."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a file; the file may have several."""

    title: str
    """Title if no block is one."""
    blocks: Iterable[Block]
    values: Mapping[str, Value] = field(default_factory=dict)
    url: str = ""


@dataclass(frozen=True)
class DocumentConfig(Config):
    """Settings of a reader of documents."""

    keep_lists: bool = option(True, "Keep every list item as a paragraph; otherwise lists are skipped.")
    keep_tables: bool = option(False, "Keep the text of every table cell as a paragraph; otherwise tables are skipped.")


class DocumentReader(BaseReader, ABC):
    """Base of readers whose documents are blocks."""

    @abstractmethod
    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the documents of a file in order."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield an article for every document with text."""
        self.account.clear()
        for document in self.documents(path, report):
            yield from self._article(document, path)

    def _keeps(self, kind: str) -> bool:
        if kind not in (LIST, TABLE) or not isinstance(self.config, DocumentConfig):
            return kind == PARAGRAPH
        return self.config.keep_lists if kind == LIST else self.config.keep_tables

    def _by_turns(self, blocks: list[Block], kept: set[str]) -> list[Block]:
        """Return the blocks of a transcript with speakers and times as values; those of other texts as they are."""
        places = [place for place, block in enumerate(blocks) if block.kind in kept and not block.values]
        parts = [(place, line) for place in places for line in lines_of(blocks[place].text)]
        texts = [line for _, line in parts]
        layout = Layout(texts)
        if not layout.found:
            return blocks
        self.account.notes["speakers"] = ", ".join(sorted(layout.speakers)) or "none"
        turns: dict[int, list[Block]] = {place: [] for place in places}
        for index, begins, turn in layout.turns(texts, [blocks[place].place for place, _ in parts], self.account):
            place = parts[index][0]
            said = turns[place]
            if said and not begins:
                said[-1] = said[-1]._replace(text=f"{said[-1].text} {turn.text}")
            else:
                said.append(blocks[place]._replace(text=turn.text, values=turn.values))
        return [each for place, block in enumerate(blocks) for each in turns.get(place, [block])]

    def _article(self, document: Document, path: Path) -> Iterator[Article]:
        blocks = [block for block in document.blocks if block.text.strip()]
        check_article(path, sum(len(block.text) for block in blocks))
        kept = {kind for kind in {block.kind for block in blocks} if self._keeps(kind)}
        if not kept:
            kept = {block.kind for block in blocks} & _OPTIONAL.keys()
            if kept:
                self.account.notes["text"] = f"only in {' and '.join(sorted(_OPTIONAL[kind] for kind in kept))}"
        blocks = [block._replace(text=" ".join(block.text.split())) for block in self._by_turns(blocks, kept)]
        outline, titled = Outline("", document.url, path.name), ""
        rows: list[Mapping[str, Value]] = []
        for block in blocks:
            if block.kind == TITLE and not titled:
                titled = block.text
            elif block.kind in (HEADING, TITLE):
                outline.heading(block.text, max(block.level, 1) + 1)
            elif block.kind in kept and block.level:
                outline.heading(block.text, block.level + 1)
            elif block.kind in kept:
                outline.paragraph(block.text)
                rows.append(block.values)
            else:
                self.account.skip(block.kind, block.place or f"after paragraph {len(rows)}", block.text)
        outline.title = titled or document.title or title_of(path.name)
        if not rows:
            headings = [document.title, *(block.text for block in blocks if block.kind in (HEADING, TITLE))]
            self.account.skip("no text", outline.title, " ".join(filter(None, headings)))
            return
        names = dict.fromkeys(name for row in rows for name, value in row.items() if value not in (None, ""))
        columns = {name: [row.get(name) or None for row in rows] for name in names}
        article = outline.article()
        if article is not None:
            yield replace(article, values=dict(document.values), sentence_values=columns)
