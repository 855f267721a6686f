"""A person's place at a labelling: what they see of it, what they do to it, and what others did meanwhile.

A change is written against what the person saw. When ``do`` returns, the change is committed; when it raises, nothing
was written, and what the person saw is still what the desk holds, so that both versions can be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np

from core.errors import DataError
from core.labelling import operations as op
from core.labelling.changes import Batch, Field, SentenceChanges, StaleChangeError, rebased
from core.labelling.history import Kind, Standing, Step, rewind, standing
from core.labelling.partition import UNASSIGNED, Partition
from db.label_records import Draft, LabellingRecord, Shown
from db.store import Store

UNASSIGNED_NAME = "unassigned"


@dataclass(frozen=True, slots=True)
class Clash:
    """One sentence that two people changed: what it was to me, what I wanted, what somebody else made of it."""

    sentence: int
    seen: str
    mine: str
    theirs: str
    person: str
    when: datetime | None


@dataclass(frozen=True, slots=True, eq=False)
class Conflict:
    """A change that was not written, because somebody else was first."""

    operation: op.Operation
    why: str
    how: str
    told: str
    clashes: tuple[Clash, ...]
    """The sentences in question; none where only clusters are."""


class Desk:
    """What one person sees of a labelling. Not safe between threads: each browser session has its own."""

    def __init__(self, store: Store, labelling_id: int, person: str) -> None:
        self._store, self.person = store, person
        with store.reading() as r:
            self.record: LabellingRecord = r.labellings.get(labelling_id)
            self.shown: Shown = r.labellings.shown(labelling_id)
            self.steps: list[Step] = r.label_steps.list(labelling_id)

    @property
    def partition(self) -> Partition:
        """The state as it is seen here."""
        return self.shown.partition

    @cached_property
    def texts(self) -> dict[int, str]:
        """Sentence id → text, of every sentence of the labelling; sentences never change."""
        with self._store.reading() as r:
            found = r.corpora.sentences_by_id(self.partition.ids)
        return {i: sentence.text for i, sentence in found.items()}

    @property
    def standing(self) -> Standing:
        """What this person can undo and redo."""
        return standing(self.steps, self.person)

    @property
    def next_number(self) -> int:
        """The number of the next new cluster."""
        return self.shown.issued + 1

    def sync(self) -> list[Step]:
        """Take in what has been committed since; returns the steps that were new."""
        with self._store.reading() as r:
            self.record = r.labellings.get(self.record.id)
            found = r.label_steps.since(self.record.id, self.shown.step)
        for step, batch in found:
            self.shown = self.shown.after(step, batch)
            self.steps.append(step)
        return [step for step, _ in found]

    # --- changing ---------------------------------------------------------------------------------------------------

    def do(self, operation: op.Operation, why: str = "", how: str = "") -> Step | None:
        """Commit an operation; None where it changes nothing.

        Raises
        ------
        StaleChangeError
            If somebody else changed the same meanwhile; :meth:`conflict` says what.
        """
        if not operation.batch:
            return None
        draft = Draft(Kind.DO, operation.what.value, operation.said, self.person, None, why, how)
        return self._write(draft, operation.batch)

    def undo(self, step_id: int | None = None) -> Step | None:
        """Take back the person's last step, or the one named; None where there is none."""
        undoable = self.standing.undoable
        if not undoable or (step_id is not None and step_id not in undoable):
            return None
        return self._again(Kind.UNDO, undoable[-1] if step_id is None else step_id, Batch.inverse)

    def redo(self) -> Step | None:
        """Do again what was undone last; None where there is nothing."""
        redoable = self.standing.redoable
        return self._again(Kind.REDO, redoable[-1], lambda batch: batch) if redoable else None

    def back_to(self, step_id: int) -> Step | None:
        """Make everything as it was right after that step (0: at the start); a step that can itself be undone."""
        operation = op.back(self.partition, self.at(step_id), self._said_of(step_id))
        return self.do(operation, how="history")

    def at(self, step_id: int) -> Partition:
        """The state right after a step; 0: at the start."""
        with self._store.reading() as r:
            later = r.label_steps.since(self.record.id, step_id)
        return rewind(self.partition, [batch for step, batch in later if step.id <= self.shown.step])

    def _said_of(self, step_id: int) -> str:
        if not step_id:
            return "back to the start"
        step = next((step for step in self.steps if step.id == step_id), None)
        if step is None:
            raise DataError("That step is not part of this labelling's history.")
        return f"back to “{step.said}”"

    def _again(self, kind: Kind, step_id: int, turned: Callable[[Batch], Batch]) -> Step | None:
        target = next(step for step in self.steps if step.id == step_id)
        with self._store.reading() as r:
            batch = turned(r.label_steps.batch(step_id))
        return self._write(Draft(kind, target.what, target.said, self.person, step_id), batch)

    def _write(self, draft: Draft, batch: Batch) -> Step:
        with self._store.writing() as w:
            step, written = w.label_steps.append(self.record.id, draft, batch, self.shown)
            alone = w.label_steps.list(self.record.id, after=self.shown.step) == [step]
        if alone:
            self.shown = self.shown.after(step, written)
            self.steps.append(step)
        else:
            self.sync()
        return step

    # --- conflicts --------------------------------------------------------------------------------------------------

    def conflict(self, operation: op.Operation, error: StaleChangeError, why: str = "", how: str = "") -> Conflict:
        """Take in what the others did, and lay both versions side by side."""
        before = self.partition
        later = self.sync()
        with self._store.reading() as r:
            touched = {step.id: set(r.label_steps.batch(step.id).sentences().tolist()) for step in later}
        wanted = _wanted(operation.batch)
        clashes = []
        for sentence in error.sentences:
            by = next((step for step in reversed(later) if sentence in touched[step.id]), None)
            clashes.append(
                Clash(
                    sentence,
                    place_of(before, sentence),
                    _named(before, operation, wanted.get(sentence)) or operation.said,
                    place_of(self.partition, sentence),
                    by.person if by else "",
                    by.when if by else None,
                )
            )
        return Conflict(operation, why, how, str(error), tuple(clashes))

    def insist(self, conflict: Conflict) -> Step | None:
        """Write what the person wanted over what is there now; it stands in the history like everything else."""
        wanted = conflict.operation
        batch = rebased(self.partition, wanted.batch)
        return self.do(op.Operation(wanted.what, wanted.said, batch), conflict.why, conflict.how)


def place_of(partition: Partition, sentence: int) -> str:
    """The name of the cluster that a sentence is in."""
    number = int(partition.numbers[partition.rows([sentence])[0]])
    return UNASSIGNED_NAME if number == UNASSIGNED else partition.clusters[number].name


def _wanted(batch: Batch) -> dict[int, int]:
    """Sentence id → number of the cluster that a batch puts it in."""
    found: dict[int, int] = {}
    for change in batch:
        if isinstance(change, SentenceChanges) and change.field is Field.CLUSTER:
            found.update(zip(np.asarray(change.ids).tolist(), np.asarray(change.new).tolist(), strict=True))
    return found


def _named(partition: Partition, operation: op.Operation, number: int | None) -> str:
    if number is None:
        return ""
    if number == UNASSIGNED:
        return UNASSIGNED_NAME
    known = partition.clusters.get(number)
    return known.name if known else operation.said
