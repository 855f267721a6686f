"""Many methods on the same articles: every pair tested, the family corrected, and who cannot be told apart.

A table of m methods makes m (m - 1) / 2 claims at once; they are one family. In place of ranks, which the next sample
would shuffle, methods get the range of places that the corrected tests leave open, and letters: two methods that
share a letter are not told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.metrics.statistics.intervals import LEVEL, Floats, resampled_means
from core.metrics.statistics.paired_tests import bootstrap_ps, discordant_ps, holm, signed_rank_ps, t_ps
from core.types import Estimate

ALPHA = 1 - LEVEL
RESAMPLES = 10_000
_PAIRS = 200  # whose resamples are held at a time
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Paired:
    """What a test may look at: p pairs of methods, (first, second) by their columns."""

    first: Places
    second: Places
    differences: Floats
    """(n, p) difference of the two methods on each article."""
    means: Floats
    """(p,) mean difference."""
    resampled: Floats
    """(b, p) mean difference over articles drawn with replacement."""


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A test as a person chooses it."""

    id: str
    title: str
    summary: str
    source: str
    ps: Callable[[Paired], Floats]
    """(p,) two-sided p of the pairs."""


WILCOXON = SignificanceTest(
    "wilcoxon",
    "Wilcoxon",
    "Signed ranks of the articles' differences: asks whether one method is better on a typical article.",
    "Wilcoxon's signed-rank test (Wilcoxon 1945)",
    lambda paired: signed_rank_ps(paired.differences),
)
T = SignificanceTest(
    "t",
    "Paired t",
    "Mean of the articles' differences over its standard error: asks whether the mean is better.",
    "the paired t-test (Student 1908)",
    lambda paired: t_ps(paired.differences),
)
BOOTSTRAP = SignificanceTest(
    "bootstrap",
    "Bootstrap",
    "Means over articles drawn again and again: asks whether the mean is better, whatever its distribution.",
    "a bootstrap test over articles (Efron and Tibshirani 1993)",
    lambda paired: bootstrap_ps(paired.means, paired.resampled),
)
TESTS = (WILCOXON, T, BOOTSTRAP)


def mcnemar_card(correct: npt.ArrayLike) -> SignificanceTest:
    """McNemar's test over single triplets: (n, m) ``correct`` is 1, 0 or ½ (undecided) for each method."""
    right = np.asarray(correct, dtype=np.float32)

    def ps(paired: Paired) -> Floats:
        ahead = [
            ((right[:, a] > right[:, b]).sum(), (right[:, a] < right[:, b]).sum())
            for a, b in zip(paired.first, paired.second, strict=True)
        ]
        b, c = np.array(ahead).reshape(-1, 2).T
        return discordant_ps(b, c)

    return replace(MCNEMAR, ps=ps)


def _without_items(paired: Paired) -> Floats:
    raise DataError("McNemar's test compares single items. Build it with mcnemar_card.")


MCNEMAR = SignificanceTest(
    "mcnemar",
    "McNemar",
    "Triplets that one method alone gets right. Takes them for independent, which those of one article are not.",
    "McNemar's exact test over single triplets (McNemar 1947)",
    _without_items,
)


@dataclass(frozen=True, slots=True)
class Family:
    """m methods over n articles, and the p = m (m - 1) / 2 comparisons of them, pair by pair."""

    estimates: tuple[Estimate, ...]
    first: Places
    second: Places
    differences: tuple[Estimate, ...]
    """Of first minus second, with single (uncorrected) 95 % intervals."""
    ps: Floats
    corrected: Floats
    """By Holm over this family, or over all that :func:`corrected_together` joined."""

    def between(self, a: int, b: int) -> tuple[Estimate, float, float]:
        """Difference a - b with its interval, p, and corrected p."""
        at = int(np.flatnonzero((self.first == min(a, b)) & (self.second == max(a, b)))[0])
        d = self.differences[at]
        turned = d if a < b else Estimate(-d.value, -d.high, -d.low, d.n)
        return turned, float(self.ps[at]), float(self.corrected[at])

    def better(self) -> npt.NDArray[np.bool_]:
        """(m, m): method i is better than j: corrected p below .05, and an interval that lies above 0.

        Both are asked for, because a test of ranks and a mean may point to different sides.
        """
        m = len(self.estimates)
        found = np.zeros((m, m), dtype=bool)
        sure = self.corrected < ALPHA
        above = np.array([d.low > 0.0 for d in self.differences], dtype=bool)
        below = np.array([d.high < 0.0 for d in self.differences], dtype=bool)
        found[self.first[sure & above], self.second[sure & above]] = True
        found[self.second[sure & below], self.first[sure & below]] = True
        return found

    def places(self) -> list[tuple[int, int]]:
        """First and last place that the tests leave open to each method; 1 is the best."""
        better = self.better()
        m = len(better)
        return [(1 + int(better[:, i].sum()), m - int(better[i].sum())) for i in range(m)]

    def letters(self) -> list[str]:
        """Compact letter display (Piepho 2004): methods that share a letter are not told apart; "a" holds the best."""
        better = self.better()
        order = np.argsort([-e.value for e in self.estimates], kind="stable")
        groups = sorted(_groups(better | better.T), key=lambda g: sorted(int(np.flatnonzero(order == i)[0]) for i in g))
        return ["".join(_letter(n) for n, group in enumerate(groups) if i in group) for i in range(len(better))]


def compare_all(
    values: npt.ArrayLike,
    test: SignificanceTest,
    sizes: npt.ArrayLike | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Family:
    """Compare m methods by their (n, m) scores of the same articles; article i weighs ``sizes[i]`` in the means.

    Intervals are percentiles of a bootstrap over articles; a single article has none (both ends are its mean). Raises
    :class:`core.errors.DataError` when there are no scores or one is not finite.
    """
    table = np.asarray(values, dtype=np.float64)
    draws = resampled_means(table, sizes, resamples, seed)
    means = np.average(table, axis=0, weights=None if sizes is None else np.asarray(sizes, dtype=np.float64))
    n, m = table.shape
    first, second = np.triu_indices(m, 1)
    differences: list[Estimate] = []
    ps = [np.empty(0)]
    for start in range(0, len(first), _PAIRS):
        a, b = first[start : start + _PAIRS], second[start : start + _PAIRS]
        paired = Paired(a, b, table[:, a] - table[:, b], means[a] - means[b], draws[:, a] - draws[:, b])
        differences += _estimates(paired.means, paired.resampled, n)
        ps.append(test.ps(paired))
    found = np.concatenate(ps)
    estimates = tuple(_estimates(means, draws, n))
    return Family(estimates, first, second, tuple(differences), found, np.array(holm(found)))


def corrected_together(families: Sequence[Family]) -> list[Family]:
    """The same families as one: Holm over the comparisons of all of them."""
    corrected = np.array(holm(np.concatenate([np.empty(0), *(family.ps for family in families)])))
    ends = np.cumsum([len(family.ps) for family in families])
    return [replace(f, corrected=corrected[end - len(f.ps) : end]) for f, end in zip(families, ends, strict=True)]


def _estimates(means: Floats, draws: Floats, n: int) -> list[Estimate]:
    ends = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return [Estimate(float(m), float(low), float(high), n) for m, low, high in zip(means, *ends, strict=True)]


def _groups(apart: npt.NDArray[np.bool_]) -> list[frozenset[int]]:
    """Largest sets in which nobody is told apart: insert and absorb (Piepho 2004)."""
    groups = [frozenset(range(len(apart)))]
    for i, j in zip(*np.nonzero(np.triu(apart)), strict=True):
        split = [part for g in groups for part in ((g - {int(i)}, g - {int(j)}) if {int(i), int(j)} <= g else (g,))]
        groups = [g for g in set(split) if not any(g < other for other in split)]
    return groups


def _letter(n: int) -> str:
    """Of group ``n``: a … z, then a2 … z2."""
    return chr(ord("a") + n % 26) + (str(n // 26 + 1) if n >= 26 else "")
