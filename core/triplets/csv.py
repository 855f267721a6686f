"""Reader of CSV files of triplets with the columns Sentence1, Sentence2, Sentence3.

The format of the published ``wikipedia-sections`` triplets: pivot, positive, negative.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from themescope.core.errors import ReadError
from themescope.core.triplets.rules import fold
from themescope.core.types import Ids, TripletTexts

COLUMNS = ("Sentence1", "Sentence2", "Sentence3")
GROUP_COLUMNS = ("article id", "article", "article title", "group")
"""Folded names, with spaces for ``_`` and ``-``, of the column with the article of each triplet."""


@dataclass(frozen=True, slots=True)
class TripletTable:
    """Triplets in file order, with the other columns of their file by name."""

    texts: TripletTexts
    extra: dict[str, list[str]]
    group_column: str
    """Column of ``texts.groups``; "" if there is none and every group is -1."""


def read_triplets_csv(path: Path) -> TripletTable:
    """Read a UTF-8 CSV file with the three columns in any order; other columns are kept as ``extra``.

    Groups are numbered 0, 1, … in order of appearance. Raises :class:`ReadError` with the line of the error: missing
    columns, a row of another length, an empty sentence, wrong encoding, no rows.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            columns = _columns(path, header)
            rows = list(_rows(path, reader, header, columns))
    except UnicodeDecodeError as error:
        raise ReadError(path, "The text is not UTF-8.", _undecodable_line(path), "Save the file as UTF-8.") from error
    except csv.Error as error:
        raise ReadError(path, f"This is not a CSV file: {error}.", f"line {reader.line_num}") from error
    except OSError as error:
        raise ReadError(path, f"The file cannot be opened: {error.strerror or error}.") from error
    if not rows:
        raise ReadError(path, "There are no triplets below the header.")
    table = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    pivots, positives, negatives = (table.pop(header[i]) for i in columns)
    group = next((name for name in table if fold(name.replace("_", " ").replace("-", " ")) in GROUP_COLUMNS), "")
    return TripletTable(TripletTexts(pivots, positives, negatives, _groups(table, group, len(rows))), table, group)


def _columns(path: Path, header: list[str]) -> list[int]:
    """Return the columns of the three sentences; names are compared without case and spaces."""
    if not header:
        raise ReadError(path, "The file is empty.", "line 1", f"It needs the columns {', '.join(COLUMNS)}.")
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise ReadError(path, f"The column {repeated[0]!r} appears twice.", "line 1", "Rename one of them.")
    folded = [fold(name).replace(" ", "") for name in header]
    missing = [name for name in COLUMNS if name.casefold() not in folded]
    if missing:
        raise ReadError(
            path,
            f"The column{'s' if len(missing) > 1 else ''} {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} "
            f"missing; there are: {', '.join(header)}.",
            "line 1",
            "Name the columns Sentence1 (pivot), Sentence2 (positive) and Sentence3 (negative).",
        )
    return [folded.index(name.casefold()) for name in COLUMNS]


def _rows(path: Path, reader: Iterator[list[str]], header: list[str], columns: list[int]) -> Iterator[list[str]]:
    for row in reader:
        line = f"line {reader.line_num}"  # type: ignore[attr-defined]
        if not row:
            continue
        if len(row) != len(header):
            raise ReadError(
                path, f"The row has {len(row)} cells, the header {len(header)}.", line, "Check quotes and commas."
            )
        for i in columns:
            if not row[i].strip():
                raise ReadError(path, f"{header[i]} is empty.", line, "Every triplet needs three sentences.")
        yield row


def _undecodable_line(path: Path) -> str:
    """Return the first line that is not UTF-8; the error of a buffered reader gives only a position in its buffer."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"line {number}"
    return ""


def _groups(table: dict[str, list[str]], column: str, n: int) -> Ids:
    if not column:
        return np.full(n, -1, dtype=np.int64)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in table[column]], dtype=np.int64)
