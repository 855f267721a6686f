"""Accounts: password hashes, sessions, tokens of the HTTP API, failed sign-ins, and the audit log of all of them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa

from themescope.core.errors import UnknownNameError
from themescope.db import label_tables as t
from themescope.db.records import ApiTokenRecord, AuditRecord, SessionRecord, SignInMethod
from themescope.db.repositories.base import RecordRepository, Repository
from themescope.db.settings import Settings
from themescope.db.sql import now
from themescope.db.types import clean_text

NAME_KEPT = timedelta(days=400)
"""How long an entered name is kept without use, which is how long browsers keep a cookie."""
AUDIT_KEPT = timedelta(days=400)
LONGEST_WAIT = timedelta(minutes=5)
_FORGET_AFTER = timedelta(days=1)
_ADVISORY_LOCK = 0x7369676E  # "sign": an arbitrary number that nothing else in this database uses


class Logins(Repository):
    """Repository of password hashes by the name of their person, "" for people who sign in through OIDC."""

    def all(self) -> dict[str, str]:
        """Return all hashes."""
        c = t.login.c
        return {name: hashed for name, hashed in self.connection.execute(sa.select(c.person, c.password))}

    def of(self, person: str, *, lock: bool = False) -> str | None:
        """Return the hash of a person; with ``lock``, nobody else can change it until this transaction ends."""
        query = sa.select(t.login.c.password).where(t.login.c.person == person)
        found: str | None = self.connection.scalar(query.with_for_update() if lock else query)
        return found

    def put(self, person: str, hashed: str) -> None:
        """Add or replace a hash."""
        self.remove(person)
        self.connection.execute(t.login.insert().values(person=person, password=hashed, changed=now()))

    def remove(self, person: str) -> None:
        """Remove the hash of a person, if there is one."""
        self.connection.execute(t.login.delete().where(t.login.c.person == person))


class Sessions(Repository):
    """Repository of sessions. The browser has a random token, the store its hash."""

    def open(self, person: str, method: SignInMethod) -> str:
        """Begin a session and return its token, which is not stored."""
        token = secrets.token_urlsafe(32)
        self._insert_row(token, person, method)
        return token

    def remember(self, token: str, person: str) -> None:
        """Keep the name that was entered in a browser where nobody signs in; "" forgets it."""
        self.close(token)
        if person:
            self._insert_row(token, person, SignInMethod.NAME)

    def _insert_row(self, token: str, person: str, method: SignInMethod) -> None:
        values = {
            "token_hash": token_hash(token),
            "person": person,
            "method": method.value,
            "created": now(),
            "seen": now(),
        }
        self.connection.execute(t.session.insert().values(**values))

    def find(self, token: str, settings: Settings) -> SessionRecord | None:
        """Return a session, unless it has ended or its person can no longer sign in."""
        c, signs_in = t.session.c, sa.exists().where(t.login.c.person == t.session.c.person)
        query = sa.select(c.person, c.method, c.created, c.seen).where(
            c.token_hash == token_hash(token), _alive(settings)
        )
        row = self._row(query.where(sa.or_(c.method == SignInMethod.NAME.value, signs_in)))
        return None if row is None else SessionRecord(row.person, SignInMethod(row.method), row.created, row.seen)

    def touch(self, token: str) -> bool:
        """Record that a session is in use; return whether it exists."""
        own = t.session.c.token_hash == token_hash(token)
        return self.connection.execute(t.session.update().where(own).values(seen=now())).rowcount > 0

    def close(self, token: str) -> None:
        """End a session."""
        self.connection.execute(t.session.delete().where(t.session.c.token_hash == token_hash(token)))

    def of_person(self, person: str, settings: Settings) -> dict[str, SessionRecord]:
        """Return the sessions in which a person signed in by the hash of their token, the last used first."""
        c = t.session.c
        query = sa.select(c.token_hash, c.person, c.method, c.created, c.seen).where(_signed_in(person))
        rows = self.connection.execute(query.where(_alive(settings)).order_by(c.seen.desc(), c.created.desc()))
        return {hashed: SessionRecord(person, SignInMethod(method), *times) for hashed, person, method, *times in rows}

    def close_all(self, person: str, *, names: bool = False, but: str = "") -> None:
        """End all sessions in which a person signed in, except that of the token ``but``.

        With ``names``, also forget the name where it was entered.
        """
        c = t.session.c
        own = c.person == person if names else _signed_in(person)
        self.connection.execute(t.session.delete().where(own, c.token_hash != token_hash(but)))

    def remove_ended(self, settings: Settings) -> None:
        """Remove sessions that have ended."""
        self.connection.execute(t.session.delete().where(~_alive(settings)))


def _signed_in(person: str) -> sa.ColumnElement[bool]:
    return sa.and_(t.session.c.person == person, t.session.c.method != SignInMethod.NAME.value)


def _alive(settings: Settings) -> sa.ColumnElement[bool]:
    c, moment = t.session.c, now()
    named = sa.and_(c.method == SignInMethod.NAME.value, c.seen > moment - NAME_KEPT)
    used = sa.and_(c.seen > moment - settings.session_idle, c.created > moment - settings.session_limit)
    return sa.or_(named, sa.and_(c.method != SignInMethod.NAME.value, used))


class FailedSignIns(Repository):
    """Counters of failed sign-ins, which all web processes share.

    Every key, such as a name or an address, has a number of free attempts; after those, the waiting time doubles with
    each further one, from 2 seconds up to :data:`LONGEST_WAIT`. Counters without an attempt for a day are forgotten.
    """

    def wait_s(self, free: Mapping[str, int]) -> float:
        """Return the seconds until the next attempt with all these keys, which have ``free`` attempts each."""
        c, tries_of = t.failed_sign_in.c, {token_hash(key): tries for key, tries in free.items()}
        query = sa.select(c.key_hash, c.count, c.last).where(c.key_hash.in_(tries_of))
        waits = [0.0]
        for key_hash, count, last in self.connection.execute(query):
            beyond = count - tries_of[key_hash]
            if beyond >= 0:
                longest = min(2.0 ** min(beyond + 1, 30), LONGEST_WAIT.total_seconds())
                # A clock that was set back must not prolong the wait.
                waits.append(min(longest, longest - (now() - last).total_seconds()))
        return max(waits)

    def count(self, free: Mapping[str, int]) -> float:
        """Count an attempt for each key, before its password is checked; nothing is counted while one must wait.

        Returns :meth:`wait_s`. Two attempts at once are counted one after the other.
        """
        self._lock(_ADVISORY_LOCK)
        c = t.failed_sign_in.c
        self.connection.execute(t.failed_sign_in.delete().where(c.last < now() - _FORGET_AFTER))
        wait = self.wait_s(free)
        if wait > 0:
            return wait
        for key_hash in map(token_hash, free):
            own = t.failed_sign_in.update().where(c.key_hash == key_hash)
            if not self.connection.execute(own.values(count=c.count + 1, last=now())).rowcount:
                self.connection.execute(t.failed_sign_in.insert().values(key_hash=key_hash, count=1, last=now()))
        return 0.0

    def forget(self, key: str) -> None:
        """Forget the failures of a key, after a success."""
        self.connection.execute(t.failed_sign_in.delete().where(t.failed_sign_in.c.key_hash == token_hash(key)))

    def take_back(self, key: str) -> None:
        """Count one attempt less for a key."""
        c = t.failed_sign_in.c
        own = t.failed_sign_in.update().where(c.key_hash == token_hash(key), c.count > 0)
        self.connection.execute(own.values(count=c.count - 1))


class AuditLog(Repository):
    """Repository of changes of accounts and of sign-ins, written in the transaction of each."""

    def add(self, author: str, action: str, person: str = "", detail: str = "") -> None:
        """Record an event, and remove those that are older than :data:`AUDIT_KEPT`."""
        self.connection.execute(t.audit_event.delete().where(t.audit_event.c.created < now() - AUDIT_KEPT))
        values = {"author": author, "action": action, "person": person, "detail": clean_text(detail)}
        self.connection.execute(t.audit_event.insert().values(created=now(), **values))

    def latest(self, limit: int) -> list[AuditRecord]:
        """Return the latest events, newest first."""
        c = t.audit_event.c
        query = sa.select(c.created, c.author, c.action, c.person, c.detail).order_by(c.id.desc()).limit(limit)
        return [AuditRecord(*row) for row in self.connection.execute(query)]


def token_hash(token: str) -> str:
    """Return the hash of a token, or of a key of failed sign-ins, under which the store keeps it."""
    return hashlib.sha256(token.encode("utf-8", errors="replace")).hexdigest()


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
        return self._matching(person=person)

    def revoke(self, token_id: int, person: str | None = None) -> ApiTokenRecord:
        """Revoke a token (of a person) and return it; raise ``UnknownNameError`` if there is none to revoke."""
        known = {one.id: one for one in self.list(person) if one.revoked is None}
        if token_id not in known:
            raise UnknownNameError("token", str(token_id), [str(id) for id in known])
        self.connection.execute(t.api_token.update().where(t.api_token.c.id == token_id).values(revoked=now()))
        return known[token_id]

    def revoke_all(self, person: str) -> None:
        """Revoke the tokens of a person."""
        c = t.api_token.c
        self.connection.execute(
            t.api_token.update().where(c.person == person, c.revoked.is_(None)).values(revoked=now())
        )

    def remove_all(self, person: str) -> None:
        """Remove the tokens of a person."""
        self.connection.execute(t.api_token.delete().where(t.api_token.c.person == person))
