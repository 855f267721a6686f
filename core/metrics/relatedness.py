"""Agreement of predicted with given scores: Pearson, Spearman, mean squared error, with intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.metrics.statistics.intervals import LEVEL
from themescope.core.types import Estimate, Floats

_RESAMPLES = 2_000
_CHUNK = 1_000_000  # draws held at a time


def pearson(a: Floats, b: Floats) -> float:
    """Return Pearson's r of two (n,) series; 0 if either is constant."""
    first, second = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / norm if norm > 0 else 0.0


def spearman(a: Floats, b: Floats) -> float:
    """Return Pearson's r of the ranks; ties have their mean rank."""
    from scipy.stats import rankdata

    return pearson(rankdata(a), rankdata(b))


def agreement_with_scores(
    series: npt.ArrayLike, predicted: npt.ArrayLike, given: Floats, seed: int
) -> dict[str, Estimate]:
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
    step = max(1, _CHUNK // n)
    parts: dict[str, list[Floats]] = {"pearson": [], "spearman": [], "mse": []}
    for start in range(0, _RESAMPLES, step):
        counts = rng.multinomial(n, np.full(n, 1 / n), size=min(step, _RESAMPLES - start)).astype(np.float64)
        parts["pearson"].append(_weighted_pearson(values, given, counts))
        parts["spearman"].append(_weighted_pearson(_ranks(values, counts), _ranks(given, counts), counts))
        parts["mse"].append(counts @ errors / n)
    resampled = {name: np.concatenate(chunks) for name, chunks in parts.items()}
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    ends = {name: np.quantile(draws, tails) for name, draws in resampled.items()}
    return {
        name: Estimate(value, float(ends[name][0]), float(ends[name][1]), len(given)) for name, value in found.items()
    }


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
