"""Enforcement of roles, and of what blind tasks hide, for every statement of a transaction begun for a person.

Pages, programs and tools use a store that knows the person. What its statements write is checked against the role;
tables not listed here require the admin role. What they read has no rows of hidden labellings, nor of what was made
from these, see :class:`Hidden`. Jobs and the command line use the store itself, with the rights of the owner of the
data folder, as do services that tell a person part of what is hidden.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.sql import visitors
from sqlalchemy.sql.dml import UpdateBase

from themescope.core.errors import AccessError
from themescope.core.records.stored import FAILURES_OF, Role
from themescope.db import tables as t

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
_STATE = (t.label_cluster, t.label_entry, t.label_start, t.label, t.label_step)
_WORK = (t.label_event, t.task_member, t.task_item, t.person, t.triplet_review, t.saved_view, t.selection)
_RIGHTS: Mapping[str, Right] = {
    t.label_presence.name: Right.LOOK,
    **{table.name: Right.LABEL for table in (t.labelling, *_STATE, *_WORK)},
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


# --- what blind tasks hide -------------------------------------------------------------------------------------------

_HIDDEN = "themescope_hidden"
_LABELLING, _SET, _MODEL = "labellings", "triplet_sets", "models"
_GUARDED: Mapping[str, Mapping[str, str]] = {
    t.labelling.name: {"id": _LABELLING},
    **{table.name: {"labelling_id": _LABELLING} for table in (*_STATE, t.label_presence, t.prediction)},
    t.label_event.name: {"step_id": "steps"},
    t.triplet_set.name: {"id": _SET},
    t.triplet.name: {"set_id": _SET},
    t.triplet_review.name: {"set_id": _SET},
    t.model.name: {"id": _MODEL},
    t.map_.name: {"model_id": _MODEL},
    t.run.name: {"model_id": _MODEL, "triplet_set_id": _SET},
    **{table.name: {"run_id": "runs"} for table in (t.score, t.assignment, t.margin)},
    t.job.name: {"id": "jobs"},
    t.job_metric.name: {"job_id": "jobs"},
    t.selection.name: {"id": "selections"},
    t.saved_view.name: {"id": "views"},
}
"""Table → column → what it refers to, the name of a property of :class:`Hidden`."""


def hidden_labellings(connection: Connection, person: str) -> frozenset[int]:
    """Return the ids of the labellings that a person may not see yet.

    These are other people's labellings of the articles in which the person has an item of a blind task that is not
    closed. Items that are done count, since they can be taken back. Codes of failures are also hidden from labellers
    who have not begun to code these.
    """
    with seeing_all(connection):  # asked at the beginning of every transaction
        found = connection.execute(_HIDING, {"person": person}).all()
        unbegun = frozenset(id for id, of_failures in found if of_failures)
        if unbegun:
            role = t.person.c.role
            own_role = connection.scalar(sa.select(role).where(t.person.c.name == person)) or Role.LABELLER.value
            managed = connection.scalar(sa.select(role).where(role == Role.ADMIN.value).limit(1)) is not None
            unbegun = unbegun if managed and own_role == Role.LABELLER.value else frozenset()
    return unbegun | {id for id, of_failures in found if not of_failures}


def _hiding() -> sa.CompoundSelect[Any]:
    """Return the query for other people's labellings of articles of open blind tasks, and unbegun codes of failures.

    The latter are blind codings where the person has none, and no blind task is closed.
    """
    person: sa.BindParameter[Any] = sa.bindparam("person")
    of, item, c = t.task.c, t.task_item.c, t.labelling.c
    open_ones = of.blind & of.closed.is_(None) & (item.person == person)
    left = sa.select(item.article_id).join(t.task, of.id == item.task_id).where(open_ones)
    corpora = sa.select(of.corpus_id).join(t.task_item, of.id == item.task_id).where(open_ones)
    label, sentence = t.label.c, t.sentence.c
    held = (label.labelling_id == c.id) & (label.sentence_id == sentence.id) & sentence.article_id.in_(left)
    own = t.labelling.alias()
    begun = sa.exists().where(own.c.corpus_id == c.corpus_id, own.c.owner == person)
    told = sa.exists().where(of.corpus_id == c.corpus_id, of.blind, of.closed.is_not(None))
    failures = sa.type_coerce(t.corpus.c.report, sa.Text).contains(f'"{FAILURES_OF}"')
    unbegun = sa.select(c.id, sa.true()).join(t.corpus, t.corpus.c.id == c.corpus_id)
    return sa.union_all(
        sa.select(c.id, sa.false()).where(c.owner != person, c.corpus_id.in_(corpora), sa.exists().where(held)),
        unbegun.where(c.blind, c.owner != person, failures, ~begun, ~told),
    )


_HIDING = _hiding()


class Hidden:
    """What a person may not read: labellings that a blind task hides, and what was made from them or names them.

    A labelling that was renamed or deleted since is hidden as long as others of its corpus are. The person's own
    selections and views are not.
    """

    def __init__(self, connection: Connection, person: str, labellings: frozenset[int]) -> None:
        self._connection, self._person, self.labellings = connection, person, labellings

    @cached_property
    def _known(self) -> list[Any]:
        c = t.labelling.c
        return [*self._connection.execute(sa.select(c.id, c.name, c.corpus_id, c.created))]

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(row.name for row in self._known if row.id in self.labellings)

    @cached_property
    def _open_names(self) -> frozenset[str]:
        return frozenset(row.name for row in self._known if row.id not in self.labellings)

    @cached_property
    def steps(self) -> sa.Select[Any]:
        """The steps of the labellings."""
        return sa.select(t.label_step.c.id).where(t.label_step.c.labelling_id.in_(self.labellings))

    @cached_property
    def _sets(self) -> dict[int, str]:
        c, corpora = t.triplet_set.c, {row.corpus_id for row in self._known if row.id in self.labellings}
        rows = self._connection.execute(sa.select(c.id, c.name, c.config).where(c.corpus_id.in_(corpora)))
        return {row.id: row.name for row in rows if self._tells(row.config)}

    @cached_property
    def _models(self) -> dict[int, str]:
        c = t.model.c
        rows = self._connection.execute(sa.select(c.id, c.name, c.triplet_set_id, c.metrics))
        return {r.id: r.name for r in rows if r.triplet_set_id in self._sets or self._tells(r.metrics)}

    @property
    def triplet_sets(self) -> list[int]:
        """The sets of triplets that were learned from the labellings."""
        return [*self._sets]

    @property
    def models(self) -> list[int]:
        """The models that were trained with these sets or labellings."""
        return [*self._models]

    @cached_property
    def runs(self) -> sa.Select[Any]:
        """The measurements of these models, or on these sets."""
        c = t.run.c
        return sa.select(c.id).where(c.model_id.in_(self.models) | c.triplet_set_id.in_(self.triplet_sets))

    @cached_property
    def jobs(self) -> list[int]:
        """The jobs with these labellings, sets and models that ended, if they have, after the first labelling began."""
        c, first = t.job.c, min(row.created for row in self._known if row.id in self.labellings)
        query = sa.select(c.id, c.title, c.args, c.result).where(c.ended.is_(None) | (c.ended >= first))
        names = {*self._names, *self._sets.values(), *self._models.values()}
        return [
            row.id
            for row in self._connection.execute(query)
            if self._tells([row.args, row.result], names) or any(f"“{name}”" in row.title for name in names)
        ]

    @cached_property
    def selections(self) -> list[int]:
        """Other people's selections whose origin names one of the labellings."""
        c = t.selection.c
        rows = self._connection.execute(sa.select(c.id, c.name, c.origin).where(c.person != self._person))
        return [row.id for row in rows if any(name in f"{row.name} {row.origin}" for name in self._names)]

    @cached_property
    def views(self) -> list[int]:
        """Other people's views of one of the labellings."""
        c = t.saved_view.c
        rows = self._connection.execute(sa.select(c.id, c.query).where(c.person != self._person))
        forms = {form for name in self._names for form in (name, quote(name), quote_plus(name))}
        return [row.id for row in rows if any(form in row.query for form in forms)]

    def _tells(self, value: Any, names: Collection[str] = frozenset(), key: str = "") -> bool:
        """Return whether JSON has one of the names, or under the key of a labelling one that the person cannot see."""
        if isinstance(value, Mapping):
            within = key if key == "labellings" else ""
            parts = [*((one, k) for k, one in value.items()), *((k, within) for k in value if within)]
            return any(self._tells(part, names, under) for part, under in parts)
        if isinstance(value, list):
            return any(self._tells(one, names, key) for one in value)
        if isinstance(value, str):
            closed = key in ("labelling", "labellings") and bool(value) and value not in self._open_names
            return closed or value in names
        return key == "labelling_id" and value in self.labellings

    def leave_out(self, statement: Any) -> Any:
        """Return a statement without the hidden rows of the tables from which it and its subqueries read."""

        def restrict(select: Any) -> None:
            for table in [one for found in select.get_final_froms() for one in _tables(found)]:
                for column, noun in _GUARDED.get(_name_of(table), {}).items():
                    with seeing_all(self._connection):
                        hidden = getattr(self, noun)
                    of = table.c[column]
                    select._where_criteria += (sa.or_(of.is_(None), of.not_in(hidden)),)

        return visitors.cloned_traverse(statement, {}, {"select": restrict})


def _tables(found: sa.FromClause) -> Iterator[Any]:
    """Yield the tables, also under other names, of a part of FROM."""
    if isinstance(found, sa.Join):
        yield from _tables(found.left)
        yield from _tables(found.right)
    elif _name_of(found):
        yield found


def _name_of(found: sa.FromClause) -> str:
    table = found.element if isinstance(found, sa.Alias) else found
    return table.name if isinstance(table, sa.Table) else ""


def look_as(connection: Connection, person: str) -> None:
    """Leave out of every later SELECT of this connection what a blind task hides from a person."""
    labellings = hidden_labellings(connection, person)
    if labellings:
        connection.execution_options(**{_HIDDEN: Hidden(connection, person, labellings)})


def is_hidden(connection: Connection, labelling_id: int) -> bool:
    """Return whether a labelling is hidden from the person of a transaction."""
    hidden = connection.get_execution_options().get(_HIDDEN)
    return hidden is not None and labelling_id in hidden.labellings


@contextmanager
def seeing_all(connection: Connection) -> Iterator[None]:
    """Leave nothing out: names that are taken, and what is hidden itself."""
    hidden = connection.get_execution_options().get(_HIDDEN)
    if hidden is None:
        yield
        return
    connection.execution_options(**{_HIDDEN: None})
    try:
        yield
    finally:
        connection.execution_options(**{_HIDDEN: hidden})


def enforce(engine: Engine) -> None:
    """Check every statement of this engine; bulk inserts call ``check_write`` themselves."""

    @event.listens_for(engine, "before_execute", retval=True)
    def _check(connection: Connection, clause: Any, many: Any, one: Any, options: Any) -> tuple[Any, Any, Any]:
        if isinstance(clause, UpdateBase):
            table = clause.table
            check_write(connection, table.name if isinstance(table, sa.Table) else "")
        hidden = connection.get_execution_options().get(_HIDDEN)
        if hidden is not None and isinstance(clause, sa.SelectBase):
            clause = hidden.leave_out(clause)
        return clause, many, one
