"""Sessions of people who signed in. The browser holds a random token; the store holds its digest."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from db import label_tables as t
from db.repositories.base import Repository
from db.sql import now

IDLE = timedelta(hours=12)
"""Maximum time without use of a session."""
LONGEST = timedelta(days=7)
"""Maximum age of a session."""


class SignIns(Repository):
    """Opened by whoever has checked who it is; ended by the person, by time, or by an admin who removes the person."""

    def open(self, person: str) -> str:
        """Begin a session; the token is told once and kept nowhere. Sessions that have ended are removed."""
        self.connection.execute(t.sign_in.delete().where(~_alive()))
        token = secrets.token_urlsafe(32)
        values = {"token": _digest(token), "person": person, "created": now(), "seen": now()}
        self.connection.execute(t.sign_in.insert().values(**values))
        return token

    def person(self, token: str) -> tuple[str, datetime] | None:
        """Whose session it is, and when it was used last; None when it is over or never was."""
        c = t.sign_in.c
        row = self._row(sa.select(c.person, c.seen).where(c.token == _digest(token), _alive()))
        return None if row is None else (row.person, row.seen)

    def touch(self, token: str) -> bool:
        """Note that a session is in use; False when somebody has ended it."""
        own = t.sign_in.c.token == _digest(token)
        return self.connection.execute(t.sign_in.update().where(own).values(seen=now())).rowcount > 0

    def close(self, token: str) -> None:
        """End a session."""
        self.connection.execute(t.sign_in.delete().where(t.sign_in.c.token == _digest(token)))

    def close_all(self, person: str) -> list[dict[str, Any]]:
        """End every session of somebody. Returns their rows, for :meth:`reopen`."""
        own = t.sign_in.c.person == person
        rows = [dict(row._mapping) for row in self.connection.execute(sa.select(t.sign_in).where(own))]
        self.connection.execute(t.sign_in.delete().where(own))
        return rows

    def reopen(self, rows: list[dict[str, Any]]) -> None:
        """Take :meth:`close_all` back."""
        if rows:
            self.connection.execute(t.sign_in.insert(), rows)


def _alive() -> sa.ColumnElement[bool]:
    return sa.and_(t.sign_in.c.seen > now() - IDLE, t.sign_in.c.created > now() - LONGEST)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", errors="replace")).hexdigest()
