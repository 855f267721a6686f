"""Merging of small clusters by pairwise questions, without a number of clusters.

COBRA (Van Craenendonck, Dumancic, Blockeel 2018, algorithm 1): the sentences are divided into small clusters, the
super-instances, each of which its medoid represents. The closest two super-instances of different clusters whose
relation is unknown are compared by a question about their representatives: a must-link merges their clusters, and a
cannot-link keeps them apart, together with everything that follows by transitivity.

A merge of clusters whose sentences are unlikely to share a theme is checked by a question about two other sentences of
them, so that one wrong answer does less harm; this is not part of the paper.

The representatives of a cluster are the sentences that answers have linked, so that the super-instances follow from the
labelling and its answers, and any clusters can be merged further.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from themescope.core.labelling.answers import YES, Effect, Question, QuestionKind
from themescope.core.labelling.questions.state import QuestionState

_UNLIKELY = 0.15
"""Probability below which a merge is checked. Chosen on validation articles with 0 % and 10 % wrong answers."""
_MOST = 1_000
"""Maximum number of representatives that are compared (a million pairs)."""


def ask(state: QuestionState) -> Question | None:
    """Return the question about the closest two clusters whose relation is unknown, or a check of the last merge."""
    return _check(state) or _closest(state)


def _check(state: QuestionState) -> Question | None:
    """Return a question about two other sentences of the clusters that the last answer merged, if that was unlikely."""
    last = next(reversed(state.answers.values()), None)
    if last is None or last.question.effect is not Effect.MERGE or last.value != YES:
        return None
    first, second = (int(row) for row in state.partition.rows(last.question.sentences))
    number = int(state.partition.numbers[first])
    rows = state.members.get(number, np.empty(0, np.intp))
    rows = rows[~np.isin(rows, (first, second))]
    unit = state.vectors.unit
    side = unit[rows] @ (unit[second] - unit[first]) > 0
    if number != int(state.partition.numbers[second]) or side.all() or not side.any():
        return None
    if expit(state.vectors.log_odds(rows[~side], rows[side])) > _UNLIKELY:
        return None
    one, other = (state.vectors.central(part) for part in (rows[~side], rows[side]))
    question = Question(QuestionKind.PAIR, Effect.SPLIT, (state.id(one), state.id(other)))
    decided = state.links.are_together(*question.sentences)
    return question if state.may_ask(question) and not decided else None


def _closest(state: QuestionState) -> Question | None:
    rows, clusters = _representatives(state)
    similarity = state.vectors.unit[rows] @ state.vectors.unit[rows].T
    apart = state.clusters_apart()
    upper, lower = np.triu_indices(len(rows), 1)
    differ = clusters[upper] != clusters[lower]
    upper, lower = upper[differ], lower[differ]
    for place in np.argsort(-np.round(similarity[upper, lower], 5), kind="stable"):
        first, second = int(upper[place]), int(lower[place])
        if frozenset((int(clusters[first]), int(clusters[second]))) in apart:
            continue
        sentences = state.id(int(rows[first])), state.id(int(rows[second]))
        question = Question(QuestionKind.PAIR, Effect.MERGE, sentences)
        if state.may_ask(question):
            return question
    return None


def _representatives(state: QuestionState) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all representatives, and the numbers of their clusters."""
    rows: list[int] = []
    clusters: list[int] = []
    for number in state.members:
        linked = state.linked_in(number).tolist() or [state.central(number)]
        rows += linked
        clusters += [number] * len(linked)
    return np.array(rows[:_MOST], dtype=np.intp), np.array(clusters[:_MOST], dtype=np.int64)
