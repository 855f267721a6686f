"""Simulated labellers, who answer by known themes with some wrong answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.labelling.answers import NO, SKIP, YES, Answer, Question, QuestionKind
from themescope.core.labelling.changes import apply
from themescope.core.labelling.partition import Cluster, Partition, start
from themescope.core.labelling.questions import strategies
from themescope.core.labelling.questions.state import QuestionState, QuestionVectors
from themescope.core.labelling.questions.strategies import Strategy, small_clusters, suggested_count


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


def first_clusters(vectors: QuestionVectors, seed: int = 0) -> QuestionState:
    """Return a labelling of sentences 0…n-1 whose clusters are those of Iclust with the estimated number of themes."""
    n = len(vectors.unit)
    k = min(max(round(vectors.themes), 2), n)
    labels = Iclust(IclustConfig()).fit_predict(vectors.unit, k, seed)
    partition = start(np.arange(n), labels.astype(np.int64), [Cluster(c, f"Cluster {c}", 0) for c in range(k)])
    return QuestionState(partition, vectors, seed)


def with_small_clusters(state: QuestionState, count: int | None = None) -> QuestionState:
    """Return the state with all clusters replaced by small ones, by default as many as the page suggests."""
    names = [f"sentence {i}" for i in state.partition.ids]
    operation = small_clusters(state, names, count or suggested_count(state), _fresh(state.partition))
    return state.after(apply(state.partition, operation.change_set))


def asked(state: QuestionState, strategy: Strategy, value: Callable[[Question], str]) -> Iterator[QuestionState]:
    """Yield the states after each answer, until there is nothing left to ask."""
    while (question := strategy.ask(state)) is not None:
        given = Answer(question, value(question), strategy.id)
        operation = strategies.answer(state, given, _fresh(state.partition), lambda ids: "New cluster")
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
