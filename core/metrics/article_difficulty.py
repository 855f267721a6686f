"""Difficulty of articles: traits of their true sections, and mean scores by ranges of a trait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.metrics.statistics.intervals import Floats, bootstrap_mean
from core.types import Estimate, Labels

PARTS = 4
"""Slices of about as many articles each."""


@dataclass(frozen=True, slots=True)
class Trait:
    """A numeric property of the true sections of an article."""

    id: str
    title: str
    summary: str
    of: Callable[[Labels], float]


def _sections(truth: Labels) -> float:
    return float(len(np.unique(truth)))


def _sentences(truth: Labels) -> float:
    return float(len(truth))


def balance(truth: Labels) -> float:
    """Entropy of the section sizes over that of equal sections: 1 where all are as large, near 0 where one has all."""
    _, counts = np.unique(truth, return_counts=True)
    if len(counts) < 2:
        return 1.0
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum() / np.log(len(counts)))


TRAITS = (
    Trait("sections", "Sections", "How many sections the article has: the number of clusters, K.", _sections),
    Trait("sentences", "Sentences", "How many of its sentences are clustered.", _sentences),
    Trait(
        "balance",
        "Balance",
        "How even the sections are: 1 where all have as many sentences, near 0 where one has nearly all.",
        balance,
    ),
)


@dataclass(frozen=True, slots=True)
class ArticleSlice:
    """Articles whose trait lies from ``low`` to ``high``, both of which occur."""

    low: float
    high: float
    n: int
    estimates: tuple[Estimate, ...]
    """Mean of each column, with its interval over the articles of the slice."""


def article_slices(values: npt.ArrayLike, trait: npt.ArrayLike, parts: int = PARTS) -> list[ArticleSlice]:
    """Mean scores (columns of (n, m) ``values``) of articles, cut at quantiles of their ``trait`` (n,), ascending.

    Articles with the same trait stay together, so there may be fewer than ``parts`` slices. Raises
    :class:`DataError` when the rows differ in number or there are none.
    """
    table: Floats = np.asarray(values, dtype=np.float64)
    traits: Floats = np.asarray(trait, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(traits) or len(traits) == 0:
        raise DataError(f"Slices need a trait of every article: {table.shape}, {traits.shape}.")
    cuts = np.unique(np.quantile(traits, np.arange(1, parts) / parts, method="lower"))
    place = np.searchsorted(cuts, traits, side="left")
    return [_slice(table[place == part], traits[place == part]) for part in np.unique(place)]


def _slice(values: Floats, traits: Sequence[float] | Floats) -> ArticleSlice:
    estimates = tuple(bootstrap_mean(column) for column in values.T)
    return ArticleSlice(float(np.min(traits)), float(np.max(traits)), len(values), estimates)
