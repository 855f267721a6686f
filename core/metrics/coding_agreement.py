"""Agreement of people who give the same cases any number of categories.

For one category, Cohen's kappa of two people (Cohen 1960). For all categories, Krippendorff's alpha with the MASI
distance of two sets of categories (Passonneau 2006, "Measuring agreement on set-valued items (MASI) for semantic and
pragmatic annotation", LREC, section 3): 1 - J · M, where J is the Jaccard coefficient and M is 1 for equal sets, 2/3 if
one contains the other, 1/3 if they overlap and 0 if they are disjoint. If agreement is undefined, the result has the
reason instead of a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.metrics.statistics.intervals import LEVEL
from themescope.core.types import Estimate

Floats = npt.NDArray[np.float64]
Categories = frozenset[int]
"""Categories that a person gave to a case; empty if none applies."""
Coding = Sequence[Categories | None]
"""(n,) categories of a person by case; None where the person has not judged the case."""

RESAMPLES = 2_000
_NO_COMMON = "no case was judged by both"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient of agreement with its 95 % bootstrap interval over cases."""

    estimate: Estimate | None
    cases: int
    """Number of cases that at least two people have judged."""
    undefined: str
    """Reason why there is no number; "" if there is one."""


def kappa(first: Coding, second: Coding, category: int, seed: int = 0) -> Agreement:
    """Return Cohen's kappa of two people for one category: given to a case, or not.

    kappa = (p_o - p_e) / (1 - p_e), with the observed and the expected share of equal judgements (Cohen 1960, eq. 1).
    """
    pairs = [
        (category in a, category in b) for a, b in zip(first, second, strict=True) if a is not None and b is not None
    ]
    if not pairs:
        return Agreement(None, 0, _NO_COMMON)
    given = np.array(pairs, dtype=np.float64)
    if not given.any():
        return Agreement(None, len(pairs), "neither gave this category to a case that both judged")
    value = float(_kappa(given.T @ np.ones(len(pairs)), given.prod(axis=1).sum(), len(pairs)))
    if np.isnan(value):
        return Agreement(None, len(pairs), "both gave this category to every case")
    weights = _resamples(len(pairs), seed)
    values = _kappa(given.T @ weights.T, weights @ given.prod(axis=1), len(pairs))
    return Agreement(_interval(value, values, len(pairs)), len(pairs), "")


def _kappa(sums: Floats, both: npt.ArrayLike, n: int) -> Floats:
    """Return kappa from the numbers of cases that each of the two marked (2, …) and that both marked (…), or NaN."""
    a, b = sums / n
    together = np.asarray(both, np.float64) / n
    observed = 1 - a - b + 2 * together
    expected = a * b + (1 - a) * (1 - b)
    found: Floats = np.divide(
        observed - expected, 1 - expected, out=np.full(np.shape(observed), np.nan), where=1 - expected > 1e-12
    )
    return found


def masi(one: Categories, other: Categories) -> float:
    """Return the MASI distance of two sets, 0…1; two empty sets are equal."""
    if one == other:
        return 0.0
    shared = len(one & other)
    if not shared:
        return 1.0
    monotonicity = 2 / 3 if one <= other or other <= one else 1 / 3
    return 1 - shared / len(one | other) * monotonicity


def alpha(codings: Sequence[Coding], seed: int = 0) -> Agreement:
    """Return Krippendorff's alpha of any number of people with the MASI distance.

    alpha = 1 - D_observed / D_expected (Krippendorff 2004, chapter 11): within cases, where the m values of a case have
    the weight 1 / (m - 1), and between all values of such cases.
    """
    judged = [[found for found in case if found is not None] for case in zip(*codings, strict=True)]
    judged = [case for case in judged if len(case) > 1]
    if not judged:
        return Agreement(None, 0, "no case was judged by two people")
    values = sorted({value for case in judged for value in case}, key=sorted)
    if len(values) == 1:
        return Agreement(None, len(judged), "everybody gave every case the same categories")
    place = {value: number for number, value in enumerate(values)}
    distances = np.array([[masi(one, other) for other in values] for one in values])
    counts = np.zeros((len(judged), len(values)))
    for row, case in enumerate(judged):
        np.add.at(counts[row], [place[value] for value in case], 1.0)
    sizes = counts.sum(axis=1)
    within = np.einsum("iv,vw,iw->i", counts, distances, counts, optimize=True) / (sizes - 1)
    value = float(_alpha(np.ones((1, len(judged))), counts, within, distances)[0])
    resampled = _alpha(_resamples(len(judged), seed), counts, within, distances)
    return Agreement(_interval(value, resampled, len(judged)), len(judged), "")


def _alpha(weights: Floats, counts: Floats, within: Floats, distances: Floats) -> Floats:
    """Return alpha for each of (r, n) weights of cases; NaN where all values are equal."""
    totals = weights @ counts
    n = totals.sum(axis=1)
    observed = weights @ within / n
    expected = np.einsum("rv,vw,rw->r", totals, distances, totals, optimize=True) / (n * (n - 1))
    found: Floats = 1 - np.divide(observed, expected, out=np.full(len(weights), np.nan), where=expected > 0)
    return found


def _resamples(n: int, seed: int) -> Floats:
    """Return (RESAMPLES, n) numbers of times that each case is drawn."""
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    return drawn.astype(np.float64)


def _interval(value: float, resampled: Floats, n: int) -> Estimate:
    """Return the percentile interval; resamples without variation, where agreement is undefined, are left out."""
    known = resampled[np.isfinite(resampled)]
    if n == 1 or not len(known):
        return Estimate(value, value, value, 1)
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high), n)
