"""The log of a labelling: who did what, and which steps can be undone and redone.

Nothing is ever taken out of a log. Undoing a step appends the inverse of its batch, redoing it appends the batch
again; which steps stand is read from the log alone, so it is the same after a reload, and for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.labelling.changes import Batch, apply
from core.labelling.partition import Partition


class Kind(StrEnum):
    """Whether a step does something new, or takes back or repeats another."""

    DO = "do"
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the log, without its changes."""

    id: int
    kind: Kind
    what: str
    """The operation; for undo and redo, that of the step it is about."""
    said: str
    person: str
    when: datetime
    target: int | None = None
    """The step that is undone or redone."""
    why: str = ""
    """What the person gave as a reason."""
    how: str = ""
    """How the sentences were chosen: by lasso, in a table, by a key, by a search."""
    size: int = 0
    """How many sentences it touched."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person can undo and redo: ids of steps, the next one last."""

    undoable: tuple[int, ...] = ()
    redoable: tuple[int, ...] = ()


def standing(steps: Iterable[Step], person: str | None = None) -> Standing:
    """Read the log (in its order); with ``person`` only their own steps. Something new makes redoing impossible."""
    done: list[int] = []
    undone: list[int] = []
    for step in steps:
        if person is not None and step.person != person:
            continue
        if step.kind is Kind.DO:
            done.append(step.id)
            undone.clear()
            continue
        assert step.target is not None
        source, sink = (done, undone) if step.kind is Kind.UNDO else (undone, done)
        if step.target in source:
            source.remove(step.target)
        sink.append(step.target)
    return Standing(tuple(done), tuple(undone))


def replay(start: Partition, batches: Iterable[Batch]) -> Partition:
    """The state that a log leads to."""
    for batch in batches:
        start = apply(start, batch)
    return start


def rewind(now: Partition, batches: Sequence[Batch]) -> Partition:
    """The state before these batches, which are the last of the log, in its order."""
    return replay(now, (batch.inverse() for batch in reversed(batches)))
