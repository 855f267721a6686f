"""SQL of the repositories: their helpers and base classes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import Field, fields
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection, CursorResult

from themescope.core.errors import DataError, DuplicateNameError, UnknownNameError
from themescope.core.text.cleaning import SIGNS, clean, comparable
from themescope.core.types import Ids, Split, split_of_bucket
from themescope.db.access import Right, actor_of, check_write, seeing_all
from themescope.db.types import NAME_LIMIT, clean_text

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


class _Record(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound=_Record)


class Repository:
    """Queries of one family over the connection (and transaction) of a unit of work."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def _require(self, right: Right) -> None:
        """Raise :class:`themescope.core.errors.AccessError` without the right, for operations that no table decides."""
        actor = actor_of(self.connection)
        if actor is not None:
            actor.require(right)

    def _require_self(self, name: str) -> None:
        actor = actor_of(self.connection)
        if actor is not None:
            actor.require_self(name)

    def _require_own(self, maker: str) -> None:
        actor = actor_of(self.connection)
        if actor is not None:
            actor.require_own(maker)

    def _lock(self, number: int) -> None:
        """Exclude other transactions with this lock until this one ends; SQLite has one writer at a time anyway."""
        if self.connection.dialect.name == "postgresql":
            self.connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))

    def _lock_row(self, table: sa.Table, id: int) -> None:
        """Let other transactions that lock this row wait until this one ends, as all writers do on SQLite."""
        self._row(sa.select(table.c.id).where(table.c.id == id).with_for_update())

    def _row(self, statement: sa.Select[Any]) -> Any:
        return self.connection.execute(statement).first()

    def _number(self, statement: sa.Select[Any]) -> int:
        return int(self.connection.execute(statement).scalar_one() or 0)

    def _insert(self, table: sa.Table, **values: Any) -> int:
        key = self.connection.execute(table.insert().values(**values)).inserted_primary_key
        assert key is not None
        return int(key[0])

    def _named(self, table: sa.Table, columns: Sequence[sa.Column[Any]], name: str) -> Any:
        """Return the row called ``name``, or raise an error that suggests similar names."""
        row = self._row(sa.select(*columns).where(table.c.name == name))
        if row is None:
            known = self.connection.execute(sa.select(table.c.name)).scalars().all()
            raise UnknownNameError(noun(table), name, known)
        return row

    def _by_id(self, table: sa.Table, columns: Sequence[sa.Column[Any]], id: int) -> Any:
        row = self._row(sa.select(*columns).where(table.c.id == id))
        if row is None:
            known = self.connection.execute(sa.select(table.c.id).order_by(table.c.id.desc()).limit(100)).scalars()
            raise UnknownNameError(noun(table), str(id), [str(i) for i in known])
        return row

    def _free_name(self, table: sa.Table, name: str, *among: sa.ColumnElement[bool]) -> str:
        """Return ``name`` trimmed; raise an error if it is empty, too long or taken ``among`` rows of the table."""
        name = clean_text(name).strip()
        if not name:
            raise DataError(f"A {noun(table)} needs a name.")
        if len(name) > NAME_LIMIT:
            raise DataError(f"The name of a {noun(table)} has at most {NAME_LIMIT} characters; this has {len(name)}.")
        with seeing_all(self.connection):
            taken = self._row(sa.select(table.c.id).where(table.c.name == name, *among)) is not None
        if taken:
            raise DuplicateNameError(noun(table), name)
        return name

    def _delete(self, table: sa.Table, id: int) -> None:
        """Delete a row and its dependent rows; raise an error for an unknown id."""
        if self.connection.execute(table.delete().where(table.c.id == id)).rowcount == 0:
            self._by_id(table, [table.c.id], id)


class RecordRepository(Repository, Generic[R]):
    """Repository of a table whose columns are the fields of a record."""

    table: sa.Table
    record: type[R]

    @property
    def _columns(self) -> list[sa.Column[Any]]:
        return [self.table.c[field.name] for field in fields(self.record) if field.name in self.table.c]

    def _select(self) -> sa.Select[Any]:
        return sa.select(*self._columns)

    def _record(self, row: Any) -> R:
        return self.record(*row)

    def _records(self, query: sa.Select[Any]) -> list[R]:
        return [self._record(row) for row in self.connection.execute(query)]

    def _first(self, query: sa.Select[Any]) -> R | None:
        row = self._row(query)
        return None if row is None else self._record(row)

    def _matching(self, **wanted: Any) -> list[R]:
        """Return the records whose columns have the wanted values, oldest first; None stands for every value."""
        where = [self.table.c[name] == value for name, value in wanted.items() if value is not None]
        return self._records(self._select().where(*where).order_by(self.table.c.id))

    def stamp(self) -> tuple[int, int]:
        """Return a value that changes whenever a record is added, gets ready, or is deleted: ids are never reused."""
        query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.max(self.table.c.id), 0))
        number, newest = self._row(query.where(self.table.c.ready) if "ready" in self.table.c else query)
        return int(number), int(newest)

    def get(self, id: int) -> R:
        """Return the record with that id; raise :class:`UnknownNameError` if there is none."""
        return self._record(self._by_id(self.table, self._columns, id))


class ResultRepository(RecordRepository[R]):
    """Repository of what was computed, identified by digest."""

    def by_digest(self, digest: str) -> R | None:
        """Return the record with this digest, if there is one."""
        return self._first(self._select().where(self.table.c.digest == digest))

    def delete(self, id: int) -> None:
        """Delete a row with all that was computed from it; the next cleanup of artifacts removes files."""
        self._delete(self.table, id)


class NamedRepository(RecordRepository[R]):
    """Repository of a table whose rows have unique names."""

    def by_name(self, name: str) -> R:
        """Return the record called ``name``; :class:`UnknownNameError` suggests similar names."""
        return self._record(self._named(self.table, self._columns, name))

    def usable_name(self, wanted: str) -> str:
        """Return ``wanted``, with the first free number appended if taken: ``wanted 2``."""
        wanted = (clean_text(wanted).strip() or noun(self.table))[:NAME_LIMIT]
        with seeing_all(self.connection):
            taken = set(self.connection.execute(sa.select(self.table.c.name)).scalars())
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted[: NAME_LIMIT - 8].strip()} {number}"
        return name


def noun(table: sa.Table) -> str:
    """Return the user-visible name of a row of ``table``."""
    return table.name.replace("_", " ")
