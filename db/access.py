"""Enforcement of roles for every statement that writes in a transaction begun for a person.

Pages write through ``Store.writing`` of a store that knows the person. Tables not listed here require the admin role.
Jobs and the command line use the store itself, with the rights of the owner of the data folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.sql.dml import UpdateBase

from db import label_tables as t
from db import tables as s
from db.roles import Actor, Right

_OPTION = "themescope_actor"
_RIGHTS: Mapping[str, Right] = {
    t.label_presence.name: Right.LOOK,
    **{
        table.name: Right.LABEL
        for table in (
            t.labelling,
            t.label_cluster,
            t.label,
            t.label_step,
            t.label_event,
            t.person,
            s.triplet_review,
            s.saved_view,
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


def check_write(connection: Connection, table: str) -> None:
    """Raise :class:`core.errors.AccessError` if the person of the transaction may not write to ``table``."""
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
