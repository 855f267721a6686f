"""Lists of sentences and other small tables as text: the first rows of any table that ``core.readers.tables`` reads.

Files are not trusted: rows and characters are limited in addition to the limits there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from themescope.core.columns import as_text
from themescope.core.errors import ReadError
from themescope.core.readers.tables import likely_column, open_table

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
