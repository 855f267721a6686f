"""Triplet accuracy by slices: where a model is weak, each slice with its own interval over articles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.metrics.statistics.intervals import bootstrap_mean
from core.metrics.triplets import correctness
from core.types import Estimate, Ids

RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Slice:
    """The triplets whose value lies from ``low`` to ``high``, both included; ``high`` None: and all above."""

    low: int
    high: int | None
    triplets: int
    accuracy: Estimate
    """Its ``n`` counts articles; one article has no interval."""


def accuracy_slices(values: Ids, margins: npt.ArrayLike, groups: Ids, starts: Sequence[int]) -> list[Slice]:
    """Accuracy of n triplets by whole-number ``values`` (n,), cut where each of the ascending ``starts`` begins.

    ``margins`` (n,) decide who is right, an exact tie counts ½; ``groups`` (n,) are article ids, and intervals
    resample articles (2,000 times). Empty slices and values below the first start are left out. Raises
    :class:`DataError` when the columns differ in length.
    """
    correct = correctness(np.asarray(margins, dtype=np.float32))
    if not len(values) == len(correct) == len(groups):
        raise DataError("Slices need a value, a margin and an article of every triplet.")
    found = []
    for low, after in zip(starts, [*starts[1:], None], strict=True):
        inside = values >= low if after is None else (values >= low) & (values < after)
        if inside.any():
            estimate = bootstrap_mean(correct[inside], groups[inside], RESAMPLES)
            found.append(Slice(low, None if after is None else after - 1, int(inside.sum()), estimate))
    return found


@dataclass(frozen=True, slots=True)
class ArticleAccuracy:
    """Accuracy of each of (a,) articles, in ascending order of their ids."""

    articles: Ids
    triplets: Ids
    accuracy: npt.NDArray[np.float64]


def accuracy_by_article(margins: npt.ArrayLike, groups: Ids) -> ArticleAccuracy:
    """Mean of right (1), wrong (0) and undecided (½) over the triplets of every article in ``groups`` (n,)."""
    correct = correctness(np.asarray(margins, dtype=np.float32))
    articles, place, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return ArticleAccuracy(articles, counts, np.bincount(place, weights=correct, minlength=len(articles)) / counts)
