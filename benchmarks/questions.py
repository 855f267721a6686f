"""Simulated labellers answer questions by the true sections of articles: ARI and AMI by number of answers.

    python -m benchmarks.questions articles/*.jsonl.xz --articles 100 --errors 0 0.1

Articles are those of the test split (``--split``) that qualify for the clustering benchmark. Each begins with the
clusters of Iclust with the estimated number of themes, except that COBRA and A3S begin with small clusters. The table
has the mean over articles with its 95 % bootstrap interval, and the paired difference to random questions after 50
answers. ``--cache FILE`` and ``--results FOLDER`` keep vectors and results for the next run; ``--speed N`` measures the
time per answer at N sentences.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks._section_articles import SectionArticle, section_articles
from themescope.core.labelling.answers import Answer, Question
from themescope.core.labelling.changes import apply
from themescope.core.labelling.partition import Cluster, start
from themescope.core.labelling.questions import steps, stopping
from themescope.core.labelling.questions.simulation import Labeller, asked, first_clusters, with_small_clusters
from themescope.core.labelling.questions.state import QuestionState
from themescope.core.labelling.questions.strategies import STRATEGIES, Strategy
from themescope.core.labelling.questions.vectors import QuestionVectors, prepare
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics.intervals import bootstrap_mean, paired_difference
from themescope.core.paths import DEFAULT, model_folder
from themescope.core.tasks.pair_calibration import load_calibration
from themescope.core.types import Estimate, Split

T = TypeVar("T")
COUNTS = (0, 10, 20, 50, 100)
GOAL = 50
"""Number of answers at which strategies are compared with random questions."""
_ARI, _AMI = METRICS.build("ari", {}), METRICS.build("ami", {})


@dataclass
class Curve:
    """Scores of one article."""

    ari: dict[int, float] = field(default_factory=dict)
    ami: dict[int, float] = field(default_factory=dict)
    answers: int = 0
    """Number of answers until nothing was left to ask, at most the largest of :data:`COUNTS`."""
    contradictions: int = 0
    stopped: int = 0
    """Number of answers at which stopping is suggested, or ``answers`` if it is not."""
    ari_stopped: float = 0.0


def curve(article: SectionArticle, first: QuestionState, strategy: Strategy, labeller: Labeller) -> Curve:
    """Return the scores of an article after each number of answers; after the last answer they stay the same."""
    found, moved = Curve(), []
    states: Iterator[QuestionState] = asked(first, strategy, labeller.value)
    state, ended = first, False
    for count in range(max(COUNTS) + 1):
        if count in COUNTS:
            found.ari[count], found.ami[count] = _score(_ARI, article, state), _score(_AMI, article, state)
        if not found.stopped and (ended or stopping.stop_reason(moved) or count == max(COUNTS)):
            found.stopped, found.ari_stopped = min(count, len(moved)), _score(_ARI, article, state)
        if not ended:
            following = next(states, None)
            ended = following is None
            if following is not None:
                moved.append(int((following.partition.numbers != state.partition.numbers).sum()))
                state = following
    found.answers, found.contradictions = len(moved), len(state.constraints.contradictions)
    return found


def _score(metric: object, article: SectionArticle, state: QuestionState) -> float:
    return float(metric.score(article.truth, state.partition.numbers.astype(np.int32)))  # type: ignore[attr-defined]


def begin(vectors: QuestionVectors, strategy: Strategy, seed: int) -> QuestionState:
    """Return the labelling that a strategy begins with."""
    first = first_clusters(vectors, seed)
    return with_small_clusters(first) if strategy.small_clusters else first


def measure(articles: Sequence[SectionArticle], vectors: Sequence[QuestionVectors], strategy: Strategy,
            error: float) -> list[Curve]:  # fmt: skip
    """Return the curves of all articles."""
    curves = []
    for number, (article, x) in enumerate(zip(articles, vectors, strict=True)):
        labeller = Labeller(dict(enumerate(article.truth.tolist())), error, np.random.default_rng([7, number]))
        curves.append(curve(article, begin(x, strategy, number), strategy, labeller))
    return curves


def kept(folder: Path | None, name: str, compute: Callable[[], list[Curve]]) -> list[Curve]:
    """Return curves from a file of the folder, computed and written there if it has none."""
    file = folder / f"{name}.json" if folder is not None else None
    if file is not None and file.exists():
        return [_curve(values) for values in json.loads(file.read_text(encoding="utf-8"))]
    found = compute()
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([asdict(one) for one in found]), encoding="utf-8")
    return found


def _curve(values: dict[str, Any]) -> Curve:
    scores = {name: {int(count): score for count, score in values[name].items()} for name in ("ari", "ami")}
    return Curve(**{**values, **scores})


def report(found: dict[str, list[Curve]], error: float) -> None:
    """Print the tables of one error rate."""
    print(f"\n{error:.0%} wrong answers\n")
    for name in ("ari", "ami"):
        print(
            f"| {name.upper()} | " + " | ".join(f"{count} answers" for count in COUNTS) + f" | against random, {GOAL} |"
        )
        print("|" + " --- |" * (len(COUNTS) + 2))
        baseline = [getattr(c, name)[GOAL] for c in found["random"]] if "random" in found else None
        for id, curves in found.items():
            values = [bootstrap_mean([getattr(c, name)[count] for c in curves]) for count in COUNTS]
            ours = [getattr(c, name)[GOAL] for c in curves]
            more = _interval(paired_difference(ours, baseline)) if baseline and id != "random" else ""
            print(f"| {id} | " + " | ".join(map(_interval, values)) + f" | {more} |", flush=True)
        print()
    print("| strategy | answers, at most 100 | contradictions | answers at the suggestion to stop | ARI there |")
    print("| --- | --- | --- | --- | --- |")
    for id, curves in found.items():
        means = [np.mean([getattr(c, n) for c in curves]) for n in ("answers", "contradictions", "stopped")]
        stopped = _interval(bootstrap_mean([c.ari_stopped for c in curves]))
        print(f"| {id} | " + " | ".join(f"{mean:.1f}" for mean in means) + f" | {stopped} |", flush=True)


def _interval(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def speed(articles: Sequence[SectionArticle], sentences: int, clusters: int = 50, answers: int = 40) -> None:
    """Print the time of an answer and of the next question, at so many sentences of several articles, in ms."""
    x = np.concatenate([article.vectors for article in articles])[:sentences]
    parts = [1_000 * number + article.truth for number, article in enumerate(articles)]
    themes = dict(enumerate(np.concatenate(parts)[:sentences].tolist()))
    vectors, begun = _timed(lambda: prepare(x))
    first = _divided(vectors, clusters)
    print(f"{len(x):,} sentences in {clusters} clusters, {x.shape[1]} dimensions; preparing vectors {begun:.0f} ms\n")
    print("| strategy | first question | median of answers with the next question | maximum |")
    print("| --- | --- | --- | --- |")
    for strategy in STRATEGIES.values():
        state = with_small_clusters(first) if strategy.small_clusters else first
        labeller = Labeller(themes, 0.1, np.random.default_rng(0))
        question, asking = _timed(partial(strategy.ask, state))
        times: list[float] = []
        while question is not None and len(times) < answers:
            given = Answer(question, labeller.value(question), strategy.id)
            (state, question), taken = _timed(partial(_step, state, given, strategy))
            times.append(taken)
        print(f"| {strategy.id} | {asking:.0f} ms | {np.median(times):.0f} ms | {max(times):.0f} ms |", flush=True)


def _step(state: QuestionState, given: Answer, strategy: Strategy) -> tuple[QuestionState, Question | None]:
    operation = steps.answer(state, given, max(state.partition.clusters) + 1, lambda ids: "New cluster")
    after = state.after(apply(state.partition, operation.change_set))
    return after, strategy.ask(after)


def _divided(vectors: QuestionVectors, clusters: int) -> QuestionState:
    labels = KMeans(clusters, n_init=1, random_state=0).fit_predict(vectors.unit).astype(np.int64)
    known = [Cluster(number, f"Cluster {number}", 0) for number in range(clusters)]
    return QuestionState(start(np.arange(len(labels)), labels, known), vectors)


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    begun = time.perf_counter()
    return call(), 1_000 * (time.perf_counter() - begun)


def main() -> None:
    """Measure all strategies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", help="articles as compressed JSON lines")
    parser.add_argument("--articles", type=int, default=100)
    parser.add_argument("--split", choices=[split.value for split in Split], default=Split.TEST.value)
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--cache", type=Path, help="file (.npz) for the vectors")
    parser.add_argument("--results", type=Path, help="folder with results that are not computed again")
    parser.add_argument("--errors", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    parser.add_argument("--speed", type=int, default=0, help="number of sentences")
    args = parser.parse_args()
    with threadpool_limits(limits=1):
        articles = section_articles(args.files, Split(args.split), args.articles, args.model, args.cache)
        if args.speed:
            speed(articles, args.speed)
            return
        calibration = load_calibration(model_folder(args.model))
        vectors = [prepare(article.vectors, calibration) for article in articles]
        sizes, themes = [len(a.truth) for a in articles], [len(np.unique(a.truth)) for a in articles]
        print(f"{len(articles)} articles, {np.mean(sizes):.1f} sentences and {np.mean(themes):.1f} sections each")
        for error in args.errors:
            report(
                {
                    id: kept(
                        args.results, f"{id} {error:g}", partial(measure, articles, vectors, STRATEGIES[id], error)
                    )
                    for id in args.strategies
                },
                error,
            )


if __name__ == "__main__":
    main()
