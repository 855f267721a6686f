"""Labellings and their current state, and labelling tasks; ``label_steps`` has the histories of labellings."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from themescope.core.errors import AccessError, DataError, StoreError
from themescope.core.labelling.partition import (
    UNASSIGNED,
    Cluster,
    Entry,
    EntryKey,
    EntryKind,
    Partition,
    distinct_names,
    unpacked,
)
from themescope.core.labelling.provenance import Maker, Provenance, Source
from themescope.core.records.stored import LabellingRecord, PredictionRecord, Role, Sharing
from themescope.core.text.cleaning import folded_name
from themescope.core.types import Ids
from themescope.db import tables as t
from themescope.db.access import Right, hidden_labellings, is_hidden, only_its_maker
from themescope.db.records import (
    HIDDEN,
    ItemRecord,
    MemberRecord,
    NewItem,
    NewLabelling,
    NewTask,
    Reason,
    Snapshot,
    TaskRecord,
)
from themescope.db.repositories.corpora import kept_rows
from themescope.db.repositories.people import People
from themescope.db.sql import NamedRepository, RecordRepository, bulk_insert, from_bytes, id_columns, now, to_bytes
from themescope.db.types import clean_text, dump_json

LABEL = ("labelling_id", "sentence_id", "number", "uncertain", "note", "version")
_CLUSTER = ("labelling_id", "number", "name", "colour", "deleted", "version", "parent", "name_key")
_ENTRY = ("labelling_id", "kind", "key", "value")
_START = ("labelling_id", "sentence_id", "source", "coder", "probability")


class Labellings(NamedRepository[LabellingRecord]):
    """Repository of labellings. Deleting one hides it until :meth:`purge`."""

    table, record = t.labelling, LabellingRecord

    def create(self, new: NewLabelling, start: Partition, labels: Provenance | None = None) -> LabellingRecord:
        """Add a labelling with the initial state ``start``; ``labels`` say who made it, if the origin does not.

        Raises ``DuplicateNameError`` if the name is taken, even by a deleted labelling, and ``StoreError`` if the owner
        may only view.
        """
        People(self.connection).check_may_write(new.owner)
        return self._enter(new, distinct_names(start), labels)

    def add_imported(self, new: NewLabelling, start: Partition, labels: Provenance | None) -> LabellingRecord:
        """Add an imported labelling, whatever the rights of its owner here. Requires the admin role.

        ``LabelSteps.take_over`` follows, which numbers clusters of one name that versions before 0.3 could have.
        """
        self._require(Right.MANAGE)
        People(self.connection).enter(new.owner)
        return self._enter(new, start, labels)

    def _enter(self, new: NewLabelling, start: Partition, labels: Provenance | None) -> LabellingRecord:
        values = {f: getattr(new, f) for f in NewLabelling.__dataclass_fields__}
        values |= {"name": self._free_name(t.labelling, new.name), "kind": new.kind.value, "origin": dict(new.origin)}
        id = self._insert(t.labelling, **values, sentences=len(start.ids), created=now())
        seen: set[str] = set()
        clusters = []
        for c in start.clusters.values():
            key = folded_name(c.name)
            clusters.append((id, c.number, c.name, c.colour, False, 0, c.parent, None if key in seen else key))
            seen.add(key)
        bulk_insert(self.connection, t.label_cluster, _CLUSTER, clusters)
        entries = [(id, *key, dump_json(entry.packed())) for key, entry in start.entries.items()]
        bulk_insert(self.connection, t.label_entry, _ENTRY, entries)
        columns = (start.ids.tolist(), start.numbers.tolist(), start.uncertain.astype(np.int64).tolist())
        rows = ((id, i, number, mark, start.notes.get(i, ""), 0) for i, number, mark in zip(*columns, strict=True))
        bulk_insert(self.connection, t.label, LABEL, rows)
        if labels is not None:
            made_rows = np.flatnonzero((labels.maker >= 0) & (start.numbers != UNASSIGNED)).tolist()
            cells = ((start.ids[row], *labels.cells(row)) for row in made_rows)
            made = ((id, int(i), source, clean_text(coder), sure) for i, source, coder, sure in cells)
            bulk_insert(self.connection, t.label_start, _START, made)
        return self.get(id)

    def start_labels(self, labelling_id: int) -> dict[int, tuple[Maker, float | None]]:
        """Return sentence → who made its label at the start and its probability, where they were stored."""
        c = t.label_start.c
        query = sa.select(c.sentence_id, c.source, c.coder, c.probability).where(c.labelling_id == labelling_id)
        makers: dict[tuple[str, str], Maker] = {}
        found = {}
        for id, source, coder, probability in self.connection.execute(query):
            maker = makers.setdefault((source, coder), Maker(Source(source), coder))
            found[id] = maker, probability
        return found

    def list(self, corpus_id: int | None = None, deleted: bool = False) -> builtins.list[LabellingRecord]:
        """Return the (deleted) labellings of complete corpora, or of one corpus, oldest first.

        Those of an article that was removed are left out.
        """
        c = t.labelling.c
        ready = sa.select(t.corpus.c.id).where(t.corpus.c.ready)
        removed = sa.select(t.article.c.id).where(t.article.c.removed.is_not(None))
        query = self._select().where(c.corpus_id.in_(ready)).order_by(c.id)
        query = query.where(c.article_id.is_(None) | c.article_id.not_in(removed))
        query = query.where(c.deleted.is_not(None) if deleted else c.deleted.is_(None))
        if corpus_id is not None:
            query = query.where(c.corpus_id == corpus_id)
        return self._records(query)

    def of_article(self, article_id: int) -> builtins.list[LabellingRecord]:
        """Return the labellings with sentences of an article, oldest first."""
        c = t.labelling.c
        held = sa.exists().where(
            t.label.c.labelling_id == c.id,
            t.label.c.sentence_id == t.sentence.c.id,
            t.sentence.c.article_id == article_id,
        )
        corpus = sa.select(t.article.c.corpus_id).where(t.article.c.id == article_id).scalar_subquery()
        query = self._select().where(c.corpus_id == corpus, c.deleted.is_(None))
        query = query.where(sa.or_(c.article_id == article_id, sa.and_(c.article_id.is_(None), held)))
        return self._records(query.order_by(c.id))

    def hidden_from(self, person: str) -> frozenset[int]:
        """Return :func:`themescope.db.access.hidden_labellings`."""
        return hidden_labellings(self.connection, person)

    def get(self, id: int) -> LabellingRecord:
        """Return a labelling; raise ``AccessError`` if a blind task hides it from the person of the transaction."""
        if is_hidden(self.connection, id):
            raise AccessError(HIDDEN)
        return super().get(id)

    def placed(self, labelling_id: int, article_id: int) -> tuple[Ids, Ids, dict[int, str]]:
        """Return the sentences (n,) of an article in a labelling, their cluster numbers (n,), and number → name."""
        query = sa.select(t.label.c.sentence_id, t.label.c.number)
        query = query.join(t.sentence, t.sentence.c.id == t.label.c.sentence_id)
        query = query.where(t.label.c.labelling_id == labelling_id, t.sentence.c.article_id == article_id)
        ids, numbers = id_columns(self.connection.execute(query.order_by(t.label.c.sentence_id)), 2)
        names = {row.number: row.name for row in self._clusters(labelling_id) if not row.deleted}
        return ids, numbers, names

    def snapshot(self, labelling_id: int) -> Snapshot:
        """Return the current state with versions."""
        c = t.label.c
        query = sa.select(c.sentence_id, c.number, c.uncertain, c.version).where(c.labelling_id == labelling_id)
        ids, numbers, uncertain, versions = id_columns(self.connection.execute(query.order_by(c.sentence_id)), 4)
        written = sa.select(c.sentence_id, c.note).where(c.labelling_id == labelling_id, c.note != "")
        notes = {int(i): str(note) for i, note in self.connection.execute(written)}
        rows, clusters = self._clusters(labelling_id), self.clusters(labelling_id)
        partition = Partition(ids, numbers, uncertain.astype(np.bool_), notes, clusters, self.entries(labelling_id))
        return Snapshot(partition, versions, {row.number: row.version for row in rows}, self.newest_step(labelling_id))

    def page(self, labelling_id: int, number: int | None, offset: int, limit: int) -> tuple[Partition, int]:
        """Return some sentences of a labelling (in one cluster) as a state without entries, and the number of all."""
        c = t.label.c
        query = sa.select(c.sentence_id, c.number, c.uncertain, c.note).where(c.labelling_id == labelling_id)
        if number is not None:
            query = query.where(c.number == number)
        total = self._number(sa.select(sa.func.count()).select_from(query.subquery()))
        rows = [*self.connection.execute(query.order_by(c.sentence_id).offset(offset).limit(limit))]
        ids, numbers, uncertain = (np.array([row[at] for row in rows], np.int64) for at in range(3))
        notes = {row.sentence_id: row.note for row in rows if row.note}
        return Partition(ids, numbers, uncertain.astype(np.bool_), notes, self.clusters(labelling_id)), total

    def newest_step(self, labelling_id: int) -> int:
        """Return the id of the last step; 0 if there is none."""
        return self._number(sa.select(sa.func.max(t.label_step.c.id)).where(_steps_of(labelling_id)))

    def clusters(self, labelling_id: int) -> dict[int, Cluster]:
        """Return the clusters of a labelling by number."""
        rows = [row for row in self._clusters(labelling_id) if not row.deleted]
        return {row.number: Cluster(row.number, row.name, row.colour, row.parent) for row in rows}

    def entries(self, labelling_id: int) -> dict[EntryKey, Entry]:
        """Return the entries of a labelling."""
        c = t.label_entry.c
        query = sa.select(c.kind, c.key, c.value).where(c.labelling_id == labelling_id).order_by(c.kind, c.key)
        return {(EntryKind(kind), key): unpacked(value) for kind, key, value in self.connection.execute(query)}

    def _clusters(self, labelling_id: int) -> builtins.list[sa.Row[tuple[object, ...]]]:
        c = t.label_cluster.c
        columns = (c.number, c.name, c.colour, c.deleted, c.version, c.parent)
        query = sa.select(*columns).where(c.labelling_id == labelling_id)
        return [*self.connection.execute(query.order_by(c.number))]

    # --- the labelling itself ---------------------------------------------------------------------------------------

    def rename(self, labelling_id: int, name: str, person: str) -> LabellingRecord:
        """Rename a labelling."""
        self.check_may_change(labelling_id, person)
        if self.get(labelling_id).name != name.strip():
            self._set(labelling_id, name=self._free_name(t.labelling, name))
        return self.get(labelling_id)

    def share(self, labelling_id: int, kind: Sharing, blind: bool, person: str) -> LabellingRecord:
        """Set sharing and blind mode; requires the owner or an admin."""
        self._check_owner(labelling_id, person)
        self._set(labelling_id, kind=kind.value, blind=blind)
        return self.get(labelling_id)

    def delete(self, labelling_id: int, person: str) -> None:
        """Hide a labelling with its history; requires the owner or an admin."""
        self._check_owner(labelling_id, person)
        self._set(labelling_id, deleted=now())

    def restore(self, labelling_id: int, person: str) -> None:
        """Show a deleted labelling again."""
        self._check_owner(labelling_id, person)
        self._set(labelling_id, deleted=None)

    def purge(self, labelling_id: int, person: str) -> None:
        """Delete a labelling with its history permanently; requires the owner or an admin."""
        self._check_owner(labelling_id, person)
        steps = sa.select(t.label_step.c.id).where(_steps_of(labelling_id))
        self.connection.execute(t.label_event.delete().where(t.label_event.c.step_id.in_(steps)))
        self._delete(t.labelling, labelling_id)

    def check_may_change(self, labelling_id: int, person: str) -> None:
        """Raise :class:`StoreError` if the person may not change this labelling; a change follows."""
        self.check_editable(labelling_id, person, People(self.connection).check_may_write(person))

    def check_editable(self, labelling_id: int, person: str, role: Role) -> None:
        """Raise :class:`StoreError` if a person with this role may not change this labelling."""
        record = self.get(labelling_id)
        if record.deleted is not None:
            raise StoreError(f"The coding {record.name!r} has been deleted. Restore it first.")
        if not record.editable_by(person, role):
            raise AccessError(
                f"This coding belongs to {record.owner or 'the person without a name'}. "
                "Make a copy, or ask its owner to share it."
            )

    def _record(self, row: Any) -> LabellingRecord:
        return LabellingRecord(**{**row._mapping, "kind": Sharing(row.kind)})

    def _check_owner(self, labelling_id: int, person: str) -> None:
        role = People(self.connection).check_may_write(person)
        record = self.get(labelling_id)
        if record.owner != person and role is not Role.ADMIN:
            raise AccessError(only_its_maker(record.owner))

    def _set(self, labelling_id: int, **values: object) -> None:
        self.connection.execute(t.labelling.update().where(t.labelling.c.id == labelling_id).values(**values))


def _steps_of(labelling_id: int) -> sa.ColumnElement[bool]:
    return t.label_step.c.labelling_id == labelling_id


class Predictions(RecordRepository[PredictionRecord]):
    """Repository of predictions, the newest of each wave of a labelling. Writing requires the admin role."""

    table, record = t.prediction, PredictionRecord

    def replace(
        self,
        labelling_id: int,
        *,
        model: str,
        step: int,
        labels: int,
        codes: Ids,
        report: Mapping[str, Any],
        ids: Ids,
        probabilities: npt.NDArray[np.floating],
        wave: str = "",
    ) -> PredictionRecord:
        """Store the (n, k) probabilities of k codes of n sentences in place of earlier ones of the same wave."""
        if probabilities.shape != (len(ids), len(codes)):
            raise DataError(f"{len(ids)} sentences and {len(codes)} codes need a probability for each pair.")
        c = t.prediction.c
        self.connection.execute(t.prediction.delete().where(c.labelling_id == labelling_id, c.wave == wave))
        about = {"labelling_id": labelling_id, "wave": wave, "model": model, "step": step, "labels": labels}
        blocks = {"sentence_ids": to_bytes(ids, "<i8"), "probabilities": to_bytes(probabilities, "<f2")}
        values = {"sentences": len(ids), "codes": codes.tolist(), "report": dict(report), **about, **blocks}
        return self.get(self._insert(t.prediction, **values, created=now()))

    def newest(self, labelling_id: int) -> PredictionRecord | None:
        """Return the predictions of the rest of a labelling, without the probabilities."""
        return next((found for found in self.list(labelling_id) if not found.wave), None)

    def list(self, labelling_id: int) -> list[PredictionRecord]:
        """Return the predictions of a labelling, also of its waves, the oldest first, without the probabilities."""
        c = t.prediction.c
        found = self._records(self._select().where(c.labelling_id == labelling_id).order_by(c.id))
        return [one for one in found if not one.wave or len(self.values(one.id)[0])]

    def values(self, id: int) -> tuple[Ids, npt.NDArray[np.float16]]:
        """Return the ids (n,) of the sentences, ascending, and the probabilities (n, k) of the codes.

        Removed sentences are left out.
        """
        row = self._by_id(t.prediction, [t.prediction.c.sentence_ids, t.prediction.c.probabilities], id)
        ids = from_bytes(row.sentence_ids, "<i8")
        kept = kept_rows(self.connection, ids)
        return ids[kept], from_bytes(row.probabilities, "<f2").reshape(len(ids), -1)[kept]

    def _record(self, row: Any) -> PredictionRecord:
        values = dict(zip(PredictionRecord.__dataclass_fields__, row, strict=True))
        return PredictionRecord(**values | {"codes": tuple(map(int, values["codes"]))})


# Labelling tasks, their members and items

_INSTRUCTIONS = 20_000
_ITEM = ("task_id", "article_id", "first", "last", "person", "place", "reason")
_ITEM_COLUMNS = [t.task_item.c[name] for name in ItemRecord.__dataclass_fields__]


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
        ready = sa.select(t.corpus.c.id).where(t.corpus.c.ready)
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
        query = sa.select(*_ITEM_COLUMNS).join(t.article, t.article.c.id == c.article_id)
        query = query.where(c.task_id == task_id, t.article.c.removed.is_(None)).order_by(c.person, c.place, c.id)
        if person is not None:
            query = query.where(c.person == person)
        return [_item(row) for row in self.connection.execute(query)]

    def item(self, item_id: int) -> ItemRecord:
        """Return an item; raise :class:`UnknownNameError` if there is none."""
        return _item(self._by_id(t.task_item, _ITEM_COLUMNS, item_id))

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
            named = person or "The person without a name"
            raise DataError(f"{named} is not a member of this task. Add the person first.")

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


def _item(row: Any) -> ItemRecord:
    values = dict(zip(ItemRecord.__dataclass_fields__, row, strict=True))
    return ItemRecord(**{**values, "reason": Reason(values["reason"])})
