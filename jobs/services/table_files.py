"""Export of tables: CSV and Excel without cells that spreadsheets run as formulas; JSON lines and Parquet unchanged."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def safe_cell(value: Any) -> Any:
    """Prefix an apostrophe to text that a spreadsheet would run as a formula; numbers are unchanged."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value


def raw_cell(text: str) -> str:
    """Undo :func:`safe_cell`."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


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
    """Yield the lines of :func:`json_lines`."""
    for row in rows:
        yield json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) + "\n"


def excel_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "themes") -> bytes:
    """Return an Excel workbook with one sheet; cells are safe, characters invalid in XML are removed."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        written = WriteOnlyCell(sheet, value=safe_cell(_UNPRINTABLE.sub("", value)))
        written.data_type = "s"  # never a formula
        return written

    for row in (header, *rows):
        sheet.append([cell(value) for value in row])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def parquet_bytes(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the table as a Parquet file with unchanged values."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: [row[place] for row in rows] for place, name in enumerate(header)}
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()
