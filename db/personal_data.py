"""Personal data: the rows of a person, and the replacement of a name wherever people or Themescope wrote it.

Names are searched in every column with text or JSON of every table except the texts of corpora, so that a new table
needs no change here. They are found as whole words in any case, also in the parameters of saved links.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.errors import StoreError
from themescope.db import label_tables as lt
from themescope.db import tables as t
from themescope.db.settings import Settings, sqlite_path
from themescope.db.sql import contains, from_bytes
from themescope.db.types import Json, Text

PSEUDONYM = "former-user"
"""Beginning of pseudonyms, which are the same in texts and in links."""
_TEXTS_OF_CORPORA = frozenset({t.article, t.section, t.sentence})
_OTHER_COLUMNS = frozenset({lt.person.c.name, lt.labelling.c.owner})
"""Columns with the name of a person that are not called ``person``."""
_SECRET = re.compile(r"token|hash|password|secret|key")
_TIMEOUT_S = 60.0


def person_columns() -> list[sa.Column[str]]:
    """Return the columns with the name of a person."""
    columns = (column for table in t.metadata.sorted_tables for column in table.c)
    return [column for column in columns if column.name == "person" or column in _OTHER_COLUMNS]


class Replacement:
    """Replacement of a person's name by a pseudonym in texts and JSON values."""

    def __init__(self, name: str, pseudonym: str, others: Collection[str] = (), texts: bool = True) -> None:
        """``others`` are names that may contain this one; without ``texts``, only texts that are the name change."""
        self.name, self.pseudonym, self.texts = name, pseudonym, texts
        kept = [re.escape(other) for other in sorted(others, key=len, reverse=True) if name in other and name != other]
        forms = "|".join(re.escape(form) for form in {name, quote(name), quote_plus(name)})
        self._pattern = re.compile(rf"(?<!\w)(?:({'|'.join(kept) or '(?!)'})|(?:{forms}))(?!\w)", re.IGNORECASE)

    @property
    def needle(self) -> str:
        """Return a part of the name that is the same in texts, in JSON and in links; "" if there is none."""
        return max(re.findall(r"[A-Za-z0-9]+", self.name), key=len, default="")

    def text(self, text: str) -> str:
        """Return a text with the name replaced."""
        if not self.texts:
            return self.pseudonym if text == self.name else text
        return self._pattern.sub(lambda match: match[1] or self.pseudonym, text)

    def value(self, value: Any) -> Any:
        """Return a JSON value with the name replaced in all its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.value(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value


def new_pseudonym(connection: Connection) -> str:
    """Return a name that no row has: "former-user-1", or the next one."""
    taken = set()
    for column in person_columns():
        taken |= set(connection.execute(sa.select(column).where(column.startswith(PSEUDONYM)).distinct()).scalars())
    return next(name for number in range(1, len(taken) + 2) if (name := f"{PSEUDONYM}-{number}") not in taken)


def people_named(connection: Connection) -> set[str]:
    """Return every name that is stored as that of a person."""
    return {name for column in person_columns() for name in connection.execute(sa.select(column).distinct()).scalars()}


def occurrences(connection: Connection, replacement: Replacement) -> dict[str, int]:
    """Return "table.column" → number of rows with the name."""
    found = Counter[str]()
    for column in person_columns():
        query = sa.select(sa.func.count()).select_from(column.table).where(column == replacement.name)
        found[_label(column)] += int(connection.scalar(query) or 0)
    for change in _changes(connection, replacement):
        found.update(_label(change.table.c[name]) for name in change.values)
    return {label: count for label, count in sorted(found.items()) if count}


def replace_name(connection: Connection, replacement: Replacement) -> None:
    """Replace the name in every row."""
    for column in person_columns():
        own = column == replacement.name
        connection.execute(column.table.update().where(own).values({column: replacement.pseudonym}))
    for change in _changes(connection, replacement):
        connection.execute(change.table.update().where(change.where).values(change.values))


def in_corpora(connection: Connection, replacement: Replacement) -> int:
    """Return the number of articles, sections and sentences whose text contains the name; they are not changed."""
    return sum(1 for table in _TEXTS_OF_CORPORA for _ in _changes_of(connection, replacement, table))


class _Change(NamedTuple):
    table: sa.Table
    where: sa.ColumnElement[bool]
    values: dict[str, Any]
    """Column → value with the name replaced."""


def _changes(connection: Connection, replacement: Replacement) -> Iterator[_Change]:
    for table in t.metadata.sorted_tables:
        if table not in _TEXTS_OF_CORPORA:
            yield from _changes_of(connection, replacement, table)


def _changes_of(connection: Connection, replacement: Replacement, table: sa.Table) -> Iterator[_Change]:
    """Yield the changed values of every row of a table, except names of people."""
    names = set(person_columns())
    columns = [c for c in table.c if isinstance(c.type, Text | Json) and c not in names]
    if not columns:
        return
    keys = [*table.primary_key]
    raw = [sa.type_coerce(column, sa.Text()) for column in columns]
    where = sa.or_(*(contains(connection, text, replacement.needle) for text in raw))
    # All rows first: they are changed while this goes on.
    for row in connection.execute(sa.select(*keys, *columns).where(where)).all():
        values = dict(zip((c.name for c in columns), row[len(keys) :], strict=True))
        changed = {name: new for name, old in values.items() if (new := replacement.value(old)) != old}
        if changed:
            own = sa.and_(*(key == value for key, value in zip(keys, row[: len(keys)], strict=True)))
            yield _Change(table, own, changed)


def _label(column: sa.Column[Any]) -> str:
    return f"{column.table.name}.{column.name}"


def rows_of(connection: Connection, name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows with the name of a person by table, and the changes of their steps, without secrets."""
    found: dict[str, list[dict[str, Any]]] = {}
    for column in person_columns():
        found.setdefault(column.table.name, []).extend(_rows(connection, column.table, column == name))
    own = sa.select(lt.label_step.c.id).where(lt.label_step.c.person == name)
    found[lt.label_event.name] = _rows(connection, lt.label_event, lt.label_event.c.step_id.in_(own))
    return {table: rows for table, rows in sorted(found.items()) if rows}


def _rows(connection: Connection, table: sa.Table, where: sa.ColumnElement[bool]) -> list[dict[str, Any]]:
    columns = [column for column in table.c if not _SECRET.search(column.name)]
    rows = connection.execute(sa.select(*columns).where(where).order_by(*table.primary_key))
    return [
        {
            name: (from_bytes(value, "<i8").tolist() if isinstance(value, bytes) else value)
            for name, value in row._mapping.items()
        }
        for row in rows
    ]


def rewrite_file(settings: Settings) -> None:
    """Rewrite a SQLite file, so that replaced and deleted values are in no free page of it; nothing on PostgreSQL.

    Raises ``StoreError`` if other processes use the file all the time, or the disk is full.
    """
    path = sqlite_path(settings.database_url)
    if path is None:
        return
    try:
        with closing(sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None)) as database:
            database.execute("VACUUM")
            busy, *_ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        raise StoreError(_left(settings, str(error))) from None
    if busy:
        raise StoreError(_left(settings, "other processes are using it"))


def _left(settings: Settings, why: str) -> str:
    path = sqlite_path(settings.database_url)
    return (
        f"The name was replaced, but {path} was not rewritten ({why}), so free pages of that file may still contain "
        f"it. Stop all other processes, then run: sqlite3 '{path}' VACUUM"
    )
