"""Histories of labellings. A labelling changes only by appending a step."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import Any

import numpy as np
import sqlalchemy as sa

from themescope.core.errors import DuplicateNameError, StoreError
from themescope.core.labelling.changes import (
    Change,
    ChangeSet,
    ClusterChange,
    EntryChange,
    Field,
    Kind,
    SentenceChanges,
    StaleChangeError,
    Step,
    apply,
    difference,
    renumbered,
)
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import OperationKind
from themescope.core.labelling.partition import (
    UNASSIGNED,
    Cluster,
    EntryKind,
    Partition,
    broken,
    distinct_names,
    misplaced,
    unpacked,
)
from themescope.core.text.cleaning import folded_name
from themescope.db import tables as t
from themescope.db.access import Right
from themescope.db.records import Draft, Snapshot
from themescope.db.repositories.labellings import LABEL, Labellings
from themescope.db.sql import Repository, bulk_insert, id_chunks, id_columns, now, within
from themescope.db.types import dump_json

_CLUSTER_ITSELF = "itself"
_ENTRY = "entry"
_EVENT = ("step_id", "position", "field", "sentence_id", "old", "new", "probability")
_COLUMN = {Field.CLUSTER: t.label.c.number, Field.UNCERTAIN: t.label.c.uncertain, Field.NOTE: t.label.c.note}
_STEP = [
    *(t.label_step.c[name] for name in ("id", "kind", "operation", "summary", "person", "created", "target")),
    *(t.label_step.c[name] for name in ("reason", "selection_method", "size", "coder")),
]

_CHANGE = [t.label_event.c[name] for name in ("step_id", "field", "sentence_id", "old", "new", "probability")]
_COPIED = ("operation", "summary", "person", "reason", "selection_method", "coder")


class LabelSteps(Repository):
    """Repository of the steps of labellings, which are only appended and read."""

    def append(
        self, labelling_id: int, draft: Draft, change_set: ChangeSet, snapshot: Snapshot, of_corpus: bool = False
    ) -> tuple[Step, ChangeSet]:
        """Append a step: write events, state and versions in this transaction.

        With ``of_corpus`` the step follows from an edit of the corpus, whose rights count; deleted labellings follow it
        as well.

        ``snapshot`` is the state that the person saw. New clusters get other numbers than in ``change_set`` if another
        person created clusters meanwhile; the change set as written is returned.

        Raises ``StaleChangeError`` if a sentence or cluster of the change set was changed since the snapshot; nothing
        is written. Raises ``DuplicateNameError`` if another cluster has a new name meanwhile, and ``StoreError`` if the
        person may not change this labelling.
        """
        # On PostgreSQL writers of one labelling wait for each other here, as all writers do on SQLite, so the steps of
        # a labelling are committed in the order of their ids, and a reader that continues after a step misses none.
        self._lock_row(t.labelling, labelling_id)
        if not of_corpus:
            Labellings(self.connection).check_may_change(labelling_id, draft.person)
        numbers = sa.select(sa.func.max(t.label_cluster.c.number))
        issued = self._number(numbers.where(t.label_cluster.c.labelling_id == labelling_id))
        fresh = [number for number in change_set.created() if number > snapshot.issued]
        if issued != snapshot.issued and fresh:
            change_set = renumbered(change_set, {number: place for place, number in enumerate(fresh, issued + 1)})
        apply(snapshot.partition, change_set)
        self._check(labelling_id, change_set, snapshot, draft.person)
        keys = self._free_keys(labelling_id, change_set)
        step = self._enter(labelling_id, draft, change_set)
        self._write(labelling_id, step.id, change_set)
        self._set_keys(labelling_id, keys)
        self._check_levels(labelling_id, change_set, snapshot, draft.person)
        return step, change_set

    def take_over(self, labelling_id: int, log: Sequence[tuple[Step, ChangeSet]], start: Partition) -> None:
        """Add the steps of another store, with their people and times, to a labelling without steps.

        Clusters that have the name of another one at the end are numbered, in a further step.

        Requires the admin role, because the steps name other people. Raises ``StoreError`` if the labelling has steps.
        """
        self._require(Right.MANAGE)
        if self.list(labelling_id, limit=1):
            raise StoreError("This coding already has a history, so another one cannot be imported into it.")
        names = {0: 0}
        state = start
        for old, change_set in log:
            state = apply(state, change_set)
            values = {name: getattr(old, name) for name in (*_COPIED, "size")}
            target = None if old.target is None else names[old.target]
            values |= {"kind": old.kind.value, "created": old.when, "target": target}
            names[old.id] = self._insert(t.label_step, labelling_id=labelling_id, **values)
            self._write(labelling_id, names[old.id], change_set)
        distinct = distinct_names(state)
        numbered = difference(state, distinct)
        if numbered:
            summary = f"{counted(len(numbered.changes), 'cluster')} numbered: another one has the name"
            step = self._enter(labelling_id, Draft(Kind.DO, OperationKind.RENAME.value, summary, ""), numbered)
            self._write(labelling_id, step.id, numbered)
        self._set_keys(labelling_id, {number: folded_name(c.name) for number, c in distinct.clusters.items()})

    def _free_keys(self, labelling_id: int, change_set: ChangeSet) -> dict[int, str]:
        """Return the keys of the names that are written; raise ``DuplicateNameError`` if another cluster has one."""
        changes = {change.number: change.new for change in change_set if isinstance(change, ClusterChange)}
        if not changes:
            return {}
        c = t.label_cluster.c
        query = sa.select(c.number, c.name_key, c.name).where(c.labelling_id == labelling_id, c.name_key.is_not(None))
        taken = {row.name_key: row.name for row in self.connection.execute(query) if row.number not in changes}
        keys = {}
        for number, new in changes.items():
            if new is not None:
                keys[number] = key = folded_name(new.name)
                if key in taken:
                    raise DuplicateNameError("cluster", taken[key])
                taken[key] = new.name
        return keys

    def _set_keys(self, labelling_id: int, keys: Mapping[int, str]) -> None:
        """Write the keys of names, which the database holds to be unique, after all names that are given up."""
        c = t.label_cluster.c
        for number, key in keys.items():
            one = (c.labelling_id == labelling_id) & (c.number == number)
            self.connection.execute(t.label_cluster.update().where(one).values(name_key=key))

    def _write(self, labelling_id: int, step_id: int, change_set: ChangeSet) -> None:
        bulk_insert(self.connection, t.label_event, _EVENT, _events(step_id, change_set))
        for change in change_set:
            if isinstance(change, ClusterChange):
                of, new = t.label_cluster, change.new
                own = (of.c.labelling_id == labelling_id) & (of.c.number == change.number)
                values: dict[str, Any] = {"deleted": new is None, "version": step_id, "name_key": None}
                if new is not None:
                    values |= {"name": new.name, "colour": new.colour, "parent": new.parent}
                if self.connection.execute(of.update().where(own).values(**values)).rowcount == 0:
                    values |= {"labelling_id": labelling_id, "number": change.number}
                    self.connection.execute(of.insert().values(**values))
            elif isinstance(change, EntryChange):
                c = t.label_entry.c
                one = (c.labelling_id == labelling_id) & (c.kind == change.kind.value) & (c.key == change.key)
                self.connection.execute(t.label_entry.delete().where(one))
                if change.new is not None:
                    place = {"labelling_id": labelling_id, "kind": change.kind.value, "key": change.key}
                    self.connection.execute(t.label_entry.insert().values(**place, value=change.new.packed()))
            else:
                self._write_sentences(labelling_id, change, step_id)

    def _check(self, labelling_id: int, change_set: ChangeSet, snapshot: Snapshot, person: str) -> None:
        """Check that changed items are as in the snapshot and that no sentence is put into a missing cluster."""
        sentences = change_set.sentences()
        # A sentence that is not in the snapshot has a version that none has in the table.
        seen = np.full(len(sentences), -1, np.int64)
        known = np.isin(sentences, snapshot.partition.ids)
        seen[known] = snapshot.versions[snapshot.partition.rows(sentences[known])]
        c = t.label.c
        changed: set[int] = set()
        for chunk in id_chunks(sentences):
            query = sa.select(c.sentence_id, c.version).where(c.labelling_id == labelling_id)
            query = query.where(within(self.connection, c.sentence_id, chunk)).order_by(c.sentence_id)
            ids, versions = id_columns(self.connection.execute(query), 2)
            at = np.searchsorted(sentences, ids)
            changed.update([int(i) for i in ids[seen[at] != versions]])
        clusters = self._changed_clusters(labelling_id, change_set, snapshot)
        if change_set.deleted():
            # Sentences that another person moved to a cluster that is to be deleted.
            query = sa.select(c.sentence_id).where(c.labelling_id == labelling_id, c.number.in_(change_set.deleted()))
            changed |= {*self.connection.scalars(query)} - {*sentences.tolist()}
        changes = [change for change in change_set if isinstance(change, EntryChange)]
        there = Labellings(self.connection).entries(labelling_id) if changes else {}
        differ = any(there.get((change.kind, change.key)) != change.old for change in changes)
        if changed or clusters or differ:
            raise self._stale(labelling_id, sorted(changed), sorted(clusters), snapshot.step, person)

    def _check_levels(self, labelling_id: int, change_set: ChangeSet, snapshot: Snapshot, person: str) -> None:
        """Check that the written sub-themes and combinations, with those of other people, have clusters that exist."""
        if not any(isinstance(change, ClusterChange | EntryChange) for change in change_set):
            return
        known = Labellings(self.connection)
        clusters = known.clusters(labelling_id)
        wrong = misplaced(clusters) or broken(clusters, known.entries(labelling_id))
        if wrong:
            raise self._stale(labelling_id, [], wrong, snapshot.step, person)

    def _changed_clusters(self, labelling_id: int, change_set: ChangeSet, snapshot: Snapshot) -> set[int]:
        c = t.label_cluster.c
        query = sa.select(c.number, c.version, c.deleted).where(c.labelling_id == labelling_id)
        there = {row.number: row for row in self.connection.execute(query)}
        changed = set()
        for change in change_set:
            if isinstance(change, ClusterChange):
                known = there.get(change.number)
                if known is not None and known.version != snapshot.cluster_versions.get(change.number):
                    changed.add(change.number)
            elif isinstance(change, SentenceChanges) and change.field is Field.CLUSTER:
                used = {int(number) for number in np.unique(change.new)} - {UNASSIGNED, *change_set.created()}
                changed |= {number for number in used if number not in there or there[number].deleted}
        return changed

    def _stale(
        self, labelling_id: int, sentences: list[int], clusters: list[int], seen: int, person: str
    ) -> StaleChangeError:
        """Return the conflict error, which names the other person; it may be the same one in another tab."""
        later = self.list(labelling_id, after=seen)
        named = {step.person: step.person or "the person without a name" for step in later}
        named |= {person: "You, in another tab,"} if person in named else {}
        people = sorted(named.values()) or ["somebody else"]
        last = f"The last change was “{later[-1].summary}”." if later else ""
        message = f"{' and '.join(people)} changed these items after you opened them. {last}".strip()
        return StaleChangeError(sentences, clusters, message)

    def _enter(self, labelling_id: int, draft: Draft, change_set: ChangeSet) -> Step:
        values = {name: getattr(draft, name) for name in (*_COPIED, "target")}
        values |= {"kind": draft.kind.value, "created": now(), "size": len(change_set.sentences())}
        id = self._insert(t.label_step, labelling_id=labelling_id, **values)
        return _step(self._row(sa.select(*_STEP).where(t.label_step.c.id == id)))

    def _write_sentences(self, labelling_id: int, change: SentenceChanges, version: int) -> None:
        c = t.label.c
        if change.field is Field.MEMBER:
            enter = np.asarray(change.new, dtype=bool)
            rows = ((labelling_id, id, UNASSIGNED, 0, "", version) for id in change.ids[enter].tolist())
            bulk_insert(self.connection, t.label, LABEL, rows)
            for chunk in id_chunks(change.ids[~enter]):
                these = (c.labelling_id == labelling_id) & within(self.connection, c.sentence_id, chunk)
                self.connection.execute(t.label.delete().where(these))
            number = t.labelling.c.sentences + int(enter.sum()) - int((~enter).sum())
            self.connection.execute(
                t.labelling.update().where(t.labelling.c.id == labelling_id).values(sentences=number)
            )
            return
        by_value: dict[Any, list[int]] = {}
        for id, value in zip(np.asarray(change.ids).tolist(), np.asarray(change.new).tolist(), strict=True):
            by_value.setdefault(value, []).append(id)
        for value, ids in by_value.items():
            for chunk in id_chunks(ids):
                these = (c.labelling_id == labelling_id) & within(self.connection, c.sentence_id, chunk)
                values = {_COLUMN[change.field].name: value, "version": version}
                self.connection.execute(t.label.update().where(these).values(**values))

    # --- reading ----------------------------------------------------------------------------------------------------

    def list(
        self,
        labelling_id: int,
        *,
        after: int = 0,
        operation: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Step]:
        """Return matching steps in order; with ``limit``, the last ones before the last ``offset``."""
        c = t.label_step.c
        query = sa.select(*_STEP).where(c.labelling_id == labelling_id, c.id > after).order_by(c.id.desc())
        if operation is not None:
            query = query.where(c.operation == operation)
        return [_step(row) for row in self.connection.execute(query.limit(limit).offset(offset))][::-1]

    def count(self, labelling_id: int) -> int:
        """Return the number of steps of a labelling."""
        return self._number(sa.select(sa.func.count()).where(t.label_step.c.labelling_id == labelling_id))

    def since(
        self, labelling_id: int, step_id: int, sentences: Sequence[int] | None = None
    ) -> builtins.list[tuple[Step, ChangeSet]]:
        """Return the steps after one, in order, with their changes, without those of other ``sentences`` if given."""
        steps = self.list(labelling_id, after=step_id)
        if not steps:
            return []
        c, s = t.label_event.c, t.label_step.c
        query = sa.select(*_CHANGE).join(t.label_step, s.id == c.step_id)
        query = query.where(s.labelling_id == labelling_id, s.id > step_id, s.id <= steps[-1].id)
        if sentences is not None:
            query = query.where(sa.or_(c.sentence_id.is_(None), within(self.connection, c.sentence_id, sentences)))
        rows = self.connection.execute(query.order_by(c.step_id, c.position))
        found = {id: _change_set(tuple(events)) for id, events in groupby(rows, key=lambda row: row.step_id)}
        return [(step, found.get(step.id, ChangeSet())) for step in steps]

    def change_set(self, step_id: int) -> ChangeSet:
        """Return the changes of one step."""
        c = t.label_event.c
        query = sa.select(*_CHANGE).where(c.step_id == step_id)
        return _change_set(self.connection.execute(query.order_by(c.position)).all())

    def of_sentence(self, labelling_id: int, sentence_id: int) -> builtins.list[Step]:
        """Return the steps that changed one sentence, in order."""
        steps = sa.select(t.label_event.c.step_id).where(t.label_event.c.sentence_id == sentence_id)
        c = t.label_step.c
        query = sa.select(*_STEP).where(c.labelling_id == labelling_id, c.id.in_(steps)).order_by(c.id)
        return [_step(row) for row in self.connection.execute(query)]


def _events(step_id: int, change_set: ChangeSet) -> Iterator[tuple[int, int, str, int | None, str, str, float | None]]:
    position = count()
    for change in change_set:
        if isinstance(change, ClusterChange):
            old, new = (dump_json(cluster and cluster.packed()) for cluster in (change.old, change.new))
            yield step_id, next(position), _CLUSTER_ITSELF, None, old, new, None
        elif isinstance(change, EntryChange):
            old, new = (dump_json([change.kind, change.key, e and e.packed()]) for e in (change.old, change.new))
            yield step_id, next(position), _ENTRY, None, old, new, None
        else:
            columns = (np.asarray(values).tolist() for values in (change.ids, change.old, change.new))
            sure = [None] * len(change.ids) if change.probability is None else change.probability.tolist()
            pack = dump_json if change.field is Field.NOTE else str  # JSON of an integer
            for id, old, new, probability in zip(*columns, sure, strict=True):
                yield step_id, next(position), change.field.value, id, pack(old), pack(new), probability


def _change_set(rows: Sequence[Any]) -> ChangeSet:
    changes: list[Change] = []
    for field, group in groupby(rows, key=lambda row: row.field):
        if field == _CLUSTER_ITSELF:
            changes += [ClusterChange(*(value and Cluster(*value) for value in (row.old, row.new))) for row in group]
            continue
        if field == _ENTRY:
            for row in group:
                kind, key, _ = row.old
                entries = (value[2] and unpacked(value[2]) for value in (row.old, row.new))
                changes.append(EntryChange(EntryKind(kind), key, *entries))
            continue
        ids, old, new, sure = zip(*((row.sentence_id, row.old, row.new, row.probability) for row in group), strict=True)
        dtype = object if Field(field) is Field.NOTE else np.int64
        before, after = (np.array(values, dtype=dtype) for values in (old, new))
        probability = None if sure.count(None) == len(sure) else np.array(sure, dtype=np.float64)
        changes.append(SentenceChanges(Field(field), np.array(ids, dtype=np.int64), before, after, probability))
    return ChangeSet(tuple(changes))


def _step(row: Any) -> Step:
    id, kind, *about = row
    return Step(id, Kind(kind), *about)
