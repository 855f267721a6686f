"""How many more labels make intervals as narrow as wanted, and of which units.

Within each group, the units that the machine gave the code and the others are strata. The labels are divided among
them as Neyman 1934 does: in proportion to the size of a stratum and to the standard deviation of what the labels
correct there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from themescope.core.errors import DataError
from themescope.core.estimates import formulas
from themescope.core.estimates.shares import CodedUnits
from themescope.core.metrics.statistics import LEVEL
from themescope.core.types import Floats

_PRIOR = 10.0
"""Labels for which the spread of a stratum in all groups together counts within a group."""


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    """Units of a group to which the machine gave the code, or did not."""

    group: str
    coded: bool
    units: int
    labels: int
    """Number of sampled labels that there are."""
    more: int
    """Number of further units to label, chosen at random from those without a label."""

    @property
    def probability(self) -> float:
        """Sampling probability of each unit of the stratum after that: of the old labels and of the new ones."""
        return (self.labels + self.more) / self.units


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """Units to label so that the interval of each group is its estimate ± ``margin`` at most."""

    margin: float
    strata: tuple[PlannedStratum, ...]
    expected: dict[str, float]
    """Expected half width of the interval of each group after that; larger than ``margin`` where all units of the group
    together are too few."""

    @property
    def more(self) -> int:
        """Number of further labels."""
        return sum(stratum.more for stratum in self.strata)


def plan(units: CodedUnits, groups: Sequence[str], margin: float) -> LabelPlan:
    """Return how many units of each group (n,) to label; "" is no group.

    Without labels, the worst case is assumed: a share of one half, and a useless machine. Raises
    :class:`themescope.core.errors.DataError` if ``margin`` is not between 0 and ½.
    """
    if not 0 < margin < 0.5:
        raise DataError(f"The margin is {margin:g}. Choose one between 0 and 0.5, such as 0.03 for 3 points.")
    names, place = np.unique(np.array(groups, dtype=str), return_inverse=True)
    place = place.ravel()
    codes = np.zeros(len(place)) if units.codes is None else units.codes
    coded, sampled = codes >= 0.5, units.weights > 0
    known = not units.too_few(np.ones(len(place), dtype=bool))
    where = units.document, units.document_count
    found = formulas.mean(units.label, units.codes, units.weights, *where) if known else None
    tuning = found.tuning if found else 0.0
    rest = units.label - tuning * codes
    pooled = [_spread(rest[sampled & (coded == side)], 0.25, 1.0) if known else 0.25 for side in (False, True)]
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    strata: list[PlannedStratum] = []
    expected: dict[str, float] = {}
    for number, name in enumerate(names.tolist()):
        if not name:
            continue
        sides = [(place == number) & (coded == side) for side in (False, True)]
        size = np.array([float(side.sum()) for side in sides])
        labels = np.array([float((side & sampled).sum()) for side in sides])
        spread = np.array(
            [_spread(rest[side & sampled], prior, _PRIOR) for side, prior in zip(sides, pooled, strict=True)]
        )
        inside = place == number
        fixed = tuning**2 * _machine_variance(units, codes, inside)
        clustering = _design_effect(units, codes, tuning, inside, known)
        risk = (size / size.sum()) ** 2 * spread * clustering
        total = _allocated(risk, labels, size, (margin / z) ** 2 - fixed)
        expected[name] = z * math.sqrt(fixed + float((risk[size > 0] / total[size > 0]).sum()))
        strata += [
            PlannedStratum(name, bool(side), int(size[side]), int(labels[side]), int(total[side] - labels[side]))
            for side in (0, 1)
            if size[side]
        ]
    return LabelPlan(margin, tuple(strata), expected)


def _spread(rest: Floats, prior: float, weight: float) -> float:
    """Return the variance of what labels correct; ``prior`` counts as ``weight`` labels."""
    return (float(((rest - rest.mean()) ** 2).sum() if len(rest) else 0.0) + weight * prior) / (len(rest) + weight)


def _machine_variance(units: CodedUnits, codes: Floats, inside: np.ndarray) -> float:
    """Return the variance of the machine's share, which further labels do not change."""
    n = int(inside.sum())
    return formulas.mean(codes[inside], None, np.ones(n), units.document[inside], units.document_count).variance


def _design_effect(units: CodedUnits, codes: Floats, tuning: float, inside: np.ndarray, known: bool) -> float:
    """Return how much larger the variance is than that of independent labels: 1 without documents or labels."""
    inside = inside & (units.weights > 0)
    if units.documents is None or not known or int(inside.sum()) < _PRIOR:
        return 1.0
    rest, weights = units.label[inside] - tuning * codes[inside], units.weights[inside]
    by_document = formulas.mean(rest, None, weights, units.document[inside], units.document_count)
    alone = formulas.mean(rest, None, weights, np.arange(len(rest)), len(rest))
    return max(1.0, by_document.variance / alone.variance) if alone.variance > 0 else 1.0


def _allocated(risk: Floats, labels: Floats, size: Floats, target: float) -> Floats:
    """Return the labels of each stratum with which sum(risk / labels) is ``target`` at most, in as few as possible.

    In proportion to the root of ``risk``, but at least ``labels`` and at most ``size``; all units if that is too few.
    """

    def total(scale: float) -> Floats:
        return np.clip(np.ceil(scale * np.sqrt(risk)), np.maximum(labels, np.minimum(size, 1)), size)

    def variance(scale: float) -> float:
        return float((risk[size > 0] / total(scale)[size > 0]).sum())

    low, high = 0.0, float((size / np.sqrt(np.maximum(risk, 1e-12))).max())
    if variance(high) > target:
        return size
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if variance(middle) > target else (low, middle)
    return total(high)
