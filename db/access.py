"""The one place where roles are enforced: every statement that writes, in a transaction that is begun for a person.

Whatever a page does goes through ``Store.writing`` of a store that knows who is at the keyboard, so a new way of
writing is held to this table without anybody thinking of it: what is not listed here takes an admin. Jobs and the
command line work on the store itself, as whoever owns the data folder.
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
    """What it takes to write into a table."""
    return _RIGHTS.get(table, Right.MANAGE)


def act_as(connection: Connection, actor: Actor) -> None:
    """From here on this connection refuses to write what ``actor`` may not."""
    connection.execution_options(**{_OPTION: actor})


def actor_of(connection: Connection) -> Actor | None:
    """Return who a transaction was begun for; None for the store itself."""
    found: Actor | None = connection.get_execution_options().get(_OPTION)
    return found


def check_write(connection: Connection, table: str) -> None:
    """Refuse (:class:`core.errors.AccessError`) what whoever the transaction was begun for may not."""
    actor = actor_of(connection)
    if actor is not None:
        actor.require(right_to_write(table))


def enforce(engine: Engine) -> None:
    """Check every statement of this engine; what goes past statements (bulk inserts) asks ``check_write`` itself."""

    @event.listens_for(engine, "before_execute")
    def _check(connection: Connection, clause: Any, *_: Any) -> None:
        if isinstance(clause, UpdateBase):
            table = clause.table
            check_write(connection, table.name if isinstance(table, sa.Table) else "")
