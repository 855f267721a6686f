"""Reliability of raters, estimated from their judgements on pairs of sentences.

Clusters of different people have no common names, so each rater is modelled by judgements on pairs of sentences of one
article (Dawid and Skene 1979, Applied Statistics 28, for two classes): a pair that belongs together is put together
with the rater's *sensitivity*, a pair that does not is put apart with the rater's *specificity*. The maximum a
posteriori values are found by EM on the counts of patterns of judgements.

Pairs that share a sentence are dependent. The estimates stay consistent (a composite likelihood, Varin, Reid and Firth
2011, Statistica Sinica 21), but the curvature of the likelihood would give intervals that are far too short. Intervals
therefore come from a jackknife that leaves out whole articles, or groups of sentences with all their pairs if there are
too few articles, on the logit scale with Student's t.

All articles have one share of pairs that belong together here. With a share for each article, the model explains the
differences between articles instead of those between raters: in simulations the error of the estimates is up to three
times as large.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit
from scipy.stats import t as student

from themescope.core.labelling.pair_counts import MISSING, MOST_PARTS, Judgements, PairCounts, PairTable
from themescope.core.metrics.statistics.intervals import LEVEL
from themescope.core.types import Estimate, Floats, Ids, Labels

RIGHT, WRONG = 3.0, 1.0
"""Prior of sensitivity and specificity: as if each rater had judged four more pairs of each kind, three of them right.
It says which of the two solutions is meant: raters are better than chance."""
GOLD = 0.999
"""Sensitivity and specificity of a rater whose labels are known to be right."""
FEWEST_ARTICLES = 8
"""Minimum number of articles with labels of two people for intervals over articles."""
_TOLERANCE, _MOST_STEPS = 1e-8, 2_000
_DETERMINED = 0.5
"""A value is determined by the labels if they reduce the variance of its prior at least by this factor."""

UNDETERMINED = "two people alone do not show who is right where they differ (a third person, or gold items, would)"
_THIRD_MISSING = (
    "too few sentences were labelled by three people, or have gold labels, to show who is right where two people differ"
)
_NOBODY = "nobody has labelled anything"
FEW_OF_PERSON = "too few sentences of this person were labelled by others"


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
    trace: tuple[float, ...] = ()
    """Log of likelihood times prior before each step of EM; it never falls."""

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
    """Fit the model to the labels of all raters.

    Parameters
    ----------
    raters
        (n,) labels of each rater; -1 is missing. Names of clusters, and the order of raters, do not matter.
    articles
        (n,) article of each sentence; only pairs of the same article are compared.
    gold
        Positions of raters whose labels are known to be right. They show who is right where two people differ.
    seed
        Seed of the groups that are left out for the intervals, and of the sample of very long articles.
    """
    if not raters:
        return RaterModel(LabelRates(np.empty(0), np.empty(0), 0.5), (), "", True, _NOBODY)
    counts = PairTable(raters, articles, seed).counts(FEWEST_ARTICLES)
    reason = _nothing_to_learn(raters, counts)
    if reason:
        even = np.full(len(counts.shared), RIGHT / (RIGHT + WRONG))
        nothing = tuple(Reliability(None, None, int(shared), reason) for shared in counts.shared)
        return RaterModel(LabelRates(even, even, 0.5), nothing, counts.parts_of, True, reason)
    fixed = np.isin(np.arange(len(raters)), [*gold])
    rates = estimate(counts.judgements, counts.weights, fixed)
    alone = not fixed.any() and _active(raters) == 2
    determined = _determined(counts, rates, fixed) & ~np.bool_(alone)
    if not determined.any():
        equal = estimate(counts.judgements, counts.weights, fixed, equal=True)
        reason = UNDETERMINED if alone else _THIRD_MISSING
        values = [Reliability(None, None, int(shared), reason) for shared in counts.shared]
        return RaterModel(equal, tuple(values), counts.parts_of, True)
    again = [estimate(counts.judgements, rest, fixed, rates) for rest in counts.without]
    found = [_reliability(rater, counts, rates, again, bool(determined[rater])) for rater in range(len(raters))]
    return RaterModel(rates, tuple(found), counts.parts_of, False)


def _nothing_to_learn(raters: Sequence[Labels], counts: PairCounts) -> str:
    active = _active(raters)
    if active < 2:
        return "only one person has labelled" if active else _NOBODY
    if not counts.shared.any():
        return "no pair of sentences of an article was judged by two people"
    made = counts.judgements[counts.weights > 0]
    said = np.unique(made[made != MISSING])
    if len(said) == 1:
        return f"all people put every pair {'together' if said[0] else 'apart'}"
    return ""


def _active(raters: Sequence[Labels]) -> int:
    return sum(bool((labels != MISSING).any()) for labels in raters)


# --- EM ---------------------------------------------------------------------------------------------------------------


def estimate(
    judgements: Judgements,
    weights: Floats,
    fixed: npt.NDArray[np.bool_],
    start: LabelRates | None = None,
    equal: bool = False,
) -> LabelRates:
    """Return the maximum a posteriori values by EM in the log domain.

    ``judgements`` (p, raters) and ``weights`` (p,) are those of :class:`PairCounts`; raters with ``fixed`` (raters,)
    are gold. With ``equal``, all other raters have the same values.
    """
    together, apart = (judgements == 1).astype(np.float64), (judgements == 0).astype(np.float64)
    rates = start or _first_rates(together, apart, weights, fixed)
    s, c, share = rates.sensitivity, rates.specificity, rates.share
    trace: list[float] = []
    for _ in range(_MOST_STEPS):
        yes = together @ np.log(s) + apart @ np.log1p(-s) + np.log(share)
        no = apart @ np.log(c) + together @ np.log1p(-c) + np.log1p(-share)
        trace.append(float(weights @ np.logaddexp(yes, no)) + _log_prior(s[~fixed], c[~fixed], share))
        posterior = expit(yes - no)
        new_s = _rate((weights * posterior) @ together, (weights * posterior) @ apart, fixed, equal)
        new_c = _rate((weights * (1 - posterior)) @ apart, (weights * (1 - posterior)) @ together, fixed, equal)
        new_share = float((weights @ posterior + 0.5) / (weights.sum() + 1.0))
        moved = max(np.abs(new_s - s).max(), np.abs(new_c - c).max(), abs(new_share - share))
        s, c, share = new_s, new_c, new_share
        if moved < _TOLERANCE:
            break
    return LabelRates(s, c, share, tuple(trace))


def _rate(right: Floats, wrong: Floats, fixed: npt.NDArray[np.bool_], equal: bool) -> Floats:
    """Return the share of right judgements with the prior, of each rater or of all."""
    if equal:
        n = max(int((~fixed).sum()), 1)
        right = np.full_like(right, right[~fixed].sum() / n)
        wrong = np.full_like(wrong, wrong[~fixed].sum() / n)
    return np.where(fixed, GOLD, (right + RIGHT) / (right + wrong + RIGHT + WRONG))


def _first_rates(together: Floats, apart: Floats, weights: Floats, fixed: npt.NDArray[np.bool_]) -> LabelRates:
    said = float(weights @ together.sum(axis=1))
    share = (said + 0.5) / (said + float(weights @ apart.sum(axis=1)) + 1.0)
    even = np.where(fixed, GOLD, RIGHT / (RIGHT + WRONG))
    return LabelRates(even, even, share)


def _log_prior(s: Floats, c: Floats, share: float) -> float:
    rates = sum(float((RIGHT * np.log(v) + WRONG * np.log1p(-v)).sum()) for v in (s, c))
    return rates + 0.5 * float(np.log(share) + np.log1p(-share))


# --- intervals --------------------------------------------------------------------------------------------------------


def _determined(counts: PairCounts, rates: LabelRates, fixed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
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


def _reliability(
    rater: int, counts: PairCounts, rates: LabelRates, again: Sequence[LabelRates], determined: bool
) -> Reliability:
    shared = int(counts.shared[rater])
    if not determined:
        return Reliability(None, None, shared, FEW_OF_PERSON)
    sensitivity = jackknife(rates.sensitivity[rater], np.array([found.sensitivity[rater] for found in again]))
    specificity = jackknife(rates.specificity[rater], np.array([found.specificity[rater] for found in again]))
    return Reliability(sensitivity, specificity, shared, "")


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
    half, here = float(student.ppf((1 + LEVEL) / 2, freedom)) * error, logit(value)
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


def fit_codes(
    raters: Sequence[Labels], codes: int, articles: Ids, gold: Collection[int] = (), seed: int = 0
) -> CodeModel:
    """Fit the model of Dawid and Skene 1979 with one probability of being right for each rater.

    A wrong code is any of the others. Two people alone do not show who is right where they differ, so that they are
    taken to be equally reliable; the share of equal codes then tells how reliable.

    Parameters
    ----------
    raters
        (n,) codes 0, 1, … of each rater; -1 is missing.
    codes
        Number of codes.
    articles, gold, seed
        As in :func:`fit`.
    """
    table, places = np.unique(np.stack(raters, axis=1), axis=0, return_inverse=True)
    place, known = places.reshape(-1), table != MISSING
    fixed, twice = np.isin(np.arange(len(raters)), [*gold]), known.sum(axis=1) >= 2
    sizes = np.bincount(place, minlength=len(table)).astype(np.float64)
    shared = (sizes[:, None] * (known & twice[:, None])).sum(axis=0)
    reason = ""
    if not twice.any():
        reason = "no sentence was coded by two people"
    elif codes < 2:
        reason = "all people gave every sentence the same code"
    weights = np.where(twice & (reason == ""), sizes, 0.0)
    checked = known.sum(axis=1) + known[:, fixed].any(axis=1) >= 3
    enough = (sizes[:, None] * (known & checked[:, None])).sum(axis=0) >= FEWEST_CODED
    alone = not fixed.any() and _active(raters) == 2
    equal = "" if (enough & ~fixed).any() else UNDETERMINED if alone else _THIRD_MISSING
    even = np.where(fixed, GOLD, RIGHT / (RIGHT + WRONG))
    rates, p = _code_rates(table, weights, max(codes, 2), fixed, bool(equal), even)
    if reason:
        return CodeModel((None,) * len(raters), tuple(shared.astype(int).tolist()), "", _NOBODY, reason, p[place])
    parts, over = _parts(articles, twice[place], seed)
    again = []
    for part in np.unique(parts[twice[place]]):
        left = np.bincount(place[parts != part], minlength=len(table)) * twice
        again.append(_code_rates(table, left.astype(np.float64), codes, fixed, bool(equal), rates)[0])
    found = [jackknife(rate, np.array([one[rater] for one in again])) for rater, rate in enumerate(rates)]
    told = (bool(equal) & (shared > 0)) | enough
    accuracy = tuple(one if tells else None for one, tells in zip(found, told.tolist(), strict=True))
    return CodeModel(accuracy, tuple(shared.astype(int).tolist()), over, equal, "", p[place, :codes])


def _parts(articles: Ids, counted: npt.NDArray[np.bool_], seed: int) -> tuple[Ids, str]:
    """Return the (n,) parts that are left out one at a time: articles, or groups of sentences if these are few."""
    numbers = np.unique(articles, return_inverse=True)[1].reshape(-1)
    if len(np.unique(numbers[counted])) >= FEWEST_ARTICLES:
        return np.asarray(numbers % MOST_PARTS, np.int64), "articles"
    order = np.random.default_rng(seed).permutation(len(articles))
    return np.asarray(order % MOST_PARTS, np.int64), "sentences"


def _code_rates(
    table: Labels, weights: Floats, codes: int, fixed: npt.NDArray[np.bool_], equal: bool, rates: Floats
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
        if moved < _TOLERANCE:
            break
    return rates, p
