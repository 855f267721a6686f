"""People: roles, presence in labellings, the views and selections that they saved, their accounts and pseudonyms."""

from __future__ import annotations

import builtins
import hashlib
import re
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.errors import DataError, StoreError, UnknownNameError
from themescope.core.labelling.operations import Origin, Selection
from themescope.core.records.stored import Role, SelectionRecord
from themescope.core.types import Ids
from themescope.db import tables as t
from themescope.db.access import Actor, Right
from themescope.db.records import (
    ApiTokenRecord,
    AuditRecord,
    PersonRecord,
    Presence,
    SavedViewRecord,
    SessionRecord,
    SignInMethod,
)
from themescope.db.repositories.corpora import kept_rows
from themescope.db.settings import Settings
from themescope.db.sql import RecordRepository, Repository, contains, from_bytes, now, to_bytes
from themescope.db.types import Json, Text, clean_text

_FORGET_AFTER = timedelta(minutes=10)
_ADVISORY_LOCK = 0x70656F706C65  # "people": an arbitrary number that nothing else in this database uses
_LAST_ADMIN = "This is the only admin. Make another person an admin first."


class People(Repository):
    """Repository of people. A new name gets the role labeller."""

    def list(self) -> list[PersonRecord]:
        """Return everybody, by name."""
        c = t.person.c
        query = sa.select(c.name, c.role, c.created, c.seen).order_by(c.name)
        return [PersonRecord(name, Role(role), *times) for name, role, *times in self.connection.execute(query)]

    def role(self, name: str) -> Role:
        """Return the stored role of a person; a new name is a labeller."""
        row = self._row(sa.select(t.person.c.role).where(t.person.c.name == name))
        return Role.LABELLER if row is None else Role(row.role)

    def lock_roles(self) -> None:
        """Keep others from changing roles until this transaction ends."""
        self._lock(_ADVISORY_LOCK)

    def admins(self) -> builtins.list[str]:
        """Return the names of the admins."""
        query = sa.select(t.person.c.name).where(t.person.c.role == Role.ADMIN.value).order_by(t.person.c.name)
        return [*self.connection.execute(query).scalars()]

    def actor(self, name: str) -> Actor:
        """Return a person with the role in force: while there is no admin, labellers have the rights of an admin."""
        c = t.person.c
        query = sa.select(c.name, c.role).where(sa.or_(c.name == name, c.role == Role.ADMIN.value))
        roles = {found: Role(role) for found, role in self.connection.execute(query)}
        role = roles.get(name, Role.LABELLER)
        alone = Role.ADMIN not in roles.values()
        return Actor(name, Role.ADMIN if role is Role.LABELLER and alone else role)

    def enter(self, name: str) -> Role:
        """Add a person unless present; return the role."""
        row = self._row(sa.select(t.person.c.role).where(t.person.c.name == name))
        if row is not None:
            return Role(row.role)
        values = {"name": name, "role": Role.LABELLER.value, "created": now()}
        if self.connection.dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import insert

            self.connection.execute(insert(t.person).values(**values).on_conflict_do_nothing())
        else:
            self.connection.execute(t.person.insert().values(**values))
        return Role.LABELLER

    def set_role(self, name: str, role: Role, by: str) -> None:
        """Set the role of a person; requires an admin unless there is none."""
        admins = self._check_admin(by)
        if admins == [name] and role is not Role.ADMIN:
            raise StoreError(_LAST_ADMIN)
        self.enter(name)
        self.connection.execute(t.person.update().where(t.person.c.name == name).values(role=role.value))

    def remove(self, name: str, by: str) -> None:
        """Remove a person's role; labellings and reviews are kept.

        Raises an error if the person is unknown or the only admin, or ``by`` is not an admin.
        """
        known = [person.name for person in self.list()]
        if self._check_admin(by) == [name] and len(known) > 1:
            raise StoreError(_LAST_ADMIN)
        if name not in known:
            raise UnknownNameError("person", name, known)
        self.connection.execute(t.person.delete().where(t.person.c.name == name))

    def _check_admin(self, by: str) -> builtins.list[str]:
        """Return the admins; raise :class:`StoreError` if there are any and ``by`` is not one of them."""
        self._require(Right.MANAGE)
        self.lock_roles()
        admins = self.admins()
        if admins and by not in admins:
            raise StoreError(f"This requires an admin: {', '.join(admins)}.")
        return admins

    def check_may_write(self, name: str) -> Role:
        """Record that a person is about to change something; raise :class:`StoreError` if they may only view."""
        self._require_self(name)
        role = self.enter(name)
        Actor(name, role).require(Right.LABEL)
        self.touch(name)
        return role

    def touch(self, name: str) -> None:
        """Record that a person was active now."""
        self.enter(name)
        self.connection.execute(t.person.update().where(t.person.c.name == name).values(seen=now()))

    # --- presence ---------------------------------------------------------------------------------------------------

    def here(self, labelling_id: int, within_s: float = 20.0) -> builtins.list[Presence]:
        """Return who has the labelling open, by name, one entry per person."""
        c = t.label_presence.c
        query = sa.select(c.person, sa.func.max(c.seen)).where(c.labelling_id == labelling_id)
        query = query.where(c.seen >= now() - timedelta(seconds=within_s)).group_by(c.person).order_by(c.person)
        return [Presence(person, seen) for person, seen in self.connection.execute(query)]

    def heartbeat(self, labelling_id: int, person: str, session: str) -> None:
        """Record that a person has the labelling open in a browser session, and remove old records.

        Raises ``StoreError`` if the labelling was deleted.
        """
        if self.connection.scalar(sa.select(t.labelling.c.id).where(t.labelling.c.id == labelling_id)) is None:
            raise StoreError("This coding or its project was deleted. Choose another coding.")
        c = t.label_presence.c
        own = (c.labelling_id == labelling_id) & (c.person == person) & (c.session == session)
        old = (c.labelling_id == labelling_id) & (c.seen < now() - _FORGET_AFTER)
        self.connection.execute(t.label_presence.delete().where(old))
        if self.connection.execute(t.label_presence.update().where(own).values(seen=now())).rowcount == 0:
            values = {"labelling_id": labelling_id, "person": person, "session": session}
            self.connection.execute(t.label_presence.insert().values(**values, seen=now()))


QUERY_LIMIT = 8_000
"""Maximum length of a query string in characters, which all browsers support."""


class Views(RecordRepository[SavedViewRecord]):
    """Repository of saved views, visible to all people of the store."""

    table, record = t.saved_view, SavedViewRecord

    def add(self, page: str, name: str, query: str, person: str = "") -> SavedViewRecord:
        """Save a view.

        Raises ``DuplicateNameError`` if the page has a view of that name, ``DataError`` if the name is empty or too
        long or the view too large for a URL, and ``StoreError`` if the person may only view.
        """
        People(self.connection).check_may_write(clean_text(person))
        name = self._free_name(t.saved_view, name, t.saved_view.c.page == page)
        if len(query) > QUERY_LIMIT:
            raise DataError("This view is too large for a URL. Select fewer items, then save it.")
        values = {"page": page, "name": name, "query": clean_text(query), "person": clean_text(person)}
        return self.get(self._insert(t.saved_view, **values, created=now()))

    def list(self, page: str | None = None) -> builtins.list[SavedViewRecord]:
        """Return all views (of a page), newest first."""
        query = self._select().order_by(t.saved_view.c.id.desc())
        if page is not None:
            query = query.where(t.saved_view.c.page == page)
        return self._records(query)

    def delete(self, view_id: int) -> None:
        """Delete a view; requires the person who saved it or an admin."""
        self._require_own(self.get(view_id).person)
        self._delete(t.saved_view, view_id)


# --- selections -------------------------------------------------------------------------------------------------------


_LARGEST = 5_000_000
"""Maximum number of sentences of a stored selection (40 MB)."""


class Selections(RecordRepository[SelectionRecord]):
    """Repository of selections, visible to all people of the store."""

    table, record = t.selection, SelectionRecord

    def add(self, selection: Selection, name: str = "", person: str = "", created: Any = None) -> SelectionRecord:
        """Store a selection; without a name it is stored for a link, once for each set of sentences.

        Raises ``DuplicateNameError`` if the corpus has a selection of that name, ``DataError`` for a name that is too
        long or a selection that is empty or too large, and ``StoreError`` if the person may only view.
        """
        People(self.connection).check_may_write(clean_text(person))
        if not 0 < len(selection) <= _LARGEST:
            raise DataError(f"A stored selection has 1 to {_LARGEST:,} sentences; this one has {len(selection):,}.")
        name, digest, c = clean_text(name).strip(), selection.digest, t.selection.c
        if name:
            name = self._free_name(t.selection, name, c.corpus_id == selection.corpus_id)
        else:
            same = self._select().where(c.corpus_id == selection.corpus_id, c.digest == digest, c.name == "")
            known = next((r for r in self._records(same) if r.origin == selection.origin.to_json()), None)
            if known is not None:
                return known
        values = {"corpus_id": selection.corpus_id, "name": name, "person": clean_text(person)}
        about = {"origin": selection.origin.to_json(), "digest": digest, "sentences": len(selection)}
        block = to_bytes(selection.ids, "<i8")
        return self.get(self._insert(t.selection, **values, **about, created=created or now(), sentence_ids=block))

    def list(self, corpus_id: int) -> builtins.list[SelectionRecord]:
        """Return the named selections of a corpus, newest first."""
        c = t.selection.c
        return self._records(self._select().where(c.corpus_id == corpus_id, c.name != "").order_by(c.id.desc()))

    def ids(self, selection_id: int) -> Ids:
        """Return the (n,) sentence ids of a selection, ascending, without removed ones."""
        ids = from_bytes(self._by_id(t.selection, [t.selection.c.sentence_ids], selection_id).sentence_ids, "<i8")
        return ids[kept_rows(self.connection, ids)]

    def selection(self, selection_id: int) -> Selection:
        """Return a stored selection with its sentences."""
        record = self.get(selection_id)
        return Selection(record.corpus_id, self.ids(selection_id), Origin.from_json(record.origin))

    def delete(self, selection_id: int) -> None:
        """Delete a selection; requires the person who made it or an admin."""
        self._require_own(self.get(selection_id).person)
        self._delete(t.selection, selection_id)


# Accounts: password hashes, sessions, tokens of the HTTP API, failed sign-ins, and the audit log of all of them

NAME_KEPT = timedelta(days=400)
"""How long an entered name is kept without use, which is how long browsers keep a cookie."""
AUDIT_KEPT = timedelta(days=400)
LONGEST_WAIT = timedelta(minutes=5)
_FAILURES_KEPT = timedelta(days=1)
_SIGN_IN_LOCK = 0x7369676E  # "sign": an arbitrary number that nothing else in this database uses


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
        values = {"token_hash": token_hash(token), "person": person, "method": method.value}
        self.connection.execute(t.session.insert().values(**values, created=now(), seen=now()))

    def find(self, token: str, settings: Settings) -> SessionRecord | None:
        """Return a session, unless it has ended or its person can no longer sign in."""
        c, signs_in = t.session.c, sa.exists().where(t.login.c.person == t.session.c.person)
        query = sa.select(c.person, c.method, c.created, c.seen).where(c.token_hash == token_hash(token))
        row = self._row(query.where(_alive(settings), sa.or_(c.method == SignInMethod.NAME.value, signs_in)))
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
                since = (now() - last).total_seconds()
                # Nobody waits until a clock that was set back has caught up.
                waits.append(min(longest, longest - since) if since > -LONGEST_WAIT.total_seconds() else 0.0)
        return max(waits)

    def count(self, free: Mapping[str, int]) -> float:
        """Count an attempt for each key, before its password is checked; nothing is counted while one must wait.

        Returns :meth:`wait_s`. Two attempts at once are counted one after the other.
        """
        self._lock(_SIGN_IN_LOCK)
        c = t.failed_sign_in.c
        self.connection.execute(t.failed_sign_in.delete().where(c.last < now() - _FAILURES_KEPT))
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
        own = (t.api_token.c.person == person) & t.api_token.c.revoked.is_(None)
        self.connection.execute(t.api_token.update().where(own).values(revoked=now()))

    def remove_all(self, person: str) -> None:
        """Remove the tokens of a person."""
        self.connection.execute(t.api_token.delete().where(t.api_token.c.person == person))


# Replacement of a person's name by a pseudonym wherever people or Themescope wrote it

PSEUDONYM = "former-user"
"""Beginning of pseudonyms, which are the same in texts and in links."""
_TEXTS_OF_CORPORA = frozenset({t.article, t.section, t.sentence})
_OTHER_COLUMNS = frozenset({t.person.c.name, t.labelling.c.owner})
"""Columns with the name of a person that are not called ``person``."""


def person_columns() -> list[sa.Column[str]]:
    """Return the columns with the name of a person."""
    columns = (column for table in t.metadata.sorted_tables for column in table.c)
    return [column for column in columns if column.name == "person" or column in _OTHER_COLUMNS]


class Replacement:
    """Replacement of a person's name by a pseudonym in texts and JSON values."""

    def __init__(self, name: str, pseudonym: str, others: Collection[str] = ()) -> None:
        """``others`` are names that may contain this one."""
        self.name, self.pseudonym = name, pseudonym
        kept = [re.escape(other) for other in sorted(others, key=len, reverse=True) if name in other and name != other]
        forms = "|".join(re.escape(form) for form in {name, quote(name), quote_plus(name)})
        self._pattern = re.compile(rf"(?<!\w)(?:({'|'.join(kept) or '(?!)'})|(?:{forms}))(?!\w)", re.IGNORECASE)

    @property
    def needle(self) -> str:
        """Return a part of the name that is the same in texts, in JSON and in links; "" if there is none."""
        return max(re.findall(r"[A-Za-z0-9]+", self.name), key=len, default="")

    def replaced(self, text: str) -> str:
        """Return a text with the name replaced."""
        return self._pattern.sub(lambda match: match[1] or self.pseudonym, text)

    def value(self, value: Any) -> Any:
        """Return a JSON value with the name replaced in all its texts."""
        if isinstance(value, str):
            return self.replaced(value)
        if isinstance(value, Mapping):
            return {self.replaced(key): self.value(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value


def replacement_of(connection: Connection, name: str) -> Replacement:
    """Return the replacement of a name by one that no row has: "former-user-1", or the next one."""
    known = people_named(connection)
    free = next(found for number in range(1, len(known) + 2) if (found := f"{PSEUDONYM}-{number}") not in known)
    return Replacement(name, free, known)


def people_named(connection: Connection) -> set[str]:
    """Return every name that is stored as that of a person."""
    return {name for column in person_columns() for name in connection.execute(sa.select(column).distinct()).scalars()}


def replace_name(connection: Connection, replacement: Replacement) -> None:
    """Replace the name in every row."""
    names = set(person_columns())
    for column in names:
        own = column == replacement.name
        connection.execute(column.table.update().where(own).values({column: replacement.pseudonym}))
    for table in t.metadata.sorted_tables:
        columns = [c for c in table.c if isinstance(c.type, Text | Json) and c not in names]
        if not columns or table in _TEXTS_OF_CORPORA:
            continue
        keys, raw = [*table.primary_key], [sa.type_coerce(column, sa.Text()) for column in columns]
        where = sa.or_(*(contains(connection, text, replacement.needle) for text in raw))
        # All rows first: they are changed while this goes on.
        for row in connection.execute(sa.select(*keys, *columns).where(where)).all():
            values = dict(zip((c.name for c in columns), row[len(keys) :], strict=True))
            changed = {name: new for name, old in values.items() if (new := replacement.value(old)) != old}
            if changed:
                own = sa.and_(*(key == value for key, value in zip(keys, row[: len(keys)], strict=True)))
                connection.execute(table.update().where(own).values(changed))
