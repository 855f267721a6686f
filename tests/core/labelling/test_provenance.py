from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.labelling import changes
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, Step, apply
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Entry, EntryKind, Partition, start
from themescope.core.labelling.provenance import (
    Approval,
    Maker,
    Provenance,
    Source,
    back_to,
    of_rows,
    provenance,
    uniform,
    with_approvals,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CLUSTERS = [Cluster(1, "one", 0), Cluster(2, "two", 1), Cluster(3, "three", 2)]
RUN = Maker(Source.MACHINE, "themes")


@dataclass
class Written:
    first: Partition
    log: list[tuple[Step, ChangeSet]] = field(default_factory=list)
    states: list[Partition] = field(default_factory=list)

    @property
    def now(self) -> Partition:
        return self.states[-1] if self.states else self.first

    def write(self, kind: changes.Kind, about: Operation, person: str, target: int | None = None) -> Step:
        id = len(self.log) + 1
        when = NOON + timedelta(minutes=id)
        of = about.kind.value, about.summary, person, when, target
        step = Step(id, kind, *of, coder=about.coder if kind is changes.Kind.DO else "")
        self.states.append(apply(self.now, about.change_set))
        self.log.append((step, about.change_set))
        return step

    def do(self, make: Callable[[Partition], Operation], person: str = "Anna") -> Step:
        return self.write(changes.Kind.DO, make(self.now), person)

    def again(self, target: int, inverse: bool = False) -> Operation:
        """What redoing a step does, or undoing it."""
        step, change_set = self.log[target - 1]
        return Operation(OperationKind(step.operation), step.summary, change_set.inverse() if inverse else change_set)

    def back(self, target: int) -> Operation:
        then = self.states[target - 1] if target else self.first
        return op.back(self.now, then, back_to(self.log[target - 1][0] if target else None))

    def found(self, *approvals: Approval) -> Provenance:
        return provenance(self.now, uniform(self.first, RUN), self.log, approvals)

    def makers(self, *approvals: Approval) -> list[tuple[str, str]]:
        found = self.found(*approvals)
        return [found.cells(row)[:2] for row in range(len(self.first.ids))]


def written(*numbers: int) -> Written:
    return Written(start(np.arange(len(numbers)), list(numbers), CLUSTERS))


def moved(ids: list[int], numbers: list[int], sure: list[float] | None = None) -> Callable[[Partition], Operation]:
    """A re-clustering by a model."""

    def make(p: Partition) -> Operation:
        rows = p.rows(ids)
        after = p.numbers.copy()
        after[rows] = numbers
        changed = rows[after[rows] != p.numbers[rows]]
        probability = None if sure is None else np.array(sure)[np.isin(rows, changed)]
        change = changes.SentenceChanges(
            changes.Field.CLUSTER, p.ids[changed], p.numbers[changed], after[changed], probability
        )
        return Operation(OperationKind.RECLUSTER, "moved", ChangeSet((change,)) if len(changed) else ChangeSet(), "m")

    return make


HUMAN, MACHINE, START, NONE = ("human", "Anna"), ("machine", "m"), ("machine", "themes"), ("", "")


def test_a_move_by_hand_is_human_and_a_reclustering_is_a_machine_s() -> None:
    w = written(1, 1, 2, 2)
    assert w.makers() == [START] * 4
    w.do(lambda p: op.assign(p, np.array([0, 2]), 3))
    w.do(moved([1, 2], [3, 1], [0.75, 0.5]))
    assert w.makers() == [HUMAN, MACHINE, MACHINE, START]
    assert [w.found().cells(row)[2] for row in range(4)] == [None, 0.75, 0.5, None]
    assert w.found().judged.tolist() == [True, False, False, False]
    w.write(changes.Kind.UNDO, w.again(2, inverse=True), "Anna", 2)
    assert w.makers() == [HUMAN, START, HUMAN, START] and np.isnan(w.found().probability).all()
    w.write(changes.Kind.REDO, w.again(2), "Anna", 2)
    assert w.makers() == [HUMAN, MACHINE, MACHINE, START] and w.found().cells(1)[2] == 0.75
    w.do(lambda p: op.unassign(p, np.array([0])))
    assert w.makers()[0] == NONE
    w.write(changes.Kind.DO, w.back(1), "Anna", 1)
    assert w.makers() == [HUMAN, START, HUMAN, START]


def test_merging_and_marking_judge_no_sentence() -> None:
    w = written(1, 1, 2, 2)
    w.do(lambda p: op.assign(p, np.array([0]), 2))
    w.do(lambda p: op.merge(p, [2], 1))
    w.do(lambda p: op.mark(p, np.array([3]), True))
    w.do(lambda p: op.note(p, np.array([3]), "why"))
    assert w.now.numbers.tolist() == [1] * 4 and w.makers() == [HUMAN, START, START, START]


def test_the_sentences_of_a_question_are_judged_and_others_only_moved() -> None:
    w = written(1, 1, 1, 2)

    def make(p: Partition) -> Operation:
        after = apply(p, moved([0, 1], [2, 2])(p).change_set)
        entered = op.entries(OperationKind.ANSWER, "", [])
        answer = changes.EntryChange(EntryKind.ANSWER, "000001", None, Entry({"answer": "yes"}, (0, 3)))
        change_set = ChangeSet((*changes.difference(p, after), *entered.change_set, answer))
        return Operation(OperationKind.ANSWER, "→ two", change_set)

    w.do(make)
    assert w.makers() == [HUMAN, ("machine", "answer"), START, START]


def test_approval_makes_a_label_human_until_a_machine_moves_it() -> None:
    w = written(1, 1, 2, 2)
    w.do(lambda p: op.assign(p, np.array([3]), 1), "Ben")
    w.do(moved([0], [2]))
    early = Approval("Eve", NOON + timedelta(minutes=1, seconds=30), np.array([0, 1, 3, 99]))
    assert w.makers(early) == [MACHINE, ("human", "Eve"), START, ("human", "Ben")]
    travelling = with_approvals(w.first, w.log, [early])
    assert [step.operation for step, _ in travelling] == ["assign", "approve", "re-cluster"]
    found = provenance(w.now, uniform(w.first, RUN), travelling)
    assert [found.cells(row) for row in range(4)] == [w.found(early).cells(row) for row in range(4)]
    late = Approval("Eve", NOON + timedelta(hours=1), np.array([0]))
    assert w.makers(late)[0] == ("human", "Eve") and w.found(late).step.tolist() == [-1, 0, 0, 1]


def test_going_back_in_a_history_of_version_0_2_is_recognised_by_its_summary() -> None:
    for target, expected in ((0, [START] * 3), (1, [HUMAN, START, START])):
        w = written(1, 1, 2)
        w.do(lambda p: op.assign(p, np.array([0]), 3))
        w.do(moved([0, 1], [2, 2]))
        w.write(changes.Kind.DO, w.back(target), "Anna")
        assert w.makers() == expected


def test_rows_of_the_start_keep_coders_and_probabilities() -> None:
    given_rows = {5: (Maker(Source.IMPORTED, "codes.csv"), None), 7: (Maker(Source.MACHINE, "m"), 0.5)}
    found = of_rows(np.array([5, 6, 7]), given_rows)
    assert [found.cells(row) for row in range(3)] == [
        ("imported", "codes.csv", None), ("", "", None), ("machine", "m", 0.5),
    ]  # fmt: skip
    assert found.judged.tolist() == [True, False, False]
    assert found.at(np.array([2, 0])).cells(0) == ("machine", "m", 0.5)


Cell = tuple[int, str, str]
"""Cluster, source and coder of a sentence in the model."""
N = 5


@given(st.lists(st.integers(1, 3), min_size=N, max_size=N), st.data())
def test_any_sequence_of_steps_is_as_in_a_simple_model(numbers: list[int], data: st.DataObject) -> None:
    """The model copies the whole table before each step, and restores the copied rows."""
    w = written(*numbers)
    table: dict[int, Cell] = {i: (n, *START) for i, n in enumerate(numbers)}
    after: list[dict[int, Cell]] = [dict(table)]
    before: dict[int, dict[int, Cell]] = {}
    done: dict[int, dict[int, Cell]] = {}
    for _ in range(data.draw(st.integers(1, 12))):
        person = data.draw(st.sampled_from(["Anna", "Ben"]))
        ids = sorted(data.draw(st.sets(st.integers(0, N - 1), min_size=1)))
        state = changes.undo_state([step for step, _ in w.log], person)
        what = data.draw(st.sampled_from(["assign", "unassign", "recluster", "merge", "back", "undo", "redo"]))
        target = 0
        if what == "assign":
            number = data.draw(st.sampled_from(sorted(w.now.clusters)))
            about = op.assign(w.now, np.array(ids), number)
            result = table | {i: (number, "human", person) for i in ids if table[i][0] != number}
        elif what == "unassign":
            about = op.unassign(w.now, np.array(ids))
            result = table | {i: (UNASSIGNED, *NONE) for i in ids}
        elif what == "recluster":
            places = [data.draw(st.sampled_from(sorted(w.now.clusters))) for _ in ids]
            about = moved(ids, places)(w.now)
            pairs = zip(ids, places, strict=True)
            result = table | {i: (n, *MACHINE) for i, n in pairs if table[i][0] != n}
        elif what == "merge" and len(w.now.clusters) > 1:
            one, into = sorted(w.now.clusters)[:2]
            about = op.merge(w.now, [one], into)
            result = {i: (into if n == one else n, *by) for i, (n, *by) in table.items()}
        elif what == "back" and w.log:
            target = data.draw(st.integers(0, len(w.log)))
            about = w.back(target)
            result = {i: after[target][i] if after[target][i][0] != table[i][0] else table[i] for i in table}
        elif what == "undo" and state.undoable:
            target = state.undoable[-1]
            about = w.again(target, inverse=True)
            result = table | {i: before[target][i] for i in about.change_set.sentences().tolist()}
        elif what == "redo" and state.redoable:
            target = state.redoable[-1]
            about = w.again(target)
            kept = {i: (done[target][i][0], *table[i][1:]) for i in table}
            given_by = kept if about.kind is OperationKind.MERGE else done[target]
            result = table | {i: given_by[i] for i in about.change_set.sentences().tolist()}
        else:
            continue
        if not about.change_set:
            continue
        try:
            apply(w.now, about.change_set)
        except Exception:
            continue  # another person's change is in the way, so nothing is written
        kind = {"undo": changes.Kind.UNDO, "redo": changes.Kind.REDO}.get(what, changes.Kind.DO)
        step = w.write(kind, about, person, target if what in ("undo", "redo", "back") else None)
        of = target if what == "redo" else step.id
        before[of], done[of], table = dict(table), dict(result), result
        after.append(dict(table))
        assert [(int(n), *by) for n, by in zip(w.now.numbers, w.makers(), strict=True)] == list(table.values())
