"""Tables as corpora: one column has the text, and the others become columns of articles or sentences.

A table is a file, or the folder of a Hugging Face dataset (:mod:`themescope.core.readers.arrow_tables`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from themescope.core.columns import MOST_COLUMNS, as_text
from themescope.core.config import option
from themescope.core.errors import ConfigError, ReadError, UnknownNameError
from themescope.core.readers import tables
from themescope.core.readers.arrow_tables import ExportedDataset, dataset_files, is_dataset, is_exported
from themescope.core.readers.blocks import BaseReader, Outline, SentenceRow, article_of_rows, articles_of_rows, title_of
from themescope.core.readers.documents.turns import begins_with_turn
from themescope.core.readers.streams import FileHead
from themescope.core.readers.tables import FileTable, Row, TableForm
from themescope.core.readers.workbooks import is_sheet
from themescope.core.text.cleaning import clean, one_line
from themescope.core.types import PARTS, Article, Report, Value

AUTO, SENTENCES, DOCUMENTS = "auto", "sentences", "documents"
MOST_IN_ARTICLE = 50_000
"""Maximum number of rows of an article that has no title; further rows begin another one."""
ROW = "row"
"""Column by which sentences and documents can be joined to their table again."""
_DOCUMENT_CHARACTERS = 300
"""Average length of texts from which each row counts as a document."""
_NOTHING = {
    **dict.fromkeys(("[deleted]", "[removed]"), "text that its site has removed"),
    **dict.fromkeys(("", "[No abstract available]", "[no text]", "(no text)"), "no text"),
}
"""What is written where there is no text → why it is left out."""
_CODE = re.compile(r"-\d{1,4}")
"""A code of a missing answer, such as -99."""
_SAYS = re.compile(r"[^\s\d.,:;+/%()\[\]'\"-]")
"""A sign of a text that is not only numbers."""
_ELEMENTS = (
    "a|b|blockquote|br|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|s|small|span|strong|sub|sup|table|tbody|td|th|tr|u|ul"
)
_MARKUP = re.compile(rf"</?(?:{_ELEMENTS})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_CLOSED = re.compile(rf"<(?:br|hr)\s*/?>|</(?:{_ELEMENTS})>", re.IGNORECASE)
_LINE_END = re.compile(r"<(?:br|hr)\s*/?>|</(?:p|div|li|h[1-6]|tr|blockquote)>", re.IGNORECASE)
"""Tags of web pages at which a line ends."""
_STRUCTURE, _ABOUT = frozenset({"sections", "paragraphs"}), frozenset({"title", "url", "source"})

SAMPLE = b"""\
sentence,year,place
It was founded in 1200.,1200,Ada
"Then, it grew.",1250,Ada
She was born.,1815,London
"""


@dataclass(frozen=True)
class TableConfig(TableForm):
    """Settings of the reader of tables."""

    text: str = option("", "Column of the texts; empty: one called so, or the one with the longest texts.")
    rows: str = option(
        AUTO,
        "What a row contains; documents are split into sentences. “auto” decides by the length of the texts.",
        choices=(AUTO, SENTENCES, DOCUMENTS),
    )
    title: str = option(
        "", "Column with the title of the article; sentences of the same title form one article. Empty: none has one."
    )
    section: str = option("", "Column with the section of a sentence, such as its source; empty: none.")
    name: str = option("", "Title of an article without one; empty: the name of the file.")
    subset: str = option("", "Subset (configuration) of the folder of a Hugging Face dataset; empty: its default.")

    def validate(self) -> None:
        """Reject sections of documents, which have no place in them."""
        if self.section and self.rows == DOCUMENTS:
            raise ConfigError(f"{self.named('section')} is for rows with sentences, not with documents.")


@dataclass(frozen=True, slots=True)
class TableChoice:
    """Columns of a table with a part to play; the places of the others are ``values``."""

    columns: tuple[str, ...]
    text: int
    title: int
    section: int
    documents: bool

    @property
    def values(self) -> dict[str, int]:
        """Return the name and the place of every column that is kept."""
        return dict(islice(self._others(), MOST_COLUMNS))

    @property
    def left_out(self) -> list[str]:
        """Return the names of the columns beyond those that are kept."""
        return [name for name, _ in islice(self._others(), MOST_COLUMNS, None)]

    @property
    def row(self) -> str:
        """Name of the column with the number of each row in the file; "" if the table has a column of this name."""
        return "" if any(name.casefold() == ROW for name in self.columns) or self.left_out else ROW

    def _others(self) -> Iterator[tuple[str, int]]:
        used = {self.text, self.title, self.section}
        return ((name, place) for place, name in enumerate(self.columns) if place not in used)


class TableReader(BaseReader[TableConfig]):
    """Reader of tables. A table whose rows have titles is read twice, first to find the last row of each article.

    Rows of an article need therefore not be adjacent, and only incomplete articles are kept in memory.
    """

    def __init__(self, config: TableConfig) -> None:
        super().__init__(config)
        self.types: dict[str, str] = {}
        """Column → type that the files read so far declare, see :data:`themescope.core.columns.DECLARED`."""

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield articles: one per document, or of sentences, one per title, or one per file or split of a dataset."""
        self.account.clear()
        yield from self._dataset(path, report) if is_dataset(path) else self._table((path,), path, report)

    def _dataset(self, path: Path, report: Report) -> Iterator[Article]:
        splits = dataset_files(path, self.config.subset)
        if is_exported(next(iter(splits.values()))):
            yield from ExportedDataset(path, self.types).read(report)
            return
        for split, files in splits.items():
            shown = path if len(splits) == 1 else path.with_name(f"{path.name} {split}")
            for article in self._table(files, shown, report):
                if len(splits) > 1:  # the split becomes a column
                    values = {"split": split, **article.values}
                    article = replace(article, part=split if split in PARTS else "", values=values)
                yield article

    def _table(self, files: Sequence[Path], path: Path, report: Report) -> Iterator[Article]:
        table = tables.open_tables(files, report, self.config, self.account)
        choice, rows = choose(path, table, self.config)
        if not self.config.text and len(choice.columns) > 1:
            self.account.notes["texts"] = f"column “{choice.columns[choice.text]}”"
        if left_out := choice.left_out:
            reason = f"column beyond the {MOST_COLUMNS} that are kept"
            self.account.skip(reason, text=", ".join(left_out), n=len(left_out))
        self.types |= table.types
        if choice.documents:
            yield from self._documents(path, choice, rows)
        elif choice.title >= 0:
            yield from self._titled(files, path, choice, rows)
        else:
            found, number = self._sentences(path, choice, rows), 1
            while batch := list(islice(found, MOST_IN_ARTICLE)):
                title = batch[0].title if number == 1 else f"{batch[0].title} ({number})"
                yield article_of_rows(title, batch, path.name)
                number += 1

    def _name(self, path: Path) -> str:
        return self.config.name.strip() or title_of(path.name)

    def _texts(
        self, path: Path, choice: TableChoice, rows: Iterable[Row]
    ) -> Iterator[tuple[int, str, tuple[Value, ...]]]:
        for number, values in rows:
            text = _clean(values[choice.text])
            if "<" in text and _CLOSED.search(text):
                self.account.change("text with HTML tags, without them", f"row {number:,}", text)
                text = _MARKUP.sub("", _LINE_END.sub("\n", text)).strip()
            if reason := _nothing(text.strip()):
                shown = text.strip() or " ".join(filter(None, map(as_text, values)))
                self.account.skip(reason, f"row {number:,}", shown)
            else:
                yield number, text, values

    def _documents(self, path: Path, choice: TableChoice, rows: Iterable[Row]) -> Iterator[Article]:
        stem, places, numbered = self._name(path), choice.values, choice.row
        for number, text, values in self._texts(path, choice, rows):
            title = _line(values[choice.title]) if choice.title >= 0 else ""
            outline = Outline(title or f"{stem}, row {number}", source=path.name)
            for paragraph in text.split("\n\n"):
                outline.paragraph(_line(paragraph))
            kept = {name: values[place] for name, place in places.items() if values[place] not in (None, "")}
            kept |= {numbered: number} if numbered else {}
            yield Article(outline.title, outline.sections(), source=path.name, values=kept)

    def _titled(self, files: Sequence[Path], path: Path, choice: TableChoice, rows: Iterable[Row]) -> Iterator[Article]:
        again = tables.open_tables(files, form=self.config).rows
        with_text = (values for _, values in again if not _nothing(_clean(values[choice.text]).strip()))
        expected = Counter(_line(values[choice.title]) or self._name(path) for values in with_text)
        sentences = self._sentences(path, choice, rows)
        for article in articles_of_rows(path, sentences, expected, "Sort the table by article."):
            yield article_of_rows(article[0].title, article, path.name)

    def _sentences(self, path: Path, choice: TableChoice, rows: Iterable[Row]) -> Iterator[SentenceRow]:
        stem, places, numbered = self._name(path), choice.values, choice.row
        for number, text, values in self._texts(path, choice, rows):
            title = _line(values[choice.title]) if choice.title >= 0 else ""
            section = _line(values[choice.section]) if choice.section >= 0 else ""
            columns = {name: values[place] for name, place in places.items()}
            columns |= {numbered: number} if numbered else {}
            yield SentenceRow(f"row {number:,}", title or stem, section, _line(text), columns)


def file_of_columns(path: Path) -> Path | None:
    """Return the file with the columns that a person may choose from: ``path``, or the first file of a dataset.

    None for an exported dataset, whose columns are known. Raises :class:`ReadError` for a damaged folder.
    """
    if not path.is_dir():
        return path
    files = next(iter(dataset_files(path).values()))
    return None if is_exported(files) else files[0]


def header_of(path: Path, form: TableForm) -> tuple[str, ...]:
    """Return the names of the columns of a table, see :func:`file_of_columns`; () for an exported dataset."""
    file = file_of_columns(path)
    return () if file is None else tables.open_table(file, form=form).columns


def choose(path: Path, table: FileTable, config: TableConfig) -> tuple[TableChoice, Iterator[Row]]:
    """Return which column of a table has which part, and its rows. Raises ``UnknownNameError`` for missing columns."""
    first = list(islice(table.rows, tables.SAMPLE_ROWS))
    for name in filter(None, (config.text, config.title, config.section)):
        if name not in table.columns:
            raise UnknownNameError("column", name, table.columns)
    if not first:
        raise ReadError(path, "this table has no rows.")
    values = [row for _, row in first]
    text = table.columns.index(config.text or table.text or tables.likely_column(table.columns, values))
    title, section = (table.columns.index(n) if n else -1 for n in (config.title, config.section))
    texts = [as_text(row[text]) for row in values]
    if 2 * sum(map(tables.is_json, texts)) > len(texts):  # one such cell may be a text like any other
        problem = f"“{table.columns[text]}” is a list of texts or an object in most rows, not a text."
        raise ReadError(path, problem, advice="Write one text in each row, or choose another column (--text-column).")
    if not config.text and not any(map(_SAYS.search, texts)):
        problem = f"no column has texts; “{table.columns[text]}” has numbers."
        raise ReadError(path, problem, advice="Choose the column of the texts (--text-column).")
    lengths = [len(one) for one in texts]
    long = sum(lengths) > _DOCUMENT_CHARACTERS * len(lengths)
    documents = config.rows == DOCUMENTS or (config.rows == AUTO and long and section < 0)
    return TableChoice(table.columns, text, title, section, documents), chain(first, table.rows)


def _nothing(text: str) -> str:
    """Return why a row with a text is left out, "" if it is not."""
    return "code of a missing answer" if _CODE.fullmatch(text) else _NOTHING.get(text, "")


def _clean(value: Value) -> str:
    return clean(as_text(value)).replace("\r\n", "\n")


def _line(value: Value) -> str:
    return one_line(_clean(value))


def recognises(head: FileHead) -> bool:
    """Return whether a file is a table: CSV and TSV by suffix, others by content.

    JSON is a table if its objects have a text, but not the sections of articles.
    """
    if head.data.startswith((b"PAR1", b"\xd0\xcf\x11\xe0")):
        return True
    if head.data.startswith(b"PK\x03\x04"):
        try:
            return is_sheet(head.path)
        except ReadError:
            return False
    if head.suffix in (".csv", ".tsv"):
        return head.binary_at is None
    text = head.text
    if tables.SCRIPT.match(text):
        return True
    if text.startswith("["):
        return text[1:].lstrip().startswith(("{", '"'))
    line = text.partition("\n")[0]
    if not line.startswith("{"):
        named = head.suffix in (".txt", ".tab", ".dat", ".asc", ".xls", ".xlsx")
        return named and tables.is_delimited(head) and not begins_with_turn(head.text)
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return head.suffix == ".json"
    article = isinstance(record, dict) and (not _STRUCTURE.isdisjoint(record) or record.keys() <= _ABOUT)
    return isinstance(record, dict) and not article
