"""Tables in files, row by row: CSV or TSV, JSON lines, an Excel sheet, Parquet, or text with one cell per line.

All but Excel and Parquet may be compressed (gzip, bzip2, xz). Files are not trusted: the kind is detected from the
content where possible, columns are limited, and a file is rejected if its decompressed size is out of proportion. Lists
of sentences and other small tables as text (:class:`Sheet`) have further limits of rows and characters.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from themescope.core.columns import MOST_COLUMNS, as_text, column_name, plain_value
from themescope.core.errors import ReadError, ThemescopeError, optional_module
from themescope.core.protocols import SILENT, Report
from themescope.core.readers.arrow_tables import ArrowTable, read_arrow, read_parquet
from themescope.core.readers.streams import FileHead, check_file, excessive_size, json_lines, lines, readable_as
from themescope.core.types import Value

KINDS = ("txt", "csv", "tsv", "jsonl", "xlsx", "parquet")
"""Kinds of tables, which are the suffixes of their files."""
SAMPLE_ROWS = 200
"""Rows from which the columns of JSON lines are known, and by which a column of texts is chosen."""
ONLY = "sentence"
"""Name of the column of a file with one cell per line."""
_MOST_UNPACKED = 500_000_000
_EXCEL_ROWS = 1_048_576  # the limit of Excel itself

Row = tuple[int, tuple[Value, ...]]
"""Number of a row, counted from 1 as in the file, and a value for each column."""


@dataclass(frozen=True, slots=True)
class FileTable:
    """Columns of a file, and its rows, which can be iterated once."""

    columns: tuple[str, ...]
    rows: Iterator[Row]
    types: Mapping[str, str] = field(default_factory=dict)
    """Types that the file declares for columns, see :data:`themescope.core.columns.DECLARED`."""


def kind_of(path: Path) -> str:
    """Return the kind of a file, one of :data:`KINDS`, or "arrow" in the folder of a dataset.

    It is known by content, except for text and Arrow files, where the suffix decides.
    """
    found = FileHead.of(path)
    begin = found.data[:4_096]
    if begin.startswith(b"PK\x03\x04"):
        return "xlsx"
    if begin.startswith(b"PAR1"):
        return "parquet"
    if path.suffix == ".arrow":
        return "arrow"
    if b"\x00" in begin and not begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReadError(path, "this is neither text, nor an Excel file (.xlsx), nor a Parquet file.")
    ending = found.suffix.lstrip(".")
    if ending in ("csv", "tsv"):
        return ending
    return "jsonl" if ending in ("jsonl", "ndjson") or begin.lstrip().startswith(b'{"') else "txt"


def open_table(path: Path, report: Report = SILENT, every_column: bool = False) -> FileTable:
    """Open the table of a file; rows without any value are left out.

    The columns of JSON lines are the keys of the first rows, or with ``every_column`` of all of them, for which the
    file is read once more. Raises :class:`ReadError`, also while rows are read.
    """
    check_file(path)
    return _OPENERS[kind_of(path)](path, report, every_column)


def open_tables(paths: Sequence[Path], report: Report = SILENT, every_column: bool = False) -> FileTable:
    """Open the tables of several files, one after the other, with the columns of the first; see :func:`open_table`."""
    first = open_table(paths[0], report, every_column)

    def rows() -> Iterator[Row]:
        last = 0
        for row in first.rows:
            last = row[0]
            yield row
        for path in paths[1:]:
            table, before = open_table(path, report, every_column), last
            places = [table.columns.index(name) if name in table.columns else -1 for name in first.columns]
            for number, values in table.rows:
                last = before + number
                yield last, tuple(values[place] if place >= 0 else None for place in places)

    return FileTable(first.columns, rows(), first.types)


def _lines(path: Path, report: Report, every_column: bool) -> FileTable:
    found = ((number, line.strip()) for number, line in lines(path, report, readable_as(path)))
    return FileTable((ONLY,), ((number, (line,)) for number, line in found if line))


# --- CSV --------------------------------------------------------------------------------------------------------------


def _csv(path: Path, report: Report, every_column: bool, delimiter: str = "") -> FileTable:
    """Return the table of a CSV file; without a delimiter, it is the most frequent one of the first line."""
    text = (line for _, line in lines(path, report, readable_as(path)))
    first = next(text, "")
    return _headed(path, _csv_rows(path, chain([first], text), delimiter or max(",;\t|", key=first.count)))


def _csv_rows(path: Path, text: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the rows; the lines of a cell with line breaks are joined by them."""
    reader = csv.reader((line + "\n" for line in text), delimiter=delimiter)
    try:
        yield from reader
    except csv.Error as error:
        raise ReadError(path, f"this is not a CSV file: {error}.", f"line {reader.line_num:,}") from None


def _headed(path: Path, rows: Iterator[Sequence[Any]]) -> FileTable:
    """Return the table whose column names are the first of ``rows``."""
    header = next(rows, None)
    if header is None:
        raise ReadError(path, "this file has no rows.")
    if not header:
        raise ReadError(path, "the first row is empty.", "line 1", "Name the columns in it.")
    names = _names(header[:MOST_COLUMNS])
    return FileTable(names, _filled(enumerate(rows, 2), len(names)))


def _filled(rows: Iterable[tuple[int, Sequence[Any]]], width: int) -> Iterator[Row]:
    for number, row in rows:
        values = tuple(map(plain_value, row[:width]))
        if any(value is not None and value != "" for value in values):
            yield number, values + (None,) * (width - len(values))


def _names(header: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of columns, numbered where one is missing or occurs twice."""
    names: list[str] = []
    for number, value in enumerate(header, 1):
        text = "" if value is None else str(value)
        name = column_name(text.encode("utf-8", "replace").decode("utf-8")) or f"column {number}"
        names.append(name if name not in names else f"{name} ({number})")
    return tuple(names)


# --- JSON lines -------------------------------------------------------------------------------------------------------


def _json(path: Path, report: Report, every_column: bool) -> FileTable:
    """Return the table of objects or strings, one per line; the columns are their keys."""
    rows = _objects(path, report)
    first = list(islice(rows, SAMPLE_ROWS))
    if not first:
        raise ReadError(path, "this file has no rows.")
    seen = chain(first, _objects(path, report)) if every_column else iter(first)
    keys = list(islice(dict.fromkeys(key for _, row in seen for key in row), MOST_COLUMNS))
    if not keys:
        raise ReadError(path, "the objects in this file are empty.", advice='Write a "sentence" into each of them.')
    cells = ((number, [row.get(key) for key in keys]) for number, row in chain(first, rows))
    return FileTable(_names(keys), _filled(_shallow(path, cells), len(keys)))


def _objects(path: Path, report: Report) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, value in json_lines(path, report, check_escapes=True):
        yield number, value if isinstance(value, dict) else {ONLY: value}


def _shallow(path: Path, rows: Iterable[tuple[int, list[Any]]]) -> Iterator[tuple[int, list[Any]]]:
    """Yield rows with nested values as JSON; raise an error for values that are nested too deeply for it."""
    for number, row in rows:
        try:
            yield number, [plain_value(value) for value in row]
        except RecursionError:
            position = f"line {number:,}"
            raise ReadError(path, "a value is nested too deeply.", position, "Write texts as values.") from None


# --- Excel ------------------------------------------------------------------------------------------------------------


def _excel(path: Path, report: Report, every_column: bool) -> FileTable:
    parts = _parts(path)
    if size := excessive_size(parts, _MOST_UNPACKED):
        raise ReadError(path, f"this Excel file has {size} when decompressed, which is too much.")
    if not any(part.filename == "xl/workbook.xml" for part in parts):
        raise ReadError(path, "this archive is not an Excel file (.xlsx).")
    return _headed(path, _excel_rows(path, report))


def _excel_rows(path: Path, report: Report) -> Iterator[Sequence[Any]]:
    """Yield the rows of the first sheet as values; formulas are not computed."""
    import warnings

    openpyxl = optional_module("openpyxl", "Reading Excel files", "openpyxl", "files")
    # Makes openpyxl refuse XML entities.
    optional_module("defusedxml", "Reading Excel files", "defusedxml", "files")
    with path.open("rb") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that are not used here
        try:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            try:
                sheet = book.worksheets[0]
                # A damaged file may have any row number, up to which the library generates rows.
                last = min(sheet.max_row or _EXCEL_ROWS, _EXCEL_ROWS)
                for number, row in enumerate(sheet.iter_rows(max_row=last, values_only=True)):
                    if number % 1_000 == 0:
                        report.progress(number, last, f"rows of {path.name}")
                    yield row[:MOST_COLUMNS]
            finally:
                book.close()
        except ThemescopeError:
            raise
        except Exception as error:  # the library does not document its exceptions
            raise ReadError(path, f"this is not a readable Excel file ({type(error).__name__}).") from None


def is_excel(path: Path) -> bool:
    """Return whether a ZIP archive is an Excel file."""
    return any(part.filename == "xl/workbook.xml" for part in _parts(path))


def _parts(path: Path) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        raise ReadError(path, "this Excel file is damaged.") from None


# --- Parquet and Arrow ------------------------------------------------------------------------------------------------


def _arrow_table(
    read: Callable[[Path, Report, int], ArrowTable], path: Path, report: Report, every_column: bool
) -> FileTable:
    found = read(path, report, MOST_COLUMNS)
    columns = _names(found.names)
    if not columns:
        raise ReadError(path, "this file has no columns.")
    known = {c: found.types[name] for c, name in zip(columns, found.names, strict=True) if name in found.types}
    return FileTable(columns, _filled(enumerate(found.rows, 1), len(columns)), known)


_OPENERS: Mapping[str, Callable[[Path, Report, bool], FileTable]] = {
    "txt": _lines, "csv": _csv, "tsv": partial(_csv, delimiter="\t"), "jsonl": _json, "xlsx": _excel,
    "parquet": partial(_arrow_table, read_parquet), "arrow": partial(_arrow_table, read_arrow),
}  # fmt: skip


# --- columns ----------------------------------------------------------------------------------------------------------

TEXT_NAMES = ("text", "sentence", "sentences", "claim", "claims", "content", "body", "comment", "comments", "review",
               "message", "description", "answer", "abstract", "tweet", "utterance")  # fmt: skip
"""Usual names of the column of the texts, in lower case."""


def likely_column(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return the column that probably contains the texts: one called so, else the one with the longest texts."""
    sample = [[v for v in values if isinstance(v, str)] for values in zip(*rows[:SAMPLE_ROWS], strict=True)]
    lengths = dict(zip(columns, (sum(map(len, values)) for values in sample), strict=False))
    longest = max(lengths.values(), default=0)
    # Texts that are short beside the longest ones are codes.
    named = [name for name in columns if name.lower() in TEXT_NAMES and 4 * lengths.get(name, 0) >= longest]
    return min(named, key=lambda column: TEXT_NAMES.index(column.lower()), default=None) or max(
        columns, key=lambda column: lengths.get(column, 0)
    )


# --- sentence lists ---------------------------------------------------------------------------------------------------


MOST_BYTES = 100_000_000
MOST_ROWS = 50_000
MOST_LETTERS = 5_000
"""Maximum number of characters of a cell; the rest is cut off."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Table of text; every row has a cell for each column. A plain list has the single column ``sentence``."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    cut: bool = False
    """True if the table has more rows than the limit."""
    numbers: tuple[int, ...] = ()
    """Row numbers in the file, counted from 1 including empty rows."""

    def column(self, name: str) -> list[str]:
        """Return the cells of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def likely_column(self) -> str:
        """Return the column that probably contains the sentences, see :func:`likely_column`."""
        return likely_column(self.columns, self.rows)


def read_sheet(path: Path, most: int = MOST_ROWS) -> Sheet:
    """Read the first ``most`` rows of a file.

    Raises :class:`ReadError` if the file is too large, damaged, or in another format.
    """
    if not path.is_file():
        raise ReadError(path, "this file does not exist.")
    if path.stat().st_size > MOST_BYTES:
        raise ReadError(path, f"this file is larger than {MOST_BYTES // 1_000_000} MB.", advice="Split it.")
    table = open_table(path)
    cells = ((number, tuple(one_line(as_text(value)) for value in row)) for number, row in table.rows)
    found = tuple(islice(((number, row) for number, row in cells if any(row)), most + 1))
    kept = found[:most]
    return Sheet(table.columns, tuple(row for _, row in kept), len(found) > most, tuple(number for number, _ in kept))


def one_line(text: str) -> str:
    """Return the normalised text of a cell: no NUL, single spaces, bounded length."""
    return " ".join(text.replace("\x00", "").split())[:MOST_LETTERS]
