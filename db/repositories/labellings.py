"""Labellings and their current state; ``label_steps`` has their histories."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
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
from themescope.db import label_tables as t
from themescope.db import tables as s
from themescope.db.access import Right, hidden_labellings, is_hidden, only_its_maker
from themescope.db.records import HIDDEN, NewLabelling, Snapshot
from themescope.db.repositories.base import NamedRepository, RecordRepository
from themescope.db.repositories.corpora import kept_rows
from themescope.db.repositories.people import People
from themescope.db.sql import bulk_insert, from_bytes, id_columns, now, to_bytes
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
        ready = sa.select(s.corpus.c.id).where(s.corpus.c.ready)
        removed = sa.select(s.article.c.id).where(s.article.c.removed.is_not(None))
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
            t.label.c.sentence_id == s.sentence.c.id,
            s.sentence.c.article_id == article_id,
        )
        corpus = sa.select(s.article.c.corpus_id).where(s.article.c.id == article_id).scalar_subquery()
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
        query = query.join(s.sentence, s.sentence.c.id == t.label.c.sentence_id)
        query = query.where(t.label.c.labelling_id == labelling_id, s.sentence.c.article_id == article_id)
        ids, numbers = id_columns(self.connection.execute(query.order_by(t.label.c.sentence_id)), 2)
        names = {row.number: row.name for row in self._clusters(labelling_id) if not row.deleted}
        return ids, numbers, names

    def snapshot(self, labelling_id: int) -> Snapshot:
        """Return the current state with versions."""
        c = t.label.c
        query = sa.select(c.sentence_id, c.number, c.uncertain, c.version).where(c.labelling_id == labelling_id)
        columns = id_columns(self.connection.execute(query.order_by(c.sentence_id)), 4)
        ids, numbers, uncertain, versions = columns
        written = sa.select(c.sentence_id, c.note).where(c.labelling_id == labelling_id, c.note != "")
        notes = {int(i): str(note) for i, note in self.connection.execute(written)}
        rows, clusters = self._clusters(labelling_id), self.clusters(labelling_id)
        step = self.newest_step(labelling_id)
        partition = Partition(ids, numbers, uncertain.astype(np.bool_), notes, clusters, self.entries(labelling_id))
        return Snapshot(partition, versions, {row.number: row.version for row in rows}, step)

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

    def _record(self, row: sa.Row[tuple[object, ...]]) -> LabellingRecord:
        values = dict(row._mapping)
        return LabellingRecord(**{**values, "kind": Sharing(values["kind"])})

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
        about = {
            "labelling_id": labelling_id,
            "wave": wave,
            "model": model,
            "step": step,
            "labels": labels,
            "created": now(),
        }
        blocks = {"sentence_ids": to_bytes(ids, "<i8"), "probabilities": to_bytes(probabilities, "<f2")}
        values = {"sentences": len(ids), "codes": codes.tolist(), "report": dict(report), **about, **blocks}
        return self.get(self._insert(t.prediction, **values))

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
