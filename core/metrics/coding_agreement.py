"""Agreement of coders who give the same units codes with common names.

Krippendorff's alpha of any number of coders (Krippendorff 2004, chapter 11; nominal, or with a distance of values) and
Cohen's kappa of two (Cohen 1960). Intervals are percentile bootstrap intervals over units, which Zapf et al. 2016
recommend for both coefficients; whole groups of units (articles) are drawn where units of a group are not independent.
If agreement is undefined, the result has the reason instead of a number.

Where a unit may have any number of categories, the values are sets, with the MASI distance (Passonneau 2006, "Measuring
agreement on set-valued items (MASI) for semantic and pragmatic annotation", LREC, section 3): 1 - J · M, where J is the
Jaccard coefficient and M is 1 for equal sets, 2/3 if one contains the other, 1/3 if they overlap and 0 if they are
disjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.metrics.statistics.intervals import LEVEL
from themescope.core.types import Estimate, Ids, Labels

Floats = npt.NDArray[np.float64]
Categories = frozenset[int]
"""Categories that a person gave to a case; empty if none applies."""
Coding = Sequence[Categories | None]
"""(n,) categories of a person by case; None where the person has not judged the case."""

RESAMPLES = 2_000
_CELLS = 20_000_000
"""Numbers in memory at once."""
_NO_COMMON, _ONE_CODE = "nothing was judged by two people", "everybody gave everything the same code"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient of agreement with its 95 % bootstrap interval."""

    estimate: Estimate | None
    """The interval has no width if no coder ever differs, and none is known for one unit."""
    cases: int
    """Number of units that at least two people have judged."""
    undefined: str
    """Reason why there is no number; "" if there is one."""


def kappa(coders: Sequence[Labels], groups: Ids | None = None, seed: int = 0) -> Agreement:
    """Return Cohen's kappa of two coders, of (n,) codes each; -1 is missing.

    kappa = (p_o - p_e) / (1 - p_e), with the observed and the expected share of equal codes (Cohen 1960, eq. 1). Of
    more coders it is the mean over all pairs (Light 1971). ``groups`` (n,) are resampled as a whole.
    """
    table, rows = _judged(coders)
    if not len(rows):
        return Agreement(None, 0, _NO_COMMON)
    patterns, weights = _patterns(table[rows], groups, rows, seed)
    codes = np.unique(patterns[patterns >= 0])
    pairs = []
    for i, j in combinations(range(len(coders)), 2):
        both = (patterns[:, i] >= 0) & (patterns[:, j] >= 0)
        a, b = (_counts(np.where(both, patterns[:, side], -1)[:, None], codes) for side in (i, j))
        pairs.append((a, b, both.astype(np.float64), (both & (patterns[:, i] == patterns[:, j])).astype(np.float64)))

    def value(drawn: Floats) -> Floats:
        total, known = np.zeros(len(drawn)), np.zeros(len(drawn))
        for a, b, both, same in pairs:
            n = np.maximum(drawn @ both, 1)
            expected = ((drawn @ a) * (drawn @ b)).sum(axis=1) / n**2
            found = _corrected(1 - (drawn @ same) / n, np.where(drawn @ both > 0, 1 - expected, 0))
            total, known = total + np.nan_to_num(found), known + np.isfinite(found)
        mean: Floats = np.divide(total, known, out=np.full(len(drawn), np.nan), where=known > 0)
        return mean

    return _estimated(value, weights, len(rows), _ONE_CODE)


def alpha(
    coders: Sequence[Labels], groups: Ids | None = None, distances: Floats | None = None, seed: int = 0
) -> Agreement:
    """Return Krippendorff's alpha of any number of coders, of (n,) codes each; -1 is missing.

    alpha = 1 - D_observed / D_expected: within units, where the m values of a unit have the weight 1 / (m - 1), and
    between all values of units with at least two. ``distances`` of two codes are 0 or 1 (nominal) by default.
    ``groups`` (n,) are resampled as a whole.
    """
    table, rows = _judged(coders)
    if not len(rows):
        return Agreement(None, 0, _NO_COMMON)
    patterns, weights = _patterns(table[rows], groups, rows, seed)
    codes = np.unique(patterns[patterns >= 0])
    counts = _counts(patterns, codes)
    apart = 1 - np.eye(len(codes)) if distances is None else distances[np.ix_(codes, codes)]
    within = (counts @ apart * counts.toarray()).sum(axis=1) / (counts.sum(axis=1) - 1)

    def value(drawn: Floats) -> Floats:
        totals = drawn @ counts
        n = totals.sum(axis=1)
        return _corrected(drawn @ within / n, ((totals @ apart) * totals).sum(axis=1) / (n * (n - 1)))

    return _estimated(value, weights, len(rows), _ONE_CODE)


def masi(one: Categories, other: Categories) -> float:
    """Return the MASI distance of two sets, 0…1; two empty sets are equal."""
    if one == other:
        return 0.0
    shared = len(one & other)
    if not shared:
        return 1.0
    monotonicity = 2 / 3 if one <= other or other <= one else 1 / 3
    return 1 - shared / len(one | other) * monotonicity


def set_alpha(codings: Sequence[Coding], seed: int = 0) -> Agreement:
    """Return Krippendorff's alpha of sets of categories with the MASI distance."""
    values = sorted({value for coding in codings for value in coding if value is not None}, key=sorted)
    place: dict[Categories | None, int] = {value: number for number, value in enumerate(values)} | {None: -1}
    distances = np.array([[masi(one, other) for other in values] for one in values])
    coders = [np.array([place[value] for value in coding], dtype=np.int32) for coding in codings]
    return alpha(coders, distances=distances, seed=seed)


def category_kappa(first: Coding, second: Coding, category: int, seed: int = 0) -> Agreement:
    """Return Cohen's kappa of two people for one category: given to a case, or not."""
    one, other = (
        np.array([-1 if value is None else category in value for value in coding], dtype=np.int32)
        for coding in (first, second)
    )
    found = kappa([one, other], seed=seed)
    if found.undefined != _ONE_CODE:
        return found
    given = one[(one >= 0) & (other >= 0)].any()
    reason = (
        "both gave this category to every case" if given else "neither gave this category to a case that both judged"
    )
    return Agreement(None, found.cases, reason)


def _judged(coders: Sequence[Labels]) -> tuple[Labels, Ids]:
    """Return the (n, m) table of all codes, and the rows that at least two coders have judged."""
    table = np.stack(coders, axis=1) if coders else np.empty((0, 0), dtype=np.int32)
    return table, np.flatnonzero((table >= 0).sum(axis=1) >= 2)


def _patterns(table: Labels, groups: Ids | None, rows: Ids, seed: int) -> tuple[Labels, Iterator[Floats]]:
    """Return the distinct (p, m) rows of a table, and weights of them: (1, p) for the table, then (r, p) of resamples.

    Units of one pattern are equal, so drawing patterns is the same as drawing units.
    """
    patterns, pattern, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)

    def weights() -> Iterator[Floats]:
        yield counts[None].astype(np.float64)
        random, n, contents, shares = np.random.default_rng(seed), len(table), None, counts / len(table)
        if groups is not None:
            _, group = np.unique(groups[rows], return_inverse=True)
            n = int(group.max()) + 1
            contents, shares = np.zeros((n, len(patterns))), np.full(n, 1 / n)
            np.add.at(contents, (group, pattern.ravel()), 1.0)
        step = max(1, _CELLS // max(len(shares), len(patterns)))
        for start in range(0, RESAMPLES, step):
            drawn = random.multinomial(n, shares, size=min(step, RESAMPLES - start)).astype(np.float64)
            yield drawn if contents is None else drawn @ contents

    return patterns, weights()


def _counts(patterns: Labels, codes: Labels) -> sparse.csr_array:
    """Return how often each of (v,) codes is in each of (p, m) patterns."""
    row, column = np.nonzero(patterns >= 0)
    places = row, np.searchsorted(codes, patterns[row, column])
    return sparse.csr_array((np.ones(len(row)), places), shape=(len(patterns), len(codes)))


def _corrected(observed: Floats, expected: Floats) -> Floats:
    """Return 1 - observed / expected disagreement; NaN without any expected one."""
    found: Floats = 1 - np.divide(observed, expected, out=np.full(len(observed), np.nan), where=expected > 1e-12)
    return found


def _estimated(value: Callable[[Floats], Floats], weights: Iterator[Floats], units: int, undefined: str) -> Agreement:
    """Return a coefficient with its percentile interval; resamples in which it is undefined are left out."""
    whole = float(value(next(weights))[0])
    if np.isnan(whole):
        return Agreement(None, units, undefined)
    resampled = np.concatenate([value(drawn) for drawn in weights])
    known = resampled[np.isfinite(resampled)]
    if units == 1 or not len(known):
        return Agreement(Estimate(whole, whole, whole, 1), units, "")
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Agreement(Estimate(whole, float(low), float(high), units), units, "")
