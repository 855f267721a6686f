"""Inter-annotator agreement of labellings.

Where people use codes with the same names, agreement is that of the codes (:func:`agreement_on_codes`). Partitions
whose clusters have no common names are compared by pairs of sentences: together or apart (:func:`pair_alpha`,
:func:`compare`). If agreement is undefined, the result contains the reason instead of a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from themescope.core.metrics import coding_agreement
from themescope.core.metrics.coding_agreement import (
    Agreement,
    AlternativeAnnotatorTest,
    Categories,
    alternative_annotator_test,
)
from themescope.core.metrics.partition import AdjustedMutualInformation, AdjustedRandIndex, MetricConfig, match_clusters
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.text.cleaning import folded_name
from themescope.core.types import Estimate, Floats, Ids, Labels, Mask

# Judgements on pairs of sentences (together or apart), counted by the pattern of the raters who made them

MOST_PARTS = 50
"""Maximum number of parts of a text that are left out one at a time."""
_PAIRED = 3_000
"""Maximum number of sentences of an article that are compared in pairs (4.5 million pairs); more are sampled."""
_DIGITS = 36
"""Number of raters whose judgements, three values each, fit one 64-bit code."""
MISSING = -1
FEWEST_ARTICLES = 8
"""Minimum number of articles for intervals over articles instead of sentences."""

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
        rows = [_sample(own, self._random) for own in np.split(order, starts[1:])] if len(order) else []
        table = np.stack([np.asarray(labels, dtype=np.int32) for labels in raters], axis=1)
        # Articles with sentences of one rater say nothing about who is right.
        known = [((table[own] != MISSING).sum(axis=1) >= 2).sum() >= 2 for own in rows]
        kept = [own for own, several in zip(rows, known, strict=True) if several]
        self._profiles = [profiles_of([labels[own] for labels in raters]) for own in kept]
        self._sizes = np.concatenate([np.empty(0), *(p.sizes for p in self._profiles)])
        # List the pairs of profiles of an article, and each profile with itself.
        starts = np.cumsum([0, *(len(p.sizes) for p in self._profiles)])
        upper = [np.triu_indices(len(p.sizes)) for p in self._profiles]
        empty = np.empty(0, dtype=np.intp)
        self._first = np.concatenate([empty, *(i + at for (i, _), at in zip(upper, starts[:-1], strict=True))])
        self._second = np.concatenate([empty, *(j + at for (_, j), at in zip(upper, starts[:-1], strict=True))])
        self._article = np.repeat(np.arange(len(upper)), [len(i) for i, _ in upper]).astype(np.intp)
        # Number the patterns of at least two judgements, and keep the pairs that have one.
        table = np.concatenate([table[:0], *(p.table for p in self._profiles)])
        code, times = np.zeros(len(self._first), dtype=np.int64), np.zeros(len(self._first), dtype=np.int64)
        for rater in range(len(raters)):
            if rater and rater % _DIGITS == 0:
                code = np.unique(code, return_inverse=True)[1].reshape(-1).astype(np.int64)
            said = _said(table[self._first, rater], table[self._second, rater])
            code, times = code * 3 + said + 1, times + (said >= 0)
        counted = np.flatnonzero(times >= 2)
        _, first, place = np.unique(code[counted], return_index=True, return_inverse=True)
        self._first, self._second = self._first[counted], self._second[counted]
        self._article, self._pattern = self._article[counted], place.reshape(-1)
        i, j = self._first[first], self._second[first]
        self._judgements = _said(table[i], table[j])

    def counts(self) -> PairCounts:
        """Count the pairs, also without each part of the text.

        Parts are articles, in random groups if there are more than 50, or if they are few, random groups of sentences.
        """
        articles, p = len(self._profiles), len(self._judgements)
        pairs: Floats = self._pairs(self._sizes)
        totals = np.bincount(self._article, pairs, minlength=articles)
        scale = 1 / np.sqrt(2 * np.maximum(totals, 1.0))
        weights: Floats = pairs * scale[self._article]
        whole: Floats = np.bincount(self._pattern, weights, minlength=p).astype(np.float64)
        by_article = articles >= FEWEST_ARTICLES
        if by_article:
            n = min(articles, MOST_PARTS)
            part_of = np.empty(articles, dtype=np.intp)
            part_of[self._random.permutation(articles)] = np.arange(articles) % n
            own = np.bincount(part_of[self._article] * p + self._pattern, weights, minlength=n * p)
            without: Floats = whole - own.reshape(n, p)
        else:
            # The number of sentences of each profile (parts, profiles) in random parts of every article.
            members, start = np.zeros((MOST_PARTS, len(self._sizes))), 0
            for profiles in self._profiles:
                place = profiles.inverse[profiles.inverse >= 0] + start
                np.add.at(members, (self._random.permutation(len(place)) % MOST_PARTS, place), 1.0)
                start += len(profiles.sizes)
            parts = members[members.any(axis=1)]
            rest = (self._pairs(self._sizes - part) * scale[self._article] for part in parts)
            found = [np.bincount(self._pattern, left, minlength=p) for left in rest]
            without = np.stack(found) if found else np.empty((0, p))
        shared = np.bincount(self._pattern, pairs, minlength=p) @ (self._judgements >= 0)
        of = "texts" if by_article else "units"
        return PairCounts(self._judgements, whole, shared.astype(np.int64), np.maximum(without, 0.0), of)

    def _pairs(self, sizes: Floats) -> Floats:
        first, second = sizes[self._first], sizes[self._second]
        return np.asarray(np.where(self._first == self._second, first * (first - 1) / 2, first * second))


def _sample(rows: Indices, random: np.random.Generator) -> Indices:
    return np.sort(random.choice(rows, _PAIRED, replace=False)) if len(rows) > _PAIRED else rows


def _said(first: Labels, second: Labels) -> Judgements:
    """Return 1 where a rater put both together, 0 apart, -1 where one is missing."""
    known = (first != MISSING) & (second != MISSING)
    return np.where(known, first == second, MISSING).astype(np.int8)


@dataclass(frozen=True, slots=True)
class PartitionComparison:
    """Two partitions of the same sentences."""

    shared: int
    """Number of sentences that both have assigned."""
    articles: int
    """Number of articles for which agreement is defined."""
    ari: Estimate | None
    ami: Estimate | None
    undefined: str
    """Reason why there is no number; "" if there is one."""


@dataclass(frozen=True, slots=True)
class PairAlpha:
    """Krippendorff's alpha over pairs of sentences of one article, with the nominal values together and apart."""

    value: float | None
    pairs: int
    """Number of pairs that at least two raters have judged."""
    undefined: str


@dataclass(frozen=True, slots=True)
class CodeAgreement:
    """Agreement on one code: given to a sentence, or another one."""

    name: str
    counts: tuple[int, ...]
    """How often each coder gave it to the sentences that several have judged."""
    both: int
    """Number of sentences to which all coders who judged them gave it."""
    alpha: Agreement
    kappa: Agreement


@dataclass(frozen=True, slots=True)
class CodingAgreement:
    """Agreement of people who use codes with common names."""

    coders: int
    sentences: int
    """Number of sentences that at least two people have judged."""
    observed: float
    """Share of equal codes, over all pairs of people and their common sentences."""
    alpha: Agreement
    """Krippendorff's alpha for nominal data."""
    kappa: Agreement
    """Cohen's kappa; the mean over pairs of people if there are more than two."""
    codes: tuple[CodeAgreement, ...]
    own: tuple[str, ...]
    """Codes that somebody used and somebody else does not have."""
    over: str
    """What the intervals are drawn over: "articles" or "sentences"."""
    several: bool = False
    """Whether sentences have several codes; alpha is then that of sets with the MASI distance."""


@dataclass(frozen=True, slots=True, eq=False)
class CommonCodes:
    """Labels of several people by codes with common names."""

    labels: list[Labels]
    """(n,) places in ``values`` of each labelling; -1 is unassigned."""
    values: list[tuple[str, ...]]
    """Names of the codes that a sentence has: one, or several where a labelling allows that."""
    own: list[str]
    """Codes that somebody used and somebody else does not have."""

    @property
    def names(self) -> list[str]:
        """Return the name of each value."""
        return [" + ".join(value) for value in self.values]

    def codings(self) -> tuple[list[list[Categories | None]], list[str]]:
        """Return the codes of each labelling as sets of places in a list of codes, and this list."""
        codes = list(dict.fromkeys(name for value in self.values for name in value))
        place = {name: number for number, name in enumerate(codes)}
        sets = [frozenset(place[name] for name in value) for value in self.values]
        return [[sets[at] if at >= 0 else None for at in own.tolist()] for own in self.labels], codes

    def majority(self) -> tuple[list[tuple[str, ...]], Mask]:
        """Return the codes that more than half of the people gave each sentence, and the (n,) mask of the open ones.

        A sentence is open if it has labels but no such code, or if half of its people gave it another one.
        """
        names = np.array(list(dict.fromkeys(name for value in self.values for name in value)), dtype=object)
        has = np.array([[name in value for name in names] for value in (*self.values, ())]).reshape(-1, len(names))
        votes = np.sum([has[own] for own in self.labels], axis=0)  # the last row, of -1, has no code
        people = np.sum([own >= 0 for own in self.labels], axis=0)
        given = 2 * votes > people[:, None]
        tied = ((2 * votes == people[:, None]) & (votes > 0)).any(axis=1)
        return [tuple(names[row]) for row in given], (people > 0) & (tied | ~given.any(axis=1))


Names = Sequence[Mapping[int, str]]
"""Cluster number → name, for all clusters of each labelling."""
Sets = Sequence[Mapping[int, frozenset[int]]]
"""Cluster number → numbers of its codes, for the combinations of codes of each labelling; empty without any."""


def common_codes(
    labels: Sequence[Labels], names: Names, sets: Sets = (), codebooks: bool = False
) -> CommonCodes | None:
    """Return labels, (n,) cluster numbers of each labelling with -1 for unassigned, by their codes.

    ``names`` has the number → the name of all clusters of each labelling, including unused ones, ``sets`` the
    combinations of codes of each. Clusters with the same name are one code, whatever their numbers are; case and spaces
    do not count. Codes are common if everybody gave most of their labels to codes that all the others have, too, or
    with ``codebooks`` has most codes in common with all the others, given or not; otherwise the result is None.
    """
    sets = sets or [{}] * len(names)
    known = [{n: name for n, name in own.items() if n not in held} for own, held in zip(names, sets, strict=True)]
    folded = [{number: folded_name(name) for number, name in own.items() if name.strip()} for own in known]
    shared = set.intersection(*({*own.values()} for own in folded)) if folded else set[str]()
    if not shared:
        return None
    spelled: dict[str, str] = {}
    for own in known:
        for name in own.values():
            spelled.setdefault(folded_name(name), name)
    place: dict[frozenset[str], int] = {}
    coded: list[Labels] = []
    for own, held, given in zip(folded, sets, labels, strict=True):
        numbers, counts = np.unique(given[given >= 0], return_counts=True)
        # A cluster without a name is a code of nobody else.
        called = [
            frozenset(own.get(code) or f"\0{code} of {len(coded)}" for code in held.get(number, {number}))
            for number in numbers.tolist()
        ]
        common = sum(int(count) for value, count in zip(called, counts, strict=True) if value <= shared)
        if len(numbers) and common * 2 <= counts.sum() and not (codebooks and len(shared) * 2 > len(own)):
            return None
        places = np.array([place.setdefault(value, len(place)) for value in called], dtype=np.int32)
        result = np.full(len(given), MISSING, dtype=np.int32)
        result[given >= 0] = places[np.searchsorted(numbers, given[given >= 0])]
        coded.append(result)
    values = [tuple(sorted(spelled.get(name, "–") for name in value)) for value in place]
    used = dict.fromkeys(name for value in place for name in sorted(value))
    return CommonCodes(coded, values, [spelled.get(name, "–") for name in used if name not in shared])


def replacement_test(
    people: Sequence[Labels], machine: Labels, names: Names, abstained: Mask, epsilon: float, sets: Sets = ()
) -> AlternativeAnnotatorTest | None:
    """Return the alternative annotator test of labellings with common codes; None if they have none.

    ``people`` and ``machine`` are (n,) cluster numbers, -1 where not judged; ``names`` and ``sets`` are, as in
    :func:`common_codes`, those of each person and last of the machine. Where it gave no code to a sentence,
    ``abstained`` (n,), it agrees with nobody; otherwise a machine that leaves out what is hard would pass. It may be as
    close to the others as a person is by ``epsilon`` less often.
    """
    found = common_codes([*people, machine], names, sets)
    if found is None:
        return None
    *codings, own = found.codings()[0]
    coded = [frozenset[int]() if asked and code is None else code for code, asked in zip(own, abstained, strict=True)]
    return alternative_annotator_test(codings, coded, epsilon)


def agreement_on_codes(
    labels: Sequence[Labels], names: Names, articles: Ids, seed: int = 0, sets: Sets = ()
) -> CodingAgreement | None:
    """Return the agreement of labellings with common codes, see :func:`common_codes`; None if they have none.

    Intervals are drawn over articles if at least :data:`FEWEST_ARTICLES` have sentences that two people judged, because
    sentences of an article are not independent; otherwise over sentences. Where sentences have several codes, alpha is
    that of sets with the MASI distance, kappa that of equal sets, and a code is given to a sentence or not.
    """
    found = common_codes(labels, names, sets)
    if found is None:
        return None
    coded = found.labels
    twice = (np.stack(coded) >= 0).sum(axis=0) >= 2
    over = "texts" if len(np.unique(articles[twice])) >= FEWEST_ARTICLES else "units"
    groups = articles if over == "texts" else None
    equal = judged = 0
    for first, second in combinations(coded, 2):
        both = (first >= 0) & (second >= 0)
        judged, equal = judged + int(both.sum()), equal + int((both & (first == second)).sum())
    results = coding_agreement.coefficients(coded, groups, seed)
    codings, codes = found.codings()
    several = any(len(value) > 1 for value in found.values)
    alpha = coding_agreement.set_alpha(codings, seed, groups) if several else results.alpha
    rows = []
    for place, code in enumerate(codes):
        given = [coding_agreement.given(coding, place) for coding in codings]
        table = np.stack(given)[:, twice]
        if not (table == 1).any():
            continue
        # The coefficients of one code against all others are those of the column of this code.
        own = coding_agreement.coefficients(given, groups, seed) if several else None
        pair = (own.alpha, own.kappa) if own is not None else results.codes[found.values.index((code,))]
        everybody = int(((table == 1) | (table < 0)).all(axis=0).sum())
        rows.append(CodeAgreement(code, tuple((table == 1).sum(axis=1).tolist()), everybody, *pair))
    compared, share = int(twice.sum()), equal / judged if judged else float("nan")
    by_code = tuple(sorted(rows, key=lambda row: -sum(row.counts)))
    return CodingAgreement(len(labels), compared, share, alpha, results.kappa, by_code, tuple(found.own), over, several)


def compare(first: Labels, second: Labels, articles: Ids, seed: int = 0) -> PartitionComparison:
    """Return mean ARI and AMI over articles with their intervals, of (n,) labels; -1 is unassigned and ignored."""
    both = (first != MISSING) & (second != MISSING)
    if not both.any():
        return PartitionComparison(0, 0, None, None, "they have no coded unit in common")
    scores: list[tuple[float, float]] = []
    for article in np.unique(articles[both]):
        rows = np.flatnonzero(both & (articles == article))
        a, b = first[rows], second[rows]
        if len(rows) < 2 or (len(np.unique(a)) == 1 and len(np.unique(b)) == 1):
            continue
        metrics = AdjustedRandIndex(MetricConfig()), AdjustedMutualInformation(MetricConfig())
        scores.append((metrics[0].score(a, b), metrics[1].score(a, b)))
    if not scores:
        reason = "they share only one unit" if both.sum() == 1 else "both have only one code"
        return PartitionComparison(int(both.sum()), 0, None, None, reason)
    ari, ami = (bootstrap_mean(column, seed=seed) for column in zip(*scores, strict=True))
    return PartitionComparison(int(both.sum()), len(scores), ari, ami, "")


def pair_alpha(raters: Sequence[Labels], articles: Ids, seed: int = 0) -> PairAlpha:
    """Return Krippendorff's alpha of any number of raters, each with (n,) labels; -1 is missing.

    Units are the pairs of sentences of one article, values are together (1) and apart (0); a rater has judged a pair if
    both sentences are assigned. Hayes and Krippendorff 2007: alpha = 1 - D_observed / D_expected.
    """
    random, units, together, apart, observed = np.random.default_rng(seed), 0, 0.0, 0.0, 0.0
    for article in np.unique(articles):
        rows = _sample(np.flatnonzero(articles == article), random)
        i, j = np.triu_indices(len(rows), 1)
        # For every pair of rows how many raters put them together, and how many rated both.
        ones, judged = np.zeros(len(i), dtype=np.int64), np.zeros(len(i), dtype=np.int64)
        for labels in raters:
            said = _said(labels[rows][i], labels[rows][j])
            ones, judged = ones + (said == 1), judged + (said >= 0)
        ones, judged = ones[judged >= 2], judged[judged >= 2]
        zeros = judged - ones
        units += len(judged)
        together, apart = together + float(ones.sum()), apart + float(zeros.sum())
        observed += float((2.0 * ones * zeros / (judged - 1)).sum())
    if not units:
        return PairAlpha(None, 0, "no pair of units was judged by two people")
    if not together or not apart:
        value = "together" if together else "apart"
        return PairAlpha(None, units, f"all raters put every pair {value}")
    n = together + apart
    return PairAlpha(1.0 - (observed / n) / (2.0 * together * apart / (n * (n - 1.0))), units, "")


def dispute(raters: Sequence[Labels], names: Names = (), sets: Sets = ()) -> Floats:
    """Return the (n,) share of votes that differ from the most frequent one: 0 all agree … 1 all differ.

    Votes are codes where the labellings have common ones, by the ``names`` and ``sets`` of :func:`common_codes`.
    Otherwise they are clusters, after those of all partitions were matched with the first.
    """
    codes = common_codes(raters, names, sets, codebooks=True) if names else None
    votes = np.stack(raters if codes is None else codes.labels)
    if codes is None:
        for place, labels in enumerate(raters[1:], 1):
            own = match_clusters(raters[0], labels).aligned
            alone = (own != MISSING) & ~np.isin(own, raters[0])  # a cluster without a match is none of another rater
            votes[place] = np.where(alone, own + votes[:place].max() + 1, own)
    same = np.max([((votes == own) & (own != MISSING)).sum(axis=0) for own in votes], axis=0)
    given = (votes != MISSING).sum(axis=0)
    return np.where(given > 0, 1.0 - same / np.maximum(given, 1), 0.0)
