"""Paired tests of two methods on the same articles (algorithms D): bootstrap interval, Wilcoxon signed-rank, Holm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.evaluation.intervals import paired_difference
from core.types import Estimate, Ids


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The mean of a - b with its 95 % interval, and the two-sided p of Wilcoxon's signed-rank test over groups."""

    difference: Estimate
    p: float


def paired_test(a: npt.ArrayLike, b: npt.ArrayLike, groups: Ids | None = None, seed: int = 0) -> PairedTest:
    """Compare (n,) scores of the same items in the same order; items of a group (an article) count as one.

    The bootstrap resamples groups; Wilcoxon's test takes the mean difference of each group. Raises
    :class:`core.errors.DataError` when the scores do not belong together or there are none.
    """
    difference = paired_difference(a, b, groups, seed=seed)
    deltas = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    return PairedTest(difference, signed_rank_p(_group_means(deltas, groups)))


def signed_rank_p(differences: npt.ArrayLike) -> float:
    """Two-sided p that (n,) ``differences`` are symmetric around 0 (Wilcoxon 1945); 1 when all of them are 0.

    Exact for up to 50 differences without ties, else by the normal approximation; zeros are left out.
    """
    from scipy.stats import wilcoxon

    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0.0]
    if len(values) == 0:
        return 1.0
    ties = len(np.unique(np.abs(values))) < len(values)
    return float(wilcoxon(values, method="exact" if len(values) <= 50 and not ties else "asymptotic").pvalue)


def holm(ps: Sequence[float]) -> list[float]:
    """P-values of a family of comparisons, corrected by Holm 1979; in the given order."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected


def _group_means(values: npt.NDArray[np.float64], groups: Ids | None) -> npt.NDArray[np.float64]:
    """The mean of each group; items of group -1 stand alone."""
    if groups is None:
        return values
    groups = np.asarray(groups)
    alone = groups == -1
    _, place = np.unique(groups[~alone], return_inverse=True)
    means = np.bincount(place, weights=values[~alone]) / np.maximum(np.bincount(place), 1)
    return np.concatenate([means, values[alone]])
