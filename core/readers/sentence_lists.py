"""Reader of lists of sentences: plain text (one sentence per line), CSV or TSV, JSON lines, or an Excel sheet.

All but an Excel file may be compressed (gzip, bzip2, xz). Files are not trusted: the kind is detected from the content
where possible, rows and characters are limited, and an Excel file is rejected if its decompressed size is out of
proportion.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from core.errors import ReadError
from core.readers.streams import FileHead, head

KINDS = ("txt", "csv", "tsv", "jsonl", "xlsx")
MOST_BYTES = 100_000_000
MOST_ROWS = 50_000
MOST_LETTERS = 5_000
"""Maximum number of characters of a cell; the rest is cut off."""
MOST_COLUMNS = 100
_MOST_UNPACKED = 500_000_000
_MOST_RATIO = 200
_EXCEL_ROWS = 1_048_576  # the limit of Excel itself
_SAMPLE = 200


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


def read_sheet(path: Path, most: int = MOST_ROWS) -> Sheet:
    """Read the first ``most`` rows of a file.

    Raises :class:`ReadError` if the file is too large, damaged, or in another format.
    """
    if not path.is_file():
        raise ReadError(path, "this file does not exist.")
    if path.stat().st_size > MOST_BYTES:
        raise _too_large(path)
    if path.stat().st_size == 0:
        raise ReadError(path, "this file is empty.")
    kind = kind_of(path)
    if kind == "xlsx":
        return _table(path, _excel_rows(path), most)
    text = _text(path)
    if kind == "jsonl":
        return _json_lines(path, text, most)
    if kind in ("csv", "tsv"):
        return _table(path, _csv_rows(path, text, "\t" if kind == "tsv" else None), most)
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return _sheet(("sentence",), ((number, (line,)) for number, line in lines if line), most)


def kind_of(path: Path) -> str:
    """Return the kind of a file, one of :data:`KINDS`: by content for Excel and JSON lines, by suffix for CSV."""
    found = FileHead.of(path)
    begin = found.data[:4_096]
    if begin.startswith(b"PK\x03\x04"):
        return "xlsx"
    if b"\x00" in begin and not begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReadError(path, "this is neither text nor an Excel file (.xlsx).")
    ending = found.suffix.lstrip(".")
    if ending in ("csv", "tsv"):
        return ending
    return "jsonl" if ending in ("jsonl", "ndjson") or begin.lstrip().startswith(b'{"') else "txt"


def _too_large(path: Path) -> ReadError:
    return ReadError(path, f"this file is larger than {MOST_BYTES // 1_000_000} MB.", advice="Split it.")


def likely_column(sheet: Sheet) -> str:
    """Return the column that probably contains the sentences: the one with the longest cells."""
    sample = sheet.rows[:_SAMPLE]
    lengths = [sum(len(row[place]) for row in sample) for place in range(len(sheet.columns))]
    return sheet.columns[lengths.index(max(lengths))]


def _text(path: Path) -> str:
    raw = head(path, MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise _too_large(path)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _decoded(path, raw, "utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _decoded(path, raw, "cp1252")  # the encoding of older spreadsheets


def _decoded(path: Path, raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        advice = "Save it as UTF-8."
        raise ReadError(path, f"this is not text in {encoding}.", f"byte {error.start:,}", advice) from None


def _sheet(columns: tuple[str, ...], rows: Iterator[tuple[int, tuple[str, ...]]], most: int) -> Sheet:
    found = tuple(islice(rows, most + 1))
    kept = found[:most]
    return Sheet(columns, tuple(row for _, row in kept), len(found) > most, tuple(number for number, _ in kept))


def _table(path: Path, rows: Iterator[Sequence[Any]], most: int) -> Sheet:
    """Return the table whose column names are the first of ``rows``."""
    header = next(rows, None)
    if header is None:
        raise ReadError(path, "this file has no rows.")
    if not header:
        raise ReadError(path, "the first row is empty.", "line 1", "Name the columns in it.")
    columns = _names(header[:MOST_COLUMNS])
    width = len(columns)

    def cells() -> Iterator[tuple[int, tuple[str, ...]]]:
        for number, row in enumerate(rows, 2):
            cut = tuple(_cell(value) for value in row[:width])
            if any(cut):
                yield number, cut + ("",) * (width - len(cut))

    return _sheet(columns, cells(), most)


def _names(header: Sequence[Any]) -> tuple[str, ...]:
    names: list[str] = []
    for number, value in enumerate(header, 1):
        name = _cell(value)[:200] or f"column {number}"
        names.append(name if name not in names else f"{name} ({number})")
    return tuple(names)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def one_line(text: str) -> str:
    """Return the normalised text of a cell: no NUL, single spaces, bounded length."""
    return " ".join(text.replace("\x00", "").split())[:MOST_LETTERS]


def _csv_rows(path: Path, text: str, delimiter: str | None) -> Iterator[list[str]]:
    delimiter = delimiter or _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        yield from reader
    except csv.Error as error:
        raise ReadError(path, f"this is not a CSV file: {error}.", f"line {reader.line_num:,}") from None


def _delimiter(text: str) -> str:
    """Return the most frequent of comma, semicolon and tab in the first line."""
    first = text.split("\n", 1)[0]
    return max(",;\t", key=first.count)


def _json_lines(path: Path, text: str, most: int) -> Sheet:
    """Return the table of objects or strings, one per line; the columns are the keys of the first rows."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and len(rows) <= most:
            rows.append((number, _object(path, line, number)))
    if not rows:
        raise ReadError(path, "this file has no rows.")
    keys = list(dict.fromkeys(key for _, row in rows[:_SAMPLE] for key in row))[:MOST_COLUMNS]
    if not keys:
        raise ReadError(path, "the objects in this file are empty.", advice='Write a "sentence" into each of them.')
    cells = ((number, tuple(_cell(row.get(key)) for key in keys)) for number, row in rows)
    try:
        return _sheet(_names(keys), cells, most)
    except RecursionError:
        raise ReadError(path, "a value is nested too deeply.", advice="Write texts as values.") from None


def _object(path: Path, line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise ReadError(path, "this line is not JSON.", f"line {number:,}") from None
    return value if isinstance(value, dict) else {"sentence": value}


def _excel_rows(path: Path) -> Iterator[Sequence[Any]]:
    """Yield the rows of the first sheet as values; formulas are not computed."""
    import warnings

    import openpyxl

    _check_archive(path)
    with path.open("rb") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that are not used here
        try:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            try:
                sheet = book.worksheets[0]
                # A damaged file may have any row number, up to which the library generates rows.
                last = min(sheet.max_row or _EXCEL_ROWS, _EXCEL_ROWS)
                yield from (row[:MOST_COLUMNS] for row in sheet.iter_rows(max_row=last, values_only=True))
            finally:
                book.close()
        except Exception as error:  # the library does not document its exceptions
            raise ReadError(path, f"this is not a readable Excel file ({type(error).__name__}).") from None


def _check_archive(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        raise ReadError(path, "this Excel file is damaged.") from None
    unpacked, packed = sum(p.file_size for p in parts), max(sum(p.compress_size for p in parts), 1)
    if unpacked > _MOST_UNPACKED or (unpacked > 10_000_000 and unpacked / packed > _MOST_RATIO):
        size = f"{unpacked // 1_000_000} MB"
        raise ReadError(path, f"this Excel file has {size} when decompressed, which is too much.")
    if not any(part.filename == "xl/workbook.xml" for part in parts):
        raise ReadError(path, "this archive is not an Excel file (.xlsx).")
