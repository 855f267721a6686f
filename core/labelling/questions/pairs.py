"""Questions about single pairs of sentences: the least certain one (uncertainty sampling) or a random one."""

from __future__ import annotations

import numpy as np

from themescope.core.labelling.answers import Effect, Question, QuestionKind
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.questions.state import QuestionState
from themescope.core.labelling.questions.vectors import Rows

_MOST = 700
"""Maximum number of sentences whose pairs are compared; more are sampled by the seed."""
_DRAWS = 1_000


def least_certain(state: QuestionState) -> Question | None:
    """Return the question about the pair with log-odds nearest to 0 that no answer decides."""
    rows = _assigned(state)
    rows = np.sort(np.random.default_rng(state.seed).permutation(rows)[:_MOST])
    centred = state.vectors.centred[rows]
    doubt = np.abs(state.vectors.intercept + state.vectors.slope * (centred @ centred.T))
    upper, lower = np.triu_indices(len(rows), 1)
    values = np.round(doubt[upper, lower], 6)
    wanted = min(len(values), _DRAWS + 2 * len(state.answers))
    nearest = np.argpartition(values, wanted - 1)[:wanted] if wanted else np.empty(0, np.intp)
    for place in nearest[np.lexsort((nearest, values[nearest]))]:
        question = _open(state, int(rows[upper[place]]), int(rows[lower[place]]))
        if question is not None:
            return question
    return None


def random(state: QuestionState) -> Question | None:
    """Return the question about a random pair that no answer decides; the same one until it is answered."""
    rows = _assigned(state)
    generator = np.random.default_rng([state.seed, len(state.answers)])
    for _ in range(_DRAWS if len(rows) > 1 else 0):
        first, second = generator.choice(rows, 2, replace=False)
        question = _open(state, int(first), int(second))
        if question is not None:
            return question
    return None


def _assigned(state: QuestionState) -> Rows:
    return np.flatnonzero(state.partition.numbers != UNASSIGNED)


def _open(state: QuestionState, first: int, second: int) -> Question | None:
    """Return the question about two rows, unless it is answered or follows from answers."""
    one, other = state.id(first), state.id(second)
    question = Question(QuestionKind.PAIR, Effect.MOVE, (one, other))
    if state.links.are_together(one, other) or state.links.are_apart(one, other) or not state.may_ask(question):
        return None
    return question
