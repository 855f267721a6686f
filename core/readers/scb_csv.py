"""The published Sentence Clustering Benchmark: one sentence per row, already split.

Columns "Article Title", "Sentence", "SectionTitle", "Article Link" (Ein Dor et al. 2018, section 3.3; version 1.0.2 of
"IBM Debater Thematic Clustering of Sentences"). Paragraphs are not published, so every sentence is a paragraph.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from themescope.core.config import Config
from themescope.core.errors import ReadError
from themescope.core.readers.blocks import BaseReader, Outline
from themescope.core.readers.streams import FileHead, lines
from themescope.core.types import Article, Report

COLUMNS = ("Article Title", "Sentence", "SectionTitle", "Article Link")
_OPTIONAL = frozenset({"Article Link"})
OPEN_LIMIT = 256_000_000
"""Maximum number of characters of incomplete articles in memory."""

SAMPLE = b"""\
Article Title,Sentence,SectionTitle,Article Link
Ada,It was founded in 1200 .,History,https://x.org/Ada
Ada,"Then, it grew .",History,https://x.org/Ada
Bea,She was born .,Life,https://x.org/Bea
"""


@dataclass(slots=True)
class _Row:
    line: int
    article: str
    sentence: str
    section: str
    link: str
    others: dict[str, str]


@dataclass(slots=True)
class _Open:
    link: str
    sections: dict[str, list[_Row]] = field(default_factory=dict)
    rows: int = 0
    size: int = 0


class ScbCsv(BaseReader):
    """Reader of the benchmark. It reads the file twice, first to find the last row of each article.

    Rows of an article need therefore not be adjacent, and only incomplete articles are kept in memory.
    """

    config: Config

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield each article as soon as it is complete. Raises :class:`ReadError` for invalid files."""
        self.account.clear()
        expected = Counter(row.article for row in _rows(path, report) if row.sentence)
        waiting: dict[str, _Open] = {}
        held = 0
        for row in _rows(path, report):
            if not row.sentence:
                others = " ".join(filter(None, (row.article, row.section, *row.others.values())))
                self.account.skip("no sentence", f"line {row.line:,}", others)
                continue
            article = waiting.setdefault(row.article, _Open(row.link))
            if row.link != article.link:
                self.account.skip("another link of the same article", f"line {row.line:,}", row.link)
            article.sections.setdefault(row.section, []).append(row)
            article.rows += 1
            article.size += len(row.sentence)
            held += len(row.sentence)
            if held > OPEN_LIMIT:
                problem = f"more than {OPEN_LIMIT:,} characters of articles whose rows are not adjacent."
                raise ReadError(path, problem, f"line {row.line:,}", "Sort the file by article.")
            if article.rows == expected[row.article]:
                held -= article.size
                yield _article(row.article, waiting.pop(row.article), path.name)


def _article(title: str, rows: _Open, source: str) -> Article:
    """Return the article with sections in the order of their first rows; rows without a section form the lead."""
    outline = Outline(title, rows.link, source)
    stored: list[_Row] = []
    for section in sorted(rows.sections, key=bool):
        if section:
            outline.heading(section, 2)
        for row in rows.sections[section]:
            outline.paragraph(row.sentence, (row.sentence,))
            stored.append(row)
    article = outline.article()
    assert article is not None  # an article has at least one sentence
    return replace(
        article, sentence_values={name: [row.others[name] or None for row in stored] for name in stored[0].others}
    )


def fold(column: str) -> str:
    """Return a column name for comparison: lower case, without spaces and underscores."""
    return column.replace(" ", "").replace("_", "").lower()


def _rows(path: Path, report: Report) -> Iterator[_Row]:
    reader = csv.reader((line for _, line in lines(path, report)), strict=True)
    try:
        header = next(reader, [])
        found = {fold(name): index for index, name in reversed(list(enumerate(header)))}
        missing = [name for name in COLUMNS if fold(name) not in found and name not in _OPTIONAL]
        if missing:
            names = ", ".join(repr(name) for name in missing)
            have = ", ".join(repr(name[:40]) for name in header[:10]) or "nothing"
            what = f"the columns {names} are" if len(missing) > 1 else f"the column {names} is"
            raise ReadError(path, f"{what} missing; found {have}.", "line 1", "Name the columns in line 1.")
        places = [found.get(fold(name), -1) for name in COLUMNS]
        others = {name or f"column {at + 1}": at for at, name in enumerate(header) if at not in places}
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                problem = f"the row has {len(cells)} cells, the first line has {len(header)}."
                raise ReadError(path, problem, f"line {reader.line_num:,}", "Enclose texts with commas in quotes.")
            article, sentence, section, link = (cells[at].strip() if at >= 0 else "" for at in places)
            if not article:
                raise ReadError(path, "the row has no Article Title.", f"line {reader.line_num:,}", "Fill it in.")
            further = {name: cells[at].strip() for name, at in others.items()}
            yield _Row(reader.line_num, article, sentence, section, link, further)
    except csv.Error as error:
        advice = "Probably a quotation mark is not closed, or not doubled inside a text."
        raise ReadError(path, f"not valid CSV ({error}).", f"line {reader.line_num:,}", advice) from None


def recognises(head: FileHead) -> bool:
    """Return whether the first line has at least two of the columns; the reader reports missing ones."""
    first = head.text.partition("\n")[0]
    cells = {fold(cell.strip().strip('"')) for cell in first.split(",")}
    return len(cells & {fold(column) for column in COLUMNS}) >= 2
