"""State of asking questions: a labelling with its vectors and the answers that it holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from themescope.core.labelling.answers import Answer, Constraints, Question, answers, constraints_of
from themescope.core.labelling.links import Links
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.labelling.questions.vectors import QuestionVectors, Rows


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
