"""Groups of the sentences of a list, without a given number of groups or with one.

Sentences are laid out in five dimensions by UMAP (McInnes, Healy, Melville 2018), where density becomes distance.
Groups are the branches of Ward's tree there (Ward 1963), of vectors of two models side by side also those by the latter
alone if they are clearer. Their number is that of the clearest branches, those of the largest silhouette (Rousseeuw
1987) by cosine distance. Where none are clear, the silhouette prefers a few large groups; then the number is the usual
one for so many sentences. A number has the same groups whether it is given or suggested (docs/experiments.md, section
29).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from themescope.core.clustering.iclust import IclustConfig, best_partition
from themescope.core.clustering.inputs import (
    DEFAULT_CALIBRATION,
    PairCalibration,
    checked,
    cosine_matrix,
    effective_themes,
    squared_lengths,
    unit_rows,
)
from themescope.core.config import config_from_dict
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig
from themescope.core.models.artifact import read_json, write_json
from themescope.core.projection import UmapConfig, laid_out
from themescope.core.types import Floats, Index, Labels, Matrix, Points, Report, SubReport

# Number of themes of a list, with an interval, and curves over other numbers: silhouette, gain and stability

_STARTS, _QUICK_STARTS = IclustConfig(restarts=5), IclustConfig(restarts=2)
_SHARE = 0.7  # share of the sentences in a subsample
_SAMPLES, _SAMPLE_ROWS = 10, 3_000
_NORMAL_90 = 1.645  # half-width of the central 90 % of a normal distribution, in standard deviations
_FACTORS = (1 / 3, 0.45, 0.6, 0.75, 0.85, 1.0, 1.2, 1.4, 1.7, 2.2, 3.0)


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
class CountSuggestion:
    """A suggested number of clusters, its 90 % interval and the reason in words."""

    k: int
    low: int
    high: int
    reason: str


def suggest(x: Matrix, calibration: PairCalibration, most: int, seed: int) -> CountSuggestion:
    """Return the number of themes of (n, dim) ``x``, between 2 and ``most``, with its interval.

    The interval combines two errors of the logarithm of the number: that of the calibration on lists with known
    themes, and the spread over ten random samples of half of the list (at most 3,000 sentences each).
    """
    n = x.shape[0]
    most = max(min(most, n // 2), 2)
    if n < 4 or most == 2:
        k = min(2, n)
        return CountSuggestion(k, k, k, "There are too few different sentences for another number of themes.")
    found = calibration.count(effective_themes(x, seed))
    random = np.random.default_rng(seed)
    taken = min(n // 2, _SAMPLE_ROWS)
    counts = [calibration.count(effective_themes(x[np.sort(random.permutation(n)[:taken])])) for _ in range(_SAMPLES)]
    error = float(np.hypot(calibration.count_error, _NORMAL_90 * np.log(counts).std()))
    k = _bounded(found, most)
    low, high = _bounded(found * np.exp(-error), most), _bounded(found * np.exp(error), most)
    reason = (
        f"About {k} themes, probably between {low} and {high}. The similarities between the sentences have the "
        f"variety of {found:.1f} themes of equal size; random samples of half of the list give {min(counts):.1f} to "
        f"{max(counts):.1f}. "
        "The interval is as wide as the errors on lists of claims and articles whose themes are known."
    )
    if round(found) > most:
        reason += f" The setting for the maximum number of themes limits the result to {most}."
    return CountSuggestion(k, low, high, reason)


def _bounded(number: float, most: int) -> int:
    return int(min(max(round(float(number)), 2), most))


def candidates(k: int, n: int) -> tuple[int, ...]:
    """Return the numbers of clusters to compare with ``k`` for ``n`` sentences: from a third to three times ``k``."""
    limit = max(n // 3, 2, min(k, n - 1))
    return tuple(sorted({min(max(round(k * factor), 2), limit) for factor in _FACTORS}))


def measure(x: Matrix, ks: Sequence[int], subsamples: int, seed: int, report: Report) -> Curves:
    """Measure silhouette, gain and stability of (n, dim) ``x`` at each of ``ks``; n at most a few thousand.

    Gain is the mean cosine within clusters minus that of all sentences: Iclust's ⟨s⟩ without the diagonal.
    Stability is the mean adjusted Rand index between the clusters of all sentences and those of random samples of 70 %,
    ``subsamples`` times, on the sampled sentences (after Ben-Hur, Elisseeff, Guyon 2002).
    """
    matrix, _ = checked(x, 1)
    similarity, n = cosine_matrix(matrix), matrix.shape[0]
    together = mean_cosines(matrix, np.zeros(n, np.int32), 1)[0].mean()
    rows: list[tuple[float, float, float]] = []
    for number, k in enumerate(ks):
        report.progress(number, len(ks), f"trying {k} themes")
        labels = best_partition(similarity, k, _STARTS, seed)[0]
        metric, steady = AdjustedRandIndex(MetricConfig()), list[float]()
        for sample in range(subsamples):
            taken = np.sort(np.random.default_rng([seed, sample]).permutation(n)[: max(round(_SHARE * n), min(k, n))])
            part = np.ascontiguousarray(similarity[np.ix_(taken, taken)])
            steady.append(metric.score(labels[taken], best_partition(part, k, _QUICK_STARTS, seed + sample)[0]))
        stability = float(np.mean(steady)) if steady else 0.0
        gain = float(mean_cosines(matrix, labels, k)[0].mean() - together)
        rows.append((silhouette(matrix, labels, k), gain, stability))
    report.progress(1, 1, "numbers of clusters compared")
    silhouettes, gains, stabilities = zip(*rows, strict=True) if rows else ((), (), ())
    return Curves(tuple(ks), silhouettes, gains, stabilities, n)


def theme_stability(
    labels: Labels, regroup: Callable[[Index, int], Labels], samples: int, seed: int, report: Report
) -> Floats:
    """Return the (k,) stability of each of the clusters of (n,) ``labels``, 0…1 (Hennig 2007, Cluster-wise assessment).

    It is the mean over random samples of 70 % of the largest Jaccard index of a cluster, on the sampled rows, with the
    clusters of ``regroup(rows, seed)``; NaN for a cluster of which no sample has a row.
    """
    n, k = len(labels), int(labels.max()) + 1
    values = np.full((samples, k), np.nan)
    for number in range(samples):
        report.progress(number, samples, f"sample {number + 1} of {samples}")
        rows = np.sort(np.random.default_rng([seed, number]).permutation(n)[: round(_SHARE * n)])
        found = regroup(rows, seed + number)
        both = np.zeros((k, int(found.max()) + 1))
        np.add.at(both, (labels[rows], found), 1)
        sizes = both.sum(axis=1)
        there = sizes > 0
        either = sizes[there, None] + both.sum(axis=0) - both[there]
        values[number, there] = (both[there] / either).max(axis=1)
    counts = (~np.isnan(values)).sum(axis=0)
    means: Floats = np.divide(np.nansum(values, axis=0), counts, out=np.full(k, np.nan), where=counts > 0)
    return means


def cluster_sums(x: Matrix, labels: Labels, k: int) -> tuple[Floats, Floats]:
    """Return the (n, k) sums of the cosines of each row to those of each cluster, and the (n,) cosines to itself."""
    unit: Any = unit_rows(x)
    membership = np.zeros((len(labels), k))
    membership[np.arange(len(labels)), labels] = 1.0
    return np.asarray(unit @ (unit.T @ membership)), squared_lengths(unit)


def mean_cosines(x: Matrix, labels: Labels, k: int) -> tuple[Floats, Floats]:
    """Return the (n,) mean cosines of the rows of ``x`` to the rest of their cluster, and to the nearest other cluster.

    The first is 0 in a cluster of one row; the second is -1 without another cluster. Labels are 0…k-1.
    """
    return _means(*cluster_sums(x, labels, k), labels)


def _means(sums: Floats, selves: Floats, labels: Labels) -> tuple[Floats, Floats]:
    rows, sizes = np.arange(len(labels)), np.bincount(labels, minlength=sums.shape[1])
    own = (sums[rows, labels] - selves) / np.maximum(sizes[labels] - 1, 1)
    others = sums / np.maximum(sizes, 1)
    others[:, sizes == 0] = -1.0
    others[rows, labels] = -1.0
    return own, others.max(axis=1)


def silhouette(x: Matrix, labels: Labels, k: int) -> float:
    """Return the mean silhouette by cosine distance (Rousseeuw 1987); 0 for single sentences and for one cluster."""
    return silhouette_of(*cluster_sums(x, labels, k), labels)


def silhouette_of(sums: Floats, selves: Floats, labels: Labels) -> float:
    """Return :func:`silhouette` from :func:`cluster_sums`; the sums of joined clusters are those of their parts."""
    if sums.shape[1] < 2:
        return 0.0
    own, other = _means(sums, selves, labels)
    a, b = 1 - own, 1 - other
    largest = np.maximum(a, b)
    values = np.divide(b - a, largest, out=np.zeros_like(a), where=largest > 0)
    values[np.bincount(labels)[labels] == 1] = 0.0
    return float(values.mean())


LEAST = 60
"""Minimum number of sentences; fewer have no density."""
_DIMENSIONS, _MOVED = 5, 100
"""Dimensions of a layout, and epochs in which the latter model alone moves the layout of both."""
_BRANCHES, _EACH = 60, 8  # maximum number of branches, and least mean number of sentences of them
_USUAL = 1.2  # number of groups where none are clear, for each unit of the logarithm of the number of sentences
_UNSURE = 0.5, 1.5  # interval of that number, in shares of it: nine of ten validation lists are inside
_NEARLY = 0.9  # share of the largest silhouette from which branches are nearly as clear
_CLEARER = 0.005  # least difference of the silhouettes by which the branches by the latter model alone are clearer
_WORDS, _SPEAKING = 15, 0.1
"""Least median of words of a sentence of an article, and largest share of them that have one of the words below."""
_SPEAKER = re.compile(r"\b(?:I|we|you|my|our|your|me)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class DenseGroups:
    """Groups of n sentences."""

    labels: Labels
    """(n,) 0 … k - 1."""
    k: int
    reason: str
    interval: tuple[int, int]
    """Numbers of groups that are nearly as clear, or where none are clear, the usual ones."""


def dense_groups(x: Matrix, calibration: PairCalibration, seed: int, report: Report, k: int = 0) -> DenseGroups | None:
    """Return the groups of (n, dim) vectors, ``k`` of them if it is given; the interval does not depend on it.

    None where the calibration of their model has no threshold for lists, and for fewer than :data:`LEAST` sentences.
    """
    n = x.shape[0]
    if calibration.clear is None or sparse.issparse(x) or n < LEAST:
        return None
    unit = np.asarray(unit_rows(np.asarray(x, np.float32)), np.float32)
    numbers = range(2, min(_BRANCHES, n // _EACH) + 1)
    points = laid_out(unit, UmapConfig(min_dist=0.0), seed, SubReport(report, 0.0, 0.7), _DIMENSIONS)
    found = _branches(points, (*numbers, k or 2))
    clear = {number: silhouette(unit, found[number], number) for number in numbers}
    best = max(clear, key=clear.__getitem__)
    if not clear[best] > 0:
        return None
    if clear[best] > calibration.clear:
        near = [number for number, value in clear.items() if value >= _NEARLY * clear[best]]
        others = f" Numbers that are nearly as clear are {min(near)} to {max(near)}." if len(near) > 1 else ""
        told = f"the clearest of {len(clear)} numbers (silhouette {clear[best]:.2f}).{others}"
    else:
        told = (
            f"the usual number for {n:,} sentences. No grouping is clear (silhouette at most {clear[best]:.2f}), so "
            "themes run into each other, and another number may serve as well."
        )
        best = min(round(_USUAL * math.log(n)), numbers[-1])
        near = [round(share * best) for share in _UNSURE]
    number = k or best
    labels = found[number]
    if calibration.before:
        own = np.asarray(unit_rows(unit[:, calibration.before :]), np.float32)
        moving = UmapConfig(min_dist=0.0, epochs=_MOVED)
        moved = laid_out(own, moving, seed, SubReport(report, 0.7, 1.0), _DIMENSIONS, points)
        alone = _branches(moved, (number,))[number]
        labels = alone if silhouette(unit, alone, number) > silhouette(unit, labels, number) + _CLEARER else labels
    return DenseGroups(labels, number, f"{number} themes: {told}", (max(min(near), 2), max(near)))


def _branches(points: Points, numbers: Sequence[int]) -> dict[int, Labels]:
    """Return number → (n,) labels of so many branches of Ward's tree of a layout."""
    from scipy.cluster.hierarchy import cut_tree, linkage

    return dict(zip(numbers, cut_tree(linkage(points, "ward"), numbers).T.astype(np.int32), strict=True))


def is_article(texts: Sequence[str], x: Matrix, calibration: PairCalibration) -> bool:
    """Return whether (n,) texts with (n, dim) vectors are sentences of an article, not a list.

    Those are long sentences on one subject in which nobody speaks of himself or to the reader; in answers to a question
    and in reviews, which are on one subject, too, people do.
    """
    if sparse.issparse(x) or len(texts) < 2:
        return False
    unit = unit_rows(np.asarray(x, np.float32))
    n, whole = len(unit), unit.sum(axis=0)
    alike = (float(whole @ whole) - n) / (n * (n - 1))
    speaking = sum(_SPEAKER.search(text) is not None for text in texts)
    words = float(np.median([len(text.split()) for text in texts]))
    return alike > calibration.one_subject and words >= _WORDS and speaking <= _SPEAKING * n


# The calibration of a model: coefficients for pair probabilities and for the number of themes

FILE = "pair-calibration.json"


def save_calibration(folder: Path, calibration: PairCalibration) -> None:
    """Write the calibration of the model in ``folder``."""
    write_json(folder / FILE, calibration.to_dict())


def load_calibration(folder: Path) -> PairCalibration:
    """Return the calibration of the model in ``folder``, or the default where it has none."""
    path = folder / FILE
    return config_from_dict(PairCalibration, read_json(path)) if path.is_file() else DEFAULT_CALIBRATION


def copy_calibration(source: Path, target: Path) -> None:
    """Write the calibration of the model in ``source``, if it has one, for the same model in ``target``."""
    if (source / FILE).is_file():
        save_calibration(target, load_calibration(source))
