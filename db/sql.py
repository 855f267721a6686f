"""SQL helpers of the repositories: large id selections, search, bulk inserts, arrays as bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection, CursorResult

from themescope.core.text.cleaning import SIGNS, clean, comparable
from themescope.core.types import Ids, Split, split_of_bucket
from themescope.db.access import check_write
from themescope.db.types import clean_text

T = TypeVar("T")
BATCH = 2_000
"""Rows per insert: enough to be fast, few enough to limit memory."""
ID_CHUNK = 50_000
PATTERN_LIMIT = 1_000
"""Maximum length of a search pattern in characters; SQLite rejects long ones."""
_SIGNS, _SAME = "".join(SIGNS), "".join(SIGNS.values())
_SIGN = re.compile("[\"'-]|[.]{3}")
_PLAIN = re.compile("[ !#-&(-,/-~]+")
"""ASCII without signs that have other kinds."""

SPLITS: tuple[Split, ...] = (Split.TRAIN, Split.VALIDATION, Split.TEST)
"""Splits in the order of their numbers in the tables."""


def now() -> datetime:
    """Return the current time, aware and in UTC."""
    return datetime.now(UTC)


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of ``size`` items; the last may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def within(connection: Connection, column: sa.ColumnElement[int], ids: Sequence[int]) -> sa.ColumnElement[bool]:
    """Return the condition that ``column`` is in ``ids``: a range, or one parameter with all of them (JSON, an array).

    The ids of a corpus are often consecutive, and a range of rows is read several times faster.
    """
    if len(ids) > 1 and max(ids) - min(ids) + 1 == len(set(ids)):
        return column.between(min(ids), max(ids))
    if connection.dialect.name == "sqlite":
        listed = sa.func.json_each(json.dumps(ids)).table_valued("value")
        return column.in_(sa.select(listed.c.value))
    from sqlalchemy.dialects.postgresql import ARRAY

    return column == sa.any_(sa.literal(ids, ARRAY(sa.BigInteger)))


def id_chunks(ids: Iterable[int] | Ids) -> Iterator[list[int]]:
    """Yield distinct ids as ints, in chunks."""
    if not isinstance(ids, np.ndarray):
        yield from batches(dict.fromkeys(int(i) for i in ids), ID_CHUNK)
        return
    ordered = np.sort(ids, axis=None)  # np.unique takes ten times as long for a million different ids
    yield from batches(ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0].tolist(), ID_CHUNK)


def contains(connection: Connection, column: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
    """Return the condition that ``column`` contains ``text``; ``%`` and ``_`` are literal.

    Case, Unicode forms (NFC), and the kinds of apostrophes, quotation marks and dashes do not matter.
    """
    text = clean(clean_text(text)).translate(str.maketrans(_SIGNS, _SAME))
    simple = text.isascii() and not _SIGN.search(text) and len(text) <= PATTERN_LIMIT
    if connection.dialect.name == "sqlite":
        if simple:
            return column.like(_pattern(text), escape="\\")
        # This is compared in Python, which takes longer, so the longest part of plain letters is looked for first.
        plain = max(_PLAIN.findall(text), key=len, default="")[:PATTERN_LIMIT]
        first = column.like(_pattern(plain), escape="\\")
        return sa.and_(first, sa.func.holds(column, comparable(text)) == sa.true())
    if not simple:
        column = sa.func.translate(sa.func.normalize(column), _SIGNS, _SAME)
    return column.ilike(_pattern(text), escape="\\")


def holds(text: str, form: str) -> bool:
    """Return whether a text contains one with the comparable form ``form``; a function of SQLite."""
    return form in comparable(text)


def _pattern(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def bulk_insert(connection: Connection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows through the driver: executemany on SQLite, COPY on PostgreSQL.

    Values are not converted: text must be clean, and JSON and times must be in their stored form.
    """
    check_write(connection, table.name)
    prepare = connection.dialect.identifier_preparer
    target = prepare.format_table(table)
    names = ", ".join(prepare.format_column(table.c[name]) for name in columns)
    if connection.dialect.name == "sqlite":
        statement = f"INSERT INTO {target} ({names}) VALUES ({', '.join('?' * len(columns))})"
        for batch in batches(rows, BATCH):
            connection.exec_driver_sql(statement, batch)
        return
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {target} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def id_columns(result: CursorResult[Any], width: int) -> list[Ids]:
    """Return rows of integers as ``width`` arrays of shape (n,)."""
    table = np.fromiter(chain.from_iterable(plain_rows(result)), dtype=np.int64).reshape(-1, width)
    return [np.ascontiguousarray(table[:, i]) for i in range(width)]


def grouped_columns(
    connection: Connection, by: sa.ColumnElement[int], columns: Sequence[sa.ColumnElement[int]], where: Any
) -> list[Ids]:
    """Return integers of many rows as arrays of shape (n,): ``by``, then each of ``columns``, in no particular order.

    The database returns one row per value of ``by`` with the numbers of all its rows joined, because fetching a row
    takes longer than parsing a hundred numbers. All aggregates of a statement see the rows in the same order.
    """
    joined = [sa.func.aggregate_strings(sa.cast(column, sa.Text), ",") for column in columns]
    rows = list(plain_rows(connection.execute(sa.select(by, *joined).where(where).group_by(by))))
    if not rows:
        return [np.empty(0, np.int64) for _ in range(len(columns) + 1)]
    keys, *texts = zip(*rows, strict=True)
    sizes = [text.count(",") + 1 for text in texts[0]]
    return [
        np.repeat(np.array(keys, np.int64), sizes),
        *(np.fromstring(",".join(text), dtype=np.int64, sep=",") for text in texts),
    ]


def number_table(result: CursorResult[Any], width: int) -> npt.NDArray[np.float64]:
    """Return rows of numbers as one array (n, width); ids are exact below 2⁵³."""
    return np.fromiter(chain.from_iterable(plain_rows(result)), dtype=np.float64).reshape(-1, width)


def plain_rows(result: CursorResult[Any]) -> Iterable[tuple[Any, ...]]:
    """Return the driver's cursor over the rows, which avoids one object per row; no type is converted."""
    return cast("Iterable[tuple[Any, ...]]", result.cursor)


def to_bytes(values: npt.ArrayLike, dtype: str) -> bytes:
    """Return an array as little-endian bytes of ``dtype`` (such as "<i8"), in C order."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def from_bytes(data: bytes, dtype: str) -> npt.NDArray[Any]:
    """Return the writable (n,) array that :func:`to_bytes` wrote, in native byte order."""
    return np.frombuffer(data, dtype=dtype).astype(np.dtype(dtype).newbyteorder("="))


def bucket_range(split: Split) -> tuple[int, int]:
    """Return the first and last bucket of a split."""
    buckets = [b for b in range(1000) if split_of_bucket(b) is split]
    return buckets[0], buckets[-1]
