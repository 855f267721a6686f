"""Tables in files, row by row: CSV or TSV, JSON, an Excel or OpenDocument sheet, Parquet, or text with a cell per line.

All but sheets and Parquet may be compressed (gzip, bzip2, xz). Files are not trusted: the kind is detected from the
content where possible, columns are limited, and a file is rejected if its decompressed size is out of proportion. How a
text file is written is found from many rows (:mod:`themescope.core.readers.dialects`) or given; what is left out or
changed is counted in an :class:`~themescope.core.types.ReadAccount`.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from html import unescape
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from themescope.core.columns import DATES, as_text, column_name, plain_value
from themescope.core.config import Config, option
from themescope.core.errors import AmbiguousFileError, ReadError
from themescope.core.readers import dialects, streams, workbooks
from themescope.core.readers.arrow_tables import ArrowTable, read_arrow, read_parquet
from themescope.core.readers.chats import fields_of, joined_pieces, rows_of
from themescope.core.readers.jsonl import json_lines
from themescope.core.readers.streams import ENCODINGS, FileHead
from themescope.core.text import cleaning
from themescope.core.text.cleaning import clean
from themescope.core.types import SILENT, ReadAccount, Report, Value

KINDS = ("txt", "csv", "tsv", "jsonl", "json", "xlsx", "xls", "ods", "parquet")
"""Kinds of tables, which are the suffixes of their files."""
SAMPLE_ROWS = 200
"""Rows from which the columns of JSON lines are known, and by which a column of texts is chosen."""
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPES = {"lbrace": "{", "newline": "\n", "cr": "\r", "tab": "\t", "quote": '"', "question_not_shown": ""}
_ESCAPED = re.compile(rf"\{{({'|'.join(_ESCAPES)})\}}")
"""What LimeSurvey writes in braces in a VV file."""
SCRIPT = re.compile(r"\s*(?:window\.|(?:var|let|const)\s+)[\w.$]+\s*=\s*(?=[\[{])")
"""Beginning of a script that assigns JSON, as archives of accounts have it."""
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
ONLY = "sentence"
"""Name of the column of a file with one cell per line."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Signs at which spreadsheets take a cell for a formula; exported tables have an apostrophe before it.

They also have one more before apostrophes and such a sign, so that texts are read as they were.
"""
_MOST_CELLS = 5_000
"""Maximum number of cells of a row."""
csv.field_size_limit(streams.LINE_LIMIT)

Row = tuple[int, tuple[Value, ...]]
"""Number of a row, counted from 1 as in the file, and a value for each column."""


@dataclass(frozen=True)
class TableForm(Config):
    """How the table of a file is written; whatever is not given is found from its rows."""

    encoding: str = option("", "Encoding of a text file; empty: found from its bytes.", choices=("", *ENCODINGS))
    delimiter: str = option(
        "", "Sign between the cells of a text file; empty: found from its rows.", choices=("", *dialects.DELIMITERS)
    )
    quoting: str = option(
        "",
        "Quotation marks around cells: doubled inside them (quotes), also after a space (spaced), after a "
        "backslash, or signs like any other (none); empty: found from its rows.",
        choices=("", *dialects.QUOTINGS),
    )
    header_row: int = option(
        0, "Number of the row with the names of the columns; 0: found; -1: there is none.", low=-1, high=1_000
    )
    sheet: str = option("", "Sheet of an Excel or OpenDocument file; empty: the only one with cells.")
    lines: bool = option(False, "Every line is a text of its own, whatever signs it contains.")


@dataclass(frozen=True, slots=True)
class FileTable:
    """Columns of a file, and its rows, which can be iterated once."""

    columns: tuple[str, ...]
    rows: Iterator[Row]
    types: Mapping[str, str] = field(default_factory=dict)
    """Types that the file declares for columns, see :data:`themescope.core.columns.DECLARED`."""
    text: str = ""
    """Column of the texts, if the format has one."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A file that is being opened: how it is written, and the account of what is left out of it."""

    path: Path
    report: Report
    form: TableForm
    account: ReadAccount
    every_column: bool
    objects: bool


def kind_of(path: Path) -> str:
    """Return the kind of a file, one of :data:`KINDS`, or "arrow" in the folder of a dataset.

    It is known by content, except for text and Arrow files, where the suffix decides.
    """
    found = FileHead.of(path)
    begin = found.data[:4_096]
    if begin.startswith(b"PK\x03\x04"):
        return "xlsx"
    if begin.startswith(b"\xd0\xcf\x11\xe0"):
        return "xls"
    if begin.startswith(b"PAR1"):
        return "parquet"
    if path.suffix == ".arrow":
        return "arrow"
    if found.binary_at is not None:
        raise ReadError(path, "this is neither text, nor an Excel file (.xlsx), nor a Parquet file.")
    ending, text = found.suffix.lstrip("."), found.text
    if ending in ("csv", "tsv"):
        return ending
    if SCRIPT.match(text):
        return "json"
    if ending in ("jsonl", "ndjson", "json") or text.startswith(('{"', "[{", '["')):
        first = text.partition("\n")[0]
        several = first.startswith("{") and is_json(first) and (ending != "json" or "\n" in text.strip())
        whole = text.startswith("[") or (ending != "jsonl" and not several)
        return "json" if whole else "jsonl"
    return "csv" if is_delimited(found) else "txt"


def is_delimited(head: FileHead) -> bool:
    """Return whether a text file without a suffix of tables has rows with the same number of cells, and names above."""
    sample = [line for line in head.text.split("\n")[:SAMPLE_ROWS] if line.strip()]
    if len(head.data) >= 1 << 16:
        sample = sample[:-1]  # probably incomplete
    if len(sample) < 3:
        return False
    found = dialects.dialect_of(sample)
    if found.delimiter == dialects.LINES or found.width < 2 or not found.header or found.above:
        return False
    try:
        widths = {len(row) for row in dialects.rows_of(sample, found.delimiter, found.quoting, strict=True)}
    except csv.Error:
        return False
    return widths == {found.width} and (found.delimiter != "," or found.width > 2)


def open_table(
    path: Path,
    report: Report = SILENT,
    every_column: bool = False,
    form: TableForm | None = None,
    account: ReadAccount | None = None,
    objects: bool = False,
) -> FileTable:
    """Open the table of a file; rows without any value are left out and counted in ``account``.

    The columns of JSON lines are the keys of the first rows, or with ``every_column`` of all of them, for which the
    file is read once more. Columns of objects, such as translations and messages of a chat, become one for each key
    (:func:`~themescope.core.readers.chats.fields_of`); with ``objects`` they stay, as JSON. Raises :class:`ReadError`,
    also while rows are read, for what is damaged or ambiguous.
    """
    streams.check_file(path)
    form = TableForm() if form is None else form
    source = _Source(path, report, form, ReadAccount() if account is None else account, every_column, objects)
    return _OPENERS["txt" if form.lines else kind_of(path)](source)


def open_tables(
    paths: Sequence[Path], report: Report = SILENT, form: TableForm | None = None, account: ReadAccount | None = None
) -> FileTable:
    """Open the tables of several files, one after the other, with all columns of the first; see :func:`open_table`."""
    first = open_table(paths[0], report, True, form, account)

    def rows() -> Iterator[Row]:
        last = 0
        for row in first.rows:
            last = row[0]
            yield row
        for path in paths[1:]:
            table, before = open_table(path, report, True, form, account), last
            places = [table.columns.index(name) if name in table.columns else -1 for name in first.columns]
            if account is not None and (missing := [name for name in table.columns if name not in first.columns]):
                account.skip("column that the first file does not have", path.name, ", ".join(missing), len(missing))
            for number, values in table.rows:
                last = before + number
                yield last, tuple(values[place] if place >= 0 else None for place in places)

    return FileTable(first.columns, rows(), first.types, first.text)


def _lines(source: _Source) -> FileTable:
    encoding = _encoding(source)
    found = ((number, line.strip()) for number, line in streams.lines(source.path, source.report, encoding))
    return FileTable((ONLY,), ((number, (line,)) for number, line in found if line))


def _encoding(source: _Source) -> str:
    found = streams.encoding_of(source.path, source.form.encoding)
    if found != "utf-8":
        source.account.notes["encoding"] = found
    return found


# --- CSV --------------------------------------------------------------------------------------------------------------


_CHOICES = "or say how the file is written: delimiter, quoting, header_row, or lines for one text per line."


def _csv(source: _Source, tabs: bool = False) -> FileTable:
    path, form, account = source.path, source.form, source.account
    text = (line for _, line in streams.lines(path, source.report, _encoding(source)))
    sample = list(islice(text, dialects.SAMPLE_LINES))
    if not any(map(str.strip, sample)):
        raise ReadError(path, "this file has no rows.")
    delimiter = dialects.DELIMITERS.get(form.delimiter, "\t" if tabs and any("\t" in line for line in sample) else "")
    dialect = dialects.dialect_of(sample, delimiter, form.quoting, form.header_row)
    if dialect.doubt:
        raise AmbiguousFileError(path, dialect.doubt, advice=f"Give every row the same number of cells, {_CHOICES}")
    if dialect.quoting == dialects.UNQUOTED and not form.quoting and dialect.delimiter != dialects.LINES:
        account.notes["quoting"] = dialects.UNQUOTED
    if dialect.delimiter not in (",", dialects.LINES):
        account.notes["delimiter"] = dialect.delimiter.replace("\t", "tab")
    return _headed(source, dialect, _csv_rows(path, chain(sample, text), dialect, bool(form.quoting)))


def _csv_rows(path: Path, text: Iterable[str], dialect: dialects.Dialect, chosen: bool) -> Iterator[list[str]]:
    """Yield the rows; the lines of a cell with line breaks are joined by them."""
    number = 0

    def counted() -> Iterator[str]:
        nonlocal number
        for line in text:
            number += 1
            yield line

    begun = 1
    try:
        for row in dialects.rows_of(counted(), dialect.delimiter, dialect.quoting, strict=not chosen):
            if number > begun and not chosen:  # a cell with line breaks
                for cell in row:
                    if "\n" in cell and dialects.swallows(cell, dialect.delimiter, dialect.width):
                        problem = "a quotation mark that is not closed swallows the rows below it."
                        raise AmbiguousFileError(path, problem, f"line {begun:,}", f"Close it, {_CHOICES}")
            yield row
            begun = number + 1
    except csv.Error as error:
        unclosed = "end of data" in str(error)
        why = "a quotation mark is not closed" if unclosed else f"a cell is not written as CSV ({error})"
        raise AmbiguousFileError(path, f"{why}.", f"line {begun:,}", f"Correct it, {_CHOICES}") from None


def _headed(source: _Source, dialect: dialects.Dialect, rows: Iterator[Sequence[Any]]) -> FileTable:
    """Return the table whose column names stand in the first row after those above it, if it has them."""
    account, number = source.account, 0
    known = frozenset[str]()
    for _ in range(dialect.above):
        number += 1
        if text := _joined(next(rows, ())):
            account.skip("line above the header", f"row {number:,}", text)
    first = next(rows, None)
    if first is None:
        raise ReadError(source.path, "this file has no rows.")
    if dialect.header:
        number += 1
        cells = [*first][:_MOST_CELLS]
        while len(cells) > dialect.width and cells[-1] == "":
            cells.pop()  # a delimiter at the end
        names = _names(cells)
        about = [*map(as_text, map(plain_value, cells))]
        for _ in range(dialect.below):
            number += 1
            below = next(rows, ())
            about += map(as_text, map(plain_value, below))
            account.skip("further header row", f"row {number:,}", _joined(below))
            names = _named_by_options(cells, below) if dialect.options else names
        known = frozenset(code for code, sign in dialects.MISSING if any(cell.startswith(sign) for cell in about))
    else:
        names = (ONLY,) if dialect.width == 1 else _names([""] * max(dialect.width, len(first)))
        account.notes["header_row"] = "none"
        rows = chain([first], rows)
    return FileTable(names, _filled(source, enumerate(rows, number + 1), names, guarded=True, missing=known))


def _named_by_options(header: Sequence[Any], below: Sequence[Any]) -> tuple[str, ...]:
    """Return names of columns of which some are options: the name of an option, after its question if several have it.

    A question stands above the first of its options.
    """
    question, names = "", []
    options = [as_text(plain_value(cell)).strip() for cell in below]
    number = Counter(options)
    for cell, answer in zip_longest(header, options[: len(header)], fillvalue=""):
        question = as_text(plain_value(cell)).strip() or question
        if not answer or answer in dialects.RESPONSES:
            names.append(question)
        else:
            names.append(answer if number[answer] == 1 else f"{question}: {answer}")
    return _names(names)


def _joined(row: Sequence[Any]) -> str:
    return " ".join(text for value in row if (text := as_text(plain_value(value)).strip()))


def is_own(columns: Iterable[str]) -> bool:
    """Return whether Themescope wrote a table of labels with these columns."""
    return {"cluster", "cluster_number", "sentence_id"} <= {*columns}


def _plain(cell: str, account: ReadAccount) -> str:
    """Return a cell with the signs that HTML entities, and names in braces of LimeSurvey, stand for."""
    if "&" in cell and (plain := _ENTITY.sub(lambda found: unescape(found.group()), cell)) != cell:
        account.change("cell with HTML entities such as &amp; as the signs they stand for")
        cell = plain
    if "{" in cell and (plain := _ESCAPED.sub(lambda found: _ESCAPES[found[1]], cell)) != cell:
        account.change("cell with signs that LimeSurvey writes in braces as these signs")
        cell = plain
    return cell


def _filled(
    source: _Source,
    rows: Iterable[tuple[int, Sequence[Any]]],
    names: Sequence[str],
    guarded: bool = False,
    missing: Any = (),
) -> Iterator[Row]:
    """Yield rows with a cell for each name; ``guarded`` files have apostrophes before what looks like a formula.

    Cells with a code in ``missing`` are left empty. Markup in our own tables of labels is what a person wrote.
    """
    account, width, own = source.account, len(names), is_own(names)

    def value_of(cell: Any) -> Value:
        if missing and (code := as_text(plain_value(cell))) in missing:
            account.change(f"{code}, the code of a missing value, left empty")
            return None
        if not isinstance(cell, str):
            return plain_value(cell)
        raw = raw_cell(cell) if guarded and cell.startswith("'") else cell
        if raw is not cell:
            account.change("apostrophe before a formula taken off")
        return raw if own else _plain(raw, account)

    for number, row in rows:
        if len(row) > width and any(value not in (None, "") for value in row[width:]):
            problem = f"this row has {len(row):,} cells, but the table has {width:,} columns."
            advice = f"Put quotation marks around cells that contain the delimiter, {_CHOICES}"
            raise AmbiguousFileError(source.path, problem, f"row {number:,}", advice)
        values = tuple(map(value_of, row[:width]))
        if not any(value is not None and value != "" for value in values):
            account.skip("blank row")
            continue
        if len(values) < width:
            account.change("row with fewer cells than columns")
            values += (None,) * (width - len(values))
        yield number, values


def raw_cell(text: str) -> str:
    """Return the text of a cell without the apostrophe that exports put before what looks like a formula."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA) else text


def _names(header: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of columns, numbered where one is missing or occurs twice."""
    texts = ("" if value is None else unescape(_TAG.sub("", as_text(plain_value(value)))) for value in header)
    named = (column_name(text.encode("utf-8", "replace").decode("utf-8")) for text in texts)
    return distinct_names([name or f"column {number}" for number, name in enumerate(named, 1)])


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns, the second of the same name with “(2)”, and so on."""
    found: dict[str, None] = {}
    for name in names:
        number, shown = 1, name
        while shown in found:
            shown = f"{name} ({(number := number + 1)})"
        found[shown] = None
    return tuple(found)


# --- JSON -------------------------------------------------------------------------------------------------------------


def _json_lines(source: _Source) -> FileTable:
    """Return the table of objects or strings, one per line; the columns are their keys."""
    objects = partial(json_lines, source.path, check_escapes=True)
    found = objects(source.report)
    first = list(islice(found, SAMPLE_ROWS))
    return _of_objects(source, chain(first, objects(SILENT)) if source.every_column else first, chain(first, found))


def _json(source: _Source) -> FileTable:
    """Return the table of a JSON document: a list of objects or strings, or an object with one such list."""
    path = source.path
    try:
        text = streams.whole_text(path, source.report)
        if script := SCRIPT.match(text):
            source.account.notes["list"] = script[0].strip(" =")
            text = text[script.end() :].rstrip().removesuffix(";")
        value = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno:,}, column {error.colno:,}"
        advice = "Correct it, or put one object on each line."
        raise ReadError(path, f"not valid JSON ({error.msg}).", where, advice) from None
    except (ValueError, RecursionError):
        raise ReadError(path, "a value is nested too deeply, or a number is too long.", advice="Correct it.") from None
    rows, is_chat = rows_of(path, value, source.account)
    found = _of_objects(source, rows, iter(rows))
    return replace(found, text="text") if is_chat else found


def _of_objects(source: _Source, known: Iterable[tuple[int, Any]], found: Iterator[tuple[int, Any]]) -> FileTable:
    """Return the table of the objects that are ``found``, with the keys of the ``known`` ones as columns.

    Nested values become JSON, and the pieces of a text with links or marks, as chats have it, are joined.
    """

    def mapping(value: Any) -> Mapping[str, Any]:
        row = value if isinstance(value, dict) else {ONLY: value}
        return row if source.objects else dict(fields_of(row))

    keys = list(islice(dict.fromkeys(key for _, value in known for key in mapping(value)), _MOST_CELLS))
    first = next(found, None)
    if first is None:
        raise ReadError(source.path, "this file has no rows.")
    if not keys:
        advice = 'Write a "sentence" into each of them.'
        raise ReadError(source.path, "the objects in this file are empty.", advice=advice)

    def cell(value: Any) -> Value:
        if (text := joined_pieces(value)) is not None:
            source.account.change("text with links or marks joined from its pieces")
            return text
        return None if value == [] or value == {} else plain_value(value)

    def rows() -> Iterator[tuple[int, list[Value]]]:
        for number, value in chain([first], found):
            row = mapping(value)
            try:
                yield number, [cell(row.get(key)) for key in keys]
            except RecursionError:
                problem, place = "a value is nested too deeply.", f"line {number:,}"
                raise ReadError(source.path, problem, place, "Write texts as values.") from None

    return FileTable(names := _names(keys), _filled(source, rows(), names))


# --- Excel and OpenDocument -------------------------------------------------------------------------------------------


def _sheet(source: _Source) -> FileTable:
    path, account = source.path, source.account
    with workbooks.open_workbook(path) as book:
        listed = workbooks.sheets_of(book)
        name = workbooks.chosen_sheet(path, listed, source.form.sheet)
        for sheet in listed:
            if sheet.name != name and sheet.rows:
                reason = "hidden sheet" if sheet.hidden else "other sheet"
                account.skip(reason, f"sheet “{sheet.name}”", n=1)
        workbooks.check_formulas(path, [sheet.name for sheet in listed].index(name))
        found = book.get_sheet_by_name(name)
        first_row, first_column = found.start  # rows and columns before it are empty, and cut
        rows = [[workbooks.cell_value(value) for value in row] for row in found.to_python()]
        for (top, left), (bottom, right) in found.merged_cell_ranges or ():
            # Where it begins in the first row, it is a title, or nothing.
            filled = rows[top - first_row : bottom - first_row + 1] if top > first_row else []
            value = filled[0][left - first_column] if filled and 0 <= left - first_column < len(filled[0]) else ""
            for row in filled if value != "" else ():
                inside = range(left - first_column, min(right - first_column + 1, len(row)))
                empty = [place for place in inside if row[place] == ""]
                for place in empty:
                    row[place] = value
                account.change("cell of a merged range filled", n=len(empty))
    rows = [[] for _ in range(first_row)] + rows
    sample = [[as_text(plain_value(value)) for value in row] for row in rows[: dialects.SAMPLE_LINES]]
    return _headed(source, dialects.header_of(sample, source.form.header_row), iter(rows))


# --- Parquet and Arrow ------------------------------------------------------------------------------------------------


def _arrow_table(read: Callable[[Path, Report, int], ArrowTable], source: _Source) -> FileTable:
    found = read(source.path, source.report, _MOST_CELLS)
    columns = _names(found.names)
    if not columns:
        raise ReadError(source.path, "this file has no columns.")
    known = {c: found.types[name] for c, name in zip(columns, found.names, strict=True) if name in found.types}
    first = list(islice(found.rows, SAMPLE_ROWS))
    rows = enumerate(chain(first, found.rows), 1)
    if not any(isinstance(value, list | dict) for row in first for value in row):
        return FileTable(columns, _filled(source, rows, columns), known)
    named = ((number, dict(zip(columns, row, strict=True))) for number, row in rows)
    made = _of_objects(source, [(0, dict(zip(columns, row, strict=True))) for row in first], named)
    return replace(made, types={c: kind for c, kind in known.items() if c in made.columns})


_OPENERS: Mapping[str, Callable[[_Source], FileTable]] = {
    "txt": _lines,
    "csv": _csv,
    "tsv": partial(_csv, tabs=True),
    "jsonl": _json_lines,
    "json": _json,
    "xlsx": _sheet,
    "xls": _sheet,
    "parquet": partial(_arrow_table, read_parquet),
    "arrow": partial(_arrow_table, read_arrow),
}


# --- columns ----------------------------------------------------------------------------------------------------------

TEXT_NAMES = ("text", "sentence", "sentences", "claim", "claims", "content", "body", "comment", "comments", "review",
               "message", "description", "answer", "abstract", "tweet", "selftext", "utterance")  # fmt: skip
"""Usual names of the column of the texts, in lower case."""
_ADDRESS = re.compile(
    r"(?:https?://|www\.)\S*|[^\s@]+@[^\s@]+|(?=\S*\d)[\w:{}.+/@-]{6,}|Mozilla/\d.*|(?:\[\{|\{\").*",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
"""Addresses, ids, names of browsers, and JSON."""
_NAMED, _RIVAL = 4, 1 / 3
"""Weight of the letters of a column called so, and the part of the most letters from which another column may be it."""


def likely_columns(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return the columns that may contain the texts: the one with the most letters in different cells, and its rivals.

    The letters of a column called so count four times; addresses, ids, numbers and cells that occur again do not
    count. A rival has at least a third as many, and most of its cells have several words.
    """

    def letters(place: int, name: str) -> tuple[int, bool]:
        different = {row[place].strip() for row in rows[:SAMPLE_ROWS] if isinstance(row[place], str)}
        texts = [t for t in different if not (_ADDRESS.fullmatch(t) or _is_data(t) or any(f.reads(t) for f in DATES))]
        weight = _NAMED if name.lower().rpartition(".")[2] in TEXT_NAMES else 1
        several = 2 * sum(" " in text for text in texts) > len(texts)
        return weight * sum(1 for text in texts for ch in text if ch.isalpha()), several

    found = {name: letters(place, name) for place, name in enumerate(columns)}
    first, *others = sorted(columns, key=lambda name: -found[name][0])
    return [first, *(name for name in others if found[name][1] and found[name][0] >= _RIVAL * found[first][0])]


def _is_data(text: str) -> bool:
    """Return whether a text is JSON, but no list of texts with several words."""
    return is_json(text) and not (text.startswith('["') and " " in text.replace('", "', ""))


def is_json(text: str) -> bool:
    """Return whether a text is a list or an object in JSON."""
    try:
        return text.startswith(("[", "{")) and isinstance(json.loads(text), list | dict)
    except (ValueError, RecursionError):
        return False


def likely_column(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return the column that probably contains the texts, see :func:`likely_columns`."""
    return likely_columns(columns, rows)[0]


# --- sentence lists ---------------------------------------------------------------------------------------------------


MOST_BYTES = 100_000_000
MOST_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Sheet:
    """Table of text; every row has a cell for each column. A plain list has the single column ``sentence``."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    cut: bool = False
    """True if the table has more rows than the limit."""
    numbers: tuple[int, ...] = ()
    """Row numbers in the file, counted from 1 including empty rows."""
    account: ReadAccount = field(default_factory=ReadAccount)
    """What was left out or changed."""
    lines: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """(row number, index of the column) → cell of several lines, which ``rows`` have in one; with ``keep_lines``."""

    def column(self, name: str) -> list[str]:
        """Return the cells of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def likely_columns(self) -> list[str]:
        """Return the columns that may contain the sentences, the most likely one first."""
        return likely_columns(self.columns, self.rows)


def read_sheet(path: Path, most: int = MOST_ROWS, form: TableForm | None = None, keep_lines: bool = False) -> Sheet:
    """Read the first ``most`` rows of a file; ``keep_lines``: also :attr:`Sheet.lines`, and objects as JSON.

    Raises :class:`ReadError` if the file is too large, damaged, ambiguous, or in another format.
    """
    if not path.is_file():
        raise ReadError(path, "this file does not exist.")
    if path.stat().st_size > MOST_BYTES:
        raise ReadError(path, f"this file is larger than {MOST_BYTES // 1_000_000} MB.", advice="Split it.")
    account = ReadAccount()
    table = open_table(path, form=form, account=account, objects=keep_lines)
    lines: dict[tuple[int, int], str] = {}

    def cell(number: int, place: int, value: Value) -> str:
        text = as_text(value)
        if keep_lines and "\n" in text.strip():
            lines[number, place] = "\n".join(line.rstrip() for line in clean(text).split("\n")).strip()
        return one_line(text)

    cells = ((number, tuple(cell(number, at, value) for at, value in enumerate(row))) for number, row in table.rows)
    found = tuple(islice(((number, row) for number, row in cells if any(row)), most + 1))
    kept = found[:most]
    numbers = tuple(number for number, _ in kept)
    return Sheet(table.columns, tuple(row for _, row in kept), len(found) > most, numbers, account, lines)


def alternatives(path: Path, rows: int = 3) -> list[tuple[TableForm, Sheet]]:
    """Return the different ways in which an ambiguous file can be read, with the first rows of each."""
    try:
        listed = workbooks.sheet_names(path) if kind_of(path) in ("xlsx", "xls") else []
    except ReadError:
        return []
    forms = [TableForm(sheet=one.name) for one in listed if one.rows]
    if not forms:
        try:
            streams.encoding_of(path)
            forms = [TableForm(), TableForm(quoting=dialects.UNQUOTED)]
            forms += [*(TableForm(delimiter=name) for name in dialects.DELIMITERS), TableForm(lines=True)]
        except ReadError:
            forms = [TableForm(encoding=guess.encoding) for guess in streams.guesses(streams.head(path))[:3]]
    found: dict[Any, tuple[TableForm, Sheet]] = {}
    for form in forms:
        with suppress(ReadError):
            sheet = read_sheet(path, rows, form)
            found.setdefault((form.sheet, sheet.columns, sheet.rows), (form, sheet))
    return list(found.values())


def one_line(text: str) -> str:
    """Return the normalised text of a cell: see :func:`themescope.core.text.cleaning.clean`, with single spaces."""
    return cleaning.one_line(clean(text))
