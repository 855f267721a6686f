"""The next question, the operations of the history that answers are, and when to stop.

First come questions about the cluster of one sentence, which several clusters suit almost equally well: the sentence
without answers with the smallest margin between its two best clusters first (margin sampling, Scheffer, Decomain,
Wrobel 2001), after unassigned ones.

When all are placed, clusters are merged and split by pairwise questions in the order of their expected gain (A3S, Deng
et al. 2024, ICML, Adaptive active aggregation and splitting). The gain is the change of the normalised
mutual information with the true themes, NMI = 2 I / (H(true) + H(clusters)). For a merge of clusters with a and b of n
sentences that share a theme, I stays and H(clusters) falls by d = (a + b)/n · h(a / (a + b)), with the binary entropy
h; for the split of a cluster into parts of two themes, I rises by d. To first order a merge gains NMI · d, and a split
2 d - NMI · d, each divided by H(true) + H(clusters), which all have in common. They are weighted with the probability
of a must-link or a cannot-link by the log-odds of pairs, and a question about the two central sentences decides.

Differences from the paper: its probabilities come from the distances of nearest neighbours, here from
:class:`themescope.core.clustering.pairs.PairCalibration`; its purity test asks about the sentence farthest from the
centre, here about the central sentences of the two parts, which are those of the split if the answer is no.
``benchmarks/questions.py`` compares this order with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import entr, expit

from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.clustering.inputs import extended_labels
from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.answers import (
    MOST_CANDIDATES,
    NO,
    Answer,
    Effect,
    Question,
    QuestionKind,
    constraints_of,
    next_key,
)
from themescope.core.labelling.changes import EntryChange, Kind, Step, apply, difference
from themescope.core.labelling.markup import counted
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import (
    UNASSIGNED,
    Cluster,
    EntryKind,
    Partition,
    free_colour,
    free_name,
)
from themescope.core.labelling.questions.state import Moves, QuestionState, mean_cosines
from themescope.core.types import Ids

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
        raise DataError("This question is about sentences that are not part of the labelling. Load the page again.")
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
    parts += [f"new cluster {name}" for name in made]
    parts.append(f"{counted(moved, 'sentence')} moved" if moved else "no sentence moved")
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
    some = {0: "no sentence", 1: "1 sentence"}.get(sum(last), f"{sum(last)} sentences")
    return f"The last {WINDOW} answers moved {some}, so the next ones will probably change little."
