"""Enforcement of roles for every statement that writes in a transaction begun for a person.

Pages write through ``Store.writing`` of a store that knows the person. Tables not listed here require the admin role.
Jobs and the command line use the store itself, with the rights of the owner of the data folder.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.sql.dml import UpdateBase

from themescope.core.errors import AccessError
from themescope.core.records.stored import Role
from themescope.db import label_tables as t
from themescope.db import tables as s

logger = logging.getLogger(__name__)

NOBODY = "The person without a name"


class Right(StrEnum):
    """Right that a role grants."""

    LOOK = "look"
    LABEL = "label and review"
    MANAGE = "import, train, start jobs, delete, or set roles"


_GRANTED: Mapping[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.LOOK}),
    Role.LABELLER: frozenset({Right.LOOK, Right.LABEL}),
    Role.ADMIN: frozenset(Right),
}


@dataclass(frozen=True, slots=True)
class Actor:
    """Person who makes a change, with the current role."""

    name: str
    role: Role

    def may(self, right: Right) -> bool:
        """Return whether the role grants a right."""
        return right in _GRANTED[self.role]

    def require(self, right: Right) -> None:
        """Raise :class:`themescope.core.errors.AccessError` if the role does not grant a right."""
        if self.may(right):
            return
        logger.warning("Refused %.100r, who has the role %s, to %s.", self.name, self.role.value, right.value)
        who = self.name or NOBODY
        if self.role is Role.VIEWER:
            raise AccessError(f"{who} may view, but not change anything. Ask an admin.")
        raise AccessError(f"{who} may label and review, but not {right.value}. Ask an admin.")

    def owns(self, maker: str) -> bool:
        """Return whether the person may delete objects of ``maker``: their own, or as an admin any."""
        return maker == self.name or self.may(Right.MANAGE)

    def require_own(self, maker: str) -> None:
        """Raise ``AccessError`` unless the person made the object or is an admin."""
        if not self.owns(maker):
            raise AccessError(only_its_maker(maker))

    def require_self(self, name: str) -> None:
        """Raise ``AccessError`` for work under another person's name, except by an admin."""
        if name != self.name and not self.may(Right.MANAGE):
            raise AccessError(f"{self.name or NOBODY} cannot work under the name of {name or 'somebody else'}.")


def only_its_maker(maker: str) -> str:
    """Return the message for everybody except ``maker`` and admins."""
    return f"Only {maker or 'the person without a name'}, who made it, or an admin may do that."


_OPTION = "themescope_actor"
_RIGHTS: Mapping[str, Right] = {
    t.label_presence.name: Right.LOOK,
    **{
        table.name: Right.LABEL
        for table in (
            t.labelling,
            t.label_cluster,
            t.label_entry,
            t.label_start,
            t.label,
            t.label_step,
            t.label_event,
            t.task_member,
            t.task_item,
            t.person,
            s.triplet_review,
            s.saved_view,
            s.selection,
        )
    },
}


def right_to_write(table: str) -> Right:
    """Return the right that writing to a table requires."""
    return _RIGHTS.get(table, Right.MANAGE)


def act_as(connection: Connection, actor: Actor) -> None:
    """Check every later statement of this connection against the role of ``actor``."""
    connection.execution_options(**{_OPTION: actor})


def actor_of(connection: Connection) -> Actor | None:
    """Return the person for whom a transaction was begun; None for the store itself."""
    found: Actor | None = connection.get_execution_options().get(_OPTION)
    return found


@contextmanager
def allowing(connection: Connection, right: Right) -> Iterator[None]:
    """Require a right of the person of the transaction, and check no statement inside against their role.

    For a repository that writes to tables of other rights, such as those of texts, only in the way that it defines.
    """
    actor = actor_of(connection)
    if actor is not None:
        actor.require(right)
    connection.execution_options(**{_OPTION: None})
    try:
        yield
    finally:
        connection.execution_options(**{_OPTION: actor})


def check_write(connection: Connection, table: str) -> None:
    """Raise :class:`themescope.core.errors.AccessError` if the person of the transaction may not write to ``table``."""
    actor = actor_of(connection)
    if actor is not None:
        actor.require(right_to_write(table))


def enforce(engine: Engine) -> None:
    """Check every statement of this engine; bulk inserts call ``check_write`` themselves."""

    @event.listens_for(engine, "before_execute")
    def _check(connection: Connection, clause: Any, *_: Any) -> None:
        if isinstance(clause, UpdateBase):
            table = clause.table
            check_write(connection, table.name if isinstance(table, sa.Table) else "")
