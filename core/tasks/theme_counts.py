"""Choice of the number of clusters from three curves over k: silhouette, gain in similarity, and stability.

No curve is sufficient alone: the silhouette favours few large clusters, the gain rises with every cluster, and a coarse
partition can be stable because it is coarse. Each therefore votes on a scale of 0 to 1, and the reason is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.clustering.iclust import IclustConfig, best_partition
from core.clustering.inputs import Square, checked, cosine_matrix, unit_rows
from core.metrics.partition import AdjustedRandIndex, MetricConfig
from core.protocols import Report
from core.types import Labels, Matrix

Floats = npt.NDArray[np.float64]

_STARTS, _QUICK_STARTS = IclustConfig(restarts=5), IclustConfig(restarts=2)
_SHARE = 0.7  # share of the sentences in a subsample


@dataclass(frozen=True, slots=True)
class Curves:
    """Measurements at each number of clusters; every array is (len(ks),)."""

    ks: tuple[int, ...]
    silhouette: tuple[float, ...]
    gain: tuple[float, ...]
    stability: tuple[float, ...]
    sentences: int
    """Number of sentences that the curves were measured on, possibly a sample."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested number of clusters with its reason."""

    k: int
    reason: str


def candidates(n: int, most: int) -> tuple[int, ...]:
    """Return the numbers of clusters to try for ``n`` sentences: all up to 12, then wider steps up to ``most``."""
    wide = (14, 16, 18, 20, 23, 26, 30, 35, 40, 50)
    limit = min(most, max(n // 3, 2), n - 1)
    return tuple(k for k in (*range(2, 13), *wide) if k <= limit)


def measure(x: Matrix, ks: Sequence[int], subsamples: int, seed: int, report: Report) -> Curves:
    """Measure silhouette, gain and stability of (n, dim) ``x`` at each of ``ks``; n at most a few thousand.

    Stability is the mean adjusted Rand index between the clusters of all sentences and those of random samples of 70 %,
    ``subsamples`` times, on the sampled sentences (after Ben-Hur, Elisseeff, Guyon 2002).
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
    """Return the k with the highest mean vote; ties give the smallest."""
    if len(curves.ks) == 1:
        return Suggestion(curves.ks[0], "There are too few sentences for another number of themes.")
    votes = {
        "silhouette": _scaled(np.array(curves.silhouette)),
        "gain": _scaled(_bend(curves)),
        "stability": _scaled(np.array(curves.stability)),
    }
    chosen = int(np.argmax(np.round(sum(votes.values(), np.zeros(len(curves.ks))), 9)))
    k, best = curves.ks[chosen], {name: curves.ks[int(np.argmax(vote))] for name, vote in votes.items()}
    reason = (
        f"{k} themes have the highest mean score of three curves: the silhouette is {curves.silhouette[chosen]:.2f} "
        f"(maximum at {best['silhouette']}), the gain in similarity has its bend at {best['gain']}, and the stability "
        f"over random samples is {curves.stability[chosen]:.2f} (maximum at {best['stability']})."
    )
    return Suggestion(k, reason)


def _bend(curves: Curves) -> Floats:
    """Return the height of the gain above the straight line between its ends, as a function of ln k."""
    costs, gains = np.log(curves.ks), np.array(curves.gain)
    line = gains[0] + (gains[-1] - gains[0]) * (costs - costs[0]) / (costs[-1] - costs[0])
    return np.asarray(gains - line, dtype=np.float64)


def _scaled(values: Floats) -> Floats:
    span = float(np.ptp(values))
    return (values - values.min()) / span if span > 1e-12 else np.zeros_like(values)


def mean_cosines(x: Matrix, labels: Labels, k: int) -> tuple[Floats, Floats]:
    """Return the (n,) mean cosines of the rows of ``x`` to the rest of their cluster, and to the nearest other cluster.

    The first is 0 in a cluster of one row; the second is -1 without another cluster. Labels are 0…k-1.
    """
    unit: Any = unit_rows(x)
    n = len(labels)
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    membership = np.zeros((n, k))
    membership[np.arange(n), labels] = 1.0
    sums = np.asarray(unit @ (unit.T @ membership))
    selves = np.asarray((unit.multiply(unit) if hasattr(unit, "multiply") else unit * unit).sum(axis=1)).ravel()
    own = (sums[np.arange(n), labels] - selves) / np.maximum(sizes[labels] - 1, 1)
    others = sums / np.maximum(sizes, 1)
    others[:, sizes == 0] = -1.0
    others[np.arange(n), labels] = -1.0
    return own, others.max(axis=1)


def silhouette(x: Matrix, labels: Labels, k: int) -> float:
    """Return the mean silhouette by cosine distance (Rousseeuw 1987); 0 for single sentences and for one cluster."""
    if k < 2:
        return 0.0
    own, other = mean_cosines(x, labels, k)
    a, b = 1 - own, 1 - other
    largest = np.maximum(a, b)
    values = np.divide(b - a, largest, out=np.zeros_like(a), where=largest > 0)
    values[np.bincount(labels, minlength=k)[labels] == 1] = 0.0
    return float(values.mean())


def gain(x: Matrix, labels: Labels, k: int) -> float:
    """Return the mean cosine within clusters minus that of all sentences: Iclust's ⟨s⟩ without the diagonal."""
    together, _ = mean_cosines(x, np.zeros_like(labels), 1)
    return float(mean_cosines(x, labels, k)[0].mean() - together.mean())
