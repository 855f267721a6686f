"""The Sentence Clustering Benchmark as published: one sentence a row, already split.

Columns "Article Title", "Sentence", "SectionTitle", "Article Link" (Ein Dor et al. 2018, section 5; version 1.0.2 of
"IBM Debater Thematic Clustering of Sentences"). Paragraphs are not published, so every sentence is one of its own.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.config import Config
from core.errors import ReadError
from core.protocols import Report
from core.readers.outline import Outline
from core.readers.streams import FileHead, lines
from core.types import Article

COLUMNS = ("Article Title", "Sentence", "SectionTitle", "Article Link")
_OPTIONAL = frozenset({"Article Link"})
OPEN_LIMIT = 256_000_000
"""Most characters of articles whose rows are scattered over the file."""

SAMPLE = b"""\
Article Title,Sentence,SectionTitle,Article Link
Ada,It was founded in 1200 .,History,https://x.org/Ada
Ada,"Then, it grew .",History,https://x.org/Ada
Bea,She was born .,Life,https://x.org/Bea
"""
"""A tiny file in this format."""


@dataclass(frozen=True)
class ScbCsvConfig(Config):
    """The published file needs no settings."""


@dataclass(slots=True)
class _Row:
    line: int
    article: str
    sentence: str
    section: str
    link: str


@dataclass(slots=True)
class _Open:
    """An article that is not yet complete."""

    link: str
    sections: dict[str, list[str]] = field(default_factory=dict)
    rows: int = 0
    size: int = 0


class ScbCsv:
    """Streams articles; the file is read twice, first to find the last row of each article.

    So rows of an article may be scattered, and memory holds only those articles that are still incomplete.
    """

    def __init__(self, config: ScbCsvConfig) -> None:
        self.config = config
        self._skipped: Counter[str] = Counter()

    @property
    def skipped(self) -> dict[str, int]:
        """Rows without a sentence."""
        return dict(self._skipped)

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield each article as soon as it is complete; :class:`ReadError` names missing columns and bad lines."""
        self._skipped.clear()
        expected = Counter(row.article for row in _rows(path, report) if row.sentence)
        waiting: dict[str, _Open] = {}
        held = 0
        for row in _rows(path, report):
            if not row.sentence:
                self._skipped["no sentence"] += 1
                continue
            article = waiting.setdefault(row.article, _Open(row.link))
            article.sections.setdefault(row.section, []).append(row.sentence)
            article.rows += 1
            article.size += len(row.sentence)
            held += len(row.sentence)
            _check_held(path, row.line, held)
            if article.rows == expected[row.article]:
                held -= article.size
                yield _article(row.article, waiting.pop(row.article), path.name)


def _check_held(path: Path, line: int, held: int) -> None:
    if held > OPEN_LIMIT:
        problem = f"more than {OPEN_LIMIT:,} characters of articles whose rows are scattered over the file."
        raise ReadError(path, problem, f"line {line:,}", "Sort the file by article.")


def _article(title: str, rows: _Open, source: str) -> Article:
    """Sections in the order of their first rows; rows without a section are the lead."""
    outline = Outline(title, rows.link, source)
    for sentence in rows.sections.pop("", ()):
        outline.paragraph(sentence, (sentence,))
    for section, sentences in rows.sections.items():
        outline.heading(section, 2)
        for sentence in sentences:
            outline.paragraph(sentence, (sentence,))
    article = outline.article()
    assert article is not None  # an article comes into being with its first sentence
    return article


def fold(column: str) -> str:
    """Fold a column name for comparison: without case, spaces and underscores."""
    return column.replace(" ", "").replace("_", "").lower()


def _rows(path: Path, report: Report) -> Iterator[_Row]:
    """Rows with their line; stripped."""
    reader = csv.reader((line for _, line in lines(path, report)), strict=True)
    try:
        header = next(reader, [])
        places = _places(path, header)
        for cells in reader:
            if not cells:
                continue
            if len(cells) < len(header):
                problem = f"the row has {len(cells)} cells, the first line has {len(header)}."
                raise ReadError(path, problem, f"line {reader.line_num:,}", "Put texts with commas into quotes.")
            article, sentence, section, link = (cells[at].strip() if at >= 0 else "" for at in places)
            if not article:
                raise ReadError(path, "the row has no Article Title.", f"line {reader.line_num:,}", "Fill it in.")
            yield _Row(reader.line_num, article, sentence, section, link)
    except csv.Error as error:
        advice = "Probably a quotation mark is not closed, or stands inside a text without being doubled."
        raise ReadError(path, f"not valid CSV ({error}).", f"line {reader.line_num:,}", advice) from None


def _places(path: Path, header: list[str]) -> list[int]:
    """Index of each of ``COLUMNS`` in the first line; -1 for an optional one that is not there."""
    found = {fold(name): index for index, name in reversed(list(enumerate(header)))}
    missing = [name for name in COLUMNS if fold(name) not in found and name not in _OPTIONAL]
    if missing:
        names = ", ".join(repr(name) for name in missing)
        have = ", ".join(repr(name[:40]) for name in header[:10]) or "nothing"
        what = f"the columns {names} are" if len(missing) > 1 else f"the column {names} is"
        raise ReadError(path, f"{what} missing; found {have}.", "line 1", "Name the columns in line 1.")
    return [found.get(fold(name), -1) for name in COLUMNS]


def recognises(head: FileHead) -> bool:
    """Return whether the first line names at least two of the columns, so that the reader can name the missing ones."""
    first = head.text.partition("\n")[0]
    cells = {fold(cell.strip().strip('"')) for cell in first.split(",")}
    return len(cells & {fold(column) for column in COLUMNS}) >= 2
