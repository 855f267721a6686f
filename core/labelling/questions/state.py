"""What questions are chosen from: a labelling with its answers, and vectors prepared for comparing its sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.inputs import unit_rows
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration, effective_themes
from themescope.core.labelling.answers import Answer, Constraints, Question, answers, constraints_of
from themescope.core.labelling.links import Links
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.types import Floats, Matrix

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
