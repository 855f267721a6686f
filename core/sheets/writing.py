"""Tables that leave the house: CSV and Excel with no cell that a spreadsheet would obey, JSON lines as they are."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def safe_cell(value: Any) -> Any:
    """A text that a spreadsheet would obey as a formula gets an apostrophe before it; numbers stay numbers."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Comma-separated with a header row and the line ends of RFC 4180; cells are made safe for spreadsheets."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([safe_cell(name) for name in header])
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def json_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """One object a line, values as they are."""
    return "".join(json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)


def excel_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "themes") -> bytes:
    """An Excel workbook with one sheet; cells are made safe, and letters that XML cannot hold are left out."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        written = WriteOnlyCell(sheet, value=safe_cell(_UNPRINTABLE.sub("", value)))
        written.data_type = "s"  # never a formula, whatever it begins with
        return written

    for row in (header, *rows):
        sheet.append([cell(value) for value in row])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()
