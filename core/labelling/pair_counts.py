"""Judgements on pairs of sentences (together or apart), counted by the pattern of the raters who made them.

Sentences that every rater put into the same clusters form a *profile*. All pairs of two profiles are judged alike, so
that the pairs of an article are counted from its profiles, of which there are far fewer than sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.types import Floats, Ids, Labels

MISSING = -1
MOST_PARTS = 50
"""Maximum number of parts of a text that are left out one at a time."""
_SAMPLED = 3_000
"""Maximum number of sentences of an article that are compared in pairs; more are sampled."""
_DIGITS = 36
"""Number of raters whose judgements, three values each, fit one 64-bit code."""

Indices = npt.NDArray[np.intp]
Judgements = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Sentences grouped by what all raters say about them."""

    table: Labels
    """(u, raters) label of each rater for a profile; -1 is missing."""
    sizes: Floats
    """(u,) number of sentences."""
    inverse: Indices
    """(n,) profile of each sentence; -1 for sentences that nobody has assigned."""


def profiles_of(raters: Sequence[Labels]) -> Profiles:
    """Group n sentences; ``raters`` are (n,) labels each, -1 is missing."""
    table = np.stack([np.asarray(labels, dtype=np.int32) for labels in raters], axis=1)
    inverse = np.full(len(table), -1, dtype=np.intp)
    assigned = (table != MISSING).any(axis=1)
    found, place = np.unique(table[assigned], axis=0, return_inverse=True)
    inverse[assigned] = place.reshape(-1)
    sizes = np.bincount(inverse[assigned], minlength=len(found)).astype(np.float64)
    return Profiles(found, sizes, inverse)


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Weight of the pairs with each pattern of judgements; p patterns of at least two judgements.

    The pairs of an article weigh together as much as half its sentences: an article with ten times the sentences has a
    hundred times the pairs, but not a hundred times as much to say.
    """

    judgements: Judgements
    """(p, raters) 1 is together, 0 apart, -1 not judged."""
    weights: Floats
    """(p,)"""
    shared: Ids
    """(raters,) number of pairs of each rater that another rater has judged, too."""
    without: Floats
    """(parts, p) weights without each of several parts of the text, with all their pairs."""
    parts_of: str
    """What the parts are: "articles", or "sentences" where there are few articles."""


class PairTable:
    """Pairs of profiles of every article, with the pattern of each."""

    def __init__(self, raters: Sequence[Labels], articles: Ids, seed: int = 0) -> None:
        """``raters`` are (n,) labels of each rater, -1 is missing; ``articles`` (n,) article of each sentence.

        ``seed`` is that of the parts, and of the sample of an article with more than 3,000 sentences.
        """
        self._random = np.random.default_rng(seed)
        order = np.argsort(articles, kind="stable")
        starts = np.flatnonzero(np.diff(articles[order], prepend=np.nan if len(order) else 0))
        rows = [self._sampled(own) for own in np.split(order, starts[1:])] if len(order) else []
        table = np.stack([np.asarray(labels, dtype=np.int32) for labels in raters], axis=1)
        # Articles with sentences of one rater say nothing about who is right.
        known = [((table[own] != MISSING).sum(axis=1) >= 2).sum() >= 2 for own in rows]
        kept = [own for own, several in zip(rows, known, strict=True) if several]
        self._profiles = [profiles_of([labels[own] for labels in raters]) for own in kept]
        self._raters = len(raters)
        self._sizes = np.concatenate([np.empty(0), *(p.sizes for p in self._profiles)])
        # List the pairs of profiles of an article, and each profile with itself.
        starts = np.cumsum([0, *(len(p.sizes) for p in self._profiles)])
        upper = [np.triu_indices(len(p.sizes)) for p in self._profiles]
        empty = np.empty(0, dtype=np.intp)
        self._first = np.concatenate([empty, *(i + at for (i, _), at in zip(upper, starts[:-1], strict=True))])
        self._second = np.concatenate([empty, *(j + at for (_, j), at in zip(upper, starts[:-1], strict=True))])
        self._article = np.repeat(np.arange(len(upper)), [len(i) for i, _ in upper]).astype(np.intp)
        self._number_patterns()

    def _sampled(self, rows: Indices) -> Indices:
        if len(rows) <= _SAMPLED:
            return rows
        return np.sort(self._random.choice(rows, _SAMPLED, replace=False))

    def _number_patterns(self) -> None:
        """Number the patterns of at least two judgements, and keep the pairs that have one."""
        empty = np.empty((0, self._raters), dtype=np.int32)
        table = np.concatenate([empty, *(p.table for p in self._profiles)])
        code, times = np.zeros(len(self._first), dtype=np.int64), np.zeros(len(self._first), dtype=np.int64)
        for rater in range(self._raters):
            if rater and rater % _DIGITS == 0:
                code = np.unique(code, return_inverse=True)[1].reshape(-1).astype(np.int64)
            said = _said(table[self._first, rater], table[self._second, rater])
            code, times = code * 3 + said + 1, times + (said >= 0)
        kept = np.flatnonzero(times >= 2)
        _, first, place = np.unique(code[kept], return_index=True, return_inverse=True)
        self._first, self._second = self._first[kept], self._second[kept]
        self._article, self._pattern = self._article[kept], place.reshape(-1)
        i, j = self._first[first], self._second[first]
        self._judgements = _said(table[i], table[j])

    def counts(self, fewest_articles: int) -> PairCounts:
        """Count the pairs, also without each part of the text.

        Parts are articles, in random groups if there are more than 50. With fewer than ``fewest_articles`` they are
        random groups of the sentences of every article.
        """
        articles, p = len(self._profiles), len(self._judgements)
        pairs: Floats = self._pairs(self._sizes)
        totals = np.bincount(self._article, pairs, minlength=articles)
        scale = 1 / np.sqrt(2 * np.maximum(totals, 1.0))
        weights: Floats = pairs * scale[self._article]
        whole: Floats = np.bincount(self._pattern, weights, minlength=p).astype(np.float64)
        by_article = articles >= fewest_articles
        if by_article:
            n = min(articles, MOST_PARTS)
            part_of = np.empty(articles, dtype=np.intp)
            part_of[self._random.permutation(articles)] = np.arange(articles) % n
            own = np.bincount(part_of[self._article] * p + self._pattern, weights, minlength=n * p)
            without: Floats = whole - own.reshape(n, p)
        else:
            rest = (self._pairs(self._sizes - part) * scale[self._article] for part in self._sentence_parts())
            found = [np.bincount(self._pattern, left, minlength=p) for left in rest]
            without = np.stack(found) if found else np.empty((0, p))
        shared = np.bincount(self._pattern, pairs, minlength=p) @ (self._judgements >= 0)
        of = "articles" if by_article else "sentences"
        return PairCounts(self._judgements, whole, shared.astype(np.int64), np.maximum(without, 0.0), of)

    def _sentence_parts(self) -> Floats:
        """Return the (parts, profiles) number of sentences of each profile in random parts of every article."""
        members = np.zeros((MOST_PARTS, len(self._sizes)))
        start = 0
        for profiles in self._profiles:
            place = profiles.inverse[profiles.inverse >= 0] + start
            np.add.at(members, (self._random.permutation(len(place)) % MOST_PARTS, place), 1.0)
            start += len(profiles.sizes)
        return members[members.any(axis=1)]

    def _pairs(self, sizes: Floats) -> Floats:
        first, second = sizes[self._first], sizes[self._second]
        return np.asarray(np.where(self._first == self._second, first * (first - 1) / 2, first * second))


def _said(first: Labels, second: Labels) -> Judgements:
    """Return 1 where a rater put both together, 0 apart, -1 where one is missing."""
    known = (first != MISSING) & (second != MISSING)
    return np.where(known, first == second, MISSING).astype(np.int8)
