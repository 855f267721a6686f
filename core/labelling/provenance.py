"""Provenance of labels: whether a person, a program or an import put a sentence into its cluster, and who that was.

Provenance is not stored with the labels. It follows from what a labelling began with and from its append-only history,
so that undo, redo and the return to an earlier state restore it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.labelling.changes import ChangeSet, EntryChange, Field, Kind, SentenceChanges, Step, apply
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import BY_SIMILARITY, OperationKind
from themescope.core.labelling.partition import UNASSIGNED, CodeSet, EntryKind, Partition, code_sets, combinations
from themescope.core.types import Floats, Ids, Mask


class Source(StrEnum):
    """Where a label comes from."""

    HUMAN = "human"
    """A person put the sentence into the cluster, or approved that it is there."""
    MACHINE = "machine"
    """A model or a method put it there, and no person judged this sentence."""
    IMPORTED = "imported"
    """It was imported from a file that does not say who made it."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Who or what gave a label: a person, a model or method, or a file."""

    source: Source
    coder: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Provenance:
    """Provenance of the labels of n sentences; row i of every array is one sentence."""

    makers: tuple[Maker, ...]
    maker: npt.NDArray[np.int32]
    """(n,) place of the maker of each label; -1 for a sentence in no cluster."""
    probability: Floats
    """(n,) probability of the label that its maker gave; NaN where there is none."""
    step: Ids
    """(n,) id of the step that gave each label: 0 for the start, -1 where a person approved the label in a task."""

    @property
    def judged(self) -> Mask:
        """Return the (n,) mask of the labels of people and of imported ones, from which methods learn."""
        people = [place for place, maker in enumerate(self.makers) if maker.source is not Source.MACHINE]
        return np.isin(self.maker, people)

    def cells(self, row: int) -> tuple[str, str, float | None]:
        """Return source, coder and probability of one sentence; empty for a sentence in no cluster."""
        if self.maker[row] < 0:
            return "", "", None
        maker, probability = self.makers[self.maker[row]], float(self.probability[row])
        return maker.source.value, maker.coder, None if np.isnan(probability) else probability

    def at(self, rows: npt.NDArray[Any]) -> Provenance:
        """Return the provenance of the sentences in some rows."""
        return Provenance(self.makers, self.maker[rows], self.probability[rows], self.step[rows])


def uniform(partition: Partition, maker: Maker) -> Provenance:
    """Return the provenance of a state all of whose labels have one maker."""
    n = len(partition.ids)
    places = np.where(partition.numbers == UNASSIGNED, -1, 0).astype(np.int32)
    return Provenance((maker,), places, np.full(n, np.nan), np.zeros(n, np.int64))


def of_rows(ids: Ids, rows: Mapping[int, tuple[Maker, float | None]]) -> Provenance:
    """Return the provenance of the sentences ``ids`` (n,) at the start; ``rows`` has those in a cluster."""
    places: dict[Maker, int] = {}
    maker, probability = np.full(len(ids), -1, np.int32), np.full(len(ids), np.nan)
    for row, id in enumerate(ids.tolist()):
        if id in rows:
            by, certainty = rows[id]
            maker[row] = places.setdefault(by, len(places))
            probability[row] = np.nan if certainty is None else certainty
    return Provenance(tuple(places), maker, probability, np.zeros(len(ids), np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Approval:
    """Sentences whose labels a person approved in a task, without a step."""

    person: str
    when: datetime
    ids: Ids


Log: TypeAlias = Sequence[tuple[Step, ChangeSet]]
_MARK = np.dtype([("maker", np.int32), ("probability", np.float64), ("step", np.int64)])


def provenance(
    partition: Partition, start: Provenance, log: Iterable[tuple[Step, ChangeSet]], approvals: Sequence[Approval] = ()
) -> Provenance:
    """Return the provenance of the labels of a partition, from its ``start`` and its complete history.

    ``log`` may lack changes of other sentences, or have them, as of sentences that were removed since. A person's move
    makes a human label and a re-clustering a machine's. An answer makes human labels of the sentences that it is about.
    A merge changes the cluster of a label, not its maker. Undo and the return to an earlier state restore the
    provenance that there was. Approval makes a machine's label a human one.
    """
    replay = _Replay(partition, start, list(log), approvals)
    marks = replay.finished()
    maker = np.where(partition.numbers == UNASSIGNED, -1, marks["maker"]).astype(np.int32)
    return Provenance(tuple(replay.makers), maker, marks["probability"], marks["step"])


class _Replay:
    """Marks of sentences (maker, probability and step of their labels) while steps are added."""

    def __init__(self, partition: Partition, start: Provenance, log: Log, approvals: Sequence[Approval]) -> None:
        self._partition, self._start, self._log, self._approvals = partition, start, log, approvals
        self._steps = {step.id: step for step, _ in log}
        self._waiting = sorted(approvals, key=lambda approval: approval.when)
        self.makers = {maker: place for place, maker in enumerate(start.makers)}
        self._marks = np.empty(len(partition.ids), _MARK)
        for name in _MARK.names or ():
            self._marks[name] = getattr(start, name)
        self._before: dict[int, tuple[npt.NDArray[np.intp], npt.NDArray[Any]]] = {}
        """Step → the rows that it changed, and the marks that they had when it was done or redone last."""

    def _add(self, step: Step, change_set: ChangeSet) -> None:
        self._approve_before(step.when)
        changes = (c for c in change_set if isinstance(c, SentenceChanges) and c.field is Field.CLUSTER)
        moves = [change.only(self._partition.ids) for change in changes]
        if not moves:
            return
        if step.kind is Kind.UNDO:
            if step.target in self._before:  # not so only in a history that somebody wrote by hand
                rows, before = self._before[step.target]
                self._marks[rows] = before
            return
        of = self._steps.get(step.target or 0, step) if step.kind is Kind.REDO else step
        rows = self._partition.rows(np.unique(np.concatenate([move.ids for move in moves])))
        self._before[of.id] = rows, self._marks[rows]
        if of.operation == OperationKind.BACK:
            self._marks[rows] = self._at_target(of)[rows]
            return
        for move in moves:
            self._move(of, self._partition.rows(move.ids), move, change_set)

    def finished(self) -> npt.NDArray[Any]:
        """Return the marks of all sentences after all steps and approvals."""
        for step, change_set in self._log:
            self._add(step, change_set)
        self._approve_before(None)
        return self._marks

    def _place(self, maker: Maker) -> int:
        return self.makers.setdefault(maker, len(self.makers))

    def _move(self, step: Step, rows: npt.NDArray[np.intp], change: SentenceChanges, change_set: ChangeSet) -> None:
        if step.operation == OperationKind.MERGE:
            return
        if step.operation == OperationKind.APPROVE:
            self._approve(rows, step.person, step.id)
            return
        entered = [one.new for one in change_set if isinstance(one, EntryChange) and one.new is not None]
        # A step that began to use a metric had no coder in version 0.2.
        metric = next((str(entry.data["name"]) for entry in entered if "name" in entry.data), "")
        machine = self._place(Maker(Source.MACHINE, step.coder or metric or step.operation))
        human = self._place(Maker(Source.HUMAN, step.person))
        given, asked = np.ones(len(rows), np.bool_), np.ones(len(rows), np.bool_)
        if step.coder or step.operation in BY_SIMILARITY:
            asked[:] = False
        elif step.operation == OperationKind.ANSWER:
            asked = np.isin(change.ids, [id for entry in entered for id in entry.sentences])
            given = asked | ~np.isin(change.old, change_set.deleted())
        marks = self._marks[rows]
        marks["maker"][given] = np.where(asked, human, machine)[given]
        marks["step"][given] = step.id
        marks["probability"][given] = np.nan if change.probability is None else change.probability[given]
        self._marks[rows] = marks

    def _at_target(self, back: Step) -> npt.NDArray[Any]:
        """Return the marks after the step to which a step went back; steps of version 0.2 only have its summary."""
        target = back.target
        if target is None:
            earlier = [step.id for step, _ in self._log if step.id < back.id and back.summary == back_to(step)]
            target = earlier[-1] if earlier else 0
        log = [(step, change_set) for step, change_set in self._log if step.id <= target]
        approvals = [one for one in self._approvals if log and one.when <= log[-1][0].when]
        then = _Replay(self._partition, self._start, log, approvals)
        then.makers = self.makers  # the same places
        return then.finished()

    def _approve_before(self, when: datetime | None) -> None:
        while self._waiting and (when is None or self._waiting[0].when < when):
            approval = self._waiting.pop(0)
            ids = np.intersect1d(approval.ids, self._partition.ids)
            self._approve(self._partition.rows(ids), approval.person, -1)

    def _approve(self, rows: npt.NDArray[np.intp], person: str, step_id: int) -> None:
        human = [place for maker, place in self.makers.items() if maker.source is Source.HUMAN]
        rows = rows[~np.isin(self._marks["maker"][rows], human)]
        self._marks["maker"][rows], self._marks["step"][rows] = self._place(Maker(Source.HUMAN, person)), step_id
        self._marks["probability"][rows] = np.nan


def code_makers(partition: Partition, made: Provenance, start: Provenance, log: Log) -> dict[int, dict[int, Maker]]:
    """Return sentence → code → who gave it, for the sentences whose codes several gave.

    ``made`` is the provenance of the whole labels, which names the last who changed them; it follows from ``start`` and
    ``log``. Codes that come back by an undo have the maker that they had.
    """
    sets, rows = code_sets(partition), np.flatnonzero(np.isin(partition.numbers, [*combinations(partition)]))
    ids = partition.ids[rows]
    numbers = dict(zip(ids.tolist(), partition.numbers[rows].tolist(), strict=True))
    turns: list[tuple[Step, dict[int, tuple[CodeSet, CodeSet]]]] = []
    for step, change_set in reversed(log) if len(ids) else ():
        after = {id: sets.get(number, CodeSet({number})) for id, number in numbers.items()}
        for change in reversed(change_set.changes):
            if isinstance(change, SentenceChanges) and change.field is Field.CLUSTER:
                own = change.only(ids)
                numbers |= zip(own.ids.tolist(), np.asarray(own.old).tolist(), strict=True)
            elif isinstance(change, EntryChange) and change.kind is EntryKind.CODES and change.key.isdecimal():
                sets[int(change.key)] = frozenset(change.old.clusters) if change.old else CodeSet({int(change.key)})
        before = {id: sets.get(number, CodeSet({number})) for id, number in numbers.items()}
        turns.append((step, {id: (before[id], after[id]) for id in after if before[id] != after[id]}))
    by = {
        id: dict.fromkeys(sets.get(numbers[id], CodeSet({numbers[id]})), start.makers[start.maker[row]])
        for id, row in zip(ids.tolist(), rows.tolist(), strict=True)
        if numbers[id] != UNASSIGNED
    }
    known = {(id, code): maker for id, given in by.items() for code, maker in given.items()}
    for step, turned in reversed(turns):
        machine = bool(step.coder) or step.operation in BY_SIMILARITY
        maker = Maker(Source.MACHINE, step.coder or step.operation) if machine else Maker(Source.HUMAN, step.person)
        again = step.kind is not Kind.DO or step.operation == OperationKind.BACK
        for id, (old, new) in turned.items():
            given = by.get(id, {})
            gone = [given[code] for code in old - new if code in given]
            of = gone[0] if gone and step.operation == OperationKind.MERGE else maker
            fresh = {code: known.get((id, code), of) if again else of for code in new - old}
            by[id] = {code: given[code] for code in new & given.keys()} | fresh
            known |= {(id, code): one for code, one in fresh.items()}
    found: dict[int, dict[int, Maker]] = {}
    for id, row in zip(ids.tolist(), rows.tolist(), strict=True):
        last = made.makers[made.maker[row]]
        held = {code: by.get(id, {}).get(code, last) for code in code_sets(partition)[int(partition.numbers[row])]}
        if last.source is Source.HUMAN:  # who approved the codes of a machine
            held = {code: last if maker.source is Source.MACHINE else maker for code, maker in held.items()}
        if len({*held.values()}) > 1:
            found[id] = held
    return found


def with_approvals(start: Partition, log: Log, approvals: Sequence[Approval]) -> list[tuple[Step, ChangeSet]]:
    """Return a complete history with a step for each approval, for a store that does not have the tasks.

    Such a step changes no cluster. The steps have ids of their own, which are not ascending.
    """
    found: list[tuple[Step, ChangeSet]] = []
    waiting = sorted(approvals, key=lambda approval: approval.when)
    free = max((step.id for step, _ in log), default=0) + 1
    state = start
    for step, change_set in (*log, (None, ChangeSet())):
        while waiting and (step is None or waiting[0].when < step.when):
            approval = waiting.pop(0)
            ids = np.intersect1d(approval.ids, state.ids)
            numbers = state.numbers[state.rows(ids)]
            summary = f"{counted(len(ids), 'sentence')} done in a task"
            about = OperationKind.APPROVE.value, summary, approval.person, approval.when
            same = ChangeSet((SentenceChanges(Field.CLUSTER, ids, numbers, numbers),))
            found.append((Step(free, Kind.DO, *about, size=len(ids)), same))
            free += 1
        if step is not None:
            found.append((step, change_set))
            state = apply(state, change_set)
    return found


def back_to(step: Step | None) -> str:
    """Return the summary of a step that goes back to the state after a step, or to the start."""
    return "back to the start" if step is None else f"back to “{step.summary}”"


# Probability samples of units: simple random and stratified ones, in which the sampling probabilities are known


class Allocation(StrEnum):
    """How the units of a sample are divided among strata."""

    PROPORTIONAL = "proportional"
    """In proportion to the number of units."""
    EQUAL = "equal"
    """The same number from each stratum, or all units of a smaller one."""
    GIVEN = "given numbers"
    """A number for each stratum, which may be 0."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows:
    """Units drawn from k strata."""

    rows: Ids
    """(n,) rows of the units drawn, ascending."""
    sizes: Ids
    """(k,) number of units of each stratum."""
    drawn: Ids
    """(k,) number of units drawn from each stratum."""

    @property
    def probabilities(self) -> Floats:
        """Sampling probability (k,) of each unit of a stratum."""
        return self.drawn / self.sizes


def draw(strata: npt.NDArray[np.integer], drawn: Ids, seed: int | Sequence[int]) -> DrawnRows:
    """Draw ``drawn`` (k,) units of each stratum without replacement; ``strata`` (n,) are 0 … k - 1, each with a unit.

    Raises :class:`DataError` if a stratum has fewer units.
    """
    sizes = np.bincount(strata).astype(np.int64)
    if bool(((drawn < 0) | (drawn > sizes)).any()) or not drawn.any():
        raise DataError("From each stratum, 0 up to all of its units can be drawn, and at least one unit in all.")
    order = np.random.default_rng(seed).permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    of = strata[order]
    rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[of]
    return DrawnRows(np.sort(order[rank < drawn[of]]), sizes, drawn)


def allocate(sizes: Ids, number: int, allocation: Allocation) -> Ids:
    """Return the (k,) number of units to draw from strata of ``sizes`` (k,): at least one of each, ``number`` in all.

    Raises :class:`DataError` if there are fewer units, or fewer to draw than strata: a unit that cannot be drawn has no
    sampling probability.
    """
    total, strata = int(sizes.sum()), len(sizes)
    if not 1 <= number <= total:
        raise DataError(f"{number:,} units cannot be drawn from {total:,}. Choose a number from 1 to {total:,}.")
    if number < strata:
        raise DataError(
            f"There are {strata:,} strata, and each needs a unit of the sample, but {number:,} are to be drawn. "
            "Draw more, or choose a column with fewer values."
        )
    weight = sizes.astype(np.float64) if allocation is Allocation.PROPORTIONAL else np.ones(strata)

    def shares(scale: float) -> Floats:
        return np.clip(scale * weight, 1, sizes)

    low, high = 0.0, float((sizes / weight).max())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if shares(middle).sum() <= number else (low, middle)
    wanted = shares(low)
    found = np.floor(wanted + 1e-9).astype(np.int64)
    for place in np.lexsort((-sizes, found - wanted)):  # the largest remainders first, of equal ones larger strata
        if found.sum() < number and found[place] < sizes[place]:
            found[place] += 1
    return found
