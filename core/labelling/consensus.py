"""Probability that two sentences belong together given everybody's labels, and what follows from it.

From the reliabilities of :mod:`core.labelling.posterior` follow the consensus of all labellings, the sentences that
people dispute, and how much another person's labels of a sentence are expected to tell.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit, logit

from core.clustering.correlation import best_partition
from core.labelling.pair_counts import MISSING, Floats, Indices, Profiles, profiles_of
from core.labelling.posterior import RaterModel
from core.types import Labels

_OFFSETS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Added to the log-odds of all pairs for different candidates of a consensus; see :func:`consensus`."""
_MOST_PROFILES = 2_000
"""Maximum number of profiles that are clustered; sentences of rarer ones join the cluster that fits best."""
_PRIOR_SENTENCES = 200.0
"""The share of pairs that belong together is estimated as if there were 200 more sentences with the overall share."""
_STEPS, _TOLERANCE = 500, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class CoAssignment:
    """Posterior probabilities of all pairs of n sentences, stored for their profiles."""

    profiles: Profiles
    probabilities: Floats
    """(u, u) probability that a sentence of one profile and another one of the second belong together."""
    share: float
    """Expected share of pairs that belong together."""

    def pairs(self, first: Indices, second: Indices) -> Floats:
        """Return the (m,) probabilities of pairs of different sentences; NaN where nobody has assigned one of them."""
        i, j = self.profiles.inverse[first], self.profiles.inverse[second]
        if not len(self.profiles.sizes):
            return np.full(len(first), np.nan)
        return np.where((i < 0) | (j < 0), np.nan, self.probabilities[i, j])


def co_assignment(model: RaterModel, raters: Sequence[Labels], share: float | None = None) -> CoAssignment:
    """Return the posterior of all pairs of a text in which clusters mean the same throughout.

    ``raters`` are (n,) labels in the order in which the model was fitted. The share of pairs that belong together is
    that of this text, by EM with the reliabilities kept, drawn towards that of the model, unless it is given.
    """
    profiles = profiles_of(raters)
    odds = _log_odds(profiles.table, profiles.table, model)
    sizes = profiles.sizes
    if share is None:
        pairs = np.outer(sizes, sizes)
        np.fill_diagonal(pairs, sizes * (sizes - 1))
        share = _share(odds, pairs, sizes.sum(), model.rates.share)
    return CoAssignment(profiles, expit(odds + logit(share)), share)


def _log_odds(first: Labels, second: Labels, model: RaterModel) -> Floats:
    """Return the (u, v) log-odds that the judgements add for every pair of two sets of profiles."""
    together, apart = model.rates.evidence()
    odds = np.zeros((len(first), len(second)))
    for rater in range(first.shape[1]):
        one, other = first[:, rater, None], second[None, :, rater]
        said = np.where(one == other, together[rater], apart[rater])
        odds += np.where((one == MISSING) | (other == MISSING), 0.0, said)
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
    """(n,) mean probability of belonging together with the other sentences of the cluster; 1 for a sentence alone."""
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
    kept = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_PROFILES])
    p, own = found.probabilities[np.ix_(kept, kept)], sizes[kept]
    scored = [(expected_ari(labels, p, own), labels) for labels in _candidates(found, kept)]
    best, labels = max(scored, key=lambda pair: pair[0])
    whole = np.full(len(sizes), MISSING, dtype=np.int32)
    whole[kept] = labels
    means = _means(found.probabilities, sizes, whole, int(labels.max()) + 1)
    left = whole == MISSING
    whole[left] = means[left].argmax(axis=1)
    if left.any():
        means = _means(found.probabilities, sizes, whole, means.shape[1])
    return _of_sentences(found.profiles, whole, means, best)


def _candidates(found: CoAssignment, kept: Indices) -> list[Labels]:
    p, sizes = found.probabilities[np.ix_(kept, kept)], found.profiles.sizes[kept]
    table = found.profiles.table[kept]
    known = [_renumbered(column) for column in table.T if (column != MISSING).all()]
    pairs, odds = np.outer(sizes, sizes), logit(np.clip(p, 1e-12, 1 - 1e-12))
    return [*known, *(best_partition(pairs * (odds + offset), None) for offset in _OFFSETS)]


def _renumbered(labels: Labels) -> Labels:
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int32)


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


def _means(probabilities: Floats, sizes: Floats, labels: Labels, clusters: int) -> Floats:
    """Return the (u, clusters) mean probability of a profile's sentences with the others of each cluster."""
    known = np.flatnonzero(labels != MISSING)
    member = np.eye(clusters)[labels[known]] * sizes[known, None]
    sums, counts = probabilities[:, known] @ member, np.tile(member.sum(axis=0), (len(labels), 1))
    own = labels[known]
    sums[known, own] -= probabilities[known, known]
    counts[known, own] -= 1.0
    return np.where(counts > 0, sums / np.maximum(counts, 1.0), 1.0)


def _of_sentences(profiles: Profiles, labels: Labels, means: Floats, best: float) -> Consensus:
    rows, inverse = np.arange(len(labels)), profiles.inverse
    certainty = means[rows, labels]
    others = means.copy()
    others[rows, labels] = -1.0
    second = others.argmax(axis=1).astype(np.int32)
    probability = others[rows, second]
    second[probability < 0] = MISSING
    assigned = inverse >= 0

    def spread(values: np.ndarray, missing: float) -> np.ndarray:
        return np.where(assigned, values[inverse], missing).astype(values.dtype)

    return Consensus(
        spread(labels, MISSING), spread(certainty, 0.0), spread(second, MISSING),
        spread(np.maximum(probability, 0.0), 0.0), best,
    )  # fmt: skip


# --- whom to ask about what -------------------------------------------------------------------------------------------


def disputed(raters: Sequence[Labels], found: CoAssignment) -> Floats:
    """Return the (n,) dispute of each sentence: bits of uncertainty about its pairs on which raters differ, per pair.

    0 for sentences that at most one rater has assigned, or about which all agree.
    """
    table, sizes = found.profiles.table, found.profiles.sizes
    if not len(sizes):
        return np.zeros(len(found.profiles.inverse))
    yes = np.zeros((len(table), len(table)), dtype=np.bool_)
    no = yes.copy()
    for column in table.T:
        known = (column[:, None] != MISSING) & (column[None, :] != MISSING)
        same = column[:, None] == column[None, :]
        yes |= known & same
        no |= known & ~same
    bits = np.where(yes & no, _entropy(found.probabilities), 0.0)
    others = max(float(sizes.sum()) - 1.0, 1.0)
    return _spread(found.profiles, bits @ sizes / others)


def expected_information(model: RaterModel, found: CoAssignment, rater: int | None = None) -> Floats:
    """Return the (n,) bits that another person's label of each sentence is expected to tell about its pairs, per pair.

    The mutual information between a judgement of that rater and the truth, summed over the pairs of the sentence with
    all assigned sentences. Pairs are taken as independent, so that the sum is an upper bound; it orders sentences.
    ``rater`` is a position in the model, for somebody who has not labelled them yet; by default the mean person.
    """
    s, c = model.rates.sensitivity, model.rates.specificity
    sensitivity = float(s.mean() if rater is None else s[rater])
    specificity = float(c.mean() if rater is None else c[rater])
    p = found.probabilities
    together = p * sensitivity + (1 - p) * (1 - specificity)
    noise = p * _entropy(np.array(sensitivity)) + (1 - p) * _entropy(np.array(specificity))
    sizes = found.profiles.sizes
    others = max(float(sizes.sum()) - 1.0, 1.0)
    return _spread(found.profiles, (_entropy(together) - noise) @ sizes / others)


def _entropy(p: Floats) -> Floats:
    return np.asarray((entr(p) + entr(1 - p)) / np.log(2))


def _spread(profiles: Profiles, values: Floats) -> Floats:
    if not len(values):
        return np.zeros(len(profiles.inverse))
    return np.where(profiles.inverse >= 0, values[profiles.inverse], 0.0)


def routed(
    model: RaterModel, found: CoAssignment, raters: Sequence[Labels], rater: int, most: int, done: Collection[int] = ()
) -> Indices:
    """Return at most ``most`` rows of sentences to ask a rater about, the most telling first.

    Disputed sentences come before all others; sentences that the rater has assigned, and ``done`` rows, are left out.
    """
    told = expected_information(model, found, rater)
    dispute = disputed(raters, found)
    free = (raters[rater] == MISSING) & (found.profiles.inverse >= 0)
    free[[*done]] = False
    rows = np.flatnonzero(free)
    order = np.lexsort((rows, -told[rows], dispute[rows] <= 0))
    return rows[order][:most]
