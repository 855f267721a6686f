"""Questions about the cluster of one sentence, which several clusters suit almost equally well.

The sentence without answers with the smallest margin between its two best clusters is asked first (margin sampling,
Scheffer, Decomain, Wrobel 2001), after unassigned ones.
"""

from __future__ import annotations

import numpy as np

from themescope.core.labelling.answers import MOST_CANDIDATES, Effect, Question, QuestionKind
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.questions import cobra
from themescope.core.labelling.questions.moves import mean_cosines
from themescope.core.labelling.questions.state import QuestionState
from themescope.core.labelling.questions.vectors import Floats


def which_cluster(state: QuestionState) -> Question | None:
    """Return the question to which of the most similar clusters, at most nine, the least certain sentence belongs.

    After all sentences, the question is which clusters belong together.
    """
    return _about(state, QuestionKind.CLUSTER, MOST_CANDIDATES) or cobra.ask(state)


def which_closer(state: QuestionState) -> Question | None:
    """Return the question which of its two most similar clusters is closer to the least certain sentence."""
    return _about(state, QuestionKind.CLOSER, 2)


def _about(state: QuestionState, kind: QuestionKind, candidates: int) -> Question | None:
    numbers = list(state.members)
    if len(numbers) < 2:
        return None
    stand = {number: state.representative(number) for number in numbers}
    done = {*state.linked_rows.tolist(), *_compared(state), *stand.values()}
    free = np.setdiff1d(np.arange(len(state.partition.ids)), sorted(done))
    if not len(free):
        return None
    similarity = mean_cosines(state.vectors.unit, state.partition.numbers, free, numbers)
    place = _least_certain(similarity, state.partition.numbers[free] == UNASSIGNED)
    best = np.argsort(-np.round(similarity[place], 6), kind="stable")[:candidates]
    shown = (stand[numbers[i]] for i in best)
    return Question(kind, Effect.MOVE, tuple(state.id(row) for row in (int(free[place]), *shown)))


def _least_certain(similarity: Floats, unassigned: np.ndarray) -> int:
    """Return the first row with the smallest margin, of the unassigned ones if there are any."""
    two = np.sort(similarity, axis=1)[:, -2:]
    margin = np.round(two[:, 1] - two[:, 0], 6)
    return int(np.lexsort((np.arange(len(margin)), margin, ~unassigned))[0])


def _compared(state: QuestionState) -> list[int]:
    """Return the rows of the sentences that questions were about which gave no links."""
    about = {a.question.sentences[0] for a in state.answers.values() if a.question.kind is not QuestionKind.PAIR}
    return [int(row) for row in state.partition.rows([sentence for sentence in about if state.has(sentence)])]
