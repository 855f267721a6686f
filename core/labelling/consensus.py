"""Probability that two sentences belong together given everybody's labels, and what follows from it.

From the reliabilities of :mod:`themescope.core.labelling.consensus` follow the consensus of all labellings, and the
sentences that people dispute.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit, logit, stdtrit

from themescope.core.labelling.agreement import (
    FEWEST_ARTICLES,
    MISSING,
    MOST_PARTS,
    Indices,
    Judgements,
    PairCounts,
    PairTable,
    Profiles,
    profiles_of,
)
from themescope.core.metrics.statistics import LEVEL
from themescope.core.types import Estimate, Floats, Ids, Labels, Mask

_OFFSETS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Added to the log-odds of all pairs for different candidates of a consensus; see :func:`consensus`."""
_MOST_PROFILES = 2_000
"""Maximum number of profiles that are clustered; sentences of rarer ones join the cluster that fits best."""
_PRIOR_SENTENCES = 200.0
"""The share of pairs that belong together is estimated as if there were 200 more sentences with the overall share."""
_STEPS, _TOLERANCE = 200, 1e-6
_CHUNK = 4_000_000
"""Number of probabilities in memory at once."""


@dataclass(frozen=True, slots=True, eq=False)
class CoAssignment:
    """Posterior probabilities of all pairs of n sentences, computed from their profiles."""

    profiles: Profiles
    share: float
    """Expected share of pairs that belong together."""
    evidence: tuple[Floats, Floats]
    """(raters,) log-odds that "together", and "apart", add."""

    def between(self, first: Indices, second: Indices | slice = slice(None)) -> Floats:
        """Return the (m, k) probabilities that different sentences of two sets of profiles belong together."""
        table = self.profiles.table
        return np.asarray(expit(_log_odds(table[first], table[second], self.evidence) + logit(self.share)))

    def chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield the probabilities of all pairs of profiles in rows that fit in memory."""
        n = len(self.profiles.sizes)
        step = max(_CHUNK // max(n, 1), 1)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.between(np.arange(rows.start, rows.stop))


def co_assignment(model: RaterModel, raters: Sequence[Labels], share: float | None = None) -> CoAssignment:
    """Return the posterior of all pairs of a text in which clusters mean the same throughout.

    ``raters`` are (n,) labels in the order in which the model was fitted. The share of pairs that belong together is
    that of this text, by EM with the reliabilities kept, drawn towards that of the model, unless it is given.
    """
    profiles, evidence = profiles_of(raters), model.rates.evidence()
    if share is None:
        kept = _largest(profiles)
        sizes, table = profiles.sizes[kept], profiles.table[kept]
        pairs = np.outer(sizes, sizes)
        np.fill_diagonal(pairs, sizes * (sizes - 1))
        share = _share(_log_odds(table, table, evidence), pairs, float(sizes.sum()), model.rates.share)
    return CoAssignment(profiles, share, evidence)


def by_article(model: RaterModel, raters: Sequence[Labels], articles: Ids) -> Iterator[tuple[Indices, CoAssignment]]:
    """Yield the rows and the posterior of every article, each with its own share of pairs that belong together."""
    order = np.argsort(articles, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(articles[order])) + 1):
        if len(rows):
            yield rows, co_assignment(model, [labels[rows] for labels in raters])


def _largest(profiles: Profiles) -> Indices:
    return np.sort(np.argsort(-profiles.sizes, kind="stable")[:_MOST_PROFILES])


def _log_odds(first: Labels, second: Labels, evidence: tuple[Floats, Floats]) -> Floats:
    """Return the (u, v) log-odds that the judgements add for every pair of two sets of profiles."""
    odds = np.zeros((len(first), len(second)))
    for one, other, together, apart in zip(first.T, second.T, *evidence, strict=True):
        known = (one[:, None] != MISSING) & (other != MISSING)
        odds += np.where(known, np.where(one[:, None] == other, together, apart), 0.0)
    return odds


def _share(odds: Floats, pairs: Floats, sentences: float, mean: float) -> float:
    """Return the share of pairs that belong together; all pairs weigh as much as half the sentences."""
    if sentences < 2:
        return mean
    weights = pairs / pairs.sum() * sentences / 2
    prior, share = _PRIOR_SENTENCES / 2, mean
    for _ in range(_STEPS):
        again = float(((weights * expit(odds + logit(share))).sum() + prior * mean) / (weights.sum() + prior))
        if abs(again - share) < _TOLERANCE:
            return again
        share = again
    return share


# --- consensus --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """One partition from several, with the probability of each sentence's place."""

    labels: Labels
    """(n,) clusters 0, 1, …, -1 for sentences that nobody has assigned."""
    certainty: Floats
    """(n,) mean probability of belonging together with the other sentences of the cluster. For a sentence alone, the
    probability of not belonging together with the next cluster."""
    expected_ari: float
    """Expected adjusted Rand index between this partition and the true one."""


def consensus(found: CoAssignment) -> Consensus:
    """Return the partition with the largest expected adjusted Rand index among candidates.

    Fritsch and Ickstadt 2009, Bayesian Analysis 4, equation 3. Candidates are what each rater with labels of all
    sentences says, and correlation clusterings of the posterior with several offsets, because a threshold of one half
    leaves sentences alone where few pairs belong together. Sentences of one profile always stay together.
    """
    from themescope.core.clustering.correlation import best_partition

    sizes, n = found.profiles.sizes, len(found.profiles.inverse)
    if not len(sizes):
        return Consensus(np.full(n, MISSING, dtype=np.int32), np.zeros(n), 0.0)
    kept = _largest(found.profiles)
    p = found.between(kept, kept)
    candidates = [
        np.unique(column, return_inverse=True)[1].reshape(-1).astype(np.int32)
        for column in found.profiles.table[kept].T
        if (column != MISSING).all()
    ]
    pairs, odds = np.outer(sizes[kept], sizes[kept]), logit(np.clip(p, 1e-12, 1 - 1e-12))
    candidates += [best_partition(pairs * (odds + offset), None) for offset in _OFFSETS]
    scored = [(expected_ari(labels, p, sizes[kept]), labels) for labels in candidates]
    best, labels = max(scored, key=lambda pair: pair[0])
    whole = np.full(len(sizes), MISSING, dtype=np.int32)
    whole[kept] = labels
    means = _means(found, whole, int(labels.max()) + 1)
    left = whole == MISSING
    whole[left] = means[left].argmax(axis=1)
    if left.any():
        means = _means(found, whole, means.shape[1])
    rows, inverse = np.arange(len(whole)), found.profiles.inverse
    certainty = means[rows, whole]
    means[rows, whole] = -1.0
    certainty = np.where(np.isnan(certainty), 1 - np.maximum(means.max(axis=1), 0.0), certainty)
    placed = np.where(inverse >= 0, whole[inverse], MISSING).astype(np.int32)
    return Consensus(placed, np.where(inverse >= 0, certainty[inverse], 0.0), best)


def expected_ari(labels: Labels, probabilities: Floats, sizes: Floats) -> float:
    """Return the expected adjusted Rand index of (u,) clusters of profiles, given (u, u) posterior probabilities."""
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1))
    total = pairs.sum()
    if total == 0:
        return 1.0
    member = np.eye(int(labels.max()) + 1)[labels]
    inside = float(np.einsum("uc,uc->", member, (pairs * probabilities) @ member))
    same = float(np.einsum("uc,uc->", member, pairs @ member))
    expected = float((pairs * probabilities).sum())
    chance = same * expected / total
    highest = (same + expected) / 2
    return 1.0 if highest == chance else (inside - chance) / (highest - chance)


def _means(found: CoAssignment, labels: Labels, clusters: int) -> Floats:
    """Return the (u, clusters) mean probability of a profile's sentences with the others of each cluster, or NaN."""
    sizes, rows = found.profiles.sizes, np.arange(len(labels))
    known = labels != MISSING
    member = np.where(known[:, None], np.eye(clusters)[labels] * sizes[:, None], 0.0)
    sums, own = np.empty((len(labels), clusters)), np.empty(len(labels))
    for part, p in found.chunks():
        sums[part], own[part] = p @ member, p[np.arange(len(p)), rows[part]]
    counts = np.tile(member.sum(axis=0), (len(labels), 1))
    # A sentence is not compared with itself.
    sums[rows[known], labels[known]] -= own[known]
    counts[rows[known], labels[known]] -= 1.0
    return np.where(counts > 0, sums / np.maximum(counts, 1.0), np.nan)


def support(found: CoAssignment) -> Floats:
    """Return the (raters, n) mean probability of a sentence with the others of the cluster in which a rater put it.

    NaN where the rater has not assigned the sentence, or put it alone.
    """
    table, sizes, inverse = found.profiles.table, found.profiles.sizes, found.profiles.inverse
    result = np.full((table.shape[1], len(sizes) + 1), np.nan)  # the last column is for sentences without a profile
    for part, p in found.chunks():
        rows, own = np.arange(part.start, part.stop), np.arange(len(p))
        for rater, column in enumerate(table.T):
            clusters, place = np.unique(column, return_inverse=True)
            member = np.eye(len(clusters))[place.reshape(-1)] * sizes[:, None]
            mine = place.reshape(-1)[rows]
            sums = (p @ member)[own, mine] - p[own, rows]
            counts = member.sum(axis=0)[mine] - 1.0
            known = (column[rows] != MISSING) & (counts > 0)
            result[rater, rows[known]] = sums[known] / counts[known]
    return result[:, inverse]


# --- what people dispute --------------------------------------------------------------------------------------------


def disputed(found: CoAssignment) -> Floats:
    """Return the (n,) dispute of each sentence: bits of uncertainty about its pairs on which raters differ, per pair.

    0 for sentences that at most one rater has assigned, or about which all agree.
    """
    table, sizes = found.profiles.table, found.profiles.sizes
    bits = np.zeros(len(sizes))
    for part, p in found.chunks():
        yes, no = np.zeros(p.shape, dtype=np.bool_), np.zeros(p.shape, dtype=np.bool_)
        for column in table.T:
            known = (column[part, None] != MISSING) & (column[None, :] != MISSING)
            same = column[part, None] == column[None, :]
            yes |= known & same
            no |= known & ~same
        bits[part] = np.where(yes & no, np.asarray((entr(p) + entr(1 - p)) / np.log(2)), 0.0) @ sizes
    values = bits / max(float(sizes.sum()) - 1.0, 1.0)
    return np.append(values, 0.0)[found.profiles.inverse]  # the last one is that of sentences without a profile


# Reliability of raters, estimated from their judgements on pairs of sentences

RIGHT, WRONG = 3.0, 1.0
"""Prior of sensitivity and specificity: as if each rater had judged four more pairs of each kind, three of them right.
It says which of the two solutions is meant: raters are better than chance."""
GOLD = 0.999
"""Sensitivity and specificity of a rater whose labels are known to be right."""
_POSTERIOR_TOLERANCE, _MOST_STEPS = 1e-8, 2_000
_DETERMINED = 0.5
"""A value is determined by the labels if they reduce the variance of its prior at least by this factor."""

UNDETERMINED = "two people alone do not show who is right where they differ (a third person, or gold items, would)"
_THIRD_MISSING = (
    "too few units were coded by three people, or have gold labels, to show who is right where two people differ"
)
_NOBODY = "nobody has labelled anything"
FEW_OF_PERSON = "too few units of this person were coded by others"


@dataclass(frozen=True, slots=True)
class Reliability:
    """How a rater judges pairs, with 95 % intervals."""

    sensitivity: Estimate | None
    """Probability of putting together what belongs together."""
    specificity: Estimate | None
    """Probability of putting apart what does not."""
    shared: int
    """Number of pairs that the rater and another rater have judged."""
    undefined: str
    """Reason why there are no values; "" if there are."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelRates:
    """Parameters of the model."""

    sensitivity: Floats
    """(raters,)"""
    specificity: Floats
    """(raters,)"""
    share: float
    """Share of pairs that belong together."""

    def evidence(self) -> tuple[Floats, Floats]:
        """Return the (raters,) log-odds that "together", and "apart", add for a pair to belong together."""
        s, c = self.sensitivity, self.specificity
        return np.log(s) - np.log1p(-c), np.log1p(-s) - np.log(c)


@dataclass(frozen=True, slots=True, eq=False)
class RaterModel:
    """Fitted model of all raters."""

    rates: LabelRates
    reliabilities: tuple[Reliability, ...]
    """One for each rater, also for gold labels."""
    intervals_over: str
    """"articles" or "sentences"."""
    equal: bool
    """Whether all people are taken to be equally reliable, because the labels do not tell them apart."""
    undefined: str = ""
    """Reason why there is no model; "" if there is one. Its rates are then those of the prior."""


def fit(raters: Sequence[Labels], articles: Ids, gold: Collection[int] = (), seed: int = 0) -> RaterModel:
    """Fit the model to the (n,) labels of all raters, of which -1 is missing.

    Names of clusters, and the order of raters, do not matter; only pairs of the same article of ``articles`` (n,) are
    compared. ``gold`` are the positions of raters whose labels are known to be right: they show who is right where two
    people differ. ``seed`` is that of the groups that are left out for the intervals, and of the sample of very long
    articles.
    """
    if not raters:
        return RaterModel(LabelRates(np.empty(0), np.empty(0), 0.5), (), "", True, _NOBODY)
    counts, active = PairTable(raters, articles, seed).counts(), _active(raters)
    said = np.unique(counts.judgements[counts.weights > 0])
    said, reason = said[said != MISSING], ""
    if active < 2:
        reason = "only one person has labelled" if active else _NOBODY
    elif not counts.shared.any():
        reason = "no pair of units of a text was judged by two people"
    elif len(said) == 1:
        reason = f"all people put every pair {'together' if said[0] else 'apart'}"
    if reason:
        even = np.full(len(counts.shared), RIGHT / (RIGHT + WRONG))
        nothing = tuple(Reliability(None, None, int(shared), reason) for shared in counts.shared)
        return RaterModel(LabelRates(even, even, 0.5), nothing, counts.parts_of, True, reason)
    fixed = np.isin(np.arange(len(raters)), [*gold])
    rates = estimate(counts.judgements, counts.weights, fixed)
    alone = not fixed.any() and active == 2
    determined = _determined(counts, rates, fixed) & ~np.bool_(alone)
    if not determined.any():
        equal = estimate(counts.judgements, counts.weights, fixed, equal=True)
        reason = UNDETERMINED if alone else _THIRD_MISSING
        values = [Reliability(None, None, int(shared), reason) for shared in counts.shared]
        return RaterModel(equal, tuple(values), counts.parts_of, True)
    again = [estimate(counts.judgements, rest, fixed, rates) for rest in counts.without]
    found = []
    for rater, shared in enumerate(counts.shared.tolist()):
        if determined[rater]:
            sensitivity = jackknife(rates.sensitivity[rater], np.array([one.sensitivity[rater] for one in again]))
            specificity = jackknife(rates.specificity[rater], np.array([one.specificity[rater] for one in again]))
            found.append(Reliability(sensitivity, specificity, shared, ""))
        else:
            found.append(Reliability(None, None, shared, FEW_OF_PERSON))
    return RaterModel(rates, tuple(found), counts.parts_of, False)


def _active(raters: Sequence[Labels]) -> int:
    return sum(bool((labels != MISSING).any()) for labels in raters)


# --- EM ---------------------------------------------------------------------------------------------------------------


def estimate(
    judgements: Judgements, weights: Floats, fixed: Mask, start: LabelRates | None = None, equal: bool = False
) -> LabelRates:
    """Return the maximum a posteriori values by EM in the log domain.

    ``judgements`` (p, raters) and ``weights`` (p,) are those of :class:`PairCounts`, ``fixed`` (raters,) those of gold.
    With ``equal``, all other raters have the same values.
    """
    together, apart = (judgements == 1).astype(np.float64), (judgements == 0).astype(np.float64)
    if start is None:
        said = float(weights @ together.sum(axis=1))
        share = (said + 0.5) / (said + float(weights @ apart.sum(axis=1)) + 1.0)
        s = c = np.where(fixed, GOLD, RIGHT / (RIGHT + WRONG))
    else:
        s, c, share = start.sensitivity, start.specificity, start.share
    for _ in range(_MOST_STEPS):
        yes = together @ np.log(s) + apart @ np.log1p(-s) + np.log(share)
        no = apart @ np.log(c) + together @ np.log1p(-c) + np.log1p(-share)
        posterior = expit(yes - no)
        new_s = _rate((weights * posterior) @ together, (weights * posterior) @ apart, fixed, equal)
        new_c = _rate((weights * (1 - posterior)) @ apart, (weights * (1 - posterior)) @ together, fixed, equal)
        new_share = float((weights @ posterior + 0.5) / (weights.sum() + 1.0))
        moved = max(np.abs(new_s - s).max(), np.abs(new_c - c).max(), abs(new_share - share))
        s, c, share = new_s, new_c, new_share
        if moved < _POSTERIOR_TOLERANCE:
            break
    return LabelRates(s, c, share)


def _rate(right: Floats, wrong: Floats, fixed: Mask, equal: bool) -> Floats:
    """Return the share of right judgements with the prior, of each rater or of all."""
    if equal:
        n = max(int((~fixed).sum()), 1)
        right = np.full_like(right, right[~fixed].sum() / n)
        wrong = np.full_like(wrong, wrong[~fixed].sum() / n)
    return np.where(fixed, GOLD, (right + RIGHT) / (right + wrong + RIGHT + WRONG))


# --- intervals --------------------------------------------------------------------------------------------------------


def _determined(counts: PairCounts, rates: LabelRates, fixed: Mask) -> Mask:
    """Return the (raters,) mask of people whose values the labels determine, instead of the prior.

    Observed information on the logit scale, Louis 1982, Journal of the Royal Statistical Society B 44. Without gold,
    two raters have three frequencies for five unknown values, so that a direction is left to the prior.
    """
    s, c, y = rates.sensitivity, rates.specificity, counts.judgements
    together, apart, known = (y == 1).astype(float), (y == 0).astype(float), (y != MISSING).astype(float)
    for_together, for_apart = rates.evidence()
    p = expit(logit(rates.share) + together @ for_together + apart @ for_apart)
    yes, no = counts.weights * p, counts.weights * (1 - p)
    # Scores of a pair that belongs together minus those of one that does not.
    d = np.concatenate([together - known * s, known * c - apart, np.ones((len(y), 1))], axis=1)
    of_share = rates.share * (1 - rates.share)
    prior = np.concatenate([(RIGHT + WRONG) * s * (1 - s), (RIGHT + WRONG) * c * (1 - c), [of_share]])
    complete = [(yes @ known) * s * (1 - s), (no @ known) * c * (1 - c)]
    spread = np.concatenate([*complete, [counts.weights.sum() * of_share]])
    information = np.diag(spread + prior) - d.T @ (d * (counts.weights * p * (1 - p))[:, None])
    free = np.concatenate([~fixed, ~fixed, [True]])
    variance = np.full(len(prior), np.inf)
    variance[free] = np.diag(np.linalg.pinv(information[np.ix_(free, free)], hermitian=True))
    enough = (variance > 0) & (variance < _DETERMINED / prior)
    r = len(s)
    return np.asarray(enough[:r] & enough[r : 2 * r] & (counts.shared > 0))


def jackknife(value: float, without: Floats) -> Estimate:
    """Return a probability with its interval, from its (parts,) values without each part.

    Student's t on the logit scale. The degrees of freedom are the effective number of parts, (Σv)² / Σv² for the
    squared deviations v, less one: with little overlap, a few articles decide about a rater, and with more degrees of
    freedom the intervals cover too little in simulations (docs/experiments.md).
    """
    there = logit(without)
    n, squares = len(there), (there - there.mean()) ** 2
    if n < 2 or not squares.any():
        return Estimate(float(value), float(value), float(value), n)
    error = np.sqrt((n - 1) / n * squares.sum())
    freedom = max(squares.sum() ** 2 / (squares**2).sum() - 1.0, 1.0)
    half, here = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error, logit(value)
    return Estimate(float(value), float(expit(here - half)), float(expit(here + half)), n)


# --- codes with common names ------------------------------------------------------------------------------------------


FEWEST_CODED = 10
"""Minimum number of sentences of a person that two others coded, too, or that have gold labels."""


@dataclass(frozen=True, slots=True, eq=False)
class CodeModel:
    """Fitted model of people who give codes with common names."""

    accuracy: tuple[Estimate | None, ...]
    """Probability that each rater gives the right code, with 95 % intervals; None where the labels do not tell."""
    shared: tuple[int, ...]
    """Number of sentences of each rater that another one coded, too."""
    intervals_over: str
    equal_because: str
    """Reason why all people are taken to be equally reliable; "" if the labels tell them apart."""
    undefined: str
    probabilities: Floats
    """(n, codes) probability that each code is right; 0 for sentences that nobody coded."""

    @property
    def equal(self) -> bool:
        """Return whether all people are taken to be equally reliable."""
        return bool(self.equal_because)


def fit_codes(raters: Sequence[Labels], codes: int, articles: Ids, gold: Collection[int] = ()) -> CodeModel:
    """Fit the model of Dawid and Skene 1979 with one probability of being right for each rater.

    ``raters`` are (n,) codes 0 … ``codes`` - 1 of each, -1 is missing; the other arguments are those of :func:`fit`. A
    wrong code is any of the others. Two people alone do not show who is right where they differ, so that they are taken
    to be equally reliable; the share of equal codes then tells how reliable.
    """
    table, places = np.unique(np.stack(raters, axis=1), axis=0, return_inverse=True)
    place, known = places.reshape(-1), table != MISSING
    fixed, twice = np.isin(np.arange(len(raters)), [*gold]), known.sum(axis=1) >= 2
    sizes = np.bincount(place, minlength=len(table)).astype(np.float64)
    shared = (sizes[:, None] * (known & twice[:, None])).sum(axis=0)
    reason = "" if twice.any() else "no unit was coded by two people"
    if not reason and codes < 2:
        reason = "all people gave every unit the same code"
    weights = np.where(twice & (reason == ""), sizes, 0.0)
    checked = known.sum(axis=1) + known[:, fixed].any(axis=1) >= 3
    enough = (sizes[:, None] * (known & checked[:, None])).sum(axis=0) >= FEWEST_CODED
    alone = not fixed.any() and _active(raters) == 2
    equal = "" if (enough & ~fixed).any() else UNDETERMINED if alone else _THIRD_MISSING
    even = np.where(fixed, GOLD, RIGHT / (RIGHT + WRONG))
    rates, p = _code_rates(table, weights, max(codes, 2), fixed, bool(equal), even)
    if reason:
        return CodeModel((None,) * len(raters), tuple(shared.astype(int).tolist()), "", _NOBODY, reason, p[place])
    parts, over = _parts(articles, twice[place])
    again = []
    for part in np.unique(parts[twice[place]]):
        left = np.bincount(place[parts != part], minlength=len(table)) * twice
        again.append(_code_rates(table, left.astype(np.float64), codes, fixed, bool(equal), rates)[0])
    found = [jackknife(rate, np.array([one[rater] for one in again])) for rater, rate in enumerate(rates)]
    told = (bool(equal) & (shared > 0)) | enough
    accuracy = tuple(one if tells else None for one, tells in zip(found, told.tolist(), strict=True))
    return CodeModel(accuracy, tuple(shared.astype(int).tolist()), over, equal, "", p[place, :codes])


def _parts(articles: Ids, counted: Mask) -> tuple[Ids, str]:
    """Return the (n,) parts that are left out one at a time: articles, or groups of sentences if these are few."""
    numbers = np.unique(articles, return_inverse=True)[1].reshape(-1)
    if len(np.unique(numbers[counted])) >= FEWEST_ARTICLES:
        return np.asarray(numbers % MOST_PARTS, np.int64), "texts"
    order = np.random.default_rng(0).permutation(len(articles))
    return np.asarray(order % MOST_PARTS, np.int64), "units"


def _code_rates(
    table: Labels, weights: Floats, codes: int, fixed: Mask, equal: bool, rates: Floats
) -> tuple[Floats, Floats]:
    """Return the (raters,) accuracies by EM, and the (profiles, codes) probability that each code is right."""
    said, known = table[:, :, None] == np.arange(codes), (table != MISSING).astype(np.float64)
    shares = np.full(codes, 1.0 / codes)
    for _ in range(_MOST_STEPS):
        wrong = np.log((1 - rates) / (codes - 1))
        odds = np.log(shares) + np.einsum("urk,r->uk", said, np.log(rates) - wrong) + (known @ wrong)[:, None]
        p = np.exp(odds - np.logaddexp.reduce(odds, axis=1, keepdims=True)) * known.any(axis=1)[:, None]
        right = weights @ np.einsum("urk,uk->ur", said, p)
        new = _rate(right, weights @ known - right, fixed, equal)
        shares = (weights @ p + 1.0) / (weights.sum() + codes)
        moved, rates = np.abs(new - rates).max(), new
        if moved < _POSTERIOR_TOLERANCE:
            break
    return rates, p
