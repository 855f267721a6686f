"""Base classes of repositories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.errors import DataError, DuplicateNameError, UnknownNameError
from themescope.db.access import Right, actor_of, seeing_all
from themescope.db.types import NAME_LIMIT, clean_text


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


def checked_text(text: str, limit: int, what: str) -> str:
    """Return a text trimmed; raise ``DataError`` if it is too long."""
    text = clean_text(text).strip()
    if len(text) > limit:
        raise DataError(f"A {what} has at most {limit:,} characters; this one has {len(text):,}. Shorten it.")
    return text


def noun(table: sa.Table) -> str:
    """Return the user-visible name of a row of ``table``."""
    return table.name.replace("_", " ")
