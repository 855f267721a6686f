"""Choice of the number of clusters from three curves over k.

None of the three is right alone: the silhouette likes few large clusters, the gain only ever rises, and a coarse
partition can be stable because it is coarse. So each votes, on a scale of 0 to 1, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.clustering.iclust.sequential import IclustConfig, best_partition
from core.clustering.inputs import Square, checked, cosine_matrix
from core.metrics.partition import AdjustedRandIndex, MetricConfig
from core.protocols import Report
from core.tasks.themes.quality import gain, silhouette
from core.types import Labels, Matrix

Floats = npt.NDArray[np.float64]

_STARTS, _QUICK_STARTS = IclustConfig(restarts=5), IclustConfig(restarts=2)
_SHARE = 0.7  # of the sentences, in each subsample


@dataclass(frozen=True, slots=True)
class Curves:
    """Measurements at each number of clusters; every array is (len(ks),)."""

    ks: tuple[int, ...]
    silhouette: tuple[float, ...]
    gain: tuple[float, ...]
    stability: tuple[float, ...]
    sentences: int
    """How many sentences the curves were taken over: a sample where there are many."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested number of clusters with its reason."""

    k: int
    reason: str


def candidates(n: int, most: int) -> tuple[int, ...]:
    """Numbers of clusters to try for ``n`` sentences: all up to 12, then ever wider steps, at most ``most``."""
    wide = (14, 16, 18, 20, 23, 26, 30, 35, 40, 50)
    limit = min(most, max(n // 3, 2), n - 1)
    return tuple(k for k in (*range(2, 13), *wide) if k <= limit)


def measure(x: Matrix, ks: Sequence[int], subsamples: int, seed: int, report: Report) -> Curves:
    """Silhouette, gain and stability of (n, dim) ``x`` at each of ``ks``; n at most a few thousand.

    Stability: mean adjusted Rand index between the clusters of all sentences and those of ``subsamples`` random 70 %
    of them, on these (after Ben-Hur, Elisseeff, Guyon 2002).
    """
    matrix, _ = checked(x, 1)
    similarity = cosine_matrix(matrix)
    rows: list[tuple[float, float, float]] = []
    for number, k in enumerate(ks):
        report.progress(number, len(ks), f"trying {k} themes")
        labels = best_partition(similarity, k, _STARTS, seed)[0]
        steady = _stability(similarity, labels, k, subsamples, seed)
        rows.append((silhouette(matrix, labels, k), gain(matrix, labels, k), steady))
    report.progress(1, 1, "numbers of clusters compared")
    silhouettes, gains, stabilities = zip(*rows, strict=True) if rows else ((), (), ())
    return Curves(tuple(ks), silhouettes, gains, stabilities, matrix.shape[0])


def _stability(similarity: Square, labels: Labels, k: int, subsamples: int, seed: int) -> float:
    n = len(labels)
    taken = max(round(_SHARE * n), min(k, n))
    metric, values = AdjustedRandIndex(MetricConfig()), []
    for number in range(subsamples):
        rows = np.sort(np.random.default_rng([seed, number]).permutation(n)[:taken])
        part = np.ascontiguousarray(similarity[np.ix_(rows, rows)])
        values.append(metric.score(labels[rows], best_partition(part, k, _QUICK_STARTS, seed + number)[0]))
    return float(np.mean(values)) if values else 0.0


def suggest(curves: Curves) -> Suggestion:
    """Choose the k with the highest mean vote; of equals, the smallest."""
    if len(curves.ks) == 1:
        return Suggestion(curves.ks[0], "There are too few sentences for any other number.")
    votes = {
        "silhouette": _scaled(np.array(curves.silhouette)),
        "gain": _scaled(_bend(curves)),
        "stability": _scaled(np.array(curves.stability)),
    }
    chosen = int(np.argmax(np.round(sum(votes.values(), np.zeros(len(curves.ks))), 9)))
    k, best = curves.ks[chosen], {name: curves.ks[int(np.argmax(vote))] for name, vote in votes.items()}
    reason = (
        f"At {k} themes the three curves agree best: the silhouette is {curves.silhouette[chosen]:.2f} "
        f"(highest at {best['silhouette']}), the gain in similarity bends at {best['gain']}, and themes found in "
        f"random parts of the list agree by {curves.stability[chosen]:.2f} (most at {best['stability']})."
    )
    return Suggestion(k, reason)


def _bend(curves: Curves) -> Floats:
    """Height of the gain above the straight line between its ends, over ln k (the information that k clusters cost)."""
    costs, gains = np.log(curves.ks), np.array(curves.gain)
    line = gains[0] + (gains[-1] - gains[0]) * (costs - costs[0]) / (costs[-1] - costs[0])
    return np.asarray(gains - line, dtype=np.float64)


def _scaled(values: Floats) -> Floats:
    span = float(np.ptp(values))
    return (values - values.min()) / span if span > 1e-12 else np.zeros_like(values)
