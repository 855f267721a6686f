"""Choice of the clustering method by some labelled sentences, on articles with known sections.

    python -m benchmarks.method_choice FILE.jsonl.xz ... [--split test] [--grid]

Every article is clustered by all configurations that the job ``choose-method`` compares: model × clusterer × shared
words × number of clusters. The default is the first model with Iclust, shared words and the number of clusters that
Themes suggests. So many random sentences get their sections as labels, a configuration is chosen by them, and AMI (max)
and ARI of its clusters are measured on the sentences without a label.

Prints the score of the default, and with 95 % intervals over articles: the gain of each rule over the default, and its
regret, the distance to the best configuration of the article, which nobody knows. "naive" takes the configuration that
agrees best (COBS). ``--grid`` compares levels of confidence of the rule, for the validation split.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks._section_articles import SectionArticle, section_articles
from themescope import load
from themescope.core.clustering.pairs import PairCalibration
from themescope.core.labelling.configurations import Configuration, clustered, numbers_of_clusters, with_shared_words
from themescope.core.labelling.method_choice import Choice, choose, confidence_with
from themescope.core.labelling.pairs import Pairs
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics.intervals import bootstrap_mean
from themescope.core.protocols import Metric
from themescope.core.tasks.theme_counts import suggest
from themescope.core.types import Labels, Split
from themescope.jobs.kinds.choose_method import ChooseMethodConfig

MODELS = ("thematic-wikipedia", "static-wikipedia", "triplets-sen-titles-wikipedia")
LABELLED = (10, 20, 50)
_LEVELS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_METRICS: dict[str, Metric] = {"AMI": METRICS.build("ami", {}), "ARI": METRICS.build("ari", {})}
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clustered:
    """An article with (c, n) labels by c configurations, the default first."""

    truth: Labels
    configurations: list[Configuration]
    labels: npt.NDArray[np.int32]


def clusterings(articles: Sequence[SectionArticle], models: Sequence[str], calibration: PairCalibration) -> Clustered:
    """Cluster one article, given with the vectors of each model; the calibration is that of the first one."""
    grid = ChooseMethodConfig(labelling="benchmark")
    texts, n = articles[0].texts, len(articles[0].truth)
    suggested = suggest(articles[0].vectors, calibration, 200, 0).k
    found: dict[Configuration, Labels] = {}
    for model, article in zip(models, articles, strict=True):
        for shared in grid.shared:
            x = with_shared_words(texts, article.vectors, shared)
            for clusterer in grid.clusterers:
                for k in numbers_of_clusters(suggested, suggested, n):
                    found[Configuration(model, clusterer, k, shared)] = clustered(x, clusterer, k, 0)
    default = Configuration(models[0], grid.clusterers[0], suggested, grid.shared[0])
    ordered = [default, *(one for one in found if one != default)]
    return Clustered(articles[0].truth, ordered, np.stack([found[one] for one in ordered]))


def rules(choice: Choice, levels: dict[str, Choice]) -> dict[str, int]:
    """Return rule → position of the configuration that it takes."""
    return {"naive": choice.ranks[0].place, **{name: other.chosen for name, other in levels.items()}}


def measured(case: Clustered, count: int, seed: int, levels: Sequence[float]) -> dict[tuple[str, str], float]:
    """Return (metric, what) → value with ``count`` labelled sentences."""
    n = len(case.truth)
    known = np.sort(np.random.default_rng([seed, n]).permutation(n)[:count])
    rest = np.setdiff1d(np.arange(n), known)
    i, j = np.triu_indices(count, 1)
    pairs = Pairs(known[i], known[j], case.truth[known[i]] == case.truth[known[j]])
    if not pairs.both_kinds:
        return {}
    same = case.labels[:, pairs.first] == case.labels[:, pairs.second]
    choices = {_name(level): choose(pairs, same, confidence=level) for level in levels}
    found: dict[tuple[str, str], float] = {}
    taken = rules(next(iter(choices.values())), choices)
    for metric, measure in _METRICS.items():
        scores = np.array([measure.score(case.truth[rest], labels[rest]) for labels in case.labels])
        found[metric, "default"] = float(scores[0])
        found[metric, "regret of the default"] = float(scores.max() - scores[0])
        for rule, place in taken.items():
            found[metric, f"gain, {rule}"] = float(scores[place] - scores[0])
            found[metric, f"regret, {rule}"] = float(scores.max() - scores[place])
    for rule, place in taken.items():
        found["share of articles", f"another configuration than the default, {rule}"] = float(place != 0)
    for rule, choice in choices.items():
        if choice.held_out is not None:
            found["kappa", f"cross-validated gain, {rule}"] = choice.held_out
    return found


def report(cases: Sequence[Clustered], count: int, seeds: int, levels: Sequence[float]) -> None:
    """Print the means over articles at one number of labelled sentences."""
    by_name: dict[tuple[str, str], list[float]] = {}
    for case in cases:
        draws = [measured(case, count, seed, levels) for seed in range(seeds)]
        for key in sorted({key for draw in draws for key in draw}):
            by_name.setdefault(key, []).append(float(np.mean([draw[key] for draw in draws if key in draw])))
    for (metric, what), values in sorted(by_name.items()):
        mean = bootstrap_mean(values)
        print(f"{count} labelled, {metric}, {what}: {mean.value:+.4f} [{mean.low:+.4f}, {mean.high:+.4f}] ({mean.n})")


def _name(level: float) -> str:
    return f"confidence {level:g}"


def main() -> None:
    """Cluster the articles and print the results at each number of labelled sentences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="articles as compressed JSON lines")
    parser.add_argument("--models", nargs="+", default=MODELS, help="the first one is that of the default")
    parser.add_argument("--split", type=Split, default=Split.TEST)
    parser.add_argument("--articles", type=int, default=300, help="before long and short ones are left out")
    parser.add_argument("--seeds", type=int, default=3, help="random choices of the labelled sentences")
    parser.add_argument("--grid", action="store_true", help="compare levels of confidence")
    parser.add_argument("--cache", type=Path, help="folder that keeps articles and vectors")
    args = parser.parse_args()
    files = {model: args.cache and args.cache / f"{args.split}-{args.articles}-{model}.npz" for model in args.models}
    listed = [section_articles(args.files, args.split, args.articles, m, files[m]) for m in args.models]
    calibration = load(args.models[0]).calibration
    usable = [one for one in zip(*listed, strict=True) if 80 <= len(one[0].truth) <= 250]
    cases = [clusterings(one, args.models, calibration) for one in usable]
    print(f"{len(cases)} articles, {len(cases[0].configurations)} configurations or fewer each", flush=True)
    for count in LABELLED:
        report(cases, count, args.seeds, _LEVELS if args.grid else (confidence_with(count),))


if __name__ == "__main__":
    main()
