"""Estimators of shares and of logistic regression from people's labels and the machine's codes, in NumPy alone.

This file imports nothing of the package: replication scripts contain its text, so that a published number can be
computed again without Themescope (see ``replication_files``). docs/estimates.md derives the formulas.

Notation: N units; y is a person's label, 0…1; f the machine's code, 0…1; w = 1 / probability of being sampled, 0 for
units without a sampled label; w' = w / sum(w); documents are the clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

TAIL = 0.025
"""Probability above a 95 % interval, and below it."""
ITERATIONS = 50
FEWEST_LABELS = 10
FEWEST_DOCUMENTS = 5
"""Labels, and documents with labels, without which people's labels say nothing."""
ROUNDING = 1e-9
"""A sum this small beside the sizes of its terms is 0: what is left of it is rounding, and rounding decides nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class MeanEstimate:
    """An estimated mean."""

    value: float
    variance: float
    """Square of the standard error: over documents, with the correction for few of them. 0 if the documents do not
    differ, as where all labels are equal: then they say nothing about the error, and ``fewest`` stands for it."""
    tuning: float
    """Weight of the machine's codes, 0 (not used) to 1; lambda of PPI++."""
    size: float
    """Effective number of labels, sum(w)² / sum(w²) (Kish 1965)."""
    fewest: float
    """Number of labels that these are worth at least, however alike the units of a document are: sum(w) / max(w) of
    units in documents of their own, otherwise fewer by the ratio of the effective numbers of documents and labels."""
    degrees: int
    """Degrees of freedom: effective number of documents with labels - 1."""
    influence: Array
    """(D,) contribution of each document to the error; their squares add up to the variance without corrections."""


def mean(
    label: Array, code: Array | None, weight: Array, document: Ids, documents: int, errors: tuple[float, ...] = (1.0,)
) -> MeanEstimate:
    """Return the mean of ``label``, corrected with ``code``: both (N,), as ``weight`` and ``document`` (0…D-1).

    sum(w' y) + lambda (sum(f) / N - sum(w' f)), with the lambda in 0…1 that has the least variance. ``code`` None
    stands for lambda = 0.

    A few labels of a rare code without a wrong one would seem to show a perfect machine. Therefore a missed unit and a
    false alarm, which change y and f by ``errors``, are added to the labels when lambda is chosen, and a quarter of
    each to the variance, times lambda², or times the part of the variance that unequal sampling saves, if that is
    larger (compare Bonett and Price 2012, who add both to the labels).
    """
    share = weight / weight.sum()
    size, fewest, degrees = _counts(share, document, documents)
    labelled = summed(share, document, documents)
    first = float(label[weight > 0][0])
    value = first + float(share @ (label - first))  # exactly the label that all units have, if they do
    influence = summed(share * (label - value), document, documents)
    if not influence.any():
        return MeanEstimate(value, 0.0, 0.0, size, fewest, degrees, influence)
    variance, simple = _variance(influence, labelled), float(share @ (label - value) ** 2) / size
    gain = max(0.0, 1 - variance / simple)
    wrong = np.array(errors)
    added = float(np.mean(wrong**2)) / (2 * size**2)
    alone = MeanEstimate(value, variance + gain * added, 0.0, size, fewest, degrees, influence)
    if code is None:
        return alone
    everywhere, sampled = float(code.mean()), float(share @ code)
    slope = summed((code - everywhere) / len(code) - share * (code - sampled), document, documents)
    across = float(np.mean((wrong - value) * sampled + value * (wrong - sampled))) / size**2
    square = float(np.mean(sampled**2 + (wrong - sampled) ** 2)) / size**2 + float(slope @ slope)
    tuning = min(1.0, max(0.0, -(float(influence @ slope) + across) / square))
    influence = influence + tuning * slope
    leverage = labelled + (slope**2 / square if 0 < tuning < 1 else 0.0)
    variance = _variance(influence, leverage) + max(tuning**2, gain) * added
    if variance >= alone.variance:
        return alone
    return MeanEstimate(value + tuning * (everywhere - sampled), variance, tuning, size, fewest, degrees, influence)


def summed(values: Array, document: Ids, documents: int) -> Array:
    """Return the (D,) sums of ``values`` (N,) over each document, exactly 0 where they cancel out but for rounding."""
    total, sizes = (np.bincount(document, weights=x, minlength=documents) for x in (values, np.abs(values)))
    return np.where(np.abs(total) > ROUNDING * sizes, total, 0.0)


def _counts(share: Array, document: Ids, documents: int) -> tuple[float, float, int]:
    """Return the effective number of labels with weights ``share`` (N,), sum 1; the fewest; and the degrees of freedom.

    If all units drawn have the code, and that had a probability of 2.5 % at least, then the share of those without it
    is 1 - .025^(max(w) / sum(w)) at most: all may lie where a label stands for most units.
    """
    size, clusters = (1 / float((x**2).sum()) for x in (share, summed(share, document, documents)))
    return size, clusters / size / float(share.max()), max(1, math.floor(clusters + ROUNDING) - 1)


def _variance(influence: Array, leverage: Array) -> float:
    """Return the sandwich variance over documents, each with its leverage, below 1 (HC2; MacKinnon and White 1985)."""
    return float((influence**2 / (1 - np.minimum(leverage, 0.9))).sum())


def wilson(share: npt.ArrayLike, items: npt.ArrayLike, quantile: float) -> tuple[Array, Array]:
    """Return the ends of the intervals of shares of items (Wilson 1927), with a quantile of the normal distribution.

    With an effective number of items and a quantile of t, they are those of a sample.
    """
    p, n = np.asarray(share, np.float64), np.asarray(items, np.float64)
    centre, half = p + quantile**2 / (2 * n), quantile * np.sqrt(p * (1 - p) / n + quantile**2 / (4 * n**2))
    scale = 1 + quantile**2 / n
    return np.clip((centre - half) / scale, 0, p), np.clip((centre + half) / scale, p, 1)


def interval(found: MeanEstimate) -> tuple[float, float]:
    """Return the 95 % interval of a share: Wilson's, with the effective number of labels and the quantile of t.

    The effective number is the one that would give the standard error to a simple random sample, p (1 - p) / variance
    (Korn and Graubard 1998; Franco et al. 2019). It is the fewest that the labels are worth if they show no error.
    """
    inside = min(max(found.value, 0.5 / found.size), 1 - 0.5 / found.size)
    n, degrees = found.fewest, min(found.degrees, max(1, math.floor(found.fewest + ROUNDING) - 1))
    if found.variance > 0:
        n, degrees = inside * (1 - inside) / found.variance, found.degrees
    low, high = wilson(min(max(found.value, 0.0), 1.0), n, t_quantile(degrees))
    return float(low), float(high)


def ratio(part: Array, label: Array, code: Array | None, weight: Array, document: Ids, documents: int) -> MeanEstimate:
    """Return mean(part · y) / mean(y): the share of ``part`` (N,), 0 or 1, among the units that have the code.

    The ratio R of two corrected means is the root of mean((part - R) y), so its error is that of this mean divided by
    mean(y). The labels that count are those with the code. NaN where no unit has the code.
    """
    share = weight / weight.sum()
    nothing = MeanEstimate(math.nan, math.nan, 0.0, math.nan, math.nan, 1, np.zeros(documents))
    whole = float(share @ label)
    if not whole > 0:
        return nothing
    counts = _counts(share * label / whole, document, documents)
    value = float(share @ (part * label)) / whole
    for _ in range(3):
        scale = (part - value) / whole
        errors = ((1 - value) / whole, -value / whole)  # of units in the part, and outside of it
        found = mean(scale * label, None if code is None else scale * code, weight, document, documents, errors)
        if code is not None:
            tuned = found.tuning * code
            whole = float(tuned.mean() + share @ (label - tuned))
            if whole <= ROUNDING:
                return nothing
            value = float((part * tuned).mean() + share @ (part * (label - tuned))) / whole
    return MeanEstimate(value, found.variance, found.tuning, *counts, found.influence)


def difference(first: MeanEstimate, second: MeanEstimate) -> tuple[float, float, float]:
    """Return first - second with its 95 % interval, from their own intervals (Newcombe 1998; Zou 2007, with r).

    r is the correlation of both errors: documents may have units in both groups. As n documents without a difference
    do not show that there is none, r is n / (n + t²) at most: 1 - the upper end of Wilson's interval of 0 of n.
    """
    (low, high), (below, above) = interval(first), interval(second)
    value, degrees = first.value - second.value, min(first.degrees, second.degrees)
    lengths = float(first.influence @ first.influence) * float(second.influence @ second.influence)
    r = float(first.influence @ second.influence) / math.sqrt(lengths) if lengths > 0 else 0.0
    r = min(r, (degrees + 1) / (degrees + 1 + t_quantile(degrees) ** 2))

    def half(one: float, other: float) -> float:
        one, other = max(one, 0.0), max(other, 0.0)
        return math.sqrt(max(0.0, one**2 + other**2 - 2 * r * one * other))

    down = half(first.value - low, above - second.value)
    up = half(high - first.value, second.value - below)
    return value, max(-1.0, value - down), min(1.0, value + up)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticEstimate:
    """A logistic regression of k columns."""

    values: Array
    """(k,) log odds ratios."""
    errors: Array
    """(k,) standard errors over documents."""
    tuning: float
    degrees: int
    converged: bool
    """False if the columns predict the labels perfectly, or are redundant: there is no estimate then."""


def logistic(
    columns: Array, label: Array, code: Array | None, weight: Array, document: Ids, documents: int
) -> LogisticEstimate:
    """Return the logistic regression of ``label`` (N,) on an intercept and ``columns`` (N, k - 1).

    b solves sum(w' x (y - m)) + lambda (mean(x (f - m)) - sum(w' x (f - m))) = 0 with m = 1 / (1 + exp(-x b)): people's
    labels alone for lambda = 0, the moment of design-based supervised learning for 1. lambda in 0…1 minimizes the sum
    of the variances, each divided by that of people alone.
    """
    centre, scale = columns.mean(axis=0), columns.std(axis=0)
    scale[scale == 0] = 1.0
    x = np.column_stack([np.ones(len(columns)), (columns - centre) / scale])
    share = weight / weight.sum()
    labelled = summed(share, document, documents)
    degrees, clusters = math.floor(1 / float((labelled**2).sum()) + 1e-9) - x.shape[1], int((labelled > 0).sum())
    guess, tuning = np.zeros(len(label)) if code is None else code, 0.0
    rows = weight > 0
    values, converged = _solved(x[rows], share[rows], (share * label)[rows], np.zeros(x.shape[1]))
    influence, slope = _scores(x, label, guess, share, values, 0.0, document, documents)
    if code is not None and converged:
        spread = np.maximum((influence**2).sum(axis=0), 1e-300)
        across, square = float((influence * slope / spread).sum()), float((slope**2 / spread).sum())
        tuning = min(1.0, max(0.0, -across / square)) if square > 0 else 0.0
        mix = (1 - tuning) * share + tuning / len(share)
        values, converged = _solved(x, mix, share * (label - tuning * guess) + tuning * guess / len(share), values)
        influence, slope = _scores(x, label, guess, share, values, tuning, document, documents)
        influence = influence + tuning * slope
    raw = np.diag(np.append(1.0, 1 / scale))
    raw[0, 1:] = -centre / scale
    correction = clusters / max(1, clusters - len(values) - (tuning > 0))
    errors = np.sqrt(((influence @ raw.T) ** 2).sum(axis=0) * correction)
    return LogisticEstimate(raw @ values, errors, tuning, max(1, degrees), converged)


def _solved(columns: Array, weight: Array, target: Array, b: Array) -> tuple[Array, bool]:
    """Return the root b of x'(target - weight · m(x b)) by Newton's method, and whether it was found."""
    moment = columns.T @ target
    for _ in range(ITERATIONS):
        m = 1 / (1 + np.exp(-np.clip(columns @ b, -500, 500)))
        slope = (columns * (weight * m * (1 - m))[:, None]).T @ columns
        try:
            step = np.linalg.solve(slope, moment - columns.T @ (weight * m))
        except np.linalg.LinAlgError:
            return b, False
        step = step / max(1.0, float(np.abs(step).max()) / 5)
        b = b + step
        if float(np.abs(step).max()) < 1e-9:
            return b, True
    return b, False


def _scores(
    columns: Array, label: Array, code: Array, share: Array, b: Array, tuning: float, document: Ids, documents: int
) -> tuple[Array, Array]:
    """Return the (D, k) contributions of the documents to the error of b for lambda = 0, and their slope in lambda."""
    m = 1 / (1 + np.exp(-np.clip(columns @ b, -500, 500)))
    mix = (1 - tuning) * share + tuning / len(share)
    inverse = np.linalg.pinv((columns * (mix * m * (1 - m))[:, None]).T @ columns)

    def error(score: Array) -> Array:
        sums: Array = np.stack([summed(column, document, documents) for column in score.T], axis=1) @ inverse
        return sums

    score, guess = columns * (label - m)[:, None], columns * (code - m)[:, None]
    slope = (guess - guess.mean(axis=0)) / len(share) - share[:, None] * (guess - share @ guess)
    return error(share[:, None] * (score - share @ score)), error(slope)


@cache
def t_quantile(degrees: int, tail: float = TAIL) -> float:
    """Return the quantile of Student's t above which ``tail`` lies: by bisection; above 1,000 degrees by expansion."""
    if degrees > 1000:
        z = NormalDist().inv_cdf(1 - tail)
        return z + (z**3 + z) / (4 * degrees)
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, degrees) > tail else (low, middle)
    return (low + high) / 2


def t_tail(t: float, degrees: int) -> float:
    """Return the probability above t ≥ 0 (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4); above 1,000 of the normal."""
    if degrees > 1000:
        return math.erfc(t / math.sqrt(2)) / 2
    angle = math.atan(t / math.sqrt(degrees))
    square, odd = math.cos(angle) ** 2, degrees % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for j in range(degrees // 2):
        total += term
        term *= square * (2 * j + 1 + odd) / (2 * j + 2 + odd)
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return max(0.0, (1 - inside) / 2)
