"""Effect of a metric learned in seconds, beside constrained re-clustering alone, on articles with known sections.

    python -m benchmarks.metric_learning FILE.jsonl.xz ... --model thematic-wikipedia [--split test] [--grid]

A simulated user places random sentences of an article in the clusters of their sections; the article was clustered by
Iclust into as many clusters as it has sections.

1. *Same article*: the other sentences are clustered again around the placed ones
(``themescope.core.labelling.suggestions``), by
   the vectors as they are and under the metric learned from the placed sentences. Measured on the sentences that nobody
   placed. "By the rule" uses the metric only where its cross-validated effect is above 0.
2. *Other articles*: a metric is learned from so many sentences in each of 1 or 10 articles, and articles without any
   placed sentence are clustered by Iclust.

Prints AMI (max) and the mean difference with its 95 % interval over articles. ``--grid`` compares settings of the
metric, for the validation split.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks._section_articles import SectionArticle, section_articles
from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.labelling.learning import Placed
from themescope.core.labelling.metric_learning import effect_on_sentences, helps, learn_metric
from themescope.core.labelling.pairs import Pairs, joined, pairs_of_placed
from themescope.core.labelling.partition import Cluster, Partition, start
from themescope.core.labelling.suggestions import recluster
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.matching import match_clusters
from themescope.core.metrics.statistics.intervals import bootstrap_mean
from themescope.core.models.base import unit_length
from themescope.core.models.linear_metric.directions import LinearMetricConfig
from themescope.core.protocols import Metric
from themescope.core.types import Ids, Split

CORRECTIONS = (10, 20, 50, 100)
FEWEST_LEFT = 30
_GRID = [LinearMetricConfig(weight=w, balance=t) for w in (0.3, 1.0, 2.0, 5.0) for t in (0.0, 0.2, 0.4)]
_AMI: Metric = METRICS.build("ami", {})
Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Case:
    """An article with its vectors and its clusters before any correction."""

    article: SectionArticle
    x: Vectors
    clusters: Ids
    """(n,) numbers of clusters, named after the sections that match them."""

    @property
    def k(self) -> int:
        """Number of sections."""
        return len(np.unique(self.article.truth))

    def placed(self, count: int, seed: int) -> Placed:
        """Return the state after ``count`` random sentences were placed in their sections."""
        truth = self.article.truth.astype(np.int64) + 1
        ids = np.sort(np.random.default_rng([seed, len(truth)]).permutation(len(truth))[:count])
        numbers = self.clusters.copy()
        numbers[ids] = truth[ids]
        known = np.unique(np.concatenate([numbers, truth])).tolist()
        return Placed(start(np.arange(len(numbers)), numbers, [Cluster(n, str(n), 0) for n in known]), ids)

    def score(self, partition: Partition, without: Ids) -> float:
        """Return AMI (max) on the sentences that nobody placed."""
        rest = np.setdiff1d(partition.ids, without)
        return _AMI.score(self.article.truth[rest], partition.numbers[rest].astype(np.int32))


def cases(articles: Sequence[SectionArticle]) -> list[Case]:
    """Cluster every article with 80 to 250 sentences: some must be left, and few articles must not take long."""
    found = []
    for article in (a for a in articles if 80 <= len(a.truth) <= 250):
        x = unit_length(article.vectors)
        labels = Iclust(IclustConfig()).fit_predict(x, len(np.unique(article.truth)), 0)
        found.append(Case(article, x, match_clusters(article.truth, labels).aligned.astype(np.int64) + 1))
    return found


def same_article(found: Sequence[Case], count: int, configs: Sequence[LinearMetricConfig], seeds: int) -> Iterator[str]:
    """Yield the results of the first experiment at one number of placed sentences."""
    usable = [case for case in found if len(case.x) - count >= FEWEST_LEFT]
    base: list[float] = []
    gains: dict[str, list[float]] = {}
    seconds = 0.0
    for case in usable:
        scores: dict[str, list[float]] = {}
        for seed in range(seeds):
            placed = case.placed(count, seed)
            pairs, ids = pairs_of_placed(placed), placed.partition.ids
            before = case.score(recluster(placed.partition, case.x, placed.ids), placed.ids)
            scores.setdefault("base", []).append(before)
            for config in configs:
                begun = time.perf_counter()
                moved = learn_metric(pairs, ids, case.x, config).apply(case.x)
                seconds += time.perf_counter() - begun
                gain = case.score(recluster(placed.partition, moved, placed.ids), placed.ids) - before
                scores.setdefault(_name(config), []).append(gain)
                if len(configs) == 1:
                    used = helps(effect_on_sentences(pairs, ids, case.x, config))
                    scores.setdefault("by the rule", []).append(gain if used else 0.0)
                    scores.setdefault("share of cases in which the rule uses it", []).append(float(used))
        base.append(float(np.mean(scores.pop("base"))))
        for name, values in scores.items():
            gains.setdefault(name, []).append(float(np.mean(values)))
    yield f"same article, {count} placed: constrained re-clustering {_interval(base)}"
    for name, differences in gains.items():
        yield f"    {name}: {_interval(differences)}"
    yield f"    {1000 * seconds / (len(usable) * seeds * len(configs)):.0f} ms to learn a metric"


def other_articles(found: Sequence[Case], count: int, learned: int, config: LinearMetricConfig, draws: int) -> str:
    """Return the result of the second experiment at one number of placed sentences in each of ``learned`` articles."""
    before = [_clustered(case, case.x) for case in found]
    gains: list[list[float]] = [[] for _ in found]
    for draw in range(draws):
        chosen = np.random.default_rng(draw).permutation(len(found))[:learned].tolist()
        metric = _joint_metric([found[i] for i in chosen], count, draw, config)
        for i in set(range(len(found))) - set(chosen):
            gains[i].append(_clustered(found[i], metric(found[i].x)) - before[i])
    means = [float(np.mean(values)) for values in gains if values]
    return f"other articles, {count} placed in each of {learned}: Iclust {_interval(before)}; {_interval(means)}"


def _joint_metric(
    chosen: Sequence[Case], count: int, seed: int, config: LinearMetricConfig
) -> Callable[[Vectors], Vectors]:
    """Return the metric of the pairs within several articles."""
    parts, first = [], 0
    for case in chosen:
        own = pairs_of_placed(case.placed(min(count, len(case.x)), seed))
        parts.append(Pairs(own.first + first, own.second + first, own.together))
        first += len(case.x)
    x = np.concatenate([case.x for case in chosen])
    return learn_metric(joined(parts), np.arange(len(x)), x, config).apply


def _clustered(case: Case, x: Vectors) -> float:
    return _AMI.score(case.article.truth, Iclust(IclustConfig()).fit_predict(x, case.k, 0))


def _name(config: LinearMetricConfig) -> str:
    return f"metric, weight {config.weight:g}, balance {config.balance:g}"


def _interval(values: Sequence[float]) -> str:
    found = bootstrap_mean(values)
    return f"{found.value:+.4f} [{found.low:+.4f}, {found.high:+.4f}] over {found.n} articles"


def main() -> None:
    """Run both experiments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="articles as compressed JSON lines")
    parser.add_argument("--model", default="thematic-wikipedia")
    parser.add_argument("--split", type=Split, default=Split.TEST)
    parser.add_argument(
        "--articles", type=int, default=300, help="maximum number, before the long and short are left out"
    )
    parser.add_argument("--seeds", type=int, default=3, help="random choices of placed sentences")
    parser.add_argument("--draws", type=int, default=5, help="random choices of the articles with placed sentences")
    parser.add_argument("--grid", action="store_true", help="compare settings of the metric")
    parser.add_argument(
        "--cache", type=Path, help="file (.npz) in which articles and vectors are kept for the next run"
    )
    args = parser.parse_args()
    found = cases(section_articles(args.files, args.split, args.articles, args.model, args.cache))
    configs = _GRID if args.grid else [LinearMetricConfig()]
    for count in CORRECTIONS:
        for line in same_article(found, count, configs, args.seeds):
            print(line, flush=True)
    for learned in () if args.grid else (1, 10):
        for count in CORRECTIONS:
            print(other_articles(found, count, learned, configs[0], args.draws), flush=True)


if __name__ == "__main__":
    main()
