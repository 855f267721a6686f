"""What every repository shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import DataError, DuplicateNameError, UnknownNameError
from db.access import actor_of
from db.roles import Right
from db.types import clean_text

NAME_LIMIT = 200


class Repository:
    """Queries of one family over the connection (and transaction) of a unit of work."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def _require(self, right: Right) -> None:
        """Refuse (:class:`core.errors.AccessError`) whoever may not, where the tables alone do not tell."""
        actor = actor_of(self.connection)
        if actor is not None:
            actor.require(right)

    def _require_self(self, name: str) -> None:
        """Refuse work under another's name."""
        actor = actor_of(self.connection)
        if actor is not None:
            actor.require_self(name)

    def _require_own(self, maker: str) -> None:
        """Refuse what only its maker or an admin may do."""
        actor = actor_of(self.connection)
        if actor is not None:
            actor.require_own(maker)

    def _row(self, statement: sa.Select[Any]) -> Any:
        """The first row, or None."""
        return self.connection.execute(statement).first()

    def _number(self, statement: sa.Select[Any]) -> int:
        return int(self.connection.execute(statement).scalar_one() or 0)

    def _insert(self, table: sa.Table, **values: Any) -> int:
        key = self.connection.execute(table.insert().values(**values)).inserted_primary_key
        assert key is not None
        return int(key[0])

    def _named(self, table: sa.Table, columns: Sequence[sa.Column[Any]], name: str) -> Any:
        """The row called ``name``, or an error that offers the nearest names."""
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

    def _free_name(self, table: sa.Table, name: str) -> str:
        """``name``, trimmed; refuses an empty, overlong or taken one."""
        name = clean_text(name).strip()
        if not name:
            raise DataError(f"A {noun(table)} needs a name.")
        if len(name) > NAME_LIMIT:
            raise DataError(f"The name of a {noun(table)} may have {NAME_LIMIT} characters; this one has {len(name)}.")
        if self._row(sa.select(table.c.id).where(table.c.name == name)) is not None:
            raise DuplicateNameError(noun(table), name)
        return name

    def _usable_name(self, table: sa.Table, wanted: str) -> str:
        """``wanted``, or with the first free number behind it: ``wanted 2``."""
        wanted = (clean_text(wanted).strip() or noun(table))[: NAME_LIMIT - 8]
        taken = set(self.connection.execute(sa.select(table.c.name)).scalars())
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted} {number}"
        return name

    def _delete(self, table: sa.Table, id: int) -> None:
        """Delete a row with all that hangs on it; an unknown id is an error."""
        if self.connection.execute(table.delete().where(table.c.id == id)).rowcount == 0:
            self._by_id(table, [table.c.id], id)


def noun(table: sa.Table) -> str:
    """What a person calls a row of ``table``."""
    return table.name.replace("_", " ")
