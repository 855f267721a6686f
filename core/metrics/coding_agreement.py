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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from themescope.core.metrics.statistics.intervals import LEVEL
from themescope.core.types import Estimate, Floats, Ids, Labels

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


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Agreement of the same coders: nominal Krippendorff's alpha and Cohen's kappa."""

    alpha: Agreement
    kappa: Agreement
    codes: dict[int, tuple[Agreement, Agreement]]
    """Alpha and kappa of each used code against all others."""


def coefficients(coders: Sequence[Labels], groups: Ids | None = None, seed: int = 0) -> Coefficients:
    """Return :func:`alpha` and :func:`kappa` of all codes together, and of each code; all from the same resamples."""
    units = _units(coders, groups)
    (sums, alphas), (more, kappas) = _alphas(units), _kappas(units)
    both = sparse.hstack([sums, more], format="csr")
    width = sums.shape[1]
    found = _estimated(units, both, lambda x: np.hstack([alphas(x[:, :width]), kappas(x[:, width:])]), seed)
    k = len(units.codes) + 1
    pairs = zip(found[1:k], found[k + 1 :], strict=True)
    return Coefficients(found[0], found[k], dict(zip(units.codes.tolist(), pairs, strict=True)))


def kappa(coders: Sequence[Labels], groups: Ids | None = None, seed: int = 0) -> Agreement:
    """Return Cohen's kappa of two coders, of (n,) codes each; -1 is missing.

    kappa = (p_o - p_e) / (1 - p_e), with the observed and the expected share of equal codes (Cohen 1960, eq. 1). Of
    more coders it is the mean over all pairs (Light 1971). ``groups`` (n,) are resampled as a whole.
    """
    units = _units(coders, groups)
    return _estimated(units, *_kappas(units), seed)[0]


def alpha(
    coders: Sequence[Labels], groups: Ids | None = None, distances: Floats | None = None, seed: int = 0
) -> Agreement:
    """Return Krippendorff's alpha of any number of coders, of (n,) codes each; -1 is missing.

    alpha = 1 - D_observed / D_expected: within units, where the m values of a unit have the weight 1 / (m - 1), and
    between all values of units with at least two. ``distances`` of two codes are 0 or 1 (nominal) by default.
    ``groups`` (n,) are resampled as a whole.
    """
    units = _units(coders, groups)
    if distances is None:
        return _estimated(units, *_alphas(units), seed)[0]
    apart, counts = distances[np.ix_(units.codes, units.codes)], units.counts
    within = sparse.csr_array((counts @ apart * counts.toarray()).sum(axis=1, keepdims=True) * units.weight[:, None])

    def value(sums: Floats) -> Floats:
        totals, within = sums[:, :-1], sums[:, -1:]
        n = totals.sum(axis=1, keepdims=True)
        return _corrected(within / n, ((totals @ apart) * totals).sum(axis=1, keepdims=True) / (n * (n - 1)))

    return _estimated(units, sparse.hstack([counts, within], format="csr"), value, seed)[0]


def masi(one: Categories, other: Categories) -> float:
    """Return the MASI distance of two sets, 0…1; two empty sets are equal."""
    if one == other:
        return 0.0
    shared = len(one & other)
    if not shared:
        return 1.0
    monotonicity = 2 / 3 if one <= other or other <= one else 1 / 3
    return 1 - shared / len(one | other) * monotonicity


def set_alpha(codings: Sequence[Coding], seed: int = 0, groups: Ids | None = None) -> Agreement:
    """Return Krippendorff's alpha of sets of categories with the MASI distance; ``groups`` as in :func:`alpha`."""
    values = sorted({value for coding in codings for value in coding if value is not None}, key=sorted)
    place: dict[Categories | None, int] = {value: number for number, value in enumerate(values)} | {None: -1}
    distances = np.array([[masi(one, other) for other in values] for one in values]).reshape(len(values), len(values))
    coders = [np.array([place[value] for value in coding], dtype=np.int32) for coding in codings]
    return alpha(coders, groups, distances, seed)


def given(coding: Coding, category: int) -> Labels:
    """Return (n,) whether each case has the category; -1 is missing."""
    return np.array([-1 if value is None else category in value for value in coding], dtype=np.int32)


# --- coefficients of sums over units ----------------------------------------------------------------------------------

_Value = Callable[[Floats], Floats]
"""(r, c) sums of the columns of all units of r resamples → (r, q) coefficients."""


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """The units that at least two coders have judged. Equal ones are one pattern, of p."""

    patterns: Labels
    """(p, m) codes of the m coders."""
    codes: Labels
    """(k,) codes that are used, ascending."""
    counts: sparse.csr_array
    """(p, k) how often each code is in a pattern."""
    weight: Floats
    """(p,) 1 / (m - 1) of the values of a pattern."""
    cases: int
    contents: sparse.csr_array
    """(g, p) how often each pattern is in each group that is drawn as a whole; (1, p) if single units are drawn."""
    grouped: bool


def _units(coders: Sequence[Labels], groups: Ids | None) -> _Units:
    table = np.stack(coders, axis=1) if coders else np.empty((0, 0), dtype=np.int32)
    rows = np.flatnonzero((table >= 0).sum(axis=1) >= 2)
    patterns, pattern = np.unique(table[rows], axis=0, return_inverse=True)
    codes = np.unique(patterns[patterns >= 0])
    counts = _counts(patterns, codes)
    group = np.zeros(len(rows), np.int64) if groups is None else np.unique(groups[rows], return_inverse=True)[1]
    shape = int(group.max(initial=0)) + 1, len(patterns)
    contents = sparse.coo_array((np.ones(len(rows)), (group, pattern.ravel())), shape=shape).tocsr()
    return _Units(patterns, codes, counts, 1 / (counts.sum(axis=1) - 1), len(rows), contents, groups is not None)


def _counts(patterns: Labels, codes: Labels) -> sparse.csr_array:
    """Return how often each of (k,) codes is in each of (p, m) patterns."""
    row, column = np.nonzero(patterns >= 0)
    places = row, np.searchsorted(codes, patterns[row, column])
    return sparse.coo_array((np.ones(len(row)), places), shape=(len(patterns), len(codes))).tocsr()


def _alphas(units: _Units) -> tuple[sparse.csr_array, _Value]:
    """Return the columns from which alpha of all codes and of each of k codes follow, and how."""
    counts, k = units.counts, len(units.codes)
    # Twice the pairs of values of a unit of which one is the code and the other is not.
    pairs = counts.multiply(counts.sum(axis=1)[:, None]) - counts.multiply(counts)
    within = (2 * pairs).multiply(units.weight[:, None])

    def value(sums: Floats) -> Floats:
        totals, within = sums[:, :k], sums[:, k:]
        n = totals.sum(axis=1, keepdims=True)
        apart = totals * (n - totals)
        observed = np.hstack([within.sum(axis=1, keepdims=True) / 2, within]) / n
        return _corrected(observed, np.hstack([apart.sum(axis=1, keepdims=True), 2 * apart]) / (n * (n - 1)))

    return sparse.hstack([counts, within], format="csr"), value


def _kappas(units: _Units) -> tuple[sparse.csr_array, _Value]:
    """Return the columns from which kappa of all codes and of each of k codes follow, and how."""
    patterns, k = units.patterns, len(units.codes)
    columns = []
    for i, j in combinations(range(patterns.shape[1]), 2):
        both = (patterns[:, i] >= 0) & (patterns[:, j] >= 0)
        one, other = (np.where(both, patterns[:, side], -1) for side in (i, j))
        columns += [_counts(x[:, None], units.codes) for x in (one, other, np.where(one == other, one, -1))]

    def value(sums: Floats) -> Floats:
        total, known = np.zeros((len(sums), k + 1)), np.zeros((len(sums), k + 1))
        for start in range(0, sums.shape[1], 3 * k):
            a, b, same = (sums[:, start + part * k : start + (part + 1) * k] for part in range(3))
            n = a.sum(axis=1, keepdims=True)
            either, chance = a + b - 2 * same, a * b
            observed = np.hstack([n - same.sum(axis=1, keepdims=True), either])
            expected = np.hstack([n**2 - chance.sum(axis=1, keepdims=True), a * (n - b) + b * (n - a)])
            found = _corrected(observed * n, expected)
            total, known = total + np.nan_to_num(found), known + np.isfinite(found)
        mean: Floats = np.divide(total, known, out=np.full(total.shape, np.nan), where=known > 0)
        return mean

    return sparse.hstack(columns or [units.counts], format="csr"), value


def _corrected(observed: Floats, expected: Floats) -> Floats:
    """Return 1 - observed / expected disagreement; NaN without any expected one."""
    found: Floats = 1 - np.divide(observed, expected, out=np.full(observed.shape, np.nan), where=expected > 1e-12)
    return found


def _estimated(units: _Units, columns: sparse.csr_array, value: _Value, seed: int) -> list[Agreement]:
    """Return coefficients with their percentile intervals; resamples in which one is undefined are left out.

    Patterns or whole groups are drawn. A coefficient is a function of sums over units, so (r, c) sums of all resamples
    are one product of how often each is drawn with its own sums.
    """
    if not units.cases:
        return [Agreement(None, 0, _NO_COMMON)] * (len(units.codes) + 2)
    whole = value((units.contents @ columns).sum(axis=0)[None])[0]
    if units.grouped:
        columns = units.contents @ columns
        n, shares = len(units.contents.indptr) - 1, np.ones(units.contents.shape[0])
    else:
        n, shares = units.cases, units.contents.toarray()[0]
    random, resampled = np.random.default_rng(seed), []
    step = max(1, _CELLS // max(columns.shape))
    for start in range(0, RESAMPLES, step):
        drawn = random.multinomial(n, shares / n, size=min(step, RESAMPLES - start)).astype(np.float64)
        resampled.append(value(drawn @ columns))
    found = []
    for one, column in zip(whole.tolist(), np.concatenate(resampled).T, strict=True):
        known = column[np.isfinite(column)]
        if np.isnan(one):
            found.append(Agreement(None, units.cases, _ONE_CODE))
        elif units.cases == 1 or not len(known):
            found.append(Agreement(Estimate(one, one, one, 1), units.cases, ""))
        else:
            low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            found.append(Agreement(Estimate(one, float(low), float(high), units.cases), units.cases, ""))
    return found
