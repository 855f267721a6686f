"""Sentences of a later wave: the themes that they belong to, and what is new.

A sentence gets the theme with the most similar centre. Temperature and fit are calibrated on the sentences that have
themes, each compared with the centre of its own theme without itself. A sentence *fits no theme* if fewer than one in
ten of those is as far from all centres (conformal p-value, Vovk et al. 2005).

Themes that were *found* in the sentences fit them better than they fit others, so that a temperature from the same
sentences is too low. It is at least :data:`SPREAD` times the standard deviation of the cosines of sentences and
centres: chosen on labelled lists, where it makes probabilities those of being right (``benchmarks/waves.py themes``).
In the fit, the words of a sentence count too: the share of them that other sentences have.

A *new theme* is a region of the vectors where the wave is denser than before: the spatial scan statistic for two kinds
of points (Kulldorff 1997, "A spatial scan statistic"), whose regions are here the nearest neighbours of a sentence of
the wave. Its distribution without anything new comes from drawing the wave at random from all sentences. A theme that
has only grown is denser too, so a region also needs :data:`ODDS` times the odds of the whole, and half of its sentences
must fit badly, or :data:`CLEAR` times. Last, the region is centred at the mean of its sentences while it gets denser.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.clustering.inputs import unit_rows
from themescope.core.errors import DataError
from themescope.core.text.languages import tokenize
from themescope.core.types import Float32, Floats, Ids, Index, Matrix

TOO_FEW = "New sentences can be assigned only if two themes have at least two sentences each."
SPREAD = 0.57
"""Least temperature of themes that were found, in standard deviations of cosines."""
UNUSUAL = 0.1
"""Share of the sentences with themes that fit no better than one that fits no theme."""
ODDS = 5.0
"""Minimum odds of the wave in a new theme, as a multiple of those among all sentences."""
CLEAR = 20.0
"""Minimum odds, likewise, where most sentences fit a theme that is near; then it needs twice as many sentences."""
FEWEST = 5
"""Minimum number of sentences of a new theme."""
_WIDEST = 200  # maximum number of sentences of a region
_DRAWS, _OLD, _MOST = 199, 5_000, 20  # random waves, old sentences that are compared at most, and new themes
_BLOCK = 1_024
_TEMPERATURES = np.geomspace(0.005, 0.5, 40)

Near = npt.NDArray[np.int32]  # (n, w) rows, nearest first


@dataclass(frozen=True, slots=True)
class Assigned:
    """Themes of n sentences."""

    themes: Ids
    """(k,) numbers of the themes, ascending."""
    probabilities: Floats
    """(n, k) calibrated probabilities of the themes, given that the sentence has one of them."""
    fit: Floats
    """(n,) share of the sentences with themes that are as far from all centres, 0…1."""

    @property
    def labels(self) -> Ids:
        """(n,) theme with the most similar centre."""
        return np.asarray(self.themes[self.probabilities.argmax(axis=1)])

    @property
    def probability(self) -> Floats:
        """(n,) probability of that theme."""
        return np.asarray(self.probabilities.max(axis=1))

    @property
    def unusual(self) -> npt.NDArray[np.bool_]:
        """Which sentences fit no theme."""
        return self.fit <= UNUSUAL


class ThemeCentres:
    """Centres of themes, calibrated on the (m, dim) vectors of sentences with (m,) themes; -1 for none.

    The themes are those that people gave, unless the (m,) ``found_in`` are the sentences in which they were found.
    Raises :class:`DataError` unless two themes have at least two sentences each.
    """

    def __init__(self, x: Matrix, labels: Sequence[int] | Ids, found_in: Sequence[str] = ()) -> None:
        given = np.asarray(labels, dtype=np.int64)
        self.themes, place, sizes = np.unique(given[given >= 0], return_inverse=True, return_counts=True)
        if (sizes > 1).sum() < 2:
            raise DataError(TOO_FEW)
        unit = _dense(x)[given >= 0]
        sums = np.zeros((len(self.themes), unit.shape[1]))
        np.add.at(sums, place, unit)
        self.centres = _normalised(sums)
        """(k, dim) centres of length 1, in the order of ``themes``."""
        cosines = unit @ self.centres.T
        own = _normalised(sums[place] - unit)  # without the sentence itself
        rows = np.flatnonzero(sizes[place] > 1)
        cosines[np.arange(len(place)), place] = np.einsum("ij,ij->i", own, unit)
        logs = [cosines[rows] / temperature for temperature in _TEMPERATURES]
        losses = [(_log_sum(log) - log[np.arange(len(rows)), place[rows]]).mean() for log in logs]
        self.temperature = float(_TEMPERATURES[int(np.argmin(losses))])
        self._texts = len(found_in)
        self._words = Counter(word for text in found_in for word in _words(text))
        self._scales = [_scale(cosines[rows].max(axis=1), 0.01)]
        nearness = self._scales[0](cosines[rows].max(axis=1))
        if found_in:
            self.temperature = max(self.temperature, SPREAD * float(cosines.std()))
            shares = self._shares([found_in[row] for row in np.flatnonzero(given >= 0)[rows]], 1)
            self._scales.append(_scale(shares, 0.05))
            nearness += self._scales[1](shares)
        self._known = np.sort(nearness)

    def assign(self, x: Matrix, texts: Sequence[str] = ()) -> Assigned:
        """Return the themes of (n, dim) vectors; with the (n,) ``texts`` if the themes were found in sentences."""
        cosines = _dense(x) @ self.centres.T
        logs = cosines / self.temperature
        scores = [cosines.max(axis=1), *([self._shares(texts, 0)] if self._texts else ())]
        nearness = sum(scale(score) for scale, score in zip(self._scales, scores, strict=True))
        below = np.searchsorted(self._known, nearness, side="right")
        # What is farther than all sentences of a list of fewer than nine fits none, too.
        fit = np.where(below == 0, min(UNUSUAL, 1 / (1 + len(self._known))), (1 + below) / (1 + len(self._known)))
        return Assigned(self.themes, np.exp(logs - _log_sum(logs)[:, None]), fit)

    def _shares(self, texts: Sequence[str], own: int) -> Floats:
        """Return the share of the words of each text that more than ``own`` sentences have; rare ones weigh more."""
        shares = np.zeros(len(texts))
        for row, text in enumerate(texts):
            counts = np.array([self._words[word] - own for word in _words(text)], np.float64)
            weights = np.log((self._texts + 1) / (counts + 0.5))
            shares[row] = weights[counts > 0].sum() / weights.sum() if len(counts) else 0.0
        return shares


@dataclass(frozen=True, slots=True)
class NewTheme:
    """Sentences of a wave that are a theme of their own."""

    rows: Index
    """(s,) rows of its sentences in the wave, the central one first."""
    old: int
    """Number of old sentences of the sample in the same region."""
    statistic: float
    """Scan statistic: log of the likelihood ratio of a region with its own share of the wave."""


def new_themes(wave: Matrix, old: Matrix, fit: Floats, seed: int = 0, draws: int = _DRAWS) -> list[NewTheme]:
    """Return the new themes among (n, dim) sentences of a wave, beside (m, dim) old ones; the clearest one first.

    ``fit`` (n,) are those of :class:`Assigned`. The probability to find any where nothing is new is at most
    1 / (``draws`` + 1).
    """
    rng = np.random.default_rng(seed)
    before = _dense(old)
    before = before[np.sort(rng.permutation(len(before))[:_OLD])]
    unit = np.concatenate([_dense(wave), before])
    n = len(unit) - len(before)
    if n < FEWEST or not len(before):
        return []
    inside = np.arange(len(unit)) < n
    near = _neighbours(unit)
    limit = max(_best(near, rng.permutation(inside)) for _ in range(draws))
    unusual = np.append(fit <= UNUSUAL * 2, np.zeros(len(before), bool))
    found: list[NewTheme] = []
    left = inside.copy()
    while len(found) < _MOST and left.any():
        region = _densest(near[left], left, inside, unusual)
        while region is not None and region.statistic > limit:  # its mean is a better centre than a sentence
            around = _neighbours(unit, _normalised(unit[region.rows].mean(axis=0, keepdims=True)))
            better = _densest(around, left, inside, unusual)
            if better is None or better.statistic <= region.statistic:
                break
            region = better
        if region is None or region.statistic <= limit:
            break
        found.append(region)
        left[region.rows] = False
    return found


def _best(near: Near, inside: npt.NDArray[np.bool_]) -> float:
    """Return the largest scan statistic of a wave."""
    counts = np.cumsum(inside[near[inside]], axis=1, dtype=np.int64)
    return float(_ratios(counts, int(inside.sum()), len(near)).max(initial=0))


def _densest(
    near: Near, left: npt.NDArray[np.bool_], inside: npt.NDArray[np.bool_], unusual: npt.NDArray[np.bool_]
) -> NewTheme | None:
    """Return the densest region of (c, w) nearest sentences with the marks of a new theme; None without any.

    (n,) masks: the wave without the new themes that were found before, the wave, and sentences that fit badly.
    """
    counts = np.cumsum(left[near], axis=1, dtype=np.int64)
    others = np.arange(1, near.shape[1] + 1) - counts
    n, whole = int(inside.sum()), len(inside)
    ratios = _ratios(counts, n, whole)
    odds = counts * (whole - n) / np.maximum(others * n, 1)
    fits = np.cumsum(unusual[near] & left[near], axis=1) * 2 < counts
    ratios[(counts < np.where(fits, 2 * FEWEST, FEWEST)) | (odds < np.where(fits, CLEAR, ODDS))] = 0
    centre, size = np.unravel_index(int(ratios.argmax()), ratios.shape)
    if not ratios[centre, size]:
        return None
    members = near[centre, : size + 1].astype(np.int64)
    return NewTheme(members[left[members]], int((~inside[members]).sum()), float(ratios[centre, size]))


def _neighbours(unit: Float32, centres: Float32 | None = None) -> Near:
    """Return the (c, w) nearest rows of each of (c, dim) centres, by default of the (n, dim) rows themselves."""
    centres = unit if centres is None else centres
    width = min(_WIDEST, len(unit))
    near = np.empty((len(centres), width), np.int32)
    for start in range(0, len(centres), _BLOCK):
        cosines = centres[start : start + _BLOCK] @ unit.T
        part = np.argpartition(-cosines, width - 1, axis=1)[:, :width]
        order = np.argsort(-np.take_along_axis(cosines, part, axis=1), axis=1, kind="stable")
        near[start : start + _BLOCK] = np.take_along_axis(part, order, axis=1)
    return near


def _ratios(counts: Ids, n: int, whole: int) -> Floats:
    """Return the log-likelihood ratios of regions with ``counts`` (c, w) of the wave; 0 where it is not denser.

    Kulldorff 1997, equation for the Bernoulli model: n of ``whole`` points are of the wave.
    """
    sizes = np.arange(1, counts.shape[1] + 1)
    out, rest = n - counts, whole - sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = _entropy(counts, sizes) + _entropy(out, rest) - _entropy(np.array(n), np.array(whole))
    return np.where(counts * whole > n * sizes, ratio, 0.0)


def _entropy(hits: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> Floats:
    """Return the log-likelihood of ``hits`` of ``sizes`` points at their own rate."""
    share = hits / np.maximum(sizes, 1)
    inside, outside = np.where(hits > 0, hits * np.log(share), 0.0), np.where(share < 1, np.log1p(-share), 0.0)
    return np.asarray(inside + (sizes - hits) * outside)


def _words(text: str) -> set[str]:
    return {word.lower() for word in tokenize(text) if any(map(str.isalnum, word))}


def _scale(scores: Floats, least: float) -> Callable[[Floats], Floats]:
    """Return what standardises scores by these, whose standard deviation counts as ``least`` at least."""
    mean, deviation = float(scores.mean()), max(float(scores.std()), least)
    return lambda new: (new - mean) / deviation


def _dense(x: Matrix) -> Float32:
    unit = unit_rows(x)
    return np.asarray(unit.toarray() if hasattr(unit, "toarray") else unit, np.float32)


def _normalised(rows: npt.NDArray[np.floating]) -> npt.NDArray[Any]:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _log_sum(logs: Floats) -> Floats:
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))
