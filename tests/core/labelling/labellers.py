"""Simulated labellers, who answer by known themes with some wrong answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.labelling import questions
from themescope.core.labelling.answers import NO, SKIP, YES, Answer, Question, QuestionKind
from themescope.core.labelling.changes import apply
from themescope.core.labelling.partition import Cluster, Partition, start
from themescope.core.labelling.questions import QuestionState, QuestionVectors


@dataclass
class Labeller:
    """A labeller who knows the theme of every sentence and gives a random other answer with probability ``error``."""

    themes: Mapping[int, int]
    """Sentence id → theme."""
    error: float
    random: np.random.Generator

    def value(self, question: Question) -> str:
        """Return the answer to a question."""
        right = self._right(question)
        if self.random.random() >= self.error:
            return right
        others = [value for value in question.values() if value not in (right, SKIP)]
        return str(self.random.choice(others))

    def _right(self, question: Question) -> str:
        theme, *others = (self.themes[sentence] for sentence in question.sentences)
        same = [place for place, other in enumerate(others, 1) if other == theme]
        if question.kind is QuestionKind.PAIR:
            return YES if same else NO
        if question.kind is QuestionKind.CLUSTER:
            return str(same[0]) if same else NO
        return str(same[0]) if len(same) == 1 else SKIP


def first_clusters(vectors: QuestionVectors, seed: int = 0, times: float = 1.0) -> QuestionState:
    """Return a labelling of sentences 0…n-1 with clusters of Iclust, ``times`` as many as there are themes probably."""
    n = len(vectors.unit)
    k = min(max(round(times * vectors.themes), 2), n)
    labels = Iclust(IclustConfig()).fit_predict(vectors.unit, k, seed)
    partition = start(np.arange(n), labels.astype(np.int64), [Cluster(c, f"Cluster {c}", 0) for c in range(k)])
    return QuestionState(partition, vectors, seed)


def asked(
    state: QuestionState, ask: Callable[[QuestionState], Question | None], value: Callable[[Question], str]
) -> Iterator[QuestionState]:
    """Yield the states after each answer, until there is nothing left to ask."""
    while (question := ask(state)) is not None:
        given = Answer(question, value(question))
        operation = questions.answer(state, given, _fresh(state.partition), lambda ids: "New cluster")
        state = state.after(apply(state.partition, operation.change_set))
        yield state


def states_after(
    states: Iterator[QuestionState], first: QuestionState, counts: Sequence[int]
) -> dict[int, QuestionState]:
    """Return number of answers → state; where the questions end earlier, that at their end."""
    found: dict[int, QuestionState] = {}
    state = first
    for count in range(max(counts) + 1):
        if count in counts:
            found[count] = state
        state = next(states, state)
    return found


def _fresh(partition: Partition) -> int:
    return max(partition.clusters, default=-1) + 1
