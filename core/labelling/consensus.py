"""Probability that two sentences belong together given everybody's labels, and what follows from it.

From the reliabilities of :mod:`themescope.core.labelling.posterior` follow the consensus of all labellings, the
sentences that people dispute, and how much another person's labels of a sentence are expected to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import entr, expit, logit

from themescope.core.labelling.pair_counts import MISSING, Indices, Profiles, profiles_of
from themescope.core.labelling.posterior import RaterModel
from themescope.core.types import Floats, Ids, Labels

_OFFSETS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Added to the log-odds of all pairs for different candidates of a consensus; see :func:`consensus`."""
_MOST_PROFILES = 2_000
"""Maximum number of profiles that are clustered; sentences of rarer ones join the cluster that fits best."""
_PRIOR_SENTENCES = 200.0
"""The share of pairs that belong together is estimated as if there were 200 more sentences with the overall share."""
_STEPS, _TOLERANCE = 200, 1e-6
_CHUNK = 4_000_000
"""Number of probabilities in memory at once."""
_ALL = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class CoAssignment:
    """Posterior probabilities of all pairs of n sentences, computed from their profiles."""

    profiles: Profiles
    share: float
    """Expected share of pairs that belong together."""
    evidence: tuple[Floats, Floats]
    """(raters,) log-odds that "together", and "apart", add."""

    def between(self, first: Indices, second: Indices | slice = _ALL) -> Floats:
        """Return the (m, k) probabilities that different sentences of two sets of profiles belong together."""
        table = self.profiles.table
        return np.asarray(expit(_log_odds(table[first], table[second], self.evidence) + logit(self.share)))

    def pairs(self, first: Indices, second: Indices) -> Floats:
        """Return the (m,) probabilities of pairs of different sentences; NaN where nobody has assigned one of them."""
        i, j = self.profiles.inverse[first], self.profiles.inverse[second]
        found, known = np.full(len(i), np.nan), (i >= 0) & (j >= 0)
        table = self.profiles.table
        odds = np.zeros(int(known.sum()))
        for one, other, together, apart in zip(table[i[known]].T, table[j[known]].T, *self.evidence, strict=True):
            odds += _said(one, other, together, apart)
        found[known] = expit(odds + logit(self.share))
        return found

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
        odds += _said(one[:, None], other[None, :], together, apart)
    return odds


def _said(one: Labels, other: Labels, together: float, apart: float) -> Floats:
    known = (one != MISSING) & (other != MISSING)
    return np.where(known, np.where(one == other, together, apart), 0.0)


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
    runner_up: Labels
    """(n,) the cluster of the second highest mean probability; -1 if there is none."""
    runner_up_probability: Floats
    """(n,) that probability; 0 if there is none."""
    expected_ari: float
    """Expected adjusted Rand index between this partition and the true one."""


def consensus(found: CoAssignment) -> Consensus:
    """Return the partition with the largest expected adjusted Rand index among candidates.

    Fritsch and Ickstadt 2009, Bayesian Analysis 4, equation 3. Candidates are what each rater with labels of all
    sentences says, and correlation clusterings of the posterior with several offsets, because a threshold of one half
    leaves sentences alone where few pairs belong together. Sentences of one profile always stay together.
    """
    sizes = found.profiles.sizes
    n = len(found.profiles.inverse)
    if not len(sizes):
        nothing = np.full(n, MISSING, dtype=np.int32)
        return Consensus(nothing, np.zeros(n), nothing, np.zeros(n), 0.0)
    kept = _largest(found.profiles)
    p = found.between(kept, kept)
    scored = [(expected_ari(labels, p, sizes[kept]), labels) for labels in _candidates(found, kept, p)]
    best, labels = max(scored, key=lambda pair: pair[0])
    whole = np.full(len(sizes), MISSING, dtype=np.int32)
    whole[kept] = labels
    means = _means(found, whole, int(labels.max()) + 1)
    left = whole == MISSING
    whole[left] = means[left].argmax(axis=1)
    if left.any():
        means = _means(found, whole, means.shape[1])
    return _of_sentences(found.profiles, whole, means, best)


def _candidates(found: CoAssignment, kept: Indices, p: Floats) -> list[Labels]:
    from themescope.core.clustering.correlation import best_partition

    sizes, table = found.profiles.sizes[kept], found.profiles.table[kept]
    known = [
        np.unique(column, return_inverse=True)[1].reshape(-1).astype(np.int32)
        for column in table.T
        if (column != MISSING).all()
    ]
    pairs, odds = np.outer(sizes, sizes), logit(np.clip(p, 1e-12, 1 - 1e-12))
    return [*known, *(best_partition(pairs * (odds + offset), None) for offset in _OFFSETS)]


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
    result = np.full((table.shape[1], len(sizes)), np.nan)
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
    if not len(sizes):
        return np.full((table.shape[1], len(inverse)), np.nan)
    return np.where(inverse >= 0, result[:, inverse], np.nan)


def _of_sentences(profiles: Profiles, labels: Labels, means: Floats, best: float) -> Consensus:
    rows, inverse = np.arange(len(labels)), profiles.inverse
    certainty = means[rows, labels]
    others = means.copy()
    others[rows, labels] = -1.0
    second = others.argmax(axis=1).astype(np.int32)
    probability = others[rows, second]
    second[probability < 0] = MISSING
    certainty = np.where(np.isnan(certainty), 1 - np.maximum(probability, 0.0), certainty)
    assigned = inverse >= 0

    def spread(values: np.ndarray, missing: float) -> np.ndarray:
        return np.where(assigned, values[inverse], missing).astype(values.dtype)

    return Consensus(
        spread(labels, MISSING), spread(certainty, 0.0), spread(second, MISSING),
        spread(np.maximum(probability, 0.0), 0.0), best,
    )  # fmt: skip


# --- whom to ask about what -------------------------------------------------------------------------------------------


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
        bits[part] = np.where(yes & no, _entropy(p), 0.0) @ sizes
    return _spread(found.profiles, bits / max(float(sizes.sum()) - 1.0, 1.0))


def expected_information(
    model: RaterModel, found: CoAssignment, rater: int | None = None, partners: npt.NDArray[np.bool_] | None = None
) -> Floats:
    """Return the (n,) bits that a person's label of each sentence is expected to tell about its pairs.

    A label judges the pairs with the sentences that the same person labels: ``partners`` (n,), by default all. Pairs
    are taken as independent, so that the sum is an upper bound; it orders sentences. ``rater`` is a position in the
    model, for somebody who has not labelled them yet; by default the mean person.
    """
    inverse, sizes = found.profiles.inverse, found.profiles.sizes
    if partners is not None:
        sizes = np.bincount(inverse[partners & (inverse >= 0)], minlength=len(sizes)).astype(np.float64)
    bits = np.zeros(len(sizes))
    for part, p in found.chunks():
        bits[part] = judgement_information(model, p, rater) @ sizes
    told = _spread(found.profiles, bits)
    if partners is None:
        partners = inverse >= 0
    own = judgement_information(model, found.pairs(np.arange(len(inverse)), np.arange(len(inverse))), rater)
    # A sentence is not compared with itself.
    return np.asarray(np.maximum(told - np.where(partners & (inverse >= 0), own, 0.0), 0.0))


def judgement_information(model: RaterModel, probabilities: Floats, rater: int | None = None) -> Floats:
    """Return the bits that a judgement of each pair tells: its mutual information with the truth, of the same shape."""
    s, c = model.rates.sensitivity, model.rates.specificity
    sensitivity = float(s.mean() if rater is None else s[rater])
    specificity = float(c.mean() if rater is None else c[rater])
    together = probabilities * sensitivity + (1 - probabilities) * (1 - specificity)
    noise = probabilities * _entropy(np.array(sensitivity)) + (1 - probabilities) * _entropy(np.array(specificity))
    return np.asarray(_entropy(together) - noise)


def _entropy(p: Floats) -> Floats:
    return np.asarray((entr(p) + entr(1 - p)) / np.log(2))


def _spread(profiles: Profiles, values: Floats) -> Floats:
    if not len(values):
        return np.zeros(len(profiles.inverse))
    return np.where(profiles.inverse >= 0, values[profiles.inverse], 0.0)
