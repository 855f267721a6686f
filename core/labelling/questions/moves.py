"""Which sentences an answer moves.

Sentences that answers put together move together. Afterwards, the sentences of the clusters concerned that no answer
mentions go to the one of these clusters with the higher mean cosine, so that an answer about one sentence also moves
the sentences that are similar to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from themescope.core.labelling.answers import NO, Answer, Effect, QuestionKind
from themescope.core.labelling.links import Links
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.questions.state import QuestionState, Rows
from themescope.core.types import Floats, Ids

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
                self._merge(first, one, other)
            elif one == UNASSIGNED or (other != UNASSIGNED and self._weaker(first, second) == first):
                self.place(first, other)
            else:
                self.place(second, one)
        elif not together and one == other and one != UNASSIGNED:
            if effect is Effect.SPLIT:
                self._split(first, second)
            else:
                self._eject(self._weaker(first, second))

    def _merge(self, row: int, one: int, other: int) -> None:
        """Merge two clusters into the larger one."""
        kept, gone = (one, other) if (self.numbers == one).sum() >= (self.numbers == other).sum() else (other, one)
        self.numbers[self.numbers == gone] = kept
        self._eject_from(row, kept)

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
        """Eject sentences from a cluster that must be apart from ``kept`` or from each other."""
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
