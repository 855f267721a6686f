"""Excel and OpenDocument workbooks: their sheets and cells. Formulas without computed values are errors."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from themescope.core.errors import AmbiguousFileError, ReadError, optional_module
from themescope.core.readers.documents.packages import DAMAGE
from themescope.core.readers.streams import excessive_size

_MOST_UNPACKED = 500_000_000


@dataclass(frozen=True, slots=True)
class SheetName:
    """A sheet of a workbook."""

    name: str
    hidden: bool
    rows: int


_COUNTS = re.compile(r"by .|summary\Z")
"""Names of the sheets that exports of Themescope have besides that of the rows."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def cell_value(value: Any) -> Any:
    """Return the value of a cell as people see it: escaped characters and line ends decoded, whole numbers as such."""
    if isinstance(value, str):
        if "_x" in value:
            value = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)
        return value.replace("\r\n", "\n").replace("\r", "\n")
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


_MEMORY, _SECONDS = 2 << 30, 300.0
_TRIAL = """
import resource, sys
from python_calamine import CalamineWorkbook
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]), resource.getrlimit(resource.RLIMIT_DATA)[1]))
with CalamineWorkbook.from_path(sys.argv[1]) as book:
    for place in range(len(book.sheet_names)):
        book.get_sheet_by_index(place)
"""


@lru_cache(maxsize=64)
def _opens(path: str, changed: int) -> bool:
    """Return whether all sheets of a workbook fit into :data:`_MEMORY`, tried in a process of its own.

    calamine makes a table of all cells up to the last one, so that two cells of a small file can need 500 GB, and ends
    its process where it gets no memory. ``changed`` is the time of the last change of the file, for the cache.
    """
    if not sys.executable or sys.platform == "win32":  # no limits of memory
        return True
    command = [sys.executable, "-c", _TRIAL, path, str(_MEMORY)]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode >= 0 and b"MemoryError" not in done.stderr  # other errors are told when the file is read


@contextmanager
def open_workbook(path: Path) -> Iterator[Any]:
    """Open a workbook; damage is told wherever in the block it is met."""
    calamine = optional_module("python_calamine", "Reading Excel files", "python-calamine", "app")
    with path.open("rb") as stream:
        packed = stream.read(4) == b"PK\x03\x04"  # also of a damaged ZIP file
    if packed and (size := excessive_size(_parts(path), _MOST_UNPACKED)):
        raise ReadError(path, f"this Excel file has {size} when decompressed, which is too much.")
    if not _opens(str(path), path.stat().st_mtime_ns):
        problem = f"the table up to its last cell needs more than {_MEMORY >> 30} GB of memory."
        raise ReadError(path, problem, advice="Delete cells far below or beside the others, or save it as CSV.")
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            yield book
    except ReadError:
        raise
    except calamine.PasswordError:
        raise ReadError(path, "this workbook is protected by a password.", advice="Save it without one.") from None
    except Exception as error:  # the library does not document its exceptions
        kind = "not a readable Excel file" if packed else "an old Excel file (.xls), or one with a password"
        raise ReadError(path, f"this is {kind} ({error}).", advice="Save it as .xlsx without a password.") from None


def sheets_of(book: Any) -> list[SheetName]:
    """Return the sheets of an open workbook, also hidden ones."""
    return [
        SheetName(about.name, not str(about.visible).endswith(".Visible"), book.get_sheet_by_index(place).height)
        for place, about in enumerate(book.sheets_metadata)
    ]


def sheet_names(path: Path) -> list[SheetName]:
    """Return the sheets of a workbook, also hidden ones; raises :class:`ReadError` if it cannot be read."""
    with open_workbook(path) as book:
        return sheets_of(book)


def chosen_sheet(path: Path, listed: Sequence[SheetName], wanted: str) -> str:
    """Return the name of the sheet to read: the ``wanted`` one, or the only one that has rows and is not hidden.

    In a workbook of Themescope it is the first; the others have counts of its rows.

    Raises :class:`ReadError` if there is none, and :class:`AmbiguousFileError` if several have rows.
    """
    shown = ", ".join(f"“{one.name}” ({one.rows:,} rows{', hidden' * one.hidden})" for one in listed)
    if wanted:
        if not any(one.name == wanted for one in listed):
            raise ReadError(path, f"this workbook has no sheet “{wanted}”. It has: {shown}.")
        return wanted
    filled = [one for one in listed if one.rows and not one.hidden] or [one for one in listed if one.rows]
    if not filled:
        raise ReadError(path, "this table has no rows.")
    if len(filled) > 1 and not all(_COUNTS.match(one.name) for one in filled[1:]):
        problem = f"this workbook has several sheets: {shown}."
        raise AmbiguousFileError(path, problem, advice="Choose one of them (sheet).")
    return filled[0].name


_WITHOUT_VALUE = re.compile(rb'<c r="([A-Z]+\d+)"[^>]*>\s*<f[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>')


def check_formulas(path: Path, place: int) -> None:
    """Raise :class:`ReadError` if formulas of a sheet have no computed values, as in files that a program wrote."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        try:
            book, links = archive.read("xl/workbook.xml").decode(), archive.read("xl/_rels/workbook.xml.rels").decode()
            link = re.findall(r"<(?:\w+:)?sheet [^>]*r:id=\"([^\"]+)\"", book)[place]
            about = next(found for found in re.findall(r"<Relationship [^>]*>", links) if f'Id="{link}"' in found)
            part = re.findall(r'Target="/?(?:xl/)?([^"]+)"', about)[0]
            content = archive.read(f"xl/{part}")
        except (KeyError, IndexError, StopIteration, UnicodeDecodeError):
            return
    cells = [found.decode() for found in _WITHOUT_VALUE.findall(content)]
    if cells:
        what = "1 formula has no" if len(cells) == 1 else f"{len(cells):,} formulas have no"
        problem = f"{what} computed value{'s' * (len(cells) > 1)} ({', '.join(cells[:5])})."
        raise ReadError(path, problem, advice="Open the file in Excel or LibreOffice and save it again.")


def is_sheet(path: Path) -> bool:
    """Return whether a ZIP archive is an Excel or OpenDocument workbook."""
    names = [part.filename for part in _parts(path)]
    if "xl/workbook.xml" in names or "xl/workbook.bin" in names:
        return True
    if "mimetype" not in names:
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read("mimetype").startswith(b"application/vnd.oasis.opendocument.spreadsheet")
    except DAMAGE:
        raise ReadError(path, "this ZIP file is damaged or encrypted.") from None


def _parts(path: Path) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    except DAMAGE:
        raise ReadError(path, "this Excel file is damaged.") from None
