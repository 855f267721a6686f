"""Simulated labellers answer questions by the true sections of articles: ARI and AMI by number of answers.

    python -m benchmarks.questions articles/*.jsonl.xz --articles 100 --errors 0 0.1

Articles are those of the test split (``--split``) that qualify for the clustering benchmark. Each begins with the
clusters of Iclust with the estimated number of themes, except that COBRA and A3S begin with small clusters. The table
has the mean over articles with its 95 % bootstrap interval, and the paired difference to random questions after 50
answers. Beside what the product asks (``placement``) and its questions about pairs alone (``a3s``), these are compared:

- ``cobra`` (Van Craenendonck, Dumančić, Blockeel 2018, algorithm 1) compares the closest two representatives of
  different clusters whose relation is unknown; an unlikely merge is checked by a question about two other sentences.
- ``closer`` asks which of its two most similar clusters is closer to the least certain sentence.
- ``least-certain`` asks about the pair with log-odds nearest to 0, ``random`` about a random pair.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from benchmarks._section_articles import SectionArticle, section_articles
from tests.core.labelling.labellers import Labeller, asked, first_clusters
from themescope.core.labelling import questions
from themescope.core.labelling.answers import YES, Effect, Question, QuestionKind
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.questions import (
    QuestionState,
    QuestionVectors,
    about_least_certain,
    merge_or_split,
    next_question,
    prepare,
)
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics import bootstrap_mean, paired_difference
from themescope.core.paths import DEFAULT, model_folder
from themescope.core.tasks.density import load_calibration
from themescope.core.types import Estimate, Split

COUNTS = (0, 10, 20, 50, 100)
GOAL = 50
"""Number of answers at which strategies are compared with random questions."""
_ARI, _AMI = METRICS.build("ari", {}), METRICS.build("ami", {})
_UNLIKELY = 0.15
"""Probability below which COBRA checks a merge. Chosen on validation articles with 0 % and 10 % wrong answers."""
_MOST_COMPARED, _DRAWS = 1_000, 1_000


def cobra(state: QuestionState) -> Question | None:
    """Return a check of the last merge, or the question about the closest two clusters whose relation is unknown."""
    checked = _check(state)
    if checked is not None:
        return checked
    stand = {number: state.linked_in(number).tolist() or [state.central(number)] for number in state.members}
    rows = np.array([row for some in stand.values() for row in some][:_MOST_COMPARED], dtype=np.intp)
    clusters = state.partition.numbers[rows]
    upper, lower = np.triu_indices(len(rows), 1)
    differ = clusters[upper] != clusters[lower]
    upper, lower = upper[differ], lower[differ]
    similarity = (state.vectors.unit[rows] @ state.vectors.unit[rows].T)[upper, lower]
    apart = state.clusters_apart()
    for place in np.argsort(-np.round(similarity, 5), kind="stable"):
        first, second = int(upper[place]), int(lower[place])
        sentences = state.id(int(rows[first])), state.id(int(rows[second]))
        question = Question(QuestionKind.PAIR, Effect.MERGE, sentences)
        if frozenset((int(clusters[first]), int(clusters[second]))) not in apart and state.may_ask(question):
            return question
    return None


def _check(state: QuestionState) -> Question | None:
    """Return a question about two other sentences of the clusters that the last answer merged, if that was unlikely."""
    last = next(reversed(state.answers.values()), None)
    if last is None or last.question.effect is not Effect.MERGE or last.value != YES:
        return None
    first, second = (int(row) for row in state.partition.rows(last.question.sentences))
    number = int(state.partition.numbers[first])
    rows = state.members.get(number, np.empty(0, np.intp))
    rows = rows[~np.isin(rows, (first, second))]
    side = state.vectors.unit[rows] @ (state.vectors.unit[second] - state.vectors.unit[first]) > 0
    if number != int(state.partition.numbers[second]) or side.all() or not side.any():
        return None
    if expit(state.vectors.log_odds(rows[~side], rows[side])) > _UNLIKELY:
        return None
    one, other = (state.id(state.vectors.central(part)) for part in (rows[~side], rows[side]))
    question = Question(QuestionKind.PAIR, Effect.SPLIT, (one, other))
    return question if state.may_ask(question) and not state.links.are_together(one, other) else None


def closer(state: QuestionState) -> Question | None:
    """Return the question which of its two most similar clusters is closer to the least certain sentence."""
    return about_least_certain(state, QuestionKind.CLOSER, 2)


def least_certain(state: QuestionState) -> Question | None:
    """Return the question about the pair with log-odds nearest to 0 that no answer decides."""
    rows = np.flatnonzero(state.partition.numbers != UNASSIGNED)
    rows = np.sort(np.random.default_rng(state.seed).permutation(rows)[:700])
    centred = state.vectors.centred[rows]
    upper, lower = np.triu_indices(len(rows), 1)
    doubt = np.abs(state.vectors.intercept + state.vectors.slope * (centred @ centred.T))[upper, lower]
    nearest = np.argsort(np.round(doubt, 6), kind="stable")[: _DRAWS + 2 * len(state.answers)]
    return _first_open(state, ((int(rows[upper[place]]), int(rows[lower[place]])) for place in nearest))


def random(state: QuestionState) -> Question | None:
    """Return the question about a random pair that no answer decides; the same one until it is answered."""
    rows = np.flatnonzero(state.partition.numbers != UNASSIGNED)
    generator = np.random.default_rng([state.seed, len(state.answers)])
    draws = range(_DRAWS if len(rows) > 1 else 0)
    return _first_open(state, (tuple(generator.choice(rows, 2, replace=False).tolist()) for _ in draws))


def _first_open(state: QuestionState, pairs: Iterator[tuple[int, ...]]) -> Question | None:
    """Return the question about the first pair of rows that is not answered and does not follow from answers."""
    for first, second in pairs:
        one, other = state.id(first), state.id(second)
        question = Question(QuestionKind.PAIR, Effect.MOVE, (one, other))
        if not (state.links.are_together(one, other) or state.links.are_apart(one, other)) and state.may_ask(question):
            return question
    return None


Ask = Callable[[QuestionState], Question | None]
COMPARED: dict[str, Ask] = {
    "placement": next_question,
    "a3s": merge_or_split,
    "closer": closer,
    "cobra": cobra,
    "least-certain": least_certain,
    "random": random,
}
_SMALL = {"a3s": 3.0, "cobra": 3.0}
"""How many times as many clusters as themes a strategy begins with, which merges small ones; the others with once."""


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


def curve(article: SectionArticle, first: QuestionState, ask: Ask, labeller: Labeller) -> Curve:
    """Return the scores of an article after each number of answers; after the last answer they stay the same."""
    found, moved = Curve(), []
    states: Iterator[QuestionState] = asked(first, ask, labeller.value)
    state, ended = first, False
    for count in range(max(COUNTS) + 1):
        if count in COUNTS:
            found.ari[count], found.ami[count] = _score(_ARI, article, state), _score(_AMI, article, state)
        if not found.stopped and (ended or questions.stop_reason(moved) or count == max(COUNTS)):
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


def measure(
    articles: Sequence[SectionArticle], vectors: Sequence[QuestionVectors], strategy: str, error: float
) -> list[Curve]:
    """Return the curves of all articles."""
    curves = []
    for number, (article, x) in enumerate(zip(articles, vectors, strict=True)):
        labeller = Labeller(dict(enumerate(article.truth.tolist())), error, np.random.default_rng([7, number]))
        first = first_clusters(x, number, _SMALL.get(strategy, 1.0))
        curves.append(curve(article, first, COMPARED[strategy], labeller))
    return curves


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


def main() -> None:
    """Measure all strategies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", help="articles as compressed JSON lines")
    parser.add_argument("--articles", type=int, default=100)
    parser.add_argument("--split", choices=[split.value for split in Split], default=Split.TEST.value)
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--cache", type=Path, help="file (.npz) for the vectors")
    parser.add_argument("--errors", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--strategies", nargs="+", choices=list(COMPARED), default=list(COMPARED))
    args = parser.parse_args()
    with threadpool_limits(limits=1):
        articles = section_articles(args.files, Split(args.split), args.articles, args.model, args.cache)
        calibration = load_calibration(model_folder(args.model))
        vectors = [prepare(article.vectors, calibration) for article in articles]
        sizes, themes = [len(a.truth) for a in articles], [len(np.unique(a.truth)) for a in articles]
        print(f"{len(articles)} articles, {np.mean(sizes):.1f} sentences and {np.mean(themes):.1f} sections each")
        for error in args.errors:
            report({id: measure(articles, vectors, id, error) for id in args.strategies}, error)


if __name__ == "__main__":
    main()
