"""Tokens with which programs use the HTTP API as a person."""

from __future__ import annotations

import secrets
from datetime import datetime

import sqlalchemy as sa

from themescope.core.errors import UnknownNameError
from themescope.db import label_tables as t
from themescope.db.label_records import ApiTokenRecord
from themescope.db.repositories.accounts import token_hash
from themescope.db.repositories.base import RecordRepository
from themescope.db.sql import now

PREFIX = "themescope_"
"""Beginning of tokens, by which programs that search files for secrets recognise them."""


class ApiTokens(RecordRepository[ApiTokenRecord]):
    """Repository of tokens. A program has the random token, the store its hash."""

    table, record = t.api_token, ApiTokenRecord

    def add(self, person: str, name: str, expires: datetime) -> tuple[str, ApiTokenRecord]:
        """Add a token; return it, which is not stored, and its record."""
        token = PREFIX + secrets.token_urlsafe(32)
        values = {"person": person, "name": name, "token_hash": token_hash(token), "created": now()}
        return token, self.get(self._insert(t.api_token, **values, expires=expires))

    def find(self, token: str) -> ApiTokenRecord | None:
        """Return a token, unless it has expired, was revoked, or its person has no account any more."""
        c, has_account = t.api_token.c, sa.exists().where(t.login.c.person == t.api_token.c.person)
        valid = c.token_hash == token_hash(token), c.expires > now(), c.revoked.is_(None), has_account
        return self._first(self._select().where(*valid))

    def touch(self, token_id: int) -> None:
        """Record that a token is in use."""
        self.connection.execute(t.api_token.update().where(t.api_token.c.id == token_id).values(used=now()))

    def list(self, person: str | None = None) -> list[ApiTokenRecord]:
        """Return all tokens (of a person), also those that expired or were revoked, oldest first."""
        query = self._select().order_by(t.api_token.c.id)
        return self._records(query if person is None else query.where(t.api_token.c.person == person))

    def revoke(self, token_id: int, person: str | None = None) -> ApiTokenRecord:
        """Revoke a token (of a person) and return it; raise ``UnknownNameError`` if there is none to revoke."""
        known = {one.id: one for one in self.list(person) if one.revoked is None}
        if token_id not in known:
            raise UnknownNameError("token", str(token_id), [str(id) for id in known])
        self.connection.execute(t.api_token.update().where(t.api_token.c.id == token_id).values(revoked=now()))
        return known[token_id]

    def remove_all(self, person: str) -> None:
        """Remove the tokens of a person."""
        self.connection.execute(t.api_token.delete().where(t.api_token.c.person == person))
