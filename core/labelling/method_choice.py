"""Choice of a clustering by what people said about pairs of sentences (COBS).

Van Craenendonck and Blockeel 2017, Constraint-based clustering selection, Machine Learning 106: cluster with many
configurations without looking at the constraints, and take the clustering that satisfies most of them. Here agreement
is Cohen's kappa over the pairs (together or apart), which is corrected for chance; over all pairs of some sentences it
is the adjusted Rand index of the clustering and their labels (Warrens 2008). Few constraints would often choose by
chance, so that the default configuration stays unless the evidence against it is strong, see :func:`choose`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.inputs import extended_labels
from themescope.core.errors import DataError
from themescope.core.labelling.learning import Flags, Pairs
from themescope.core.metrics.statistics.intervals import LEVEL
from themescope.core.types import Estimate, Floats, Ids, Labels, Matrix, Sentence

RESAMPLES = 400
FEWEST = 50
"""Least number of judged sentences of a choice: with fewer it was no better than the default (docs/experiments.md)."""
_FEWEST_UNITS = 6
"""Number of articles from which articles are resampled rather than sentences, and least number of sentences."""
MOST_CONFIDENCE, _CAUTION = 0.7, 10.0
_FOLDS = 5
_NO_SPREAD = 1e-9


@dataclass(frozen=True, slots=True)
class Rank:
    """Agreement of one configuration with people."""

    place: int
    """Position of the configuration in the given order."""
    agreement: Estimate
    """Cohen's kappa over the pairs: 1 for all pairs, 0 for chance; with the interval over sentences or articles."""
    gain: Estimate
    """Agreement minus that of the default, with the interval of the paired difference."""
    bound: float
    """Lower bound of the gain that holds for all configurations at once; 0 for the default."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A ranking of configurations and the one to use."""

    ranks: tuple[Rank, ...]
    """By falling agreement; of equal ones the earlier configuration comes first."""
    chosen: int
    """Position of the configuration to use."""
    held_out: float | None
    """Mean gain of what is chosen without a fifth of the sentences on pairs with these; None if it is undefined."""


def choose(
    pairs: Pairs,
    same: Flags,
    groups: Ids | None = None,
    default: int = 0,
    seed: int = 0,
    confidence: float | None = None,
) -> Choice:
    """Rank c configurations by their agreement with (p,) pairs, and choose one.

    ``same`` is (c, p): whether a configuration has both sentences of a pair in one cluster. ``groups`` are the articles
    of ``pairs.sentences`` (m,); from six of them on whole articles are resampled, else sentences. A
    configuration replaces the ``default`` only if the lower bound of its gain exceeds 0; of several the one with the
    largest bound is chosen. The bounds hold simultaneously with ``confidence``, by the distribution of the largest
    studentised deviation over all configurations (Westfall and Young 1993, max-T), because the best of many
    configurations agrees with few sentences by chance.

    Raises :class:`DataError` if there are too few sentences, or only pairs of one kind.
    """
    check(pairs, _FEWEST_UNITS)
    unit: Ids = np.arange(len(pairs.sentences))  # (m,) what is resampled: each sentence, or its article
    if groups is not None and len(np.unique(groups)) >= _FEWEST_UNITS:
        unit = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    table = np.asarray(same, dtype=np.float32)
    found = agreement(pairs.together, table)
    resampled = _resampled(pairs, table, unit, seed)
    gains = resampled - resampled[:, [default]]
    count = int(unit.max()) + 1
    bounds = _bounds(found - found[default], gains, confidence or confidence_with(count))
    ranks = [
        Rank(
            c,
            _estimate(found[c], resampled[:, c], count),
            _estimate(found[c] - found[default], gains[:, c], count),
            float(bounds[c]),
        )
        for c in np.argsort(-found, kind="stable").tolist()
    ]
    held_out = _held_out(pairs, table, unit, default, seed, confidence)
    return Choice(tuple(ranks), _chosen(bounds, default), held_out)


def confidence_with(count: int) -> float:
    """Return the confidence for so many judged sentences, or articles with judged sentences: min(0.7, 10 / count).

    With few of them the best of many configurations is often worse than the default, with many seldom. Chosen on
    validation articles (docs/experiments.md).
    """
    return min(MOST_CONFIDENCE, _CAUTION / count)


def check(pairs: Pairs, fewest: int = FEWEST) -> None:
    """Raise :class:`DataError` if these pairs, of too few sentences or one kind, cannot rank methods."""
    if len(pairs.sentences) < fewest:
        raise DataError(
            f"Place at least {fewest} sentences, or answer questions about them, in two or more clusters. With fewer, "
            "the choice is no better than the default."
        )
    if not pairs.both_kinds:
        raise DataError(
            "All judged sentences are in one cluster, or each in another one. Place two or more sentences in each of "
            "two clusters."
        )


def agreement(
    together: Flags, same: npt.NDArray[np.floating], weights: npt.NDArray[np.floating] | None = None
) -> Floats:
    """Return Cohen's kappa of (p,) ``together`` and each row of (c, p) ``same``.

    The result is (c,), or (b, c) for (b, p) weights of the pairs. It is 0 where all pairs are of one kind in both.
    """
    w = np.ones((1, len(together)), np.float32) if weights is None else weights
    n = w.sum(axis=1, dtype=np.float64)[:, None]
    ours = (w @ together.astype(np.float32)).astype(np.float64)[:, None]
    theirs = (w @ same.T).astype(np.float64)
    both = ((w * together) @ same.T).astype(np.float64)
    observed = n - ours - theirs + 2 * both
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (ours * theirs + (n - ours) * (n - theirs)) / n
        kappa = np.where(n - expected > 1e-9 * n, (observed - expected) / (n - expected), 0.0)
    return kappa[0] if weights is None else kappa


def _resampled(pairs: Pairs, same: npt.NDArray[np.float32], unit: Ids, seed: int) -> Floats:
    """Return (b, c) agreements; a pair counts as often as both of its sentences, or their one unit, were drawn."""
    count = int(unit.max()) + 1
    times = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), RESAMPLES).astype(np.float32)
    first, second = (unit[rows] for rows in pairs.rows(pairs.sentences))
    weights = times[:, first] * np.where(first == second, np.float32(1), times[:, second])
    return agreement(pairs.together, same, weights)


def _bounds(gain: Floats, gains: Floats, confidence: float) -> Floats:
    """Return (c,) simultaneous lower bounds of the (c,) gains, from (b, c) resampled ones."""
    spread = gains.std(axis=0)
    varied = spread > _NO_SPREAD
    if not varied.any():
        return gain
    largest = ((gains - gain)[:, varied] / spread[varied]).max(axis=1)
    return np.asarray(gain - max(float(np.quantile(largest, confidence)), 0.0) * spread)


def _chosen(bounds: Floats, default: int) -> int:
    return int(bounds.argmax()) if bounds.max() > _NO_SPREAD else default


def _held_out(
    pairs: Pairs, same: npt.NDArray[np.float32], unit: Ids, default: int, seed: int, confidence: float | None
) -> float | None:
    """Return the mean gain of what is chosen without the units of a fold, on the pairs with a unit of the fold."""
    count = int(unit.max()) + 1
    fold = (np.random.default_rng(seed).permutation(count) % min(_FOLDS, count))[unit]
    first, second = (fold[rows] for rows in pairs.rows(pairs.sentences))
    gains = []
    for number in range(int(fold.max()) + 1):
        touched = (first == number) | (second == number)
        rest, judged = pairs.where(~touched), pairs.where(touched)
        if not (rest.both_kinds and judged.both_kinds):
            continue
        found = agreement(rest.together, same[:, ~touched])
        inside: Ids = np.unique(unit[np.searchsorted(pairs.sentences, rest.sentences)], return_inverse=True)[1]
        resampled = _resampled(rest, same[:, ~touched], inside, seed)
        level = confidence or confidence_with(int(inside.max()) + 1)
        chosen = _chosen(_bounds(found - found[default], resampled - resampled[:, [default]], level), default)
        measured = agreement(judged.together, same[[chosen, default]][:, touched])
        gains.append(float(measured[0] - measured[1]))
    return float(np.mean(gains)) if gains else None


def _estimate(value: float, resampled: Floats, count: int) -> Estimate:
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(value), float(low), float(high), count)


# --- configurations ---------------------------------------------------------------------------------------------------


COMPARED = 2_000
"""Maximum number of sentences that are clustered; the others are assigned to the nearest cluster."""
_FACTORS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.45, 2.0)


@dataclass(frozen=True, slots=True)
class Configuration:
    """How to cluster the sentences of a labelling."""

    model: str
    """Name of the model with the vectors."""
    clusterer: str
    """Id of the clusterer."""
    k: int
    shared: float
    """Weight of shared words, against 1 for the model; 0 uses the model alone."""


def numbers_of_clusters(suggested: int, present: int, n: int) -> tuple[int, ...]:
    """Return the numbers of clusters to compare for n sentences: around a suggestion, and that of the labelling."""
    found = {round(suggested * factor) for factor in _FACTORS} | {present}
    return tuple(sorted({min(max(k, 2), max(n // 2, 1)) for k in found}))


def compared_rows(n: int, seed: int) -> Ids:
    """Return the ascending rows that are clustered: all, or of many sentences a random sample."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:COMPARED])


def with_shared_words(texts: Sequence[str], x: Matrix, shared: float) -> Matrix:
    """Return (n, dim + words) rows in which words of (n,) ``texts`` have the weight ``shared``; ``x`` if that is 0.

    The words are weighted within the list of all texts, as in Themes.
    """
    from themescope.core.models.composite.hybrid import concatenate_with_tfidf

    if not shared or sparse.issparse(x):
        return x
    sentences = [Sentence(text, position=i) for i, text in enumerate(texts)]
    found = concatenate_with_tfidf([np.asarray(x, np.float32)], sentences, shared)
    used = np.flatnonzero(np.bincount(found.indices, minlength=found.shape[1]))
    return sparse.csr_array(found[:, used])


def clustered(x: Matrix, clusterer: str, k: int, seed: int) -> Labels:
    """Return (n,) labels of the rows of ``x``, of which at most :data:`COMPARED` are clustered."""
    rows = compared_rows(x.shape[0], seed)
    found: Labels = CLUSTERERS.build(clusterer).fit_predict(x[rows], k, seed)
    return extended_labels(x, rows, found, int(found.max()) + 1)
