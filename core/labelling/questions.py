"""Questions that a program asks about a labelling, and what the answers change.

``strategies`` choose the next question for a ``state``, make the operations of the history, and say when to stop.
``state`` is a labelling with its vectors and answers, and determines which sentences an answer moves. It is a function
of the labelling, the vectors and a seed, so that questions continue after a reload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import entr, expit

from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.clustering.inputs import extended_labels, unit_rows
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration, effective_themes
from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.answers import (
    MOST_CANDIDATES,
    NO,
    Answer,
    Constraints,
    Effect,
    Links,
    Question,
    QuestionKind,
    answers,
    constraints_of,
    next_key,
)
from themescope.core.labelling.changes import EntryChange, Kind, Step, apply, difference
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import UNASSIGNED, Cluster, EntryKind, Partition, free_colour, free_name
from themescope.core.types import Floats, Ids, Matrix

# What questions are chosen from: a labelling with its answers and vectors; and which sentences an answer moves

Rows = npt.NDArray[np.intp]
_DIMENSIONS = 128
_SMALLEST = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class QuestionVectors:
    """Unit vectors of n sentences, and the log-odds that two of them share a theme."""

    unit: npt.NDArray[np.float32]
    """(n, dim) rows of length 1, or zero."""
    centred: npt.NDArray[np.float32]
    """(n, dim) unit rows minus their mean, again of length 1."""
    intercept: float
    slope: float
    """The log-odds of a pair are ``intercept + slope · cosine`` of the centred rows."""
    themes: float
    """Estimated number of themes."""

    def log_odds(self, first: Rows, second: Rows) -> float:
        """Return the mean log-odds of the pairs of a row of ``first`` and a row of ``second``."""
        one, other = self.centred[first].mean(axis=0), self.centred[second].mean(axis=0)
        return self.intercept + self.slope * float(one @ other)

    def central(self, rows: Rows) -> int:
        """Return the row with the largest mean cosine to the others of (m,) ``rows``, the first of several."""
        return int(rows[np.argmax(np.round(self.unit[rows] @ self.unit[rows].sum(axis=0), 5))])


def prepare(x: Matrix, calibration: PairCalibration = DEFAULT_CALIBRATION) -> QuestionVectors:
    """Prepare (n, dim) vectors; CSR vectors are first reduced to 128 dimensions (latent semantic analysis)."""
    unit: Any = unit_rows(_dense(x))
    centred = unit_rows(unit - unit.mean(axis=0))
    effective = effective_themes(unit) if len(unit) > 1 else 1.0
    n, total = len(unit), centred.sum(axis=0)
    lengths = np.einsum("ij,ij->i", centred, centred)
    pairs = max(n * (n - 1), 1)
    mean = float(total @ total - lengths.sum()) / pairs
    second = centred.T @ centred
    squares = float(np.einsum("ij,ij->", second, second) - (lengths**2).sum()) / pairs
    spread = max(np.sqrt(max(squares - mean * mean, 0.0)), _SMALLEST)
    themes = float(np.log(effective))
    slope = (calibration.standardised + calibration.interaction * themes) / spread
    intercept = calibration.intercept + calibration.themes * themes - slope * mean
    return QuestionVectors(
        np.asarray(unit, np.float32), np.asarray(centred, np.float32), intercept, slope, calibration.count(effective)
    )


def _dense(x: Matrix) -> Floats:
    if not sparse.issparse(x):
        return np.asarray(x, np.float64)
    from sklearn.decomposition import TruncatedSVD

    unit = sparse.csr_array(unit_rows(x))
    dimensions = min(_DIMENSIONS, min(unit.shape) - 1)
    if dimensions < 1:
        return np.asarray(unit.toarray(), np.float64)
    return np.asarray(TruncatedSVD(dimensions, random_state=0).fit_transform(unit), np.float64)


@dataclass(frozen=True, eq=False)
class QuestionState:
    """What strategies choose the next question from; row i of everything is sentence ``partition.ids[i]``."""

    partition: Partition
    vectors: QuestionVectors
    seed: int = 0
    cache: dict[Any, Any] = field(default_factory=dict)
    """Intermediate results by what they are a function of, which later states reuse."""

    def after(self, partition: Partition) -> QuestionState:
        """Return the state of the labelling after a step."""
        return QuestionState(partition, self.vectors, self.seed, self.cache)

    @cached_property
    def answers(self) -> dict[str, Answer]:
        """Answers by their keys, in their order."""
        return answers(self.partition)

    @cached_property
    def constraints(self) -> Constraints:
        """Constraints that follow from the answers."""
        return constraints_of(self.answers)

    @property
    def links(self) -> Links:
        """Must-links and cannot-links between sentence ids."""
        return self.constraints.links

    @cached_property
    def asked(self) -> set[frozenset[int]]:
        """The sets of sentences that questions have been asked about, also skipped ones."""
        return {frozenset(answer.question.sentences) for answer in self.answers.values()}

    @cached_property
    def members(self) -> dict[int, Rows]:
        """Number → rows of every cluster that is not empty, by number."""
        order = np.argsort(self.partition.numbers, kind="stable")
        numbers, starts = np.unique(self.partition.numbers[order], return_index=True)
        parts = np.split(order, starts[1:])
        return {int(n): rows for n, rows in zip(numbers, parts, strict=True) if n != UNASSIGNED}

    @cached_property
    def linked_rows(self) -> Rows:
        """Rows of the sentences with a must-link or a cannot-link, ascending."""
        known = [sentence for sentence in self.links.linked if self.has(sentence)]
        return self.partition.rows(known)

    def has(self, sentence: int) -> bool:
        """Return whether the labelling has a sentence."""
        place = int(np.searchsorted(self.partition.ids, sentence))
        return place < len(self.partition.ids) and int(self.partition.ids[place]) == sentence

    def id(self, row: int) -> int:
        """Return the sentence id of a row."""
        return int(self.partition.ids[row])

    def cluster_of(self, sentence: int) -> int:
        """Return the number of the cluster of a sentence."""
        return int(self.partition.numbers[self.partition.rows([sentence])[0]])

    def linked_in(self, number: int) -> Rows:
        """Return the rows of a cluster's sentences that have links."""
        inside: Rows = self.linked_rows[self.partition.numbers[self.linked_rows] == number]
        return inside

    def representative(self, number: int) -> int:
        """Return the row that stands for a cluster: of the most sentences that belong together, or the most central."""
        linked = self.linked_in(number)
        groups = [self.links.group(int(i)) for i in self.partition.ids[linked]]
        largest, size = next(iter(Counter(groups).most_common(1)), (0, 0))
        if size < 2:
            return self.central(number)
        return self.vectors.central(linked[np.array(groups) == largest])

    def central(self, number: int) -> int:
        """Return the row of the most central sentence of a cluster."""
        rows = self.members[number]
        key = ("central", rows.tobytes())
        if key not in self.cache:
            self.cache[key] = self.vectors.central(rows)
        return int(self.cache[key])

    def clusters_apart(self) -> set[frozenset[int]]:
        """Return the pairs of clusters that a cannot-link keeps apart."""
        found = set()
        for one, other in self.constraints.cannot_links:
            if self.has(one) and self.has(other):
                found.add(frozenset((self.cluster_of(one), self.cluster_of(other))))
        return found

    def may_ask(self, question: Question) -> bool:
        """Return whether a question was not asked yet."""
        return frozenset(question.sentences) not in self.asked


# --- moves ------------------------------------------------------------------------------------------------------------


_SWEEPS = 3


class Moves:
    """Cluster numbers of a state's sentences while the sentences of an answer are moved."""

    def __init__(self, state: QuestionState, links: Links, fresh: int) -> None:
        self.state, self.links, self.fresh = state, links, fresh
        self.numbers: Ids = state.partition.numbers.copy()
        """(n,) cluster numbers; from ``fresh`` on, those of new clusters."""
        linked = [sentence for sentence in links.linked if state.has(sentence)]
        self._linked = state.partition.rows(linked)

    def answer(self, answer: Answer) -> None:
        """Move what an answer moves; its links must be among the links."""
        kind, first = answer.question.kind, self._row(answer.question.sentences[0])
        chosen = answer.chosen
        if kind is QuestionKind.PAIR:
            self._pair(answer, first, self._row(answer.question.sentences[1]))
        elif chosen is not None:
            self.place(first, int(self.numbers[self._row(chosen)]))
        elif answer.value == NO:
            self.place(first, self._new())

    def place(self, row: int, number: int) -> None:
        """Move a sentence, and those that belong together with it, to a cluster."""
        old = int(self.numbers[row])
        if number in (old, UNASSIGNED):
            return
        mates = self._mates(row)
        self.numbers[mates] = number
        self._eject_from(row, number)
        self._relax({old, number})

    def _pair(self, answer: Answer, first: int, second: int) -> None:
        one, other, effect = int(self.numbers[first]), int(self.numbers[second]), answer.question.effect
        together = answer.value != NO
        if together and one != other:
            if effect is Effect.MERGE and UNASSIGNED not in (one, other):
                kept, gone = one, other
                if (self.numbers == one).sum() < (self.numbers == other).sum():
                    kept, gone = other, one
                self.numbers[self.numbers == gone] = kept
                self._eject_from(first, kept)
            elif one == UNASSIGNED or (other != UNASSIGNED and self._weaker(first, second) == first):
                self.place(first, other)
            else:
                self.place(second, one)
        elif not together and one == other and one != UNASSIGNED:
            if effect is Effect.SPLIT:
                self._split(first, second)
            else:
                self._eject(self._weaker(first, second))

    def _split(self, first: int, second: int) -> None:
        """Divide the cluster of two sentences by two means around them (k-means with seeds, Basu et al. 2002)."""
        rows, new = np.flatnonzero(self.numbers == self.numbers[first]), self._new()
        names = [self.links.group(self.state.id(int(row))) for row in rows]
        _, group = np.unique(names, return_inverse=True)
        at = {int(row): place for place, row in enumerate(rows)}
        unit = self.state.vectors.unit[rows]
        centres = unit[[at[first], at[second]]]
        side = np.zeros(len(rows), dtype=bool)
        for _ in range(2 * _SWEEPS):
            gain = np.bincount(group, unit @ (centres[1] - centres[0]))[group]
            moved = gain > 0
            moved[group == group[at[first]]], moved[group == group[at[second]]] = False, True
            if np.array_equal(moved, side):
                break
            side = moved
            centres = np.stack([unit[~side].mean(axis=0), unit[side].mean(axis=0)])
        self.numbers[rows[side]] = new

    def _eject(self, row: int) -> None:
        """Move a sentence from its cluster to the most similar one that no cannot-link forbids, or to a new one."""
        old = int(self.numbers[row])
        taken = {int(self.numbers[other]) for other in self._linked if self._apart(row, int(other))}
        allowed = [number for number in np.unique(self.numbers).tolist() if number not in {old, UNASSIGNED, *taken}]
        if not allowed:
            self.place(row, self._new())
            return
        similarity = self._similarity(np.array([row]), allowed)[0]
        self.place(row, int(allowed[int(similarity.argmax())]))

    def _eject_from(self, kept: int, number: int) -> None:
        inside = [int(row) for row in self._linked if self.numbers[row] == number]
        for place, row in enumerate(inside):
            for other in inside[place + 1 :]:
                together = self.numbers[row] == self.numbers[other] == number
                if together and self._apart(row, other):
                    with_kept = self.links.are_together(self.state.id(other), self.state.id(kept))
                    self._eject(row if with_kept else other)

    def _relax(self, touched: Collection[int]) -> None:
        """Move sentences without links among the touched clusters to the most similar one."""
        numbers = [number for number in sorted(touched) if number != UNASSIGNED and (self.numbers == number).any()]
        if len(numbers) < 2:
            return
        free = np.flatnonzero(np.isin(self.numbers, numbers))
        free = np.setdiff1d(free, self._linked, assume_unique=True)
        for _ in range(_SWEEPS):
            if not len(free):
                return
            best = np.array(numbers)[self._similarity(free, numbers).argmax(axis=1)]
            if np.array_equal(best, self.numbers[free]):
                return
            self.numbers[free] = best

    def _similarity(self, rows: Rows, numbers: list[int]) -> Floats:
        return mean_cosines(self.state.vectors.unit, self.numbers, rows, numbers)

    def _weaker(self, first: int, second: int) -> int:
        """Return the sentence with fewer sentences that belong together with it, or less similar to its cluster."""
        sizes = [len(self._mates(row)) for row in (first, second)]
        if sizes[0] != sizes[1]:
            return first if sizes[0] < sizes[1] else second
        one, other = (self._similarity(np.array([row]), [int(self.numbers[row])])[0, 0] for row in (first, second))
        return first if one <= other else second

    def _mates(self, row: int) -> Rows:
        """Return the rows of the cluster that must be together with one, itself included."""
        members = self.state.partition.rows([i for i in self.links.members(self.state.id(row)) if self.state.has(i)])
        mates: Rows = members[self.numbers[members] == self.numbers[row]]
        return mates

    def _apart(self, first: int, second: int) -> bool:
        return self.links.are_apart(self.state.id(first), self.state.id(second))

    def _row(self, sentence: int) -> int:
        return int(self.state.partition.rows([sentence])[0])

    def _new(self) -> int:
        self.fresh += 1
        return self.fresh - 1


def mean_cosines(unit: npt.NDArray[np.float32], numbers: Ids, rows: Rows, clusters: Sequence[int]) -> Floats:
    """Return the (rows, clusters) mean cosines of sentences to the others of each cluster; -1 if there are none.

    ``unit`` are the (n, dim) unit vectors of all sentences, ``numbers`` their (n,) clusters.
    """
    own = unit[rows]
    squares, at = np.einsum("ij,ij->i", own, own), numbers[rows]
    members = [np.flatnonzero(numbers == number) for number in clusters]
    sums = own @ np.stack([unit[inside].sum(axis=0) for inside in members], axis=1)
    within = at[:, None] == np.asarray(clusters)
    others = np.array([len(inside) for inside in members]) - within
    found: Floats = np.where(others > 0, (sums - within * squares[:, None]) / np.maximum(others, 1), -1.0)
    return found


# The next question, the operations of the history that answers are, and when to stop

_NMI = 0.5
"""NMI of clusters with the true themes, which is unknown; clusters of articles with their sections have about .4."""
_MOST_CLUSTERS, _MOST_SPLIT = 300, 400
Scored = tuple[float, Question]


def next_question(state: QuestionState) -> Question | None:
    """Return the question to which of the most similar clusters, at most nine, the least certain sentence belongs.

    After all sentences, the question is which clusters to merge or to split.
    """
    return about_least_certain(state, QuestionKind.CLUSTER, MOST_CANDIDATES) or merge_or_split(state)


def about_least_certain(state: QuestionState, kind: QuestionKind, candidates: int) -> Question | None:
    """Return the question about the least certain sentence and its most similar clusters, so many of them."""
    numbers = list(state.members)
    if len(numbers) < 2:
        return None
    stand = {number: state.representative(number) for number in numbers}
    # Answers that gave no links do not make their sentence a linked one.
    about = {a.question.sentences[0] for a in state.answers.values() if a.question.kind is not QuestionKind.PAIR}
    asked = state.partition.rows([sentence for sentence in about if state.has(sentence)])
    done = {*state.linked_rows.tolist(), *asked.tolist(), *stand.values()}
    free = np.setdiff1d(np.arange(len(state.partition.ids)), sorted(done))
    if not len(free):
        return None
    similarity = mean_cosines(state.vectors.unit, state.partition.numbers, free, numbers)
    two = np.sort(similarity, axis=1)[:, -2:]
    margin = np.round(two[:, 1] - two[:, 0], 6)
    assigned = state.partition.numbers[free] != UNASSIGNED
    place = int(np.lexsort((np.arange(len(margin)), margin, assigned))[0])
    best = np.argsort(-np.round(similarity[place], 6), kind="stable")[:candidates]
    shown = (stand[numbers[i]] for i in best)
    return Question(kind, Effect.MOVE, tuple(state.id(row) for row in (int(free[place]), *shown)))


def merge_or_split(state: QuestionState) -> Question | None:
    """Return the question about the merge or the split with the largest expected gain (A3S)."""
    merge = _best_merge(state)
    split = _best_split(state, merge[0] if merge else 0.0)
    found = max((scored for scored in (merge, split) if scored), key=lambda scored: scored[0], default=None)
    return found[1] if found else None


def _best_merge(state: QuestionState) -> Scored | None:
    numbers = sorted(state.members, key=lambda number: -len(state.members[number]))[:_MOST_CLUSTERS]
    if len(numbers) < 2:
        return None
    sizes = np.array([len(state.members[number]) for number in numbers])
    means = np.stack([state.vectors.centred[state.members[number]].mean(axis=0) for number in numbers])
    together = expit(state.vectors.intercept + state.vectors.slope * (means @ means.T))
    upper, lower = np.triu_indices(len(numbers), 1)
    gain = _NMI * together[upper, lower] * _difference(sizes[upper], sizes[lower], state)
    apart = state.clusters_apart()
    for place in np.argsort(-np.round(gain, 9), kind="stable"):
        pair = numbers[upper[place]], numbers[lower[place]]
        if frozenset(pair) not in apart:
            question = _question(state, Effect.MERGE, *(state.representative(number) for number in pair))
            if state.may_ask(question):
                return float(gain[place]), question
    return None


def _best_split(state: QuestionState, least: float) -> Scored | None:
    """Return the best split if its gain may be more than ``least``."""
    best: Scored | None = None
    for rows in sorted(state.members.values(), key=len, reverse=True):
        bound = (2 - _NMI) * np.log(2) * len(rows) / len(state.partition.ids)
        if len(rows) < 2 or bound <= max(least, best[0] if best else 0.0):
            break
        key = ("parts", rows.tobytes())
        if key not in state.cache:
            x = state.vectors.unit[rows]
            compared = np.sort(np.random.default_rng(state.seed).permutation(len(rows))[:_MOST_SPLIT])
            parts = Iclust(IclustConfig(restarts=3)).fit_predict(x[compared], 2, state.seed)
            state.cache[key] = extended_labels(x, compared, parts, 2)
        first, second = rows[state.cache[key] == 0], rows[state.cache[key] == 1]
        question = _question(state, Effect.SPLIT, state.vectors.central(first), state.vectors.central(second))
        if state.may_ask(question) and not state.links.are_together(*question.sentences):
            differ = 1.0 - float(expit(state.vectors.log_odds(first, second)))
            gain = (2 - _NMI) * differ * float(_difference(len(first), len(second), state))
            if best is None or gain > best[0]:
                best = gain, question
    return best


def _difference(one: np.ndarray | int, other: np.ndarray | int, state: QuestionState) -> np.ndarray:
    """Return the difference d of the entropy between two clusters and their union."""
    both = np.add(one, other)
    share = one / both
    return np.asarray(both / len(state.partition.ids) * (entr(share) + entr(1 - share)))


def _question(state: QuestionState, effect: Effect, first: int, second: int) -> Question:
    return Question(QuestionKind.PAIR, effect, (state.id(first), state.id(second)))


# --- steps ------------------------------------------------------------------------------------------------------------


Namer = Callable[[Ids], str]
"""Names a new cluster by its sentence ids."""
WINDOW = 15
"""Number of last answers that are considered."""
_FEW = 0.1
"""Number of sentences moved by an answer, on average over the window, up to which it is suggested to stop. Chosen on
validation articles (experiment log): going on to the end gains little after it, with wrong answers nothing."""


def answer(state: QuestionState, given: Answer, fresh: int, namer: Namer) -> Operation:
    """Return the operation of an answer; an answer that contradicts earlier ones, or skips, moves nothing.

    New clusters get numbers from ``fresh`` on. Raises :class:`DataError` if a sentence is not part of the labelling.
    """
    if not all(state.has(sentence) for sentence in given.question.sentences):
        raise DataError("This question is about sentences that are not part of the coding. Load the page again.")
    key = next_key(state.partition)
    constraints = constraints_of({**state.answers, key: given})
    after = state.partition
    if not constraints.contradictions or constraints.contradictions[-1].answer != key:
        moves = Moves(state, constraints.links, fresh)
        moves.answer(given)
        after = _moved(state, given, moves.numbers, fresh, namer)
    before = state.partition
    moved = int((before.numbers != after.numbers).sum())
    parts = [_said(state, given)]
    gone = [cluster.name for number, cluster in before.clusters.items() if number not in after.clusters]
    made = [cluster.name for number, cluster in after.clusters.items() if number not in before.clusters]
    parts += [f"{name} merged" for name in gone]
    parts += [f"new code {name}" for name in made]
    parts.append(f"{counted(moved, 'unit')} moved" if moved else "no unit moved")
    summary = ", ".join(parts)
    entries = {**after.entries, (EntryKind.ANSWER, key): given.entry()}
    return Operation(OperationKind.ANSWER, summary, difference(state.partition, replace(after, entries=entries)))


def take_back(partition: Partition, key: str) -> Operation:
    """Remove an answer, so that its question can be asked again; what it moved stays."""
    old = partition.entries.get((EntryKind.ANSWER, key))
    if old is None:
        raise DataError("This answer was taken back already.")
    change = EntryChange(EntryKind.ANSWER, key, old, None)
    return op.entries(OperationKind.REOPEN, f"Answer {int(key):,} taken back", [change])


def _moved(state: QuestionState, given: Answer, numbers: Ids, fresh: int, namer: Namer) -> Partition:
    """Return the partition with the moved sentences, and with clusters created and deleted as needed."""
    before, after = state.partition, state.partition
    if given.question.effect is Effect.MERGE:
        one, other = (state.cluster_of(sentence) for sentence in given.question.sentences[:2])
        for kept, gone in ((one, other), (other, one)):
            if one != other and kept in before.clusters and gone in before.clusters and not (numbers == gone).any():
                after = apply(before, op.merge(before, [gone], kept).change_set)
    clusters = dict(after.clusters)
    for number in np.unique(numbers[numbers >= fresh]).tolist():
        ids = before.ids[numbers == number]
        old = before.clusters.get(int(before.numbers[numbers == number][0]))
        split = given.question.effect is Effect.SPLIT and old is not None
        name = old.name if split and old is not None else namer(ids)
        known = replace(after, clusters=clusters)
        parent = old.parent if split and old is not None else None
        clusters[number] = Cluster(number, free_name(known, name), free_colour(known), parent)
    return replace(after, clusters=clusters, numbers=numbers)


def _said(state: QuestionState, given: Answer) -> str:
    if given.value == given.question.values()[-1]:
        return "Skipped"
    if given.question.kind is QuestionKind.PAIR:
        return "Together" if given.value != NO else "Apart"
    if given.question.kind is QuestionKind.CLOSER:
        return "Closer to " + "ABC"[int(given.value)]
    if given.chosen is None:
        return "None of these clusters"
    cluster = state.partition.clusters.get(state.cluster_of(given.chosen))
    return f"→ {cluster.name}" if cluster is not None else "→ unassigned"


def standing_answers(steps: Iterable[Step]) -> list[Step]:
    """Return the steps of answers that were not undone, in order."""
    found: dict[int, Step] = {}
    for step in steps:
        if step.operation != OperationKind.ANSWER:
            continue
        if step.kind is Kind.UNDO and step.target is not None:
            found.pop(step.target, None)
        else:
            found[step.target or step.id] = step
    return list(found.values())


def stop_reason(moved: Sequence[int]) -> str:
    """Return why it is suggested to stop, given how many sentences each answer moved; "" if it is not."""
    last = moved[-WINDOW:]
    if len(last) < WINDOW or sum(last) > _FEW * WINDOW:
        return ""
    some = {0: "no unit", 1: "1 unit"}.get(sum(last), f"{sum(last)} units")
    return f"The last {WINDOW} answers moved {some}, so the next ones will probably change little."
