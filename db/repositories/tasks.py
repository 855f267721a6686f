"""Labelling tasks, their members and items."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from themescope.core.errors import DataError, StoreError
from themescope.db import label_tables as t
from themescope.db import tables as s
from themescope.db.records import ItemRecord, MemberRecord, NewItem, NewTask, Reason, TaskRecord
from themescope.db.repositories.base import NamedRepository
from themescope.db.repositories.people import People
from themescope.db.sql import bulk_insert, now
from themescope.db.types import clean_text

_INSTRUCTIONS = 20_000
_ITEM = ("task_id", "article_id", "first", "last", "person", "place", "reason")


class Tasks(NamedRepository[TaskRecord]):
    """Repository of tasks. Making one requires the admin role; its maker and admins change who has which item."""

    table, record = t.task, TaskRecord

    def create(self, new: NewTask, quotas: Mapping[str, int | None], items: Sequence[NewItem]) -> TaskRecord:
        """Add a task with its members and the items of each in their order.

        Raises ``DuplicateNameError`` if the name is taken, and ``AccessError`` without the admin role.
        """
        People(self.connection).check_may_write(new.person)
        text = clean_text(new.instructions).strip()
        if len(text) > _INSTRUCTIONS:
            raise DataError(f"Instructions have at most {_INSTRUCTIONS:,} characters; these have {len(text):,}.")
        values = {field: getattr(new, field) for field in NewTask.__dataclass_fields__}
        values |= {"name": self._free_name(t.task, new.name), "instructions": text, "settings": dict(new.settings)}
        id = self._insert(t.task, **values, created=now())
        for person, quota in quotas.items():
            self.connection.execute(t.task_member.insert().values(task_id=id, person=person, quota=quota))
        self._insert_items(id, items)
        return self.get(id)

    def list(self, corpus_id: int | None = None) -> builtins.list[TaskRecord]:
        """Return the tasks of complete corpora, or of one corpus, the newest first."""
        ready = sa.select(s.corpus.c.id).where(s.corpus.c.ready)
        query = self._select().where(t.task.c.corpus_id.in_(ready)).order_by(t.task.c.id.desc())
        return self._records(query if corpus_id is None else query.where(t.task.c.corpus_id == corpus_id))

    def members(self, task_id: int) -> builtins.list[MemberRecord]:
        """Return the people of a task, by name."""
        c = t.task_member.c
        query = sa.select(c.task_id, c.person, c.labelling_id, c.quota).where(c.task_id == task_id)
        return [MemberRecord(*row) for row in self.connection.execute(query.order_by(c.person))]

    def of_labelling(self, labelling_id: int) -> tuple[TaskRecord, str] | None:
        """Return the task and the person that a labelling was made for; None for other labellings."""
        c = t.task_member.c
        row = self._row(sa.select(c.task_id, c.person).where(c.labelling_id == labelling_id))
        return None if row is None else (self.get(row.task_id), str(row.person))

    def items(self, task_id: int, person: str | None = None) -> builtins.list[ItemRecord]:
        """Return the items of a task (of one person), by person and place, without those of removed articles."""
        c = t.task_item.c
        query = sa.select(*_item_columns()).join(s.article, s.article.c.id == c.article_id)
        query = query.where(c.task_id == task_id, s.article.c.removed.is_(None)).order_by(c.person, c.place, c.id)
        if person is not None:
            query = query.where(c.person == person)
        return [_item(row) for row in self.connection.execute(query)]

    def item(self, item_id: int) -> ItemRecord:
        """Return an item; raise :class:`UnknownNameError` if there is none."""
        return _item(self._by_id(t.task_item, _item_columns(), item_id))

    # --- work -------------------------------------------------------------------------------------------------------

    def set_labelling(self, task_id: int, person: str, labelling_id: int) -> None:
        """Record the labelling of a person; raises ``StoreError`` if there is another one."""
        self._require_self(person)
        c = t.task_member.c
        free = (c.task_id == task_id) & (c.person == person) & c.labelling_id.is_(None)
        if self.connection.execute(t.task_member.update().where(free).values(labelling_id=labelling_id)).rowcount == 0:
            raise StoreError("This task already has a coding of yours. Load the page again.")

    def start(self, item_id: int) -> None:
        """Record that its person works on an item; nothing for one that was started before."""
        self._set_times(item_id, only=t.task_item.c.opened.is_(None), opened=now())

    def finish(self, item_id: int) -> None:
        """Record that an item is done."""
        self._set_times(item_id, only=t.task_item.c.done.is_(None), done=now())

    def reopen(self, item_id: int) -> None:
        """Record that an item is not done after all."""
        self._set_times(item_id, only=sa.true(), done=None)

    def _set_times(self, item_id: int, only: sa.ColumnElement[bool], **values: Any) -> None:
        item = self.item(item_id)
        self._require_self(item.person)
        People(self.connection).check_may_write(item.person)
        if self.get(item.task_id).closed is not None:
            raise StoreError("This task is closed. Its maker or an admin can open it again.")
        self.connection.execute(t.task_item.update().where(t.task_item.c.id == item_id, only).values(**values))

    # --- management -------------------------------------------------------------------------------------------------

    def reassign(self, task_id: int, item_ids: Collection[int], person: str) -> int:
        """Give items that are not done to a member, at the end of the list; return how many.

        Items that the person has already are left out, and of several people's items with the same sentences the
        person gets one.
        """
        self._check_maker(task_id)
        self._check_member(task_id, person)
        own = self.items(task_id, person)
        known, place = {item.range for item in own}, max((item.place for item in own), default=-1)
        moved = 0
        for item in self.items(task_id):
            if item.id in item_ids and item.done is None and item.range not in known:
                known.add(item.range)
                moved += 1
                values = {"person": person, "place": place + moved, "opened": None}
                self.connection.execute(t.task_item.update().where(t.task_item.c.id == item.id).values(**values))
        return moved

    def add_items(self, task_id: int, items: Sequence[NewItem]) -> int:
        """Add items to people's lists, those for disputed sentences; return how many were new."""
        self._check_maker(task_id)
        for person in {item.person for item in items}:
            self._check_member(task_id, person)
        known = {(item.person, item.range) for item in self.items(task_id)}
        new = [i for i in items if (i.person, (i.article_id, i.first, i.last)) not in known]
        self._insert_items(task_id, new)
        return len(new)

    def add_member(self, task_id: int, person: str) -> None:
        """Add a person, who gets items by reassignment."""
        self._check_maker(task_id)
        if person not in {member.person for member in self.members(task_id)}:
            self.connection.execute(t.task_member.insert().values(task_id=task_id, person=person))

    def close(self, task_id: int, closed: bool) -> None:
        """Close a task, or open it again."""
        self._check_maker(task_id)
        self.connection.execute(t.task.update().where(t.task.c.id == task_id).values(closed=now() if closed else None))

    def delete(self, task_id: int) -> None:
        """Delete a task; the labellings of its people stay."""
        self._check_maker(task_id)
        self._delete(t.task, task_id)

    def _check_maker(self, task_id: int) -> None:
        """Raise ``AccessError`` unless the person made the task or is an admin; changes of it wait for each other."""
        self._lock_row(t.task, task_id)
        self._require_own(self.get(task_id).person)

    def _check_member(self, task_id: int, person: str) -> None:
        if person not in {member.person for member in self.members(task_id)}:
            raise DataError(
                f"{person or 'The person without a name'} is not a member of this task. Add the person first."
            )

    def _insert_items(self, task_id: int, items: Sequence[NewItem]) -> None:
        query = sa.select(t.task_item.c.person, sa.func.max(t.task_item.c.place))
        query = query.where(t.task_item.c.task_id == task_id).group_by(t.task_item.c.person)
        places = Counter({person: int(place) + 1 for person, place in self.connection.execute(query)})
        rows = []
        for item in items:
            place = places[item.person]
            places[item.person] += 1
            rows.append((task_id, item.article_id, item.first, item.last, item.person, place, item.reason.value))
        bulk_insert(self.connection, t.task_item, _ITEM, rows)


def _item_columns() -> list[sa.Column[Any]]:
    return [t.task_item.c[name] for name in ItemRecord.__dataclass_fields__]


def _item(row: Any) -> ItemRecord:
    values = dict(zip(ItemRecord.__dataclass_fields__, row, strict=True))
    return ItemRecord(**{**values, "reason": Reason(values["reason"])})
