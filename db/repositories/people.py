"""People: roles, presence in labellings, and the views of pages and selections of sentences that they saved."""

from __future__ import annotations

import builtins
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from themescope.core.errors import DataError, StoreError, UnknownNameError
from themescope.core.labelling.operations import Origin, Selection
from themescope.core.records.stored import Role, SelectionRecord
from themescope.core.types import Ids
from themescope.db import label_tables as t
from themescope.db import tables as s
from themescope.db.access import Actor, Right
from themescope.db.records import PersonRecord, Presence, SavedViewRecord
from themescope.db.repositories.base import RecordRepository, Repository
from themescope.db.repositories.corpora import kept_rows
from themescope.db.sql import from_bytes, now, to_bytes
from themescope.db.types import clean_text

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

    table, record = s.saved_view, SavedViewRecord

    def add(self, page: str, name: str, query: str, person: str = "") -> SavedViewRecord:
        """Save a view.

        Raises ``DuplicateNameError`` if the page has a view of that name, ``DataError`` if the name is empty or too
        long or the view too large for a URL, and ``StoreError`` if the person may only view.
        """
        People(self.connection).check_may_write(clean_text(person))
        name = self._free_name(s.saved_view, name, s.saved_view.c.page == page)
        if len(query) > QUERY_LIMIT:
            raise DataError("This view is too large for a URL. Select fewer items, then save it.")
        values = {"page": page, "name": name, "query": clean_text(query), "person": clean_text(person)}
        return self.get(self._insert(s.saved_view, **values, created=now()))

    def list(self, page: str | None = None) -> builtins.list[SavedViewRecord]:
        """Return all views (of a page), newest first."""
        query = self._select().order_by(s.saved_view.c.id.desc())
        if page is not None:
            query = query.where(s.saved_view.c.page == page)
        return self._records(query)

    def delete(self, view_id: int) -> None:
        """Delete a view; requires the person who saved it or an admin."""
        self._require_own(self.get(view_id).person)
        self._delete(s.saved_view, view_id)


# --- selections -------------------------------------------------------------------------------------------------------


_LARGEST = 5_000_000
"""Maximum number of sentences of a stored selection (40 MB)."""


class Selections(RecordRepository[SelectionRecord]):
    """Repository of selections, visible to all people of the store."""

    table, record = s.selection, SelectionRecord

    def add(self, selection: Selection, name: str = "", person: str = "", created: Any = None) -> SelectionRecord:
        """Store a selection; without a name it is stored for a link, once for each set of sentences.

        Raises ``DuplicateNameError`` if the corpus has a selection of that name, ``DataError`` for a name that is too
        long or a selection that is empty or too large, and ``StoreError`` if the person may only view.
        """
        People(self.connection).check_may_write(clean_text(person))
        if not 0 < len(selection) <= _LARGEST:
            raise DataError(f"A stored selection has 1 to {_LARGEST:,} sentences; this one has {len(selection):,}.")
        name, digest, c = clean_text(name).strip(), selection.digest, s.selection.c
        if name:
            name = self._free_name(s.selection, name, c.corpus_id == selection.corpus_id)
        else:
            same = self._select().where(c.corpus_id == selection.corpus_id, c.digest == digest, c.name == "")
            known = next((r for r in self._records(same) if r.origin == selection.origin.to_json()), None)
            if known is not None:
                return known
        values = {"corpus_id": selection.corpus_id, "name": name, "person": clean_text(person)}
        about = {"origin": selection.origin.to_json(), "digest": digest, "sentences": len(selection)}
        block = to_bytes(selection.ids, "<i8")
        return self.get(self._insert(s.selection, **values, **about, created=created or now(), sentence_ids=block))

    def list(self, corpus_id: int) -> builtins.list[SelectionRecord]:
        """Return the named selections of a corpus, newest first."""
        c = s.selection.c
        return self._records(self._select().where(c.corpus_id == corpus_id, c.name != "").order_by(c.id.desc()))

    def ids(self, selection_id: int) -> Ids:
        """Return the (n,) sentence ids of a selection, ascending, without removed ones."""
        ids = from_bytes(self._by_id(s.selection, [s.selection.c.sentence_ids], selection_id).sentence_ids, "<i8")
        return ids[kept_rows(self.connection, ids)]

    def selection(self, selection_id: int) -> Selection:
        """Return a stored selection with its sentences."""
        record = self.get(selection_id)
        return Selection(record.corpus_id, self.ids(selection_id), Origin.from_json(record.origin))

    def delete(self, selection_id: int) -> None:
        """Delete a selection; requires the person who made it or an admin."""
        self._require_own(self.get(selection_id).person)
        self._delete(s.selection, selection_id)
