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
from enum import StrEnum
from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.errors import DataError
from themescope.core.metrics.statistics import LEVEL, benjamini_yekutieli
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
    """Return alpha and kappa of all codes together, and of each code; all from the same resamples.

    The coders have (n,) codes each; -1 is missing. ``groups`` (n,) are resampled as a whole.

    alpha = 1 - D_observed / D_expected: within units, where the m values of a unit have the weight 1 / (m - 1), and
    between all values of units with at least two. kappa = (p_o - p_e) / (1 - p_e), with the observed and the expected
    share of equal codes (Cohen 1960, eq. 1); of more than two coders it is the mean over all pairs (Light 1971).
    """
    units = _units(coders, groups)
    (sums, alphas), (more, kappas) = _alphas(units), _kappas(units)
    both = sparse.hstack([sums, more], format="csr")
    width = sums.shape[1]
    found = _estimated(units, both, lambda x: np.hstack([alphas(x[:, :width]), kappas(x[:, width:])]), seed)
    k = len(units.codes) + 1
    pairs = zip(found[1:k], found[k + 1 :], strict=True)
    return Coefficients(found[0], found[k], dict(zip(units.codes.tolist(), pairs, strict=True)))


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
    """Return Krippendorff's alpha of sets of categories with the MASI distance; ``groups`` (n,) as in the others."""
    values = sorted({value for coding in codings for value in coding if value is not None}, key=sorted)
    place: dict[Categories | None, int] = {value: number for number, value in enumerate(values)} | {None: -1}
    distances = np.array([[masi(one, other) for other in values] for one in values]).reshape(len(values), len(values))
    units = _units([np.array([place[value] for value in coding], dtype=np.int32) for coding in codings], groups)
    apart, counts = distances[np.ix_(units.codes, units.codes)], units.counts
    within = sparse.csr_array((counts @ apart * counts.toarray()).sum(axis=1, keepdims=True) * units.weight[:, None])

    def value(sums: Floats) -> Floats:
        totals, within = sums[:, :-1], sums[:, -1:]
        n = totals.sum(axis=1, keepdims=True)
        return _corrected(within / n, ((totals @ apart) * totals).sum(axis=1, keepdims=True) / (n * (n - 1)))

    return _estimated(units, sparse.hstack([counts, within], format="csr"), value, seed)[0]


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
        return np.asarray(np.divide(total, known, out=np.full(total.shape, np.nan), where=known > 0))

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


# Alternative annotator test: whether a machine may replace people as an annotator of a task

EPSILONS = {"experts": 0.2, "skilled people": 0.15, "crowd workers": 0.1}
"""Values of epsilon that the authors recommend, by who the people are."""
FEWEST_FOR_T = 30
"""Units of a person for the t test; with fewer, the test is exact."""
FEWEST = 10
"""Units of a person for a test."""
ENOUGH = 50
"""Units of a person that suffice in most cases, as the authors found; a machine that does not pass with fewer has not
failed yet."""
_GRID = 201
"""Number of values of the unknown probability at which the exact test looks for its largest p."""


class Decision(StrEnum):
    """Outcome of the test."""

    PASSED = "passed"
    FAILED = "failed"
    TOO_FEW = "too few labels to tell"


@dataclass(frozen=True, slots=True)
class AgainstPerson:
    """The machine compared with one person."""

    person: int
    """Place of the person among those given."""
    units: int
    """Number of units of the person that the machine and at least one other person have judged."""
    machine: float
    """Share of the units on which the machine is at least as close to the others: advantage probability."""
    human: float
    """Share of the units on which the person is at least as close."""
    p: float | None
    """One-sided p that the machine loses, uncorrected; None with fewer than :data:`FEWEST` units."""
    corrected: float | None
    """p corrected by Benjamini and Yekutieli over all tested people."""
    wins: bool


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest:
    """Result of the test."""

    verdict: Decision
    """Passed if the machine wins against at least half of the tested people. Otherwise failed; but with fewer than
    :data:`ENOUGH` units a person only if it is significantly worse than more than half of the people, less epsilon."""
    winning_rate: float | None
    """Share of the tested people against whom the machine wins, omega; None if nobody was tested."""
    advantage: float | None
    """Mean advantage probability over the tested people, rho."""
    epsilon: float
    q: float
    """False discovery rate."""
    people: tuple[AgainstPerson, ...]
    reason: str
    """What is missing, and what to do; "" if the verdict is passed or failed."""


def alternative_annotator_test(
    people: Sequence[Coding], machine: Coding, epsilon: float = 0.15, q: float = 0.05
) -> AlternativeAnnotatorTest:
    """Return whether ``machine`` may replace a person of ``people``: (n,) sets of codes each, None where not judged.

    Raises :class:`themescope.core.errors.DataError` with fewer than two people, or if lengths differ.
    """
    if len(people) < 2:
        raise DataError("The alternative annotator test compares with at least two people. Let another one label.")
    if {len(coding) for coding in people} != {len(machine)}:
        raise DataError("The people and the machine have different numbers of units. Give one value for each unit.")
    wins = [_indicators(people, j, machine) for j in range(len(people))]
    tested = [j for j, (ours, _) in enumerate(wins) if len(ours) >= FEWEST]
    ps = {j: replacement_p(wins[j][1] - wins[j][0], epsilon) for j in tested}
    corrected = dict(zip(tested, benjamini_yekutieli([ps[j] for j in tested]), strict=True))
    shares = [[float(side.mean()) if len(side) else 0.0 for side in pair] for pair in wins]
    won = {j for j in tested if corrected[j] <= q}
    found = tuple(
        AgainstPerson(j, len(wins[j][0]), ours, theirs, ps.get(j), corrected.get(j), j in won)
        for j, (ours, theirs) in enumerate(shares)
    )
    if not tested:
        most = max(one.units for one in found)
        reason = (
            f"Nobody has {FEWEST} units that another person and the machine judged; the most is {most}. Label more."
        )
        return AlternativeAnnotatorTest(Decision.TOO_FEW, None, None, epsilon, q, found, reason)
    rate = sum(found[j].wins for j in tested) / len(tested)
    least = min(found[j].units for j in tested)
    worse = sum(_t_p(wins[j][0] - wins[j][1], -epsilon) <= q for j in tested)
    verdict, reason = Decision.PASSED if rate >= 0.5 else Decision.FAILED, ""
    if rate < 0.5 and least < ENOUGH and 2 * worse <= len(tested):
        verdict = Decision.TOO_FEW
        reason = f"With {least} units, the machine neither passes nor clearly fails. Label {ENOUGH} to 100 in common."
    advantage = float(np.mean([found[j].machine for j in tested]))
    return AlternativeAnnotatorTest(verdict, rate, advantage, epsilon, q, found, reason)


def _indicators(people: Sequence[Coding], j: int, machine: Coding) -> tuple[Floats, Floats]:
    """Return, for each unit of person j, 1 where the machine, and where the person, is at least as close to others."""
    ours, theirs = [], []
    for unit, (own, code) in enumerate(zip(people[j], machine, strict=True)):
        others = [coding[unit] for i, coding in enumerate(people) if i != j]
        judged = [value for value in others if value is not None]
        if own is None or code is None or not judged:
            continue
        difference = sum(_jaccard(code, value) - _jaccard(own, value) for value in judged)
        ours.append(difference > -1e-9)
        theirs.append(difference < 1e-9)
    return np.array(ours, dtype=np.float64), np.array(theirs, dtype=np.float64)


def _jaccard(one: Categories, other: Categories) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


def replacement_p(differences: npt.ArrayLike, epsilon: float) -> float:
    """Return the p of (n,) ``differences`` -1, 0 or 1, person minus machine, having a mean of ``epsilon`` or more.

    Student's t test of the mean; with fewer than :data:`FEWEST_FOR_T`, the unconditional exact test that orders samples
    by t: its p is the largest over the unknown share of -1 (as that of Suissa and Shuster 1991 for paired shares).
    """
    values = np.asarray(differences, dtype=np.float64)
    if len(values) >= FEWEST_FOR_T:
        return _t_p(values, epsilon)
    return _exact_p(int((values < 0).sum()), int((values > 0).sum()), len(values), epsilon)


def _t_p(values: Floats, mean: float) -> float:
    """Return the one-sided p of Student's t that the mean of (n,) ``values`` is ``mean`` or more."""
    from scipy.special import stdtr

    return float(stdtr(len(values) - 1, _t(values.mean(), values.std(ddof=1), len(values), mean)))


def _t(found: npt.ArrayLike, deviation: npt.ArrayLike, n: int, mean: float) -> Floats:
    """Return t, infinite where all values are equal."""
    above = np.asarray(found, dtype=np.float64) - mean
    with np.errstate(divide="ignore", invalid="ignore"):
        t: Floats = above / (np.asarray(deviation) / np.sqrt(n))
    return np.where(np.isnan(t), 0.0, t)


@cache
def _exact_p(minus: int, plus: int, n: int, epsilon: float) -> float:
    from scipy.special import gammaln, xlogy

    b, c = (grid.ravel() for grid in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    b, c = b[b + c <= n], c[b + c <= n]
    means = (c - b) / n
    t = _t(means, np.sqrt(np.maximum((b + c) / n - means**2, 0) * n / (n - 1)), n, epsilon)
    extreme = t <= t[(b == minus) & (c == plus)] + 1e-9
    b, c = b[extreme], c[extreme]
    ways = gammaln(n + 1) - gammaln(b + 1) - gammaln(c + 1) - gammaln(n - b - c + 1)
    share = np.linspace(0, (1 - epsilon) / 2, _GRID)[:, None]
    rest = np.maximum(1 - 2 * share - epsilon, 0)
    chances = np.exp(ways + xlogy(b, share) + xlogy(c, share + epsilon) + xlogy(n - b - c, rest))
    return min(1.0, float(chances.sum(axis=1).max()))
