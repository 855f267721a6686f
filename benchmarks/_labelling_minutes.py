"""Minutes of a person's time against AMI on sentences that nobody was asked about, for every way to correct clusters.

A third of the sentences of an article is held out: it is in no labelling. After so many minutes of corrections the
held-out sentences go to the cluster with the highest mean cosine, and AMI (max) with the sections is measured on them.
A key press takes 1.5 s and a question 4 s, so a moved sentence takes two presses (next sentence, number of a cluster)
and a re-clustering two (open, apply).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks._section_articles import SectionArticle
from themescope.core.clustering.inputs import extended_labels
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import apply
from themescope.core.labelling.learning import Placed
from themescope.core.labelling.metric_learning import effect_on_sentences, helps, learn_metric
from themescope.core.labelling.pairs import Pairs, pairs_of_answers, pairs_of_placed
from themescope.core.labelling.partition import Cluster, Partition, start
from themescope.core.labelling.questions.simulation import (
    Labeller,
    asked,
    first_clusters,
    states_after,
    with_small_clusters,
)
from themescope.core.labelling.questions.strategies import STRATEGIES, Strategy
from themescope.core.labelling.questions.vectors import QuestionVectors, prepare
from themescope.core.labelling.suggestions import recluster, suggest
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.matching import match_clusters
from themescope.core.metrics.statistics.intervals import bootstrap_mean, paired_difference
from themescope.core.models.linear_metric.directions import LinearMetricConfig
from themescope.core.protocols import Metric
from themescope.core.types import Estimate, Ids, Labels, Matrix

MINUTES = (0, 1, 2, 4, 8)
KEY_S, QUESTION_S = 1.5, 4.0
_COMPARED = 4
_HELD_OUT = 1 / 3
_AMI: Metric = METRICS.build("ami", {})


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """An article with held-out sentences; row i of ``vectors`` is sentence i of the labelling."""

    article: SectionArticle
    rows: Ids
    """(n,) rows of the article that are in the labelling, ascending."""
    vectors: QuestionVectors
    seed: int

    @property
    def x(self) -> Matrix:
        """Return the (n, dim) vectors of the labelling."""
        return self.article.vectors[self.rows]

    @property
    def truth(self) -> Labels:
        """Return the (n,) sections of the labelling."""
        return self.article.truth[self.rows]

    def score(self, labels: Labels, x: Matrix) -> float:
        """Return AMI on the held-out sentences for (n,) ``labels`` of the others, by vectors ``x`` of the article."""
        numbers = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        every = extended_labels(x, self.rows, numbers, int(numbers.max()) + 1)
        out = np.setdiff1d(np.arange(len(self.article.truth)), self.rows)
        return _AMI.score(self.article.truth[out], every[out])


def split(article: SectionArticle, seed: int) -> Split:
    """Hold out a random third of the sentences of an article."""
    order = np.random.default_rng([seed, 3]).permutation(len(article.truth))
    rows = np.sort(order[round(_HELD_OUT * len(order)) :]).astype(np.int64)
    return Split(article, rows, prepare(article.vectors[rows]), seed)


def by_questions(item: Split, error: float, strategy: Strategy, metric: bool = False) -> list[float]:
    """Return the scores after each number of minutes of answering questions."""
    first = first_clusters(item.vectors, item.seed)
    if strategy.small_clusters:
        first = with_small_clusters(first)
    labeller = Labeller(dict(enumerate(item.truth.tolist())), error, np.random.default_rng([7, item.seed]))
    counts = [int(60 * minutes / QUESTION_S) for minutes in MINUTES]
    states = states_after(asked(first, strategy, labeller.value), first, counts)
    found = []
    for state in (states[count] for count in counts):
        pairs = pairs_of_answers(state.constraints)
        x, _ = _metric(item, state.partition, pairs) if metric else (item.article.vectors, item.x)
        found.append(item.score(state.partition.numbers.astype(np.int32), x))
    return found


def by_moves(item: Split, error: float, order: str, metric: bool = False) -> list[float]:
    """Return the scores after each number of minutes of moving sentences, and clustering the others again."""
    first = first_clusters(item.vectors, item.seed).partition
    named = match_clusters(item.truth, first.numbers.astype(np.int32)).aligned.astype(np.int64) + 1
    known = np.unique(np.concatenate([named, item.truth + 1])).tolist()
    begun = start(first.ids, named, [Cluster(n, str(n), 0) for n in known])
    random = np.random.default_rng([7, item.seed])
    queue = suggest(begun, item.x).queue(begun) if order == "least certain" else random.permutation(begun.ids)
    themes = np.where(random.random(len(queue)) < error, random.choice(known, len(queue)), item.truth[queue] + 1)
    found = []
    for minutes in MINUTES:
        count = max(int((60 * minutes - 2 * KEY_S) / (2 * KEY_S)), 0)
        found.append(_after(item, begun, queue[:count], themes[:count], metric))
    return found


def _after(item: Split, partition: Partition, moved: Ids, themes: Ids, metric: bool) -> float:
    """Return the score after sentences were moved and the others clustered again, by a learned metric if it helps."""
    for sentence, number in zip(moved.tolist(), themes.tolist(), strict=True):
        partition = apply(partition, op.assign(partition, np.array([sentence]), number).change_set)
    every, own = item.article.vectors, item.x
    if metric:
        every, own = _metric(item, partition, pairs_of_placed(Placed(partition, np.sort(moved))))
    if len(moved):
        partition = recluster(partition, own, np.sort(moved))
    return item.score(partition.numbers.astype(np.int32), every)


def _metric(item: Split, partition: Partition, pairs: Pairs) -> tuple[Matrix, Matrix]:
    """Return the vectors of the article and of its labelling by the metric of pairs, unchanged if it does not help."""
    every, own, config = item.article.vectors, item.x, LinearMetricConfig()
    if not len(pairs) or not helps(effect_on_sentences(pairs, partition.ids, own, config)):
        return every, own
    directions = learn_metric(pairs, partition.ids, own, config)
    return directions.apply(every), directions.apply(own)


Way = Callable[[Split, float], list[float]]
WAYS: dict[str, Way] = {
    "moving random sentences": partial(by_moves, order="random"),
    "moving the least certain sentences": partial(by_moves, order="least certain"),
    "moving random sentences, learned metric": partial(by_moves, order="random", metric=True),
    **{f"questions: {strategy.title}": partial(by_questions, strategy=strategy) for strategy in STRATEGIES.values()},
    "questions: Place sentences, learned metric": partial(by_questions, strategy=STRATEGIES["placement"], metric=True),
}


def report(articles: Sequence[SectionArticle], error: float) -> None:
    """Print the table of all ways to correct, with the paired difference to the first one after four minutes."""
    items = [split(article, number) for number, article in enumerate(articles)]
    times = " | ".join(f"{minutes} min" for minutes in MINUTES)
    print(f"\n{len(items)} articles, {error:.0%} wrong\n\n| way | {times} | against the first, {_COMPARED} min |")
    print("|" + " --- |" * (len(MINUTES) + 2))
    baseline = np.empty(0)
    for name, way in WAYS.items():
        scores = np.array([way(item, error) for item in items])
        ours = scores[:, MINUTES.index(_COMPARED)]
        more = _interval(paired_difference(ours, baseline)) if len(baseline) else ""
        baseline = baseline if len(baseline) else ours
        print(f"| {name} | " + " | ".join(_interval(bootstrap_mean(c)) for c in scores.T) + f" | {more} |", flush=True)


def _interval(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
