"""History of a labelling: its steps, and which of them can be undone and redone.

A history is append-only. Undo appends the inverse of the change set of a step, redo appends the change set again. The
undone steps follow from the history alone, so they are the same after a reload and for every user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from themescope.core.labelling.changes import ChangeSet, apply
from themescope.core.labelling.partition import Partition


class Kind(StrEnum):
    """Kind of a step: an operation, or the undo or redo of another step."""

    DO = "do"
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the history, without its change set."""

    id: int
    kind: Kind
    operation: str
    """Kind of the operation; for undo and redo, that of the target step."""
    summary: str
    """One line for the history."""
    person: str
    when: datetime
    target: int | None = None
    """Id of the step that is undone or redone, or to the state after which a step went back (0: the start)."""
    reason: str = ""
    """Reason given by the person."""
    selection_method: str = ""
    """Method by which the sentences were selected: lasso, table, key or search."""
    size: int = 0
    """Number of changed sentences."""
    coder: str = ""
    """Model, method or program that placed the sentences; "" where the person did."""


@dataclass(frozen=True, slots=True)
class UndoState:
    """Ids of the steps that a user can undo and redo, the next one last."""

    undoable: tuple[int, ...] = ()
    redoable: tuple[int, ...] = ()


def undo_state(steps: Iterable[Step], person: str | None = None) -> UndoState:
    """Return the undo state after ``steps`` in order, of one person if given. A new step clears what can be redone."""
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
    return UndoState(tuple(done), tuple(undone))


def replay(start: Partition, change_sets: Iterable[ChangeSet]) -> Partition:
    """Return the state after applying change sets in order."""
    for change_set in change_sets:
        start = apply(start, change_set)
    return start


def rewind(now: Partition, change_sets: Sequence[ChangeSet]) -> Partition:
    """Return the state before the given last change sets of a history."""
    return replay(now, (change_set.inverse() for change_set in reversed(change_sets)))
