"""Model of raters on simulated labellers: calibration, recovery of reliabilities, and gain over majority voting.

    python -m benchmarks.rater_model ARTICLES.jsonl.xz … --seeds 20

The true clusters are the top-level sections of real articles of the test split. Five labellers of different quality put
a share of the sentences elsewhere, and merge or split sections; a hard sentence is mistaken by all with a higher
probability, so that errors are dependent, against the model's assumption. Designs:

- ``20 % by two``: 20 % of the articles are labelled by two of the five, the others by one
- ``20 % by all``: 20 % of the articles are labelled by all five, the others by one
- ``all by three``: every article is labelled by three
- ``two people``: two people label every article; a tenth of the articles has gold labels

For each design: Brier score and expected calibration error of the posterior over all pairs that somebody judged, with
the table of ten bins; mean absolute error of sensitivity and specificity and the share of 95 % intervals that contain
the true value, which is that over all articles of the seed; ARI and pair accuracy of the consensus and of majority
voting on articles with several labels, with intervals over seeds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from themescope.core.labelling.agreement import adjudicate
from themescope.core.labelling.consensus import co_assignment, consensus
from themescope.core.labelling.posterior import RaterModel, fit
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics.intervals import bootstrap_mean
from themescope.core.protocols import SILENT, Metric
from themescope.core.readers import REGISTRY as READERS
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import Article, Ids, Labels, Split, split_of_title

ARI: Metric = METRICS.build("ari", {})
QUALITY = ((0.03, 0.1), (0.08, 0.2), (0.15, 0.25), (0.25, 0.3), (0.4, 0.3))
"""Share of misplaced sentences, and probability of a merge and of a split in an article, of each labeller."""
HARD_SHARE, HARD_FACTOR = 0.15, 2.5
"""Share of hard sentences, and by how much more often they are misplaced."""
OVERLAP = 0.2
BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """What the labellers of one seed would say about everything, and the truth."""

    truth: Labels
    complete: list[Labels]
    articles: Ids


def true_clusters(files: list[Path], most: int) -> Iterator[Labels]:
    """Yield the top-level sections of test articles with 3 to 12 sections of at least 3 sentences, and 17 in all."""
    found = 0
    for file in files:
        for article in READERS.build("jsonl").read(file, SILENT):
            if split_of_title(article.title) is not Split.TEST or found == most:
                continue
            labels = _sections(article)
            if labels is not None:
                found += 1
                yield labels


def _sections(article: Article) -> Labels | None:
    counts: list[int] = []
    for section in split_article(article, SentenceSplitter("en")).sections:
        text = sum(len(paragraph.sentences) for paragraph in section.paragraphs)
        if section.level <= 2:
            counts.append(text)
        elif counts:
            counts[-1] += text
    kept = [min(count, 60) for count in counts if count >= 3]
    if not 3 <= len(kept) <= 12 or sum(kept) < 17:
        return None
    return np.repeat(np.arange(len(kept)), kept).astype(np.int32)


def simulate(truths: list[Labels], random: np.random.Generator) -> Simulated:
    """Label every article by everybody."""
    complete: list[list[Labels]] = [[] for _ in QUALITY]
    for truth in truths:
        hard = random.random(len(truth)) < HARD_SHARE
        for place, (error, reshape) in enumerate(QUALITY):
            complete[place].append(_labelled(truth, hard, error, reshape, random))
    articles = np.repeat(np.arange(len(truths)), [len(truth) for truth in truths]).astype(np.int64)
    return Simulated(np.concatenate(truths), [np.concatenate(own) for own in complete], articles)


def _labelled(truth: Labels, hard: np.ndarray, error: float, reshape: float, random: np.random.Generator) -> Labels:
    labels, k = truth.copy(), int(truth.max()) + 1
    chance = np.where(hard, min(error * HARD_FACTOR, 0.9), error)
    wrong = random.random(len(labels)) < chance
    labels[wrong] = random.integers(0, k, int(wrong.sum()))
    if k > 2 and random.random() < reshape:
        first, second = random.choice(k, 2, replace=False)
        labels[labels == first] = second
    if random.random() < reshape:
        labels[(labels == random.integers(k)) & (random.random(len(labels)) < 0.5)] = k
    return labels


# --- designs ----------------------------------------------------------------------------------------------------------


def seen(whole: Simulated, design: str, random: np.random.Generator) -> tuple[list[Labels], list[int]]:
    """Return the labels that were made in a design, and the positions of gold labels."""
    n = int(whole.articles.max()) + 1
    people = range(len(QUALITY)) if design != "two people" else (1, 3)
    who = np.zeros((len(QUALITY), n), dtype=np.bool_)
    shared = random.permutation(n)[: round(OVERLAP * n)]
    for article in range(n):
        count = {"20 % by two": 2, "20 % by all": 5}.get(design, 1) if article in shared else 1
        count = {"all by three": 3, "two people": 2}.get(design, count)
        who[random.choice([*people], count, replace=False), article] = True
    labels = [np.where(mask[whole.articles], own, -1) for mask, own in zip(who, whole.complete, strict=True)]
    if design != "two people":
        return labels, []
    gold = np.isin(whole.articles, random.permutation(n)[: max(n // 10, 1)])
    return [labels[1], labels[3], np.where(gold, whole.truth, -1)], [2]


def true_rates(whole: Simulated, labels: Labels) -> tuple[float, float]:
    """Return sensitivity and specificity over all articles, each of which weighs as much as its sentences."""
    sums = np.zeros(4)
    for article in np.unique(whole.articles):
        rows = whole.articles == article
        i, j = np.triu_indices(int(rows.sum()), 1)
        same, said = (values[rows][i] == values[rows][j] for values in (whole.truth, labels))
        sums += np.array([(same & said).sum(), same.sum(), (~same & ~said).sum(), (~same).sum()]) / (rows.sum() - 1)
    return float(sums[0] / sums[1]), float(sums[2] / sums[3])


@dataclass(slots=True)
class Tally:
    """Results of one design over all seeds."""

    probabilities: list[np.ndarray]
    together: list[np.ndarray]
    errors: list[tuple[float, float]]
    covered: list[tuple[bool, bool]]
    undefined: int
    consensus_ari: list[float]
    majority_ari: list[float]
    consensus_pairs: list[float]
    majority_pairs: list[float]


def run(truths: list[Labels], design: str, seeds: int) -> Tally:
    """Run a design with every seed."""
    tally = Tally([], [], [], [], 0, [], [], [], [])
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        whole = simulate(truths, random)
        labels, gold = seen(whole, design, random)
        model = fit(labels, whole.articles, gold)
        complete = [whole.complete[1], whole.complete[3]] if gold else whole.complete
        _reliabilities(tally, whole, complete, model)
        people = [own for place, own in enumerate(labels) if place not in gold]
        _partitions(tally, whole, labels, people, model)
    return tally


def _reliabilities(tally: Tally, whole: Simulated, complete: list[Labels], model: RaterModel) -> None:
    for own, found in zip(complete, model.reliabilities, strict=False):
        if found.sensitivity is None or found.specificity is None:
            tally.undefined += 1
            continue
        sensitivity, specificity = true_rates(whole, own)
        pairs = (found.sensitivity, sensitivity), (found.specificity, specificity)
        tally.errors.append((abs(pairs[0][0].value - sensitivity), abs(pairs[1][0].value - specificity)))
        tally.covered.append((
            pairs[0][0].low <= sensitivity <= pairs[0][0].high,
            pairs[1][0].low <= specificity <= pairs[1][0].high,
        ))  # fmt: skip


def _partitions(tally: Tally, whole: Simulated, labels: list[Labels], people: list[Labels], model: RaterModel) -> None:
    scores: list[tuple[float, float, float, float]] = []
    for article in np.unique(whole.articles):
        rows = np.flatnonzero(whole.articles == article)
        own, truth = [found[rows] for found in labels], whole.truth[rows]
        posterior = co_assignment(model, own)
        i, j = np.triu_indices(len(rows), 1)
        p, same = posterior.pairs(i, j), truth[i] == truth[j]
        tally.probabilities.append(p)
        tally.together.append(same)
        voters = [found[rows] for found in people if (found[rows] >= 0).any()]
        if len(voters) < 2 or len(voters) < sum((found >= 0).any() for found in own):
            continue  # of one person, or with gold labels
        best, majority = consensus(posterior).labels, _alone(adjudicate(voters).labels)
        scores.append((
            ARI.score(truth, best), ARI.score(truth, majority),
            float(((best[i] == best[j]) == same).mean()), float(((majority[i] == majority[j]) == same).mean()),
        ))  # fmt: skip
    for values, mean in zip(
        (tally.consensus_ari, tally.majority_ari, tally.consensus_pairs, tally.majority_pairs),
        np.mean(scores, axis=0).tolist(), strict=True,
    ):  # fmt: skip
        values.append(mean)


def _alone(labels: Labels) -> Labels:
    """Return the labels with each tie as a cluster of its own."""
    ties = labels < 0
    labels = labels.copy()
    labels[ties] = labels.max() + 1 + np.arange(int(ties.sum()))
    return labels


# --- report -----------------------------------------------------------------------------------------------------------


def report(tally: Tally) -> dict[str, object]:
    """Return the numbers of a design."""
    p, z = np.concatenate(tally.probabilities), np.concatenate(tally.together)
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    bins = [
        {"mean": round(float(p[place == b].mean()), 3), "observed": round(float(z[place == b].mean()), 3),
         "share of pairs": round(float((place == b).mean()), 4)}
        for b in range(BINS) if (place == b).any()
    ]  # fmt: skip
    ece = sum(abs(b["mean"] - b["observed"]) * b["share of pairs"] for b in bins)
    errors, covered = np.array(tally.errors), np.array(tally.covered, dtype=float)
    ari = np.array(tally.consensus_ari) - np.array(tally.majority_ari)
    pairs = np.array(tally.consensus_pairs) - np.array(tally.majority_pairs)
    return {
        "Brier": round(float(((p - z) ** 2).mean()), 4),
        "Brier of the share": round(float(z.mean() * (1 - z.mean())), 4),
        "ECE": round(ece, 4),
        "bins": bins,
        "mean absolute error": dict(zip(("sensitivity", "specificity"), errors.mean(axis=0).round(4), strict=True)),
        "covered": dict(zip(("sensitivity", "specificity"), covered.mean(axis=0).round(3), strict=True)),
        "reliabilities": len(errors), "undefined": tally.undefined,
        "consensus ARI": _interval(tally.consensus_ari), "majority ARI": _interval(tally.majority_ari),
        "gain in ARI": _interval(ari), "consensus pair accuracy": _interval(tally.consensus_pairs),
        "gain in pair accuracy": _interval(pairs),
    }  # fmt: skip


def _interval(values: list[float] | np.ndarray) -> str:
    found = bootstrap_mean(np.asarray(values))
    return f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]"


def main() -> None:
    """Print one JSON object for each design."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="articles as JSON lines")
    parser.add_argument("--articles", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    truths = [*true_clusters(args.files, args.articles)]
    sizes = [len(truth) for truth in truths]
    print(json.dumps({"articles": len(truths), "sentences": sum(sizes), "median": float(np.median(sizes))}), flush=True)
    for design in ("20 % by two", "20 % by all", "all by three", "two people"):
        print(json.dumps({design: report(run(truths, design, args.seeds))}, default=float), flush=True)


if __name__ == "__main__":
    main()
