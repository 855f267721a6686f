"""Confidence intervals, paired tests, multiple comparisons, tables of two classifications, agreement of scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.metrics.formulas import wilson
from themescope.core.text.languages import STOP_WORDS, stem
from themescope.core.types import Estimate, Floats, Ids, Mask

# Means with 95 % bootstrap intervals over groups (articles), since sentences of an article are not independent

LEVEL = 0.95
_CHUNK = 250_000  # draws in memory at once: they fit the processor's cache, six times as fast as 4,000,000
_FEW = 0.125  # maximum share of different groups for which drawing their counts is faster


def bootstrap_mean(values: ArrayLike, groups: Ids | None = None, n_resamples: int = 10_000, seed: int = 0) -> Estimate:
    """Return the mean of (n,) ``values`` with its percentile bootstrap interval.

    With ``groups`` (n,) whole groups are resampled and counted; an item of group -1 is a group of its own. For a single
    group both ends of the interval are its mean. Raises :class:`DataError` without values or if one is not finite.
    """
    sums, sizes = _grouped(np.asarray(values, dtype=np.float64), groups)
    mean = float(sums.sum() / sizes.sum())
    if len(sums) == 1:
        return Estimate(mean, mean, mean, 1)
    n, rng = len(sums), np.random.default_rng(seed)
    kinds, counts = np.unique(np.stack([sums, sizes]), axis=1, return_counts=True)
    if kinds.shape[1] <= n * _FEW:
        # Single triplets are right, wrong or tied, so drawing the counts of these values is equivalent and faster.
        drawn = rng.multinomial(n, counts / n, size=n_resamples)
        means = (drawn @ kinds[0]) / (drawn @ kinds[1])
    else:
        step, parts = max(1, _CHUNK // n), []
        for start in range(0, n_resamples, step):
            rows = rng.integers(n, size=(min(step, n_resamples - start), n), dtype=np.int32)
            parts.append(sums[rows].sum(axis=1) / sizes[rows].sum(axis=1))
        means = np.concatenate(parts)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(mean, float(low), float(high), len(sums))


def paired_difference(
    a: ArrayLike, b: ArrayLike, groups: Ids | None = None, n_resamples: int = 10_000, seed: int = 0
) -> Estimate:
    """Return the mean of a - b, (n,) scores of the same articles in the same order, with its interval.

    The difference is significant at the 5 % level if the interval excludes 0.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape:
        raise DataError(
            f"A paired difference needs two scores of the same articles, not {first.shape} and {second.shape}."
        )
    return bootstrap_mean(first - second, groups, n_resamples, seed)


def resampled_means(table: Floats, sizes: ArrayLike | None, n_resamples: int, seed: int) -> Floats:
    """Return (n_resamples, m) means of (n, m) scores of m methods over articles drawn with replacement.

    A resample has the same articles for every method, so the difference of two columns is a paired resample. Item i has
    the weight ``sizes[i]`` (n,), such as its number of triplets, by default 1.
    """
    if table.ndim != 2 or len(table) == 0:
        raise DataError("There are no scores to average.")
    if not np.isfinite(table).all():
        raise DataError("A score is not a finite number, so there is no mean.")
    n, rng = len(table), np.random.default_rng(seed)
    weights = np.ones(n) if sizes is None else np.asarray(sizes, dtype=np.float64)
    sums, parts, step = table * weights[:, None], [], max(1, _CHUNK // n)
    for start in range(0, n_resamples, step):
        rows = min(step, n_resamples - start)
        drawn = rng.integers(n, size=(rows, n)) + np.arange(rows)[:, None] * n
        times = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        parts.append(times @ sums / (times @ weights)[:, None])
    return np.concatenate(parts)


def _grouped(values: Floats, groups: Ids | None) -> tuple[Floats, Floats]:
    if values.ndim != 1 or len(values) == 0:
        raise DataError("There are no scores to average.")
    if not np.isfinite(values).all():
        raise DataError("A score is not a finite number, so there is no mean.")
    if groups is None:
        return values, np.ones(len(values))
    groups = np.asarray(groups)
    if groups.shape != values.shape:
        raise DataError(f"Every score needs its group: {len(values)} scores, {len(groups)} groups.")
    alone = groups == -1
    _, place = np.unique(groups[~alone], return_inverse=True)
    sums, sizes = np.bincount(place, weights=values[~alone]), np.bincount(place).astype(np.float64)
    return np.concatenate([sums, values[alone]]), np.concatenate([sizes, np.ones(int(alone.sum()))])


# --- paired tests -----------------------------------------------------------------------------------------------------

_EXACT = 50  # maximum number of differences for the exact form of Wilcoxon's test


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The mean of a - b with its 95 % interval, and the two-sided p of Wilcoxon's signed-rank test over groups."""

    difference: Estimate
    p: float


def paired_test(a: ArrayLike, b: ArrayLike, groups: Ids | None = None, seed: int = 0) -> PairedTest:
    """Compare (n,) scores of the same items in the same order; items of a group (an article) count as one.

    The bootstrap resamples groups; Wilcoxon's test takes the mean difference of each group. Raises
    :class:`themescope.core.errors.DataError` if the numbers of scores differ or are 0.
    """
    difference = paired_difference(a, b, groups, seed=seed)
    sums, sizes = _grouped(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64), groups)
    return PairedTest(difference, float(signed_rank_ps((sums / sizes)[:, None])[0]))


def signed_rank_ps(differences: ArrayLike) -> Floats:
    """Return (p,) two-sided p that the columns of (n, p) ``differences`` are symmetric around 0 (Wilcoxon 1945).

    Zeros are ignored; p is 1 if all are 0. It is exact for up to 50 differences without ties, otherwise by the normal
    approximation with the variance of tied ranks.
    """
    from scipy.special import ndtr

    values = np.asarray(differences, dtype=np.float64)
    sizes, once = np.abs(values), np.ones((1, len(values)))
    zeros = (sizes == 0.0).sum(axis=0)
    ranks = np.stack([_ranks(column, once)[0] for column in sizes.T], axis=1) if sizes.size else sizes
    ranks = np.where(sizes == 0.0, 0.0, ranks - zeros)
    above = np.where(values > 0.0, ranks, 0.0).sum(axis=0)
    deviation = np.sqrt((ranks**2).sum(axis=0)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 2 * ndtr(-np.abs(above - ranks.sum(axis=0) / 2) / deviation)
    found = np.where(deviation > 0.0, found, 1.0)
    for column in np.flatnonzero((len(values) - zeros <= _EXACT) & (deviation > 0.0)):
        known = sizes[sizes[:, column] != 0.0, column]
        if len(np.unique(known)) == len(known):
            found[column] = _exact_signed_rank_p(int(above[column]), len(known))
    return np.asarray(found)


def _exact_signed_rank_p(rank_sum: int, n: int) -> float:
    """Return the two-sided p of a sum of positive ranks among 1 … n, each of which is positive with probability 1/2."""
    ways = np.ones(1)  # sets of ranks by their sum; 2^50 of them are exact in float64
    for rank in range(1, n + 1):
        ways = np.append(ways, np.zeros(rank)) + np.append(np.zeros(rank), ways)
    return float(min(1.0, 2 * min(ways[: rank_sum + 1].sum(), ways[rank_sum:].sum()) / 2.0**n))


def holm(ps: Sequence[float] | Floats) -> list[float]:
    """Return the p-values of a family of comparisons, corrected by Holm 1979, in the given order."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * float(ps[place])))
        corrected[place] = largest
    return corrected


def benjamini_yekutieli(ps: Sequence[float] | Floats) -> list[float]:
    """Return p-values corrected for the false discovery rate under any dependence, in the given order.

    Benjamini and Yekutieli 2001, theorem 1.3: those of at most q are the discoveries at rate q.
    """
    from scipy.stats import false_discovery_control

    return [*map(float, false_discovery_control(ps, method="by"))] if len(ps) else []


# Multiple comparisons of methods on the same articles: paired tests, correction, ranges of ranks, letter display

ALPHA = 1 - LEVEL
RESAMPLES = 10_000
FEWEST_ARTICLES = 6
"""Minimum number of articles for a test over articles: with five, no result of Wilcoxon's test is below .05."""
_PAIRS = 200  # number of pairs with resamples in memory at once
Indices = npt.NDArray[np.intp]


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
    """p corrected by Holm over this family."""

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

    def better(self) -> Mask:
        """Return the (m, m) matrix of significant differences: True if method i is better than method j.

        This requires a corrected p below .05 and, as a mean may favour another than ranks do, an interval above 0.
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
        """Return the letters of each method in a compact letter display (Piepho 2004): a … z, then a2 … z2.

        Methods that share a letter do not differ significantly; "a" contains the best method.
        """
        better = self.better()
        groups = [frozenset(range(len(better)))]
        for pair in zip(*np.nonzero(np.triu(better | better.T)), strict=True):  # insert and absorb
            i, j = map(int, pair)
            split = [part for g in groups for part in ((g - {i}, g - {j}) if {i, j} <= g else (g,))]
            groups = [g for g in set(split) if not any(g < other for other in split)]
        order = np.argsort([-e.value for e in self.estimates], kind="stable")
        groups.sort(key=lambda g: sorted(int(np.flatnonzero(order == i)[0]) for i in g))
        letters = [chr(ord("a") + n % 26) + (str(n // 26 + 1) if n >= 26 else "") for n in range(len(groups))]
        named = list(zip(letters, groups, strict=True))
        return ["".join(letter for letter, group in named if i in group) for i in range(len(better))]


def compare_all(values: ArrayLike, sizes: ArrayLike | None = None, seed: int = 0, resamples: int = RESAMPLES) -> Family:
    """Compare m methods by their (n, m) scores of the same articles, weighted with ``sizes`` (n,) in the means.

    The test of a pair is Wilcoxon's signed-rank test of its differences, an article being one observation. Intervals
    are percentiles of a bootstrap over articles; for a single article both ends are its mean. A test over fewer
    articles than :data:`FEWEST_ARTICLES` is not run. Raises :class:`DataError` without scores or if one is not finite.
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
        differences += _estimates(means[a] - means[b], draws[:, a] - draws[:, b], n)
        ps.append(signed_rank_ps(table[:, a] - table[:, b]) if n >= FEWEST_ARTICLES else np.full(len(a), np.nan))
    found = np.concatenate(ps)
    corrected = np.array(holm(found)) if np.isfinite(found).all() else found
    return Family(tuple(_estimates(means, draws, n)), first, second, tuple(differences), found, corrected)


def _estimates(means: Floats, draws: Floats, n: int) -> list[Estimate]:
    ends = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return [Estimate(float(m), float(low), float(high), n) for m, low, high in zip(means, *ends, strict=True)]


# Two classifications of the same items as a table: expected counts, residuals, association; and shares over time

Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer]  # (n,) class of each item; -1: none

LEAST_EXPECTED = 5.0
"""Expected count below which residuals and the chi-square test are unreliable (Cochran 1954)."""


@dataclass(frozen=True, slots=True, eq=False)
class Crosstab:
    """Contingency table (r, c) of two classifications."""

    counts: Counts
    expected: Floats
    """(r, c) counts if the two were independent."""
    residuals: Floats
    """(r, c) adjusted Pearson residuals, which are about standard normal then (Haberman 1973); NaN where undefined."""
    chi_square: float
    degrees: int
    p: float
    """P value of the chi-square test of independence; 1 without degrees of freedom."""
    cramers_v: float
    """Strength of the association, 0…1 (Cramér 1946)."""

    @property
    def low_expected(self) -> int:
        """Number of cells whose expected count is below :data:`LEAST_EXPECTED`."""
        return int((self.expected < LEAST_EXPECTED).sum())

    def shares(self, axis: int = 1) -> Floats:
        """Return the (r, c) shares of columns in each row, or (axis 0) of rows in each column; NaN for empty ones."""
        totals = self.counts.sum(axis=axis, keepdims=True)
        return np.asarray(np.divide(self.counts, totals, out=np.full(self.counts.shape, np.nan), where=totals > 0))


def crosstab(rows: Codes, columns: Codes, shape: tuple[int, int]) -> Crosstab:
    """Return the table of items (n,) whose class is known in both; ``shape`` is the number of classes of each."""
    from scipy.special import chdtrc  # the commands import the names of periods, and must start fast

    known = (rows >= 0) & (columns >= 0)
    cells = rows[known].astype(np.int64) * shape[1] + columns[known]
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)
    n = max(int(counts.sum()), 1)
    by_row, by_column = counts.sum(axis=1, keepdims=True) / n, counts.sum(axis=0, keepdims=True) / n
    expected = n * by_row * by_column
    spread = np.sqrt(expected * (1 - by_row) * (1 - by_column))
    residuals = np.divide(counts - expected, spread, out=np.full(shape, np.nan), where=spread > 0)
    squares = np.divide((counts - expected) ** 2, expected, out=np.zeros(shape), where=expected > 0)
    used = min(int((by_row > 0).sum()), int((by_column > 0).sum())) - 1
    degrees = max((int((by_row > 0).sum()) - 1) * (int((by_column > 0).sum()) - 1), 0)
    chi_square = float(squares.sum()) if degrees else 0.0
    p = float(chdtrc(degrees, chi_square)) if degrees else 1.0
    cramers_v = float(np.sqrt(chi_square / (n * used))) if used > 0 else 0.0
    return Crosstab(counts, expected, residuals, chi_square, degrees, p, min(cramers_v, 1.0))


def once_per_article(rows: Codes, columns: Codes, articles: Ids) -> npt.NDArray[np.intp]:
    """Return items (m,) such that each article has at most one of each pair of classes: the first one.

    Sentences of an article are not independent of each other; this way an article counts once for each of its themes.
    """
    triples = np.stack([articles, rows.astype(np.int64), columns.astype(np.int64)])
    return np.sort(np.unique(triples, axis=1, return_index=True)[1])


def share_intervals(counts: ArrayLike, totals: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the shares of counts in totals with the ends of their 95 % intervals (Wilson 1927); NaN without items."""
    x, n = np.asarray(counts, np.float64), np.asarray(totals, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(n > 0, x / n, np.nan)
        low, high = wilson(share, n, NormalDist().inv_cdf(0.975))
    return share, low, high


PERIODS = ("year", "quarter", "month", "day")
"""Periods into which dates are grouped."""
_UNITS = {"year": "datetime64[Y]", "quarter": "datetime64[M]", "month": "datetime64[M]", "day": "datetime64[D]"}


def periods_of(dates: npt.NDArray[np.datetime64], period: str) -> tuple[Codes, list[str]]:
    """Return the (n,) period of each date, -1 for missing ones, and the names in order of the periods with a date."""
    known = ~np.isnat(dates)
    units = dates[known].astype(_UNITS[period])
    if period == "quarter":
        months = units.astype(np.int64)
        units = (months - months % 3).astype("datetime64[M]")
    starts, codes = np.unique(units, return_inverse=True)
    found = np.full(len(dates), -1, dtype=np.int64)
    found[known] = codes
    names = [str(start) for start in starts]
    if period == "quarter":
        names = [f"{name[:4]} Q{(int(name[5:7]) + 2) // 3}" for name in names]
    return found, names


def usual_period(dates: npt.NDArray[np.datetime64]) -> str:
    """Return the longest period of which the dates cover at least three, else days."""
    known = dates[~np.isnat(dates)]
    if len(known):
        span = int((known.max() - known.min()) / np.timedelta64(1, "D"))
        for period, days in zip(PERIODS, (365, 91, 30), strict=False):
            if span >= 3 * days:
                return period
    return PERIODS[-1]


# Agreement of predicted with given scores: Pearson, Spearman, mean squared error, with intervals

_RESAMPLES = 2_000
_DRAWS_AT_ONCE = 1_000_000  # draws held at a time


def pearson(a: Floats, b: Floats) -> float:
    """Return Pearson's r of two (n,) series; 0 if either is constant."""
    first, second = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / norm if norm > 0 else 0.0


def spearman(a: Floats, b: Floats) -> float:
    """Return Pearson's r of the ranks; ties have their mean rank."""
    once = np.ones((1, len(a)))
    return pearson(_ranks(a, once)[0], _ranks(b, once)[0])


def agreement_with_scores(series: ArrayLike, predicted: ArrayLike, given: Floats, seed: int) -> dict[str, Estimate]:
    """Return Pearson and Spearman of (n,) ``series``, and the mean squared error of ``predicted``, against ``given``.

    The intervals are percentiles over 2,000 resamples of the pairs.
    """
    values, scores = np.asarray(series, np.float64), np.asarray(predicted, np.float64)
    if not len(given) or values.shape != given.shape or scores.shape != given.shape:
        raise DataError(f"Predicted and given scores differ in number: {values.shape}, {scores.shape}, {given.shape}.")
    if not (np.isfinite(values).all() and np.isfinite(scores).all()):
        raise DataError("A predicted score is not a finite number.")
    errors = (scores - given) ** 2
    found = {"pearson": pearson(values, given), "spearman": spearman(values, given), "mse": float(errors.mean())}
    rng = np.random.default_rng(seed)
    n = len(given)
    step = max(1, _DRAWS_AT_ONCE // n)
    parts: dict[str, list[Floats]] = {"pearson": [], "spearman": [], "mse": []}
    for start in range(0, _RESAMPLES, step):
        counts = rng.multinomial(n, np.full(n, 1 / n), size=min(step, _RESAMPLES - start)).astype(np.float64)
        parts["pearson"].append(_weighted_pearson(values, given, counts))
        parts["spearman"].append(_weighted_pearson(_ranks(values, counts), _ranks(given, counts), counts))
        parts["mse"].append(counts @ errors / n)
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    ends = {name: np.quantile(np.concatenate(chunks), tails) for name, chunks in parts.items()}
    return {name: Estimate(v, float(ends[name][0]), float(ends[name][1]), n) for name, v in found.items()}


def _weighted_pearson(a: Floats, b: Floats, counts: Floats) -> Floats:
    """Return the (r,) correlations of (n,) or (r, n) series under (r, n) weights."""
    total = counts.sum(axis=1, keepdims=True)
    first, second = (x - (counts * x).sum(axis=1, keepdims=True) / total for x in (a, b))
    products = (counts * first * second).sum(axis=1)
    norms = np.sqrt((counts * first * first).sum(axis=1) * (counts * second * second).sum(axis=1))
    return np.asarray(np.divide(products, norms, out=np.zeros_like(products), where=norms > 0), np.float64)


def _ranks(values: Floats, counts: Floats) -> Floats:
    """Return the (r, n) mean ranks of (n,) ``values`` if value i occurs ``counts[:, i]`` times."""
    distinct, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(distinct)))
    sizes = np.add.reduceat(counts[:, order], starts, axis=1)
    return np.asarray((np.cumsum(sizes, axis=1) - (sizes - 1) / 2)[:, place], np.float64)


# ROUGE-1 of a summary against reference summaries, with the options of version 1.5.5 (Lin 2004)

_TOKEN = re.compile(r"[a-z0-9]+")
_SHORT = 3  # tokens of at most so many letters are not stemmed


@dataclass(frozen=True)
class RougeSettings(Config):
    """Options of ROUGE; the defaults are those of Saha et al. 2017 (-l 100 -m -s -f A)."""

    words: int = option(100, "Number of words at the start of summary and reference to compare; 0 uses all.", low=0)
    stemming: bool = option(True, "Compare words of more than three letters by their Porter stem.")
    remove_stop_words: bool = option(True, "Ignore stop words (the SMART list).")


@dataclass(frozen=True, slots=True)
class RougeCounts:
    """Word counts shared by summary and references, summed over the references (model-average scoring)."""

    hits: int
    """Number of tokens of the references that are also in the summary."""
    total: int
    """Number of tokens of all references."""
    compared: int
    """Number of tokens of the summary, counted for each reference."""

    @property
    def recall(self) -> float:
        """Share of the references' tokens that are in the summary; 0 without tokens."""
        return self.hits / self.total if self.total else 0.0

    @property
    def precision(self) -> float:
        """Share of the summary's tokens that are in the references; 0 without tokens."""
        return self.hits / self.compared if self.compared else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision."""
        both = self.total + self.compared
        return 2 * self.hits / both if both else 0.0


def rouge_1(system: str, references: Sequence[str], settings: RougeSettings) -> RougeCounts:
    """Count the single words that ``system`` shares with each of the ``references``."""
    own = rouge_tokens(system, settings)
    hits = total = 0
    for reference in references:
        theirs = rouge_tokens(reference, settings)
        hits += (own & theirs).total()
        total += theirs.total()
    return RougeCounts(hits, total, own.total() * len(references))


def rouge_tokens(text: str, settings: RougeSettings) -> Counter[str]:
    """Return the tokens: lower case, split at non-alphanumeric ASCII characters, as in ROUGE 1.5.5."""
    if settings.words:
        text = " ".join(text.split()[: settings.words])
    tokens = _TOKEN.findall(text.lower())
    if settings.remove_stop_words:
        tokens = [token for token in tokens if token not in STOP_WORDS]
    if settings.stemming:
        tokens = [stem(token, "porter") if len(token) > _SHORT else token for token in tokens]
    return Counter(tokens)
