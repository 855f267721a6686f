"""People, their roles, and their presence in labellings."""

from __future__ import annotations

import builtins
from datetime import timedelta

import sqlalchemy as sa

from core.errors import StoreError, UnknownNameError
from db import label_tables as t
from db.label_records import PersonRecord, Presence, Role
from db.repositories.base import Repository
from db.roles import Actor, Right
from db.sql import now

_FORGET_AFTER = timedelta(minutes=10)
_ADVISORY_LOCK = 0x70656F706C65  # "people": any number that nobody else uses in this database


class People(Repository):
    """Repository of people. A new name gets the role labeller."""

    def list(self) -> list[PersonRecord]:
        """Return everybody, by name."""
        c = t.person.c
        query = sa.select(c.name, c.role, c.created, c.seen).order_by(c.name)
        return [PersonRecord(name, Role(role), *times) for name, role, *times in self.connection.execute(query)]

    def role(self, name: str) -> Role:
        """What was said that somebody may do; a new name is a labeller."""
        row = self._row(sa.select(t.person.c.role).where(t.person.c.name == name))
        return Role.LABELLER if row is None else Role(row.role)

    def _alone(self) -> None:
        """Until this transaction ends, nobody else changes roles; writers on SQLite are alone."""
        if self.connection.dialect.name == "postgresql":
            self.connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))

    def admins(self) -> builtins.list[str]:
        """Return the names of the admins."""
        query = sa.select(t.person.c.name).where(t.person.c.role == Role.ADMIN.value).order_by(t.person.c.name)
        return [*self.connection.execute(query).scalars()]

    def actor(self, name: str) -> Actor:
        """Somebody with the role that counts: as long as there is no admin, whoever may label may do everything."""
        c = t.person.c
        query = sa.select(c.name, c.role).where(sa.or_(c.name == name, c.role == Role.ADMIN.value))
        roles = {found: Role(role) for found, role in self.connection.execute(query)}
        role = roles.get(name, Role.LABELLER)
        alone = Role.ADMIN not in roles.values()
        return Actor(name, Role.ADMIN if role is Role.LABELLER and alone else role)

    def enter(self, name: str) -> Role:
        """Make sure that there is a row; returns what the person may do."""
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

    def set_role(self, name: str, role: Role, by: str) -> Role | None:
        """Set what somebody may do. As long as there is no admin, anybody may do that; then only an admin.

        Returns the role before, for :meth:`restore_role`; None for somebody new.
        """
        admins = self._check_admin(by)
        if admins == [name] and role is not Role.ADMIN:
            raise StoreError("There must be an admin: make somebody else one first.")
        known = {person.name: person.role for person in self.list()}
        self.enter(name)
        self.connection.execute(t.person.update().where(t.person.c.name == name).values(role=role.value))
        return known.get(name)

    def restore_role(self, name: str, role: Role | None) -> None:
        """Undo :meth:`set_role`."""
        own = t.person.c.name == name
        change = t.person.delete() if role is None else t.person.update().values(role=role.value)
        self.connection.execute(change.where(own))

    def check_removal(self, name: str, by: str) -> None:
        """Refuse to remove somebody who is not here, or the only admin, or for somebody who is no admin."""
        if self._check_admin(by) == [name] and len(self.list()) > 1:
            raise StoreError("There must be an admin: make somebody else one first.")
        known = [person.name for person in self.list()]
        if name not in known:
            raise UnknownNameError("person", name, known)

    def remove(self, name: str, by: str) -> None:
        """Remove a person's role and end their sessions; labellings and reviews are kept."""
        self.check_removal(name, by)
        self.connection.execute(t.sign_in.delete().where(t.sign_in.c.person == name))
        self.connection.execute(t.person.delete().where(t.person.c.name == name))

    def _check_admin(self, by: str) -> builtins.list[str]:
        """The admins, of whom ``by`` must be one if there are any."""
        self._require(Right.MANAGE)
        self._alone()
        admins = self.admins()
        if admins and by not in admins:
            raise StoreError(f"Only an admin may do that: {', '.join(admins)}.")
        return admins

    def check_may_write(self, name: str) -> Role:
        """Enter somebody who is about to change something; :class:`StoreError` for one who may only look."""
        self._require_self(name)
        role = self.enter(name)
        Actor(name, role).require(Right.LABEL)
        return role

    def touch(self, name: str) -> None:
        """Record that a person was active now."""
        self.enter(name)
        self.connection.execute(t.person.update().where(t.person.c.name == name).values(seen=now()))

    # --- who is here ------------------------------------------------------------------------------------------------

    def here(self, labelling_id: int, within_s: float = 20.0) -> builtins.list[Presence]:
        """Return who has the labelling open, by name, one entry per person."""
        c = t.label_presence.c
        query = sa.select(c.person, sa.func.max(c.seen)).where(c.labelling_id == labelling_id)
        query = query.where(c.seen >= now() - timedelta(seconds=within_s)).group_by(c.person).order_by(c.person)
        return [Presence(person, seen) for person, seen in self.connection.execute(query)]

    def heartbeat(self, labelling_id: int, person: str, session: str) -> None:
        """Record that a person has the labelling open in a browser session, and remove those who left.

        Raises
        ------
        StoreError
            If the labelling is not there any more.
        """
        if self.connection.scalar(sa.select(t.labelling.c.id).where(t.labelling.c.id == labelling_id)) is None:
            raise StoreError("This labelling is no longer there: it or its corpus was deleted. Choose another one.")
        c = t.label_presence.c
        own = (c.labelling_id == labelling_id) & (c.person == person) & (c.session == session)
        old = (c.labelling_id == labelling_id) & (c.seen < now() - _FORGET_AFTER)
        self.connection.execute(t.label_presence.delete().where(old))
        if self.connection.execute(t.label_presence.update().where(own).values(seen=now())).rowcount == 0:
            values = {"labelling_id": labelling_id, "person": person, "session": session}
            self.connection.execute(t.label_presence.insert().values(**values, seen=now()))
