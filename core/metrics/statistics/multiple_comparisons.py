"""Multiple comparisons of methods on the same articles: paired tests, correction, ranges of ranks, letter display.

The m (m - 1) / 2 comparisons of m methods are one family, corrected together. Each method gets the range of ranks that
the corrected tests do not exclude, and a compact letter display: methods that share a letter do not differ
significantly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.metrics.statistics.intervals import (
    LEVEL,
    bootstrap_ps,
    discordant_ps,
    holm,
    resampled_means,
    signed_rank_ps,
    t_ps,
)
from themescope.core.types import Estimate, Floats

ALPHA = 1 - LEVEL
RESAMPLES = 10_000
FEWEST_ARTICLES = 6
"""Minimum number of articles for a test over articles: with five, no result of Wilcoxon's test is below .05."""
_PAIRS = 200  # number of pairs with resamples in memory at once
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Paired:
    """Input of a test: p pairs of methods, ``first`` and ``second`` as column numbers."""

    first: Indices
    second: Indices
    differences: Floats
    """(n, p) difference of the two methods on each article."""
    means: Floats
    """(p,) mean difference."""
    resampled: Floats
    """(b, p) mean difference over articles drawn with replacement."""


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A significance test with its title and description."""

    id: str
    title: str
    summary: str
    source: str
    ps: Callable[[Paired], Floats]
    """Function that returns the (p,) two-sided p of the pairs."""
    over_articles: bool = True
    """Whether an article is one observation; otherwise single items are."""


WILCOXON = SignificanceTest(
    "wilcoxon",
    "Wilcoxon",
    "Signed ranks of the differences per article: tests whether one method is better on a typical article.",
    "Wilcoxon's signed-rank test (Wilcoxon 1945)",
    lambda paired: signed_rank_ps(paired.differences),
)
T = SignificanceTest(
    "t",
    "Paired t",
    "Mean difference per article over its standard error: tests whether the mean is better.",
    "the paired t-test (Student 1908)",
    lambda paired: t_ps(paired.differences),
)
BOOTSTRAP = SignificanceTest(
    "bootstrap",
    "Bootstrap",
    "Means of resampled articles: tests whether the mean is better, without assuming a distribution.",
    "a bootstrap test over articles (Efron and Tibshirani 1993)",
    lambda paired: bootstrap_ps(paired.means, paired.resampled),
)
TESTS = (WILCOXON, T, BOOTSTRAP)


def mcnemar_test(correct: npt.ArrayLike) -> SignificanceTest:
    """Return McNemar's test over single triplets; (n, m) ``correct`` is 1, 0 or ½ (undecided) for each method."""
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
    raise DataError("McNemar's test compares single items. Build it with mcnemar_test.")


MCNEMAR = SignificanceTest(
    "mcnemar",
    "McNemar",
    "Triplets that only one of two methods gets right. Assumes independent triplets, but those of one article are not.",
    "McNemar's exact test over single triplets (McNemar 1947)",
    _without_items,
    over_articles=False,
)


@dataclass(frozen=True, slots=True)
class Family:
    """Estimates of m methods over n articles and their p = m (m - 1) / 2 pairwise comparisons."""

    estimates: tuple[Estimate, ...]
    first: Indices
    second: Indices
    differences: tuple[Estimate, ...]
    """Of first minus second, with single (uncorrected) 95 % intervals."""
    ps: Floats
    """(p,) two-sided p; NaN without a test, for which there were fewer than :data:`FEWEST_ARTICLES`."""
    corrected: Floats
    """p corrected by Holm over this family, or over all families given to :func:`corrected_together`."""

    @property
    def tested(self) -> bool:
        """Whether the pairs were tested."""
        return bool(np.isfinite(self.ps).all())

    def between(self, a: int, b: int) -> tuple[Estimate, float, float]:
        """Return the difference a - b with its interval, p, and corrected p."""
        at = int(np.flatnonzero((self.first == min(a, b)) & (self.second == max(a, b)))[0])
        d = self.differences[at]
        turned = d if a < b else Estimate(-d.value, -d.high, -d.low, d.n)
        return turned, float(self.ps[at]), float(self.corrected[at])

    def better(self) -> npt.NDArray[np.bool_]:
        """Return the (m, m) matrix of significant differences: True if method i is better than method j.

        This requires a corrected p below .05 and an interval above 0, because a test of ranks and a mean may favour
        different methods.
        """
        m = len(self.estimates)
        found = np.zeros((m, m), dtype=bool)
        sure = self.corrected < ALPHA
        above = np.array([d.low > 0.0 for d in self.differences], dtype=bool)
        below = np.array([d.high < 0.0 for d in self.differences], dtype=bool)
        found[self.first[sure & above], self.second[sure & above]] = True
        found[self.second[sure & below], self.first[sure & below]] = True
        return found

    def ranks(self) -> list[tuple[int, int]]:
        """Return the (first, last) rank of each method that the tests do not exclude; 1 is the best."""
        better = self.better()
        m = len(better)
        return [(1 + int(better[:, i].sum()), m - int(better[i].sum())) for i in range(m)]

    def groups(self) -> list[str]:
        """Return the letters of each method in a compact letter display (Piepho 2004).

        Methods that share a letter do not differ significantly; "a" contains the best method.
        """
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
    """Compare m methods by their (n, m) scores of the same articles, weighted with ``sizes`` (n,) in the means.

    Intervals are percentiles of a bootstrap over articles; for a single article both ends are its mean. A test over
    fewer articles than :data:`FEWEST_ARTICLES` is not run. Raises :class:`themescope.core.errors.DataError` without
    scores or if one is not finite.
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
        enough = n >= FEWEST_ARTICLES or not test.over_articles
        ps.append(test.ps(paired) if enough else np.full(len(a), np.nan))
    found = np.concatenate(ps)
    family = Family(tuple(_estimates(means, draws, n)), first, second, tuple(differences), found, found)
    return corrected_together([family])[0]


def corrected_together(families: Sequence[Family]) -> list[Family]:
    """Return the families with p corrected by Holm over the comparisons of all of them that were tested."""
    sizes = [len(family.ps) if family.tested else 0 for family in families]
    corrected = np.array(holm(np.concatenate([np.empty(0), *(f.ps for f in families if f.tested)])))
    ends = np.cumsum(sizes)
    return [
        replace(family, corrected=corrected[end - size : end] if family.tested else family.ps)
        for family, size, end in zip(families, sizes, ends, strict=True)
    ]


def _estimates(means: Floats, draws: Floats, n: int) -> list[Estimate]:
    ends = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return [Estimate(float(m), float(low), float(high), n) for m, low, high in zip(means, *ends, strict=True)]


def _groups(apart: npt.NDArray[np.bool_]) -> list[frozenset[int]]:
    """Return the largest sets of methods without significant differences: insert and absorb (Piepho 2004)."""
    groups = [frozenset(range(len(apart)))]
    for i, j in zip(*np.nonzero(np.triu(apart)), strict=True):
        split = [part for g in groups for part in ((g - {int(i)}, g - {int(j)}) if {int(i), int(j)} <= g else (g,))]
        groups = [g for g in set(split) if not any(g < other for other in split)]
    return groups


def _letter(n: int) -> str:
    """Return the letter of group ``n``: a … z, then a2 … z2."""
    return chr(ord("a") + n % 26) + (str(n // 26 + 1) if n >= 26 else "")
