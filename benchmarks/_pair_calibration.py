"""Fitting and measuring the calibration of pair probabilities and of the number of themes, for ``theme_counts``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.clustering.inputs import PairCalibration, centred_cosines, effective_themes
from themescope.core.errors import DataError
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.types import Estimate, Matrix

_PAIRS = 4_000  # pairs of a list that the log-odds are fitted on
_BINS = 10
_DECIMALS = 4  # of the coefficients
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KnownList:
    """Sentences with known themes: (n, dim) ``vectors`` and (n,) ``truth`` with the values 0…k-1."""

    vectors: Matrix
    truth: npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class PairQuality:
    """Quality of pair probabilities; intervals are over lists, each of which has the same weight."""

    brier: Estimate
    """Mean squared error of the probabilities."""
    skill: Estimate
    """1 minus the Brier score divided by that of the list's own share of pairs that share a theme."""
    predicted: tuple[float, ...]
    """Mean probability in each tenth of the pairs, from the lowest probabilities to the highest."""
    observed: tuple[float, ...]
    """Share of pairs in each tenth that share a theme."""


def fit_calibration(kinds: Sequence[Sequence[KnownList]], seed: int) -> PairCalibration:
    """Fit all coefficients on lists of one or more kinds, such as articles and mixtures.

    Every kind has the same weight, and every list of a kind. The log-odds are a logistic regression; the number of
    themes minimises the absolute error of its logarithm. Raises :class:`themescope.core.errors.DataError` without
    lists.
    """
    from scipy.optimize import minimize
    from sklearn.linear_model import LogisticRegression

    if not kinds or not all(kinds):
        raise DataError("A calibration needs at least one list with known themes of every kind.")
    random = np.random.default_rng(seed)
    rows, labels, weights, effective, counts, shares = [], [], [], [], [], []
    for lists in kinds:
        for item in lists:
            z, themes, same = _sampled(item, random)
            rows.append(np.stack([z, np.full(len(z), themes), z * themes], axis=1))
            labels.append(same)
            weights.append(np.full(len(z), 1 / (len(z) * len(lists))))
            effective.append(themes)
            counts.append(np.log(int(item.truth.max()) + 1))
            shares.append(1 / len(lists))
    weight = np.concatenate(weights)
    model = LogisticRegression(C=1e3, max_iter=1_000)
    model.fit(np.concatenate(rows), np.concatenate(labels), sample_weight=weight / weight.mean())
    x, y, share = np.array(effective), np.array(counts), np.array(shares)
    errors = lambda p: np.abs(np.log1p(np.exp(p[0] + p[1] * x)) - y)  # noqa: E731
    found = minimize(lambda p: float(share @ errors(p)), [0.0, 1.0], method="Nelder-Mead").x
    standardised, themes, interaction = model.coef_[0].tolist()
    fitted = {
        "intercept": model.intercept_[0], "standardised": standardised, "themes": themes, "interaction": interaction,
        "count_intercept": found[0], "count_slope": np.clip(found[1], 0, 5),
        "count_error": np.quantile(errors(found), 0.9),
    }  # fmt: skip
    return PairCalibration(**{name: round(float(value), _DECIMALS) for name, value in fitted.items()})


def brier_scores(lists: Sequence[KnownList], calibration: PairCalibration, seed: int) -> PairQuality:
    """Measure the pair probabilities of ``lists`` on at most 4,000 random pairs each."""
    from scipy.special import expit

    random = np.random.default_rng(seed)
    scores, skills, every, hits = [], [], [], []
    for item in lists:
        z, themes, same = _sampled(item, random)
        slope = calibration.standardised + calibration.interaction * themes
        p = expit(calibration.intercept + calibration.themes * themes + slope * z)
        scores.append(float(np.mean((p - same) ** 2)))
        base = float(same.mean() * (1 - same.mean()))
        skills.append(1 - scores[-1] / base if base else 0.0)
        every.append(p)
        hits.append(same)
    p, same = np.concatenate(every), np.concatenate(hits)
    tenths = np.array_split(np.argsort(p, kind="stable"), _BINS)
    return PairQuality(
        bootstrap_mean(np.array(scores), seed=seed), bootstrap_mean(np.array(skills), seed=seed),
        tuple(float(p[t].mean()) for t in tenths), tuple(float(same[t].mean()) for t in tenths),
    )  # fmt: skip


def _sampled(item: KnownList, random: np.random.Generator) -> tuple[Floats, float, npt.NDArray[np.bool_]]:
    """Return standardised cosines of random pairs, ln of the effective number of themes, and whether themes agree."""
    cosines = centred_cosines(item.vectors)
    first, second = np.triu_indices(len(cosines), 1)
    values = cosines[first, second]
    taken = random.permutation(len(values))[:_PAIRS]
    z = (values[taken] - values.mean()) / max(float(values.std()), 1e-9)
    return z, float(np.log(effective_themes(item.vectors))), item.truth[first[taken]] == item.truth[second[taken]]
