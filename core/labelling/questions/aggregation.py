"""Merges and splits in the order of their expected gain.

A3S (Deng et al. 2024, ICML, Adaptive active aggregation and splitting): clusters of an adaptive clustering are merged
and split by pairwise questions. The gain is the change of the normalised mutual information with the true themes,
NMI = 2 I / (H(true) + H(clusters)). For a merge of clusters with a and b of n sentences that share a theme, I stays and
H(clusters) falls by d = (a + b)/n · h(a / (a + b)), with the binary entropy h; for the split of a cluster into parts of
two themes, I rises by d. To first order a merge gains NMI · d, and a split 2 d - NMI · d, each divided by
H(true) + H(clusters), which all have in common. They are weighted with the probability of a must-link or a cannot-link
by the log-odds of pairs, and a question about the two central sentences decides.

Differences from the paper: its probabilities come from the distances of nearest neighbours, here from
:class:`themescope.core.clustering.pairs.PairCalibration`; its purity test asks about the sentence farthest from the
centre, here about the central sentences of the two parts, which are those of the split if the answer is no.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import entr, expit

from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.clustering.inputs import extended_labels
from themescope.core.labelling.answers import Effect, Question, QuestionKind
from themescope.core.labelling.questions.state import QuestionState
from themescope.core.labelling.questions.vectors import Rows

_NMI = 0.5
"""NMI of clusters with the true themes, which is unknown; clusters of articles with their sections have about .4."""
_MOST_CLUSTERS, _MOST_SPLIT = 300, 400
Scored = tuple[float, Question]


def ask(state: QuestionState) -> Question | None:
    """Return the question about the merge or the split with the largest expected gain."""
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
        for scored in _split_of(state, rows):
            if best is None or scored[0] > best[0]:
                best = scored
    return best


def _split_of(state: QuestionState, rows: Rows) -> Iterator[Scored]:
    """Yield the question about the two parts of a cluster with its gain, unless the answer is known."""
    first, second = _parts(state, rows)
    question = _question(state, Effect.SPLIT, state.vectors.central(first), state.vectors.central(second))
    if state.may_ask(question) and not state.links.are_together(*question.sentences):
        differ = 1.0 - float(expit(state.vectors.log_odds(first, second)))
        yield (2 - _NMI) * differ * float(_difference(len(first), len(second), state)), question


def _parts(state: QuestionState, rows: Rows) -> tuple[Rows, Rows]:
    """Return the two clusters that Iclust makes of one."""
    key = ("parts", rows.tobytes())
    if key not in state.cache:
        x = state.vectors.unit[rows]
        compared = np.sort(np.random.default_rng(state.seed).permutation(len(rows))[:_MOST_SPLIT])
        labels = Iclust(IclustConfig(restarts=3)).fit_predict(x[compared], 2, state.seed)
        state.cache[key] = extended_labels(x, compared, labels, 2)
    labels = state.cache[key]
    return rows[labels == 0], rows[labels == 1]


def _difference(one: np.ndarray | int, other: np.ndarray | int, state: QuestionState) -> np.ndarray:
    """Return the difference d of the entropy between two clusters and their union."""
    both = np.add(one, other)
    share = one / both
    return np.asarray(both / len(state.partition.ids) * (entr(share) + entr(1 - share)))


def _question(state: QuestionState, effect: Effect, first: int, second: int) -> Question:
    return Question(QuestionKind.PAIR, effect, (state.id(first), state.id(second)))
