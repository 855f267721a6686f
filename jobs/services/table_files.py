"""Tables as files: CSV and Excel without cells that spreadsheets run as formulas; JSON lines and Parquet unchanged.

Sentences have the columns of their corpus.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain, count
from typing import Any, TypeAlias

import numpy as np

from themescope.core.columns import ColumnLevel, ColumnType, Values, plain_values
from themescope.core.readers.arrow_tables import METADATA
from themescope.core.readers.tables import FORMULA
from themescope.core.records.stored import ColumnRecord
from themescope.core.types import Ids, Value
from themescope.db.store import Store

_EXCEL_FROM = 1_900
"""First year of dates in Excel."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def safe_cell(value: Any) -> Any:
    """Prefix an apostrophe to text that a spreadsheet would run as a formula; times become ISO text.

    Text that looks so after apostrophes gets one more; :func:`themescope.core.readers.tables.raw_cell` takes it off.
    """
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str) and value.lstrip("'").startswith(FORMULA):
        return "'" + value
    return value


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return CSV (RFC 4180) with a header row and cells that are safe for spreadsheets."""
    return "".join(csv_pieces(header, rows))


def csv_pieces(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of :func:`csv_text`, for large tables."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for row in chain([header], rows):
        writer.writerow([safe_cell(cell) for cell in row])
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def json_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return one JSON object per line with unchanged values."""
    return "".join(json_pieces(header, rows))


def json_pieces(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of :func:`json_lines`; dates and times are in ISO form."""
    for row in rows:
        yield json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False, default=date.isoformat) + "\n"


_ID, _TEXT, _CODES = "sentence_id", "sentence", ("cluster", "name", "theme")
"""Columns of ids and of texts, and columns with names of codes, of which a sheet counts the first."""
_LAST = ("article", "section", "position", "paragraph", "start", _ID)
_MOST_GROUPS = 50
_WIDTHS, _TEXT_WIDTH, _MEASURED = (8, 32), 70, 200
"""Least and greatest width of a column in characters, width of texts, and number of rows that widths follow from."""
_NOT_IN_TITLES = re.compile(r"[\[\]:*?/\\]")
Table: TypeAlias = Sequence[Sequence[Any]]
Types: TypeAlias = Mapping[str, ColumnType]
"""Column of a corpus → its type."""


def excel_bytes(
    header: Sequence[str],
    rows: Table,
    title: str = "themes",
    types: Types | None = None,
    more: Mapping[str, Table] | None = None,
) -> bytes:
    """Return an Excel workbook for people; no cell is a formula, characters invalid in XML are removed.

    The first sheet has the rows in reading order: first the columns of the corpus, which ``types`` names, the text and
    its code, then the others; those without any value are left out. Then follow a sheet with the shares of the codes
    for each column of categories, and the sheets ``more``.
    """
    own = types or {}
    ordered = sorted(rows, key=lambda row: row[header.index(_ID)]) if _ID in header else rows
    rank = {_TEXT: 1} | dict.fromkeys(_CODES, 2) | dict.fromkeys(_LAST, 4) | dict.fromkeys(own, 0)
    filled = {name for at, name in enumerate(header) if name in own or any(row[at] not in ("", None) for row in rows)}
    shown = sorted((name for name in header if name in filled or not rows), key=lambda name: rank.get(name, 3))
    places = [header.index(name) for name in shown]
    sheets = {title: [shown, *([row[at] for at in places] for row in ordered)]}
    code = next((name for name in _CODES if name in shown), None)
    groups = [name for name, type in own.items() if type is ColumnType.CATEGORY]
    for name in groups if code is not None else []:
        values, codes = ([row[header.index(one)] for row in rows] for one in (name, code))
        if len(set(values)) <= _MOST_GROUPS:
            sheets[_sheet_title(f"by {name}", sheets)] = _shares(name, values, codes)
    return excel_sheets(sheets | dict(more or {}))


def _shares(name: str, values: Sequence[Any], codes: Sequence[Any]) -> list[list[Any]]:
    """Return the share of each code among the sentences of each value, in the order of their frequency."""
    held = [json.loads(code) if str(code).startswith("[") else [code] for code in codes]
    of, every = Counter(values), [code for code, _ in Counter(chain.from_iterable(held)).most_common() if code != ""]
    both = Counter((value, code) for value, own in zip(values, held, strict=True) for code in own)
    return [
        [name, "sentences", *every],
        *(
            [value if value not in ("", None) else "(none)", n, *(both[value, code] / n for code in every)]
            for value, n in of.most_common()
        ),
    ]


def _sheet_title(wanted: str, taken: Iterable[str]) -> str:
    """Return a title of at most 31 characters that Excel accepts and no other sheet has."""
    plain, others = _NOT_IN_TITLES.sub(" ", wanted)[:27].strip(), {name.casefold() for name in taken}
    return next(name for name in chain([plain], (f"{plain} {n}" for n in count(2))) if name.casefold() not in others)


def excel_sheets(sheets: Mapping[str, Table]) -> bytes:
    """Return an Excel workbook with a sheet for each name, whose first row is its header, as safe as one of a table.

    The header is bold and stays in view, the columns have filters and widths. Fractions are shares, shown in percent.
    """
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    book = openpyxl.Workbook(write_only=True)

    def as_text(sheet: Any, text: str) -> Any:
        written = WriteOnlyCell(sheet, value=text)
        written.data_type = "s"  # never a formula, nor an error
        return written

    def printable(value: str) -> str:
        return _UNPRINTABLE.sub("", safe_cell(value))

    def cell(sheet: Any, value: Any, share: bool) -> Any:
        if isinstance(value, date) and value.year < _EXCEL_FROM:
            return value.isoformat()
        if isinstance(value, datetime):
            return value.replace(tzinfo=None)  # Excel knows no zones
        if share and isinstance(value, float):
            written = WriteOnlyCell(sheet, value=value)
            written.number_format = "0.0%"
            return written
        if not isinstance(value, str):
            return value
        text = printable(value)
        return text if text[:1] not in ("=", "#") else as_text(sheet, text)

    for place, (title, rows) in enumerate(sheets.items()):
        sheet = book.create_sheet(title)
        last = get_column_letter(max(len(rows[0]), 1))
        sheet.freeze_panes, sheet.auto_filter.ref = "A2", f"A1:{last}{len(rows)}"
        for at, name in enumerate(rows[0]):
            longest = max(len(str(row[at])) for row in rows[:_MEASURED])
            width = _TEXT_WIDTH if name == _TEXT else min(max(longest + 2, _WIDTHS[0]), _WIDTHS[1])
            sheet.column_dimensions[get_column_letter(at + 1)].width = width
        heads = [as_text(sheet, printable(str(name))) for name in rows[0]]
        for head in heads:
            head.font = Font(bold=True)
        sheet.append(heads)
        for row in rows[1:]:
            sheet.append([cell(sheet, value, place > 0) for value in row])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def parquet_bytes(header: Sequence[str], rows: Sequence[Sequence[Any]], types: Types | None = None) -> bytes:
    """Return the table as a Parquet file with unchanged values.

    ``types`` are those of columns of a corpus: numbers become float64, dates timestamps in UTC, categories
    dictionaries. They are also recorded in the metadata of the file, from which an import takes them.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    known = types or {}
    columns = {name: arrow_column([row[place] for row in rows], known.get(name)) for place, name in enumerate(header)}
    found = pa.table(columns)
    if known:
        recorded = json.dumps({"types": {name: str(type) for name, type in known.items()}})
        found = found.replace_schema_metadata({METADATA: recorded.encode()})
    out = io.BytesIO()
    pq.write_table(found, out)
    return out.getvalue()


TABLE_WRITERS: Mapping[str, Callable[..., Any]] = {
    "CSV": csv_text,
    "XLSX": excel_bytes,
    "JSONL": json_lines,
    "Parquet": parquet_bytes,
}
"""Functions of a header and rows that write a table, by the name of their format."""


def arrow_column(values: Sequence[Any], type: ColumnType | None) -> Any:
    """Return an Arrow array of a type; without one, of the type of its values."""
    import pyarrow as pa

    if type is None:
        return pa.array(values)
    if type is ColumnType.CATEGORY:
        return pa.array(values, pa.string()).dictionary_encode()
    if type is ColumnType.DATE:
        return pa.array([_time(value) for value in values], pa.timestamp("us", "UTC"))
    if type is ColumnType.NUMBER:
        # Whole numbers arrive as integers; those above 2^53 are no float64 to Arrow until they are one to Python.
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array(values, pa.string())


def _time(value: date | None) -> datetime | None:
    """Return a date as the time at which it begins in UTC."""
    if value is None or isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file."""

    name: str
    type: ColumnType
    values: Sequence[object]
    """One value per row: text, number, :class:`~datetime.date` or, if not all are whole days, time; None is missing."""


def file_columns(store: Store, corpus_id: int, sentences: Ids, taken: Iterable[str] = ()) -> list[FileColumn]:
    """Return the columns of a corpus for the sentences (n,) with these ids; names that are ``taken`` get a number."""
    with store.reading() as r:
        columns = r.columns.list(corpus_id)
        if not columns:
            return []
        articles = np.empty(0, np.int64)
        if any(column.level is ColumnLevel.ARTICLE for column in columns):
            known = r.corpora.sentences_by_id(sentences)
            articles = np.array([known[id].article_id for id in sentences.tolist()], dtype=np.int64)
        ids = {ColumnLevel.SENTENCE: sentences, ColumnLevel.ARTICLE: articles}
        found = [(column, r.columns.values(column, ids[column.level])) for column in columns]
    used = set(taken)
    return [
        FileColumn(_free(column.name, used), ColumnType(column.type), _file_values(column, values))
        for column, values in found
    ]


def _file_values(column: ColumnRecord, values: Values) -> list[object]:
    plain: list[Value] = plain_values(ColumnType(column.type), values, column.categories)
    if column.type == ColumnType.DATE and column.about.get("days"):
        return [value.date() if isinstance(value, datetime) else None for value in plain]
    if column.type == ColumnType.NUMBER and column.about.get("whole"):
        return [int(value) if isinstance(value, float) else None for value in plain]
    return [*plain]


def _free(name: str, used: set[str]) -> str:
    """Return the name, numbered if it is used, and mark it as used."""
    free = next(one for one in chain([name], (f"{name} ({n})" for n in count(2))) if one not in used)
    used.add(free)
    return free


def file_content(
    store: Store, corpus_id: int, write: Callable[..., Any], header: Sequence[str], rows: Sequence[Sequence[Any]]
) -> Any:
    """Return a file of sentences with the columns of their corpus at the end.

    ``write`` is a function of :mod:`themescope.jobs.services.table_files`; the first cell of every row is the id of its
    sentence.
    """
    columns = file_columns(store, corpus_id, np.array([row[0] for row in rows], dtype=np.int64), header)
    if not columns:
        return write(header, rows)
    further = zip(*(column.values for column in columns), strict=True)
    wide = [(*row, *more) for row, more in zip(rows, further, strict=True)]
    names = (*header, *(column.name for column in columns))
    if write in (csv_text, json_lines):
        return write(names, wide)
    return write(names, wide, types={column.name: column.type for column in columns})
