"""Blocks of documents, and the reader that makes an article of them.

A reader of a format yields everything with text, in page order, as blocks of some kind. What becomes a sentence, and
what is only listed in the account of the file, is decided here, in the same way for all formats.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from themescope.core.config import Config, option
from themescope.core.errors import ReadError
from themescope.core.readers.documents.turns import Layout, lines_of
from themescope.core.readers.streams import check_article
from themescope.core.text.cleaning import one_line
from themescope.core.types import Article, Paragraph, ReadAccount, ReadEntry, Report, Section, Value

# Base class of readers, and the builder of an article from a stream of headings and paragraphs


class Outline:
    """Builder of an article: flat sections in page order, each with the path of headings above it.

    Text before the first heading becomes the lead (level 1, empty title). Blank paragraphs are ignored.
    """

    def __init__(self, title: str, url: str = "", source: str = "", topic: str = "", part: str = "") -> None:
        self.title, self._url, self._source = title, url, source
        self._topic, self._part = topic, part
        self._sections: list[Section] = []
        self._above: list[tuple[int, str]] = []
        self._title, self._level = "", 1
        self._paragraphs: list[Paragraph] = []
        self.headings: list[str] = []
        """Every heading so far."""

    def heading(self, title: str, level: int) -> None:
        """Open a section; ``level`` is 2 for a top-level heading, as in HTML and wikis where 1 is the title."""
        self._close()
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        self._above.append((level, title))
        self.headings.append(title)
        self._title, self._level = title, level

    def paragraph(self, text: str, sentences: tuple[str, ...] = ()) -> None:
        """Add a paragraph to the open section."""
        text = text.strip()
        if text:
            self._paragraphs.append(Paragraph(text, sentences))

    def _close(self) -> None:
        path = tuple(title for _, title in self._above)
        if path or self._paragraphs:
            self._sections.append(Section(self._title, self._level, tuple(self._paragraphs), path))
        self._paragraphs = []

    def sections(self) -> tuple[Section, ...]:
        """Close the outline and return every section."""
        self._close()
        self._above = []
        return tuple(self._sections)

    def article(self) -> Article | None:
        """Close the outline and return the article, or None if no section has a paragraph."""
        sections = self.sections()
        if not any(section.paragraphs for section in sections):
            return None
        return Article(self.title, sections, self._url, self._source, self._topic, self._part)


class SentenceRow(NamedTuple):
    """A sentence in a row of a table."""

    place: str
    """Where it stands, such as "row 3"."""
    title: str
    """Title of its article."""
    section: str
    text: str
    values: Mapping[str, Value]
    """Column → value; the same columns for every row."""


OPEN_LIMIT = 256_000_000
"""Maximum number of characters of incomplete articles in memory."""


def articles_of_rows(
    path: Path, rows: Iterable[SentenceRow], expected: Mapping[str, int], advice: str
) -> Iterator[list[SentenceRow]]:
    """Yield the rows of an article as soon as it has as many as are ``expected`` of its title.

    They need therefore not be adjacent, and only incomplete articles are kept in memory. Raises :class:`ReadError` with
    ``advice`` if these are too many.
    """
    waiting: dict[str, list[SentenceRow]] = {}
    sizes: Counter[str] = Counter()
    held = 0
    for row in rows:
        size = len(row.text) + sum(len(value) if isinstance(value, str) else 8 for value in row.values.values())
        waiting.setdefault(row.title, []).append(row)
        sizes[row.title] += size
        held += size
        if held > OPEN_LIMIT:
            problem = f"more than {OPEN_LIMIT:,} characters of articles whose rows are not adjacent."
            raise ReadError(path, problem, row.place, advice)
        if len(waiting[row.title]) == expected[row.title]:
            held -= sizes.pop(row.title)
            yield waiting.pop(row.title)


def article_of_rows(title: str, rows: Sequence[SentenceRow], source: str, url: str = "") -> Article:
    """Return the article with sections in the order of their first rows; rows without one form the lead."""
    sections: dict[str, list[SentenceRow]] = {"": []}
    for row in rows:
        sections.setdefault(row.section, []).append(row)
    outline = Outline(title, url, source)
    for section, inside in sections.items():
        if section:
            outline.heading(section, 2)
        for row in inside:
            outline.paragraph(row.text, (row.text,))
    ordered = [row for inside in sections.values() for row in inside]
    values = {name: [row.values[name] for row in ordered] for name in rows[0].values}
    return Article(title, outline.sections(), url, source, sentence_values=values)


C = TypeVar("C", bound=Config)


class BaseReader(Generic[C]):
    """Base of readers: the config, and the account of what is left out."""

    def __init__(self, config: C) -> None:
        self.config = config
        self.account = ReadAccount()
        """What was left out or changed."""

    @property
    def skipped(self) -> dict[str, int]:
        """Numbers of skipped entries by reason."""
        return dict(self.account.skipped)

    def _finished(self, outline: Outline, counted: bool = True) -> Iterator[Article]:
        """Yield the article of ``outline``; without text, list its headings if there are any, or if ``counted``."""
        article = outline.article()
        if article is not None:
            yield article
        elif counted or outline.headings:
            self.account.skip("no text", outline.title, " ".join([outline.title, *outline.headings]))


class BasePiecewiseReader(BaseReader[C], ABC):
    """Base of readers whose articles can be parsed one by one, see ``core.types.PiecewiseReader``."""

    @abstractmethod
    def pieces(self, path: Path, report: Report) -> Iterator[tuple[Any, int]]:
        """Yield one piece per article or skipped entry, and its size in characters."""

    @abstractmethod
    def parse(self, path: Path, piece: Any) -> Article | str:
        """Return the article of a piece, or the reason to skip it, which the caller counts."""

    def _without_text(self, outline: Outline, place: str) -> str:
        """List the headings of a piece without text, and return the reason to skip it."""
        self.account.entries.append(ReadEntry(False, "no text", place, " ".join([outline.title, *outline.headings])))
        return "no text"

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield the articles of a file in order."""
        self.account.clear()
        for piece, _ in self.pieces(path, report):
            found = self.parse(path, piece)
            if isinstance(found, Article):
                yield found
            else:
                self.account.skip(found)


def title_of(name: str) -> str:
    """Return a title from a file name: without its suffixes, with spaces for underscores."""
    stem = name
    for ending in (".gz", ".bz2", ".xz"):
        stem = stem.removesuffix(ending)
    before, dot, _ = stem.rpartition(".")
    return (before if dot and before else stem).replace("_", " ").strip() or name


class Kind:
    """Kinds of blocks; any other, such as "footnote", is listed as left out."""

    PARAGRAPH, HEADING, TITLE, LIST, TABLE = "paragraph", "heading", "title", "list item", "table cell"
    CODE, PREFORMATTED = "code block", "preformatted text"


_OPTIONAL = {Kind.LIST: "lists", Kind.TABLE: "tables", Kind.CODE: "code blocks", Kind.PREFORMATTED: "preformatted text"}
"""Kinds that are running text in a document without any other."""


class Block(NamedTuple):
    """A piece of text of a document."""

    kind: str
    """One of :class:`Kind`, or the reason why it is left out."""
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


class DocumentReader(BaseReader[C], ABC):
    """Base of readers whose documents are blocks."""

    @abstractmethod
    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the documents of a file in order."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield an article for every document with text."""
        self.account.clear()
        for document in self.documents(path, report):
            for part in press_articles(document, self.account):
                yield from self._article(part, path)

    def _keeps(self, kind: str) -> bool:
        if kind not in (Kind.LIST, Kind.TABLE) or not isinstance(self.config, DocumentConfig):
            return kind == Kind.PARAGRAPH
        return self.config.keep_lists if kind == Kind.LIST else self.config.keep_tables

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
        blocks = [*document.blocks]
        check_article(path, sum(len(block.text) for block in blocks))
        kept = {kind for kind in {block.kind for block in blocks} if self._keeps(kind)}
        if not kept:
            kept = {block.kind for block in blocks} & _OPTIONAL.keys()
            if kept:
                self.account.notes["text"] = f"only in {' and '.join(sorted(_OPTIONAL[kind] for kind in kept))}"
        blocks = [block._replace(text=one_line(block.text)) for block in self._by_turns(blocks, kept)]
        outline, titled = Outline("", document.url, path.name), ""
        rows: list[Mapping[str, Value]] = []
        for block in blocks:
            if block.kind == Kind.TITLE and not titled:
                titled = block.text
            elif block.kind in (Kind.HEADING, Kind.TITLE):
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
            headings = [document.title, *(block.text for block in blocks if block.kind in (Kind.HEADING, Kind.TITLE))]
            self.account.skip("no text", outline.title, " ".join(filter(None, headings)))
            return
        names = dict.fromkeys(name for row in rows for name, value in row.items() if value not in (None, ""))
        columns = {name: [row.get(name) or None for row in rows] for name in names}
        article = outline.article()
        if article is not None:
            yield replace(article, values=dict(document.values), sentence_values=columns)


# --- articles of press archives ---------------------------------------------------------------------------------------

_END = re.compile(r"End of Document|(?:AN )?Document ([A-Za-z0-9]{15,40})")
_BEGIN = re.compile(
    r"\d[\d.,]* (?:of|von|de|di|sur|van) \d[\d.,]* DO[CK]UMENT\w*|DO[CK]UMENT\w* \d+ \w+ \d+", re.IGNORECASE
)
_FIELD = re.compile(r"([^\W\d_][\w-]{2,24}(?: [A-Z][\w-]{2,14})?):(?:\s+(.*))?", re.DOTALL)
_KNOWN = re.compile(
    r"(?:load-date|length|byline|section|longueur|länge|rubrik|rubrique|autor|auteur|publication-type|language|highlight|"
    r"headline|dateline|series):\s|(?:LP|HD)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:load-date|language|publication-type|journal code|subject|industry|geographic|person|company|organization|"
    r"ticker|graphic|url|correction-date|update|sprache|langue|zeitungstyp):.*|classification|graphic|notes|correction",
    re.IGNORECASE | re.DOTALL,
)
"""What stands below the text of an article of Nexis."""
_DAY = re.compile(r"(?:[^\W\d]+,? )?(?:\d{1,2}\.? )?[^\W\d]{3,10}\.? (?:\d{1,2}, )?\d{4}(?:,? [^.]{1,40})?")
_WORDS = re.compile(r"[\d,.]+ (?:words?|Wörter|mots|palabras|parole)", re.IGNORECASE)
_RIGHTS = re.compile(r"©|\(c\)|copyright|all rights reserved", re.IGNORECASE)
_CODES = {
    "HD": "title", "BY": "byline", "WC": "length", "PD": "date", "ET": "time", "SN": "publication", "SC": "code",
    "SE": "section", "LA": "language", "PG": "page", "ED": "edition", "CO": "company", "IN": "industry",
    "NS": "subject", "RE": "geographic", "PUB": "publisher", "AN": "id", "LP": Kind.PARAGRAPH, "TD": Kind.PARAGRAPH,
}  # fmt: skip
"""Code of Factiva → column, or the text."""
_CODED = re.compile(rf"({'|'.join(_CODES)}|CR|VOL|CY|CX|CLM|ART|RF|IPC|IPD)(?:\s+(.*))?", re.DOTALL)


def press_bounds(lines: Sequence[str]) -> list[int]:
    """Return where the articles of an export of Nexis or Factiva begin, and where the last one ends; [] for others."""
    ends = [at + 1 for at, line in enumerate(lines) if _END.fullmatch(line)]
    begins = [] if ends else [at for at, line in enumerate(lines) if _BEGIN.fullmatch(line)]
    if not ends + begins or not any(_KNOWN.match(line) or _WORDS.fullmatch(line) for line in lines):
        return []
    return [0, *ends] if ends else [*begins, len(lines)]


def press_articles(document: Document, account: ReadAccount) -> Iterator[Document]:
    """Yield the articles of an export of Nexis or Factiva with their fields as values; else the document itself."""
    blocks = [block for block in document.blocks if block.text.strip()]
    lines = [" ".join(block.text.split()) for block in blocks]
    bounds = press_bounds(lines)
    if not bounds:
        yield replace(document, blocks=blocks)
        return
    blocks = [block._replace(text=line) for block, line in zip(blocks, lines, strict=True)]
    for block in blocks[: bounds[0]] + blocks[bounds[-1] :]:
        account.skip("line outside of the articles", block.place, block.text)
    for start, end in pairwise(bounds):
        article, kept, values = blocks[start:end], list[Block](), dict[str, str]()
        for name, block in _coded(article) if any(_CODED.match(b.text) for b in article[:2]) else _named(article):
            if name == Kind.PARAGRAPH:
                kept.append(block)
            elif name and block.text:
                joint = " " if name == "title" else "; "
                values[name] = f"{values[name]}{joint}{block.text}" if name in values else block.text
            elif block.text:
                account.skip("line of an article that is no text", block.place, block.text)
        title = values.pop("title", "")
        if any(block.kind == Kind.PARAGRAPH for block in kept):
            yield Document(title, kept, values)
        else:
            rest = " ".join([title, *values.values(), *(block.text for block in kept)])
            account.skip("article without text", article[0].place, rest)


def _coded(blocks: list[Block]) -> Iterator[tuple[str, Block]]:
    """Yield the part of each line of an article with the codes of Factiva."""
    code = ""
    for block in blocks:
        found, end = _CODED.fullmatch(block.text), _END.fullmatch(block.text)
        code = "AN" if end else found[1] if found else code
        text = end[1] if end else found[2] if found else block.text
        if text:
            yield _CODES.get(code, ""), block._replace(kind=Kind.PARAGRAPH, text=text)


def _named(blocks: list[Block]) -> Iterator[tuple[str, Block]]:
    """Yield the part of each line of an article: its column, Kind.PARAGRAPH for what is text, "" for the rest."""
    rights = [bool(_RIGHTS.match(block.text)) for block in blocks]
    factiva = blocks[-1].text.startswith("Document ")
    body = next((at + 1 for at, block in enumerate(blocks) if block.text == "Body"), 0)
    new = body > 0 and not factiva
    fields = [
        _FIELD.fullmatch(block.text) is not None
        and (new or bool(_KNOWN.match(block.text) or _AFTER.fullmatch(block.text)))
        for block in blocks
    ]
    if factiva and True in rights[:15]:
        body = rights.index(True) + 1
    elif not body and True in fields:
        body = fields.index(False, fields.index(True)) if False in fields[fields.index(True) :] else len(blocks)
    counted = next((at for at, block in enumerate(blocks[:body]) if _WORDS.fullmatch(block.text)), -1)
    plain = []
    for at, block in enumerate(blocks[:body]):
        begins = block.text == "Body" or _BEGIN.fullmatch(block.text)
        signed = factiva and re.match(r"By |\d\d?:\d\d", block.text)
        if not (fields[at] or rights[at] or at == counted or begins or signed):
            plain.append(at)
    day = max((at for at in plain if _DAY.fullmatch(blocks[at].text)), default=-1)
    if factiva:
        above, below = [at for at in plain if at < counted], [at for at in plain if at > counted and at != day]
        parts = dict.fromkeys(above[:-1], "section") | dict.fromkeys(above[-1:], "title")
        parts |= dict(zip(below, ("publication", "code", "language"), strict=False))
    elif new:
        before = max(plain.index(day) - 1, 0) if day > 0 else 1
        titles = [at for at in plain if blocks[at].kind in (Kind.HEADING, Kind.TITLE)] or plain[:before]
        parts = {titles[-1]: "title"} if titles else {}
        parts |= {at: "publication" for at in plain if titles and at == titles[-1] + 1}
    else:
        parts = {at: "publication" if at < day else "title" for at in plain if at == plain[0] or at > day}
        parts |= {at: "edition" for at in parts if at > day and blocks[at].text.endswith(("Edition", "Ausgabe"))}
    first = min(parts, default=0) if new else 0  # what stands above it is the cover
    parts |= {day: "date", counted: "length"}
    after = next((at for at in range(body, len(blocks)) if _AFTER.fullmatch(blocks[at].text)), len(blocks))
    for at, block in enumerate(blocks):
        found = _FIELD.fullmatch(block.text) if fields[at] and first <= at and not body <= at < after else None
        if found is not None:
            yield {"headline": "title"}.get(name := found[1].lower(), name), block._replace(text=found[2] or "")
        elif at >= body and not _END.fullmatch(block.text):
            yield Kind.PARAGRAPH if at < after else "", block
        elif factiva and at not in parts and not rights[at]:
            part = "id" if at == len(blocks) - 1 else "byline" if block.text.startswith("By ") else "time"
            yield part, block._replace(text=block.text.removeprefix("Document "))
        else:
            yield parts.get(at, ""), block
