"""How a delimited text file is written: delimiter, quotation marks, lines above the header, and whether it has one.

Many rows decide, not the first. For every delimiter and every use of quotation marks the rows are read, and the reading
counts in which most rows have the same number of cells. What stays ambiguous is for a person to choose.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from themescope.core.columns import Profile

DELIMITERS = {"tab" if s == "\t" else s: s for s in (*",;\t|^~", "||", "::")} | {"tab|tab": "\t|\t"}
"""Name of a delimiter → the delimiter."""
_SIGNS = re.compile(r"\t[|;:^~#*]{1,3}\t|[|;:^~#*$%]{2,3}|[¦§¬]")
"""What may be a delimiter besides, if all rows have it as often as the first one, which has a name in each cell."""
_SPARE = "\x1f"
"""Stands for a delimiter of several signs while rows are read."""
QUOTES, SPACED, BACKSLASH, UNQUOTED = "quotes", "spaced", "backslash", "none"
"""Uses of quotation marks: doubled within a quoted cell, also after a space before the cell, after a backslash within
it, or signs like any other."""
QUOTINGS = (QUOTES, SPACED, BACKSLASH, UNQUOTED)
LINES = "lines"
"""Delimiter of a file whose lines are the cells of one column."""
SAMPLE_LINES = 1_000
"""Lines by which a file is judged."""
_MOST_ABOVE = 20
_LEAST_SHARE = 0.8
_SEPARATOR = re.compile(r"sep=(.)\s*$", re.IGNORECASE)
_QUALTRICS = '{"ImportId"'
MISSING = (("-9", "QUESTNNR"), ("-1", "QUESTNNR"), ("-99", _QUALTRICS))
"""Code of a missing answer, and the beginning of a cell in the header by which the survey tool is known."""
_ESCAPES = re.compile(r'(?![\[{].*[\]}]$).*(?:\\"|\\$)', re.DOTALL)
"""A cell with backslashes that may escape the quotation marks after them; those of JSON do not."""
_NO_VALUE = re.compile(
    r"n\W{0,3}a\W?|none|unknown|missing|null|nan|refused|(?:no|not) \w+|k\W?a\W?|[\W\d_]*", re.IGNORECASE
)
RESPONSES = frozenset({"Response", "Open-Ended Response"})
"""What SurveyMonkey writes below the title of a question with one column."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the rows of a file are written."""

    delimiter: str = ","
    """A delimiter, or :data:`LINES`."""
    quoting: str = QUOTES
    above: int = 0
    """Number of rows above the header."""
    header: bool = True
    """Whether the first row after those has the names of the columns."""
    below: int = 0
    """Number of rows below the header that describe columns, as survey tools write them."""
    options: bool = False
    """Whether the row below the header names the options of the question above them, each a column of its own."""
    width: int = 1
    """Number of cells in most rows."""
    doubt: str = ""
    """What a person has to decide, as a sentence; "" if nothing."""


def rows_of(lines: Iterator[str] | Sequence[str], delimiter: str, quoting: str, strict: bool) -> Iterator[list[str]]:
    """Yield the rows of lines without their ends. Raises ``csv.Error`` for quotation marks that do not fit."""
    if delimiter == LINES:
        return ([line] for line in lines)
    if len(delimiter) > 1:
        rows = rows_of((line.replace(delimiter, _SPARE) for line in lines), _SPARE, quoting, strict)
        return ([cell.replace(_SPARE, delimiter) for cell in row] for row in rows)
    ended = (line + "\n" for line in lines)
    if quoting == UNQUOTED:
        return csv.reader(ended, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    if quoting == BACKSLASH:
        return csv.reader(ended, delimiter=delimiter, escapechar="\\", doublequote=False, strict=strict)
    if quoting == SPACED:  # a space may stand before the delimiter, too, where strict reading allows nothing
        return csv.reader(ended, delimiter=delimiter, skipinitialspace=True)
    return csv.reader(ended, delimiter=delimiter, strict=strict)


def swallows(cell: str, delimiter: str, width: int) -> bool:
    """Return whether a cell with line breaks contains what looks like whole rows: its quotation mark is not closed."""
    if width < 2:
        return False
    signs = [line.count(delimiter) - line.count(f"{delimiter} ") for line in cell.split("\n")]  # “late, again”
    return width - 1 in signs[1:-1] or (len(signs) == 2 and sum(signs) >= 2 * (width - 1))


def dialect_of(lines: Sequence[str], delimiter: str = "", quoting: str = "", header: int = 0) -> Dialect:
    """Return how a file is written whose first lines are ``lines``.

    What is given is not looked for: the delimiter, the quoting, and the number of the row with the names of the columns
    (counted from 1; -1: there is none; 0: look for it).
    """
    if not delimiter and lines and (named := _SEPARATOR.match(lines[0])):
        found = dialect_of(lines[1:], named.group(1), quoting, max(header - 1, 0) if header > 0 else header)
        return replace(found, above=found.above + 1)
    if not any(map(str.strip, lines)):
        return Dialect(LINES)
    first = next(filter(str.strip, lines))
    readings = [
        reading
        for sign in ([delimiter] if delimiter else dict.fromkeys((*DELIMITERS.values(), *_SIGNS.findall(first))))
        if (delimiter or sign in ",;|\t" or sign in first)
        and (reading := _reading(lines, sign, quoting)) is not None
        and (delimiter or sign in ",;|\t" or (reading.share == 1 and _has_names(reading)))
    ]
    best = max(readings, key=lambda reading: reading.score, default=None)
    if best is None or (not delimiter and not _is_table(best)):
        alone = _reading([line for line in lines if line.strip()], LINES, UNQUOTED)
        assert alone is not None
        # Cells in quotation marks, one per line, with commas in them.
        quoted = next((r for r in readings if r.width == 1 and r.share == 1 and r.quoting == QUOTES), None)
        best = quoted if quoted is not None and any('"' in line for line in lines) else alone
    found = Dialect(best.delimiter, best.quoting, width=best.width)
    return _with_header(found, best.rows, _above(best.rows, best.width), header)


@dataclass(slots=True)
class _Reading:
    delimiter: str
    quoting: str
    rows: list[list[str]]
    width: int
    share: float
    """Share of the rows that have ``width`` cells."""

    @property
    def score(self) -> float:
        """How much a reading looks like a table: as many rows as possible with the same number of cells, above one."""
        first = next((row for row in self.rows if any(row)), [])
        whole = 1.2 if len(first) == self.width else 1
        return self.share * (1 - 1 / (1 + self.width)) * whole * len(self.delimiter) ** 2 * (self.width > 1)


def _reading(lines: Sequence[str], delimiter: str, quoting: str) -> _Reading | None:
    """Return the reading with the first use of quotation marks that fits all lines, else the one without any."""
    marks = any('"' in line for line in lines)
    spaced = marks and any(f'{delimiter} "' in line for line in lines)
    found = None
    for use in [quoting] if quoting else QUOTINGS if marks else [QUOTES]:
        if use == SPACED and not quoting and not (spaced and (found is None or found.share < 1)):
            continue
        if use == BACKSLASH and not quoting and not any('\\"' in line for line in lines):
            continue
        try:
            rows = list(rows_of(lines, delimiter, use, strict=not quoting))
        except csv.Error:
            continue
        filled = [row for row in rows if any(cell.strip() for cell in row)]
        if not filled:
            return None
        width = Counter(map(len, filled)).most_common(1)[0][0]
        while width > 1 and not any(len(row) >= width and row[width - 1].strip() for row in filled):
            width -= 1  # a delimiter at the end of every row
        below = filled[next(place for place, row in enumerate(filled) if len(row) >= width) :]
        fits = sum(len(row) >= width and not any(cell.strip() for cell in row[width:]) for row in below)
        reading = _Reading(delimiter, use, rows, width, fits / len(below))
        if found is not None and reading.share < found.share:
            continue  # the backslashes of texts escape nothing
        found = reading
        damaged = any("\n" in cell and swallows(cell, delimiter, width) for row in filled for cell in row)
        backslash = use == QUOTES and any(map(_ESCAPES.match, chain.from_iterable(filled)))
        if quoting or not (damaged or backslash or (spaced and reading.share < 1)):
            break
    return found


def _has_names(reading: _Reading) -> bool:
    first = [cell.strip() for cell in next(filter(any, reading.rows))]
    return len(first) == reading.width and all(cell and cell[-1] not in ".!…。" for cell in first)


def _is_table(reading: _Reading) -> bool:
    """Return whether the rows of a reading are more than sentences that contain the delimiter."""
    first = next(row for row in reading.rows if any(row))
    if reading.width < 2:
        return False
    prose = reading.delimiter in ",;" and first[-1][:1] == " " and first[-1].strip()[-1:] in ".!?…。！？"
    if len(first) == reading.width and not prose:
        return True
    body = [row for row in reading.rows if len(row) == reading.width]
    spaced = sum(cell.startswith(" ") for row in body for cell in row[1:])
    if reading.delimiter in ",;" and spaced > 0.8 * len(body) * (reading.width - 1):
        return False  # commas and semicolons of sentences
    return len(first) > 1 or reading.share >= _LEAST_SHARE


def header_of(rows: Sequence[Sequence[str]], header: int = 0) -> Dialect:
    """Return where the header of the rows of a sheet is; rows above it have cells in less than half of its columns."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    typical = sorted(filter(None, filled))[sum(map(bool, filled)) // 2] if any(filled) else 0
    above = next((place for place, number in enumerate(filled) if 2 * number > typical), 0)
    return _with_header(Dialect(width=max(map(len, rows), default=1)), rows, above, header)


def _above(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return the number of rows at the top with fewer cells than the table has columns; 0 if all have."""
    above = 0
    while above < min(len(rows) - 1, _MOST_ABOVE) and (len(rows[above]) < width or not any(rows[above])):
        above += 1
    return above if rows and len(rows[above]) >= width else 0


def _with_header(found: Dialect, rows: Sequence[Sequence[str]], above: int, header: int) -> Dialect:
    if header or not rows:
        return replace(found, above=max(header - 1, 0), header=header >= 0)
    first, body = rows[above], [row for row in rows[above + 1 :] if any(row)]
    ids = [number for number, row in enumerate(body[:2], 1) if any(cell.startswith(_QUALTRICS) for cell in row)]
    below = ids[-1] if ids else 0
    options = not below and len(body) > 1 and _has_options(first, body[0])
    below = 1 if options else below
    named = bool(below) or _is_header(first, body[:200])
    while named and below < 3 and _describes(body[below : below + 200]):
        below += 1
    narrow = next((number for number, row in enumerate(rows[:above], 1) if any(cell.strip() for cell in row)), 0)
    doubt = ""
    if narrow and not named:
        doubt = f"row {narrow:,} has {len(rows[narrow - 1]):,} and row {above + 1:,} has {len(first):,} cells."
    return replace(found, above=above, header=named, below=below, options=options, doubt=doubt)


def _has_options(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the second row names columns, as SurveyMonkey writes it: “Response”, or options of a question."""
    named = {cell.strip() for cell in second} - {""}
    unnamed = [second[place].strip() for place, cell in enumerate(first[: len(second)]) if not cell.strip()]
    return bool(named & RESPONSES) and (named <= RESPONSES or (bool(unnamed) and all(unnamed)))


def _is_measured(values: Sequence[str]) -> bool:
    """Return whether values are numbers or dates."""
    found = Profile()
    found.add(values)
    return found.format is not None


def _describes(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has questions or codes of columns, and no values: words above numbers and dates."""
    words = []
    for place, cell in enumerate(map(str.strip, rows[0] if rows else ())):
        below = [row[place].strip() for row in rows[1:] if place < len(row) and row[place].strip()]
        if cell and cell in below:
            return False
        if cell and _is_measured(below):
            if _NO_VALUE.fullmatch(cell) or _is_measured([cell]):
                return False
            words.append(cell)
    tags = [cell for cell in rows[0] if cell.strip()] if len(rows) > 1 else []
    return 1 < len(words) == len({*words}) or (len(tags) > 1 and all(re.match(r"#[a-z]", cell) for cell in tags))


def _is_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has names of columns, judged by the rows below it."""
    cells = [cell.strip() for cell in first]
    names = [cell for cell in cells if cell]
    if not body:
        return True
    twice = {name for name, number in Counter(names).items() if number > 1}
    if not names or not all(" " in name or "?" in name for name in twice):
        return False  # titles of questions may be equal; values of a row often are
    for place, cell in enumerate(cells):
        column = [row[place].strip() for row in body if place < len(row) and row[place].strip()]
        if not column or not cell:
            continue
        if cell in column and len(set(column)) > 1:
            return False  # a category
        if _is_measured(column):
            return not _is_measured([cell])  # a name above numbers or dates
        ends = sum(value[-1] in ".!?…。！？" for value in column) / len(column)
        if " " in cell and cell[-1] in ".!…。！" and ends > 0.5:
            return False
        if " " in cell and cell[-1] in "?？" and sum(value[-1] in "?？" for value in column) > 0.3 * len(column):
            return False
        shortest = sorted(map(len, column))[len(column) // 4]
        if len(first) == 1 and cell.count(" ") >= 2 and len(cell) >= shortest:
            return False  # one column, and the first cell is as long as the others
    return True
