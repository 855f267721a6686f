"""Paired tests of methods on the same articles: bootstrap, Wilcoxon, t, McNemar; Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.metrics.statistics.intervals import paired_difference
from themescope.core.types import Estimate, Floats, Ids

_EXACT = 50
"""Maximum number of differences for the exact form of Wilcoxon's test; beyond it is a normal approximation."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The mean of a - b with its 95 % interval, and the two-sided p of Wilcoxon's signed-rank test over groups."""

    difference: Estimate
    p: float


def paired_test(a: npt.ArrayLike, b: npt.ArrayLike, groups: Ids | None = None, seed: int = 0) -> PairedTest:
    """Compare (n,) scores of the same items in the same order; items of a group (an article) count as one.

    The bootstrap resamples groups; Wilcoxon's test takes the mean difference of each group. Raises
    :class:`themescope.core.errors.DataError` if the numbers of scores differ or are 0.
    """
    difference = paired_difference(a, b, groups, seed=seed)
    deltas = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    return PairedTest(difference, signed_rank_p(_group_means(deltas, groups)))


def signed_rank_p(differences: npt.ArrayLike) -> float:
    """Return the two-sided p that (n,) ``differences`` are symmetric around 0; see :func:`signed_rank_ps`."""
    return float(signed_rank_ps(np.asarray(differences, dtype=np.float64)[:, None])[0])


def signed_rank_ps(differences: npt.ArrayLike) -> Floats:
    """Return (p,) two-sided p that the columns of (n, p) ``differences`` are symmetric around 0 (Wilcoxon 1945).

    Zeros are ignored; p is 1 if all are 0. It is exact for up to 50 differences without ties, otherwise by the normal
    approximation with the variance of tied ranks.
    """
    from scipy.special import ndtr
    from scipy.stats import rankdata

    values = np.asarray(differences, dtype=np.float64)
    sizes = np.abs(values)
    zeros = (sizes == 0.0).sum(axis=0)
    ranks = np.where(sizes == 0.0, 0.0, rankdata(sizes, axis=0) - zeros) if len(values) else sizes
    above = np.where(values > 0.0, ranks, 0.0).sum(axis=0)
    deviation = np.sqrt((ranks**2).sum(axis=0)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 2 * ndtr(-np.abs(above - ranks.sum(axis=0) / 2) / deviation)
    found = np.where(deviation > 0.0, found, 1.0)
    for column in np.flatnonzero((len(values) - zeros <= _EXACT) & (deviation > 0.0)):
        found[column] = _exact(values[:, column], float(found[column]))
    return np.asarray(found)


def _exact(differences: Floats, approximate: float) -> float:
    """Return Wilcoxon's exact p, or ``approximate`` if absolute differences are tied."""
    from scipy.stats import wilcoxon

    values = differences[differences != 0.0]
    if len(np.unique(np.abs(values))) < len(values):
        return approximate
    return float(wilcoxon(values, method="exact").pvalue)


def t_ps(differences: npt.ArrayLike) -> Floats:
    """Return (p,) two-sided p of Student's t that the columns of (n, p) ``differences`` have mean 0.

    p is 1 for a single difference or if all are 0, and 0 if all are equal and not 0.
    """
    from scipy.special import stdtr

    values = np.asarray(differences, dtype=np.float64)
    n = len(values)
    if n < 2:
        return np.ones(values.shape[1])
    means, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 2 * stdtr(n - 1, -np.abs(means / error))
    return np.where(error > 0.0, found, np.where(means == 0.0, 1.0, 0.0))


def bootstrap_ps(means: npt.ArrayLike, resampled: npt.ArrayLike) -> Floats:
    """Return (p,) two-sided p of mean differences (p,) from their (b, p) bootstrap resamples.

    p is the share of resamples at least as far from the mean as 0 (Efron and Tibshirani 1993, chapter 16), including
    the observed one, so that it is at least 1 / (b + 1).
    """
    centre, draws = np.asarray(means, dtype=np.float64), np.asarray(resampled, dtype=np.float64)
    beyond = (np.abs(draws - centre) >= np.abs(centre) - 1e-12).sum(axis=0)
    return np.asarray((beyond + 1) / (len(draws) + 1))


def discordant_ps(only_first: npt.ArrayLike, only_second: npt.ArrayLike) -> Floats:
    """Return (p,) exact two-sided p of McNemar's test from the numbers of items on which only one method is better."""
    from scipy.stats import binom

    b, c = np.asarray(only_first), np.asarray(only_second)
    return np.asarray(np.minimum(1.0, 2 * binom.cdf(np.minimum(b, c), b + c, 0.5)))


def holm(ps: Sequence[float] | Floats) -> list[float]:
    """Return the p-values of a family of comparisons, corrected by Holm 1979, in the given order."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * float(ps[place])))
        corrected[place] = largest
    return corrected


def _group_means(values: npt.NDArray[np.float64], groups: Ids | None) -> npt.NDArray[np.float64]:
    """Return the mean of each group; each item of group -1 is a group of its own."""
    if groups is None:
        return values
    groups = np.asarray(groups)
    alone = groups == -1
    _, place = np.unique(groups[~alone], return_inverse=True)
    means = np.bincount(place, weights=values[~alone]) / np.maximum(np.bincount(place), 1)
    return np.concatenate([means, values[alone]])
