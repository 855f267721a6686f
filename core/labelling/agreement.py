"""Inter-annotator agreement on partitions of sentences.

Clusters have no common names, so pairs of sentences are compared: together or apart. If agreement is undefined, the
result contains the reason instead of a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.metrics.matching import match_clusters
from themescope.core.metrics.partition import AdjustedMutualInformation, AdjustedRandIndex, MetricConfig
from themescope.core.metrics.statistics.intervals import bootstrap_mean
from themescope.core.types import Estimate, Ids, Labels

MISSING = -1
_PAIRED = 3_000
"""Maximum number of sentences of an article that are compared in pairs (4.5 million pairs); more are sampled."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two partitions of the same sentences."""

    shared: int
    """Number of sentences that both have assigned."""
    articles: int
    """Number of articles for which agreement is defined."""
    ari: Estimate | None
    ami: Estimate | None
    undefined: str
    """Reason why there is no number; "" if there is one."""


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha over pairs of sentences of one article, with the nominal values together and apart."""

    value: float | None
    pairs: int
    """Number of pairs that at least two raters have judged."""
    undefined: str


def compare(first: Labels, second: Labels, articles: Ids, seed: int = 0) -> Comparison:
    """Return mean ARI and AMI over articles with their intervals, of (n,) labels; -1 is unassigned and ignored."""
    both = (first != MISSING) & (second != MISSING)
    if not both.any():
        return Comparison(0, 0, None, None, "they have no assigned sentence in common")
    scores: list[tuple[float, float]] = []
    for article in np.unique(articles[both]):
        rows = np.flatnonzero(both & (articles == article))
        a, b = first[rows], second[rows]
        if len(rows) < 2 or (len(np.unique(a)) == 1 and len(np.unique(b)) == 1):
            continue
        metrics = AdjustedRandIndex(MetricConfig()), AdjustedMutualInformation(MetricConfig())
        scores.append((metrics[0].score(a, b), metrics[1].score(a, b)))
    if not scores:
        reason = "they share only one sentence" if both.sum() == 1 else "both have only one cluster"
        return Comparison(int(both.sum()), 0, None, None, reason)
    ari, ami = (bootstrap_mean(column, seed=seed) for column in zip(*scores, strict=True))
    return Comparison(int(both.sum()), len(scores), ari, ami, "")


def alpha(raters: Sequence[Labels], articles: Ids, seed: int = 0) -> Alpha:
    """Return Krippendorff's alpha of any number of raters, each with (n,) labels; -1 is missing.

    Units are the pairs of sentences of one article, values are together (1) and apart (0); a rater has judged a pair if
    both sentences are assigned. Hayes and Krippendorff 2007: alpha = 1 - D_observed / D_expected.
    """
    random, units, together, apart = np.random.default_rng(seed), 0, 0.0, 0.0
    observed = 0.0
    for article in np.unique(articles):
        rows = np.flatnonzero(articles == article)
        if len(rows) > _PAIRED:
            rows = np.sort(random.choice(rows, _PAIRED, replace=False))
        ones, judged = _judgements([labels[rows] for labels in raters])
        judged_twice = judged >= 2
        ones, judged = ones[judged_twice], judged[judged_twice]
        zeros = judged - ones
        units += len(judged)
        together, apart = together + float(ones.sum()), apart + float(zeros.sum())
        observed += float((2.0 * ones * zeros / (judged - 1)).sum())
    if not units:
        return Alpha(None, 0, "no pair of sentences was judged by two raters")
    if not together or not apart:
        value = "together" if together else "apart"
        return Alpha(None, units, f"all raters put every pair {value}")
    n = together + apart
    return Alpha(1.0 - (observed / n) / (2.0 * together * apart / (n * (n - 1.0))), units, "")


def _judgements(raters: Sequence[Labels]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for every pair of rows how many raters put them together, and how many rated both."""
    i, j = np.triu_indices(len(raters[0]), 1)
    ones, judged = np.zeros(len(i), dtype=np.int64), np.zeros(len(i), dtype=np.int64)
    for labels in raters:
        known = (labels[i] != MISSING) & (labels[j] != MISSING)
        judged += known
        ones += known & (labels[i] == labels[j])
    return ones, judged


@dataclass(frozen=True, slots=True)
class Verdict:
    """Consensus of several labellings; (n,) arrays in the order of the sentences."""

    labels: Labels
    """Most frequent cluster, by the labels of the first rater; -1 for a tie or without votes."""
    dispute: npt.NDArray[np.float64]
    """Share of votes that differ from the most frequent cluster: 0 all agree … 1 all differ."""
    votes: Labels
    """(raters, n) labels of all raters, renamed as those of the first."""
    names: Mapping[int, tuple[int, int]]
    """Label → (rater, original label of that rater)."""


def adjudicate(raters: Sequence[Labels]) -> Verdict:
    """Match the clusters of all partitions with those of the first, and count votes.

    A cluster without a match gets a new label.
    """
    first = raters[0]
    votes = [first]
    names = {int(label): (0, int(label)) for label in np.unique(first[first != MISSING])}
    for rater, labels in enumerate(raters[1:], 1):
        found = match_clusters(first, labels)
        own = found.aligned.copy()
        for label in np.unique(own[own != MISSING]).tolist():
            if label in names:
                continue
            fresh = max(names, default=-1) + 1
            source = int(labels[np.flatnonzero(found.aligned == label)[0]])
            own[found.aligned == label] = fresh
            names[fresh] = (rater, source)
        votes.append(own)
    table = np.stack(votes)
    labels, dispute = _majority(table)
    return Verdict(labels, dispute, table, names)


def _majority(votes: Labels) -> tuple[Labels, npt.NDArray[np.float64]]:
    labels = np.full(votes.shape[1], MISSING, dtype=np.int32)
    dispute = np.zeros(votes.shape[1])
    for column in range(votes.shape[1]):
        voted, counts = np.unique(votes[votes[:, column] != MISSING, column], return_counts=True)
        if not len(voted):
            continue
        most = counts.max()
        dispute[column] = 1.0 - most / counts.sum()
        if (counts == most).sum() == 1:
            labels[column] = voted[counts.argmax()]
    return labels, dispute
