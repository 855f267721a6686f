"""Difficulty of articles: traits of their true sections, and mean scores by ranges of a trait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.types import Estimate, Floats, Labels

PARTS = 4
"""Number of slices of about equal size."""


@dataclass(frozen=True, slots=True)
class Trait:
    """A numeric property of the true sections of an article."""

    id: str
    title: str
    summary: str
    of: Callable[[Labels], float]


def balance(truth: Labels) -> float:
    """Return the entropy of the section sizes relative to equal sections: 1 for equal sizes, near 0 for one large."""
    _, counts = np.unique(truth, return_counts=True)
    if len(counts) < 2:
        return 1.0
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum() / np.log(len(counts)))


TRAITS = (
    Trait(
        "sections",
        "Sections",
        "Number of sections of the article, which is the number of clusters K.",
        lambda truth: float(len(np.unique(truth))),
    ),
    Trait("sentences", "Sentences", "Number of clustered sentences of the article.", lambda truth: float(len(truth))),
    Trait(
        "balance",
        "Balance",
        "Evenness of the section sizes: 1 if all sections are equally large, near 0 if one has nearly all sentences.",
        balance,
    ),
)


@dataclass(frozen=True, slots=True)
class ArticleSlice:
    """Articles whose trait is between ``low`` and ``high``, both of which occur."""

    low: float
    high: float
    n: int
    estimates: tuple[Estimate, ...]
    """Mean of each column, with its interval over the articles of the slice."""


def article_slices(values: npt.ArrayLike, trait: npt.ArrayLike, parts: int = PARTS) -> list[ArticleSlice]:
    """Return mean scores of articles (columns of (n, m) ``values``) by quantiles of their ``trait`` (n,), ascending.

    Articles with the same trait are in the same slice, so there may be fewer than ``parts`` slices. Raises
    :class:`DataError` if the numbers of rows differ or are 0.
    """
    table: Floats = np.asarray(values, dtype=np.float64)
    traits: Floats = np.asarray(trait, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(traits) or len(traits) == 0:
        raise DataError(f"Slices need scores and a trait of every article, not {table.shape} and {traits.shape}.")
    cuts = np.unique(np.quantile(traits, np.arange(1, parts) / parts, method="lower"))
    place = np.searchsorted(cuts, traits, side="left")
    return [_slice(table[place == part], traits[place == part]) for part in np.unique(place)]


def _slice(values: Floats, traits: Sequence[float] | Floats) -> ArticleSlice:
    estimates = tuple(bootstrap_mean(column) for column in values.T)
    return ArticleSlice(float(np.min(traits)), float(np.max(traits)), len(values), estimates)
