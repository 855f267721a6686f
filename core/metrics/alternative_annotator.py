"""Alternative annotator test: whether a machine may replace people as an annotator of a task.

Calderon, Reichart and Dror 2025, "The alternative annotator test for LLM-as-a-judge: how to statistically justify
replacing human annotators with LLMs" (ACL). Each person j in turn is left out, and the machine and j are compared on
each unit: whose codes are closer to those of the other people, by the mean Jaccard coefficient (with one code a unit,
the share of people who gave the same). The machine wins against j if it is closer, or as close, at least as often as j
is, less ``epsilon``, by which a person's labels cost more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.metrics.coding_agreement import Categories, Coding
from themescope.core.metrics.statistics.intervals import benjamini_yekutieli
from themescope.core.types import Floats, Labels

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


def coding_of(labels: Labels) -> list[Categories | None]:
    """Return (n,) codes of one coder as sets; -1 is missing."""
    return [frozenset({code}) if code >= 0 else None for code in labels.tolist()]


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
    found = tuple(
        AgainstPerson(
            j,
            len(ours),
            float(ours.mean()) if len(ours) else 0.0,
            float(theirs.mean()) if len(ours) else 0.0,
            ps.get(j),
            corrected.get(j),
            j in corrected and corrected[j] <= q,
        )
        for j, (ours, theirs) in enumerate(wins)
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
