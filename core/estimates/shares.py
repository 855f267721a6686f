"""Shares of a code: from people's labels alone, from the machine's codes alone, and corrected; with 95 % intervals.

The corrected share is that of prediction-powered inference with power tuning (Angelopoulos, Duchi and Zrnic 2023,
"PPI++", arXiv:2311.01453) for labels sampled with known, unequal probabilities (Egami et al. 2023, "Using imperfect
surrogates for downstream inference: design-based supervised learning", NeurIPS 36), with documents as clusters. It is
valid however bad the machine is, and as precise as people alone at least. docs/estimates.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.labelling.markup import counted
from themescope.core.metrics import formulas
from themescope.core.metrics.formulas import FEWEST_DOCUMENTS, FEWEST_LABELS
from themescope.core.metrics.statistics import LEVEL
from themescope.core.types import Estimate, Floats, Ids

Where = npt.NDArray[np.bool_]  # (n,) units of a group

TOO_FEW = "Too few labels to tell"
"""How the warning begins that there are too few labels for an interval."""
NOT_RANDOM = (
    "The coded units were not sampled at random, or their probabilities are unknown: the intervals leave out the error "
    "that comes from their choice. Code a random sample."
)
COUNTED = "No share is estimated from the checked units. Code a random sample, as a task."


@dataclass(frozen=True, slots=True, eq=False)
class CodedUnits:
    """The n units of a corpus with what people and the machine said about one code.

    Raises :class:`themescope.core.errors.DataError` if lengths differ or a value is out of range.
    """

    labels: Floats
    """(n,) 1 if people gave the code and 0 if not, or the share of people who did; NaN without a label."""
    codes: Floats | None
    """(n,) 1 or 0, or the probability of the code, from the machine; None without a machine."""
    probabilities: Floats | None = None
    """(n,) probability of each unit to be given to people, above 0; NaN of labels that were not sampled at random (they
    are left out), None if no label was (all are used as if equally probable)."""
    documents: Ids | None = None
    """(n,) document of each unit; None if each unit is a document of its own."""
    given: Where | None = None
    """(n,) units that were given to people; those without a label are open. None if no unit is."""
    coded: Where | None = None
    """(n,) units that have the code now, whoever gave it; None for those with a label above 0."""
    label: Floats = field(init=False)
    """(n,) labels that estimates use; 0 of other units."""
    weights: Floats = field(init=False)
    """(n,) 1 / probability of the sampled labels, otherwise 0."""
    document: Ids = field(init=False)
    """(n,) place of the document among those of the units, ascending."""
    document_count: int = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.labels)
        labelled = ~np.isnan(self.labels)
        for name, values in (("labels", self.labels), ("codes", self.codes), ("probabilities", self.probabilities)):
            if values is None:
                continue
            if values.shape != (n,):
                raise DataError(f"There are {n:,} labels but {len(values):,} {name}. Give one value for each unit.")
            known = values if name == "codes" else values[~np.isnan(values)]
            if not bool(((known >= 0) & (known <= 1)).all()):
                raise DataError(f"The {name} are not all between 0 and 1. Give 0, 1 or a share for each unit.")
        if self.documents is not None and self.documents.shape != (n,):
            raise DataError(f"There are {n:,} labels but {len(self.documents):,} documents. Give one for each unit.")
        chances = np.ones(n) if self.probabilities is None else self.probabilities
        if bool((chances[labelled] == 0).any()):
            raise DataError("A labelled unit has the sampling probability 0. Give its probability, or NaN if unknown.")
        weights = np.divide(1.0, chances, out=np.zeros(n), where=labelled & ~np.isnan(chances))
        place = np.arange(n) if self.documents is None else np.unique(self.documents, return_inverse=True)[1]
        object.__setattr__(self, "label", np.where(weights > 0, self.labels, 0.0))
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "document", place.astype(np.int64).ravel())
        object.__setattr__(self, "document_count", int(place.max(initial=-1)) + 1)

    @property
    def counted(self) -> bool:
        """Whether there are labels, but none of a known probability, so that units are counted and none estimated."""
        return not (self.weights > 0).any() and bool((~np.isnan(self.labels)).any())

    @property
    def with_code(self) -> Where:
        """The (n,) units that have the code now."""
        return self.label > 0 if self.coded is None else self.coded

    @property
    def open(self) -> Where:
        """The (n,) units that were given to people and have no label."""
        return np.isnan(self.labels) & (np.zeros(len(self.labels), bool) if self.given is None else self.given)

    def sampled(self, where: Where) -> Where:
        """Return the (n,) units of ``where`` with a label that estimates use."""
        return where & (self.weights > 0)

    def warnings(self, where: Where) -> tuple[str, ...]:
        """Return what a reader of estimates for ``where`` (n,) must know, one sentence or two each."""
        if self.counted:
            return (COUNTED,)
        found = []
        if self.probabilities is None and bool((self.sampled(where) != where).any() and self.sampled(where).any()):
            found.append(NOT_RANDOM)
        unsampled = int((where & ~np.isnan(self.labels)).sum() - self.sampled(where).sum())
        if unsampled:
            verb = "was" if unsampled == 1 else "were"
            found.append(f"{counted(unsampled, 'label')} {verb} not sampled at random and left out.")
        if self.too_few(where):
            found.append(
                f"{TOO_FEW}: {counted(int(self.sampled(where).sum()), 'sampled label')} in "
                f"{counted(self.labelled_documents(where), 'document')}; at least {FEWEST_LABELS} labels in "
                f"{FEWEST_DOCUMENTS} documents are needed."
            )
        return tuple(found)

    def labelled_documents(self, where: Where) -> int:
        """Return the number of documents with sampled labels in ``where`` (n,)."""
        return len(np.unique(self.document[self.sampled(where)]))

    def too_few(self, where: Where) -> bool:
        """Whether the sampled labels of ``where`` (n,) are too few for an interval."""
        return int(self.sampled(where).sum()) < FEWEST_LABELS or self.labelled_documents(where) < FEWEST_DOCUMENTS


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """A share, or a difference of two shares, estimated in three ways. ``n`` of each is its number of documents."""

    name: str
    """Name of the group; "" for all units."""
    people: Estimate | None
    """From the sampled labels alone; None if they are too few."""
    machine: Estimate | None
    """From the machine's codes alone: its interval leaves out their mistakes. None without a machine."""
    corrected: Estimate | None
    """From both; None if the labels are too few. Equal to ``people`` without a machine."""
    tuning: float
    """Weight of the machine's codes in the corrected estimate, 0 (useless) to 1; lambda of PPI++."""
    units: int
    labels: int
    """Number of sampled labels."""
    warnings: tuple[str, ...]
    open: int = 0
    """Number of units that were given to people and have no label."""
    least: Estimate | None = None
    """The corrected estimate if the open units had the labels that make it lowest; None without open units."""
    most: Estimate | None = None
    """The corrected estimate if the open units had the labels that make it highest."""
    coded: int = 0
    """Number of units that have the code now, whoever gave it."""
    checked: int = 0
    """Number of units that people labelled, sampled or not."""


def share(units: CodedUnits, where: Where | None = None, name: str = "") -> ShareEstimate:
    """Return the share of the code among the units of ``where`` (n,), by default all; raise ``DataError`` for none."""
    everywhere = _everything(units) if where is None else where
    found = _result(name, _means(units, everywhere), units, everywhere)
    return _bounded(found, units, everywhere, np.ones(len(everywhere)), lambda other: share(other, where))


def shares(units: CodedUnits, groups: Sequence[str]) -> list[ShareEstimate]:
    """Return the share in each group, by name: (n,) groups, such as parties or years; "" is no group."""
    names, place = np.unique(np.array(groups, dtype=str), return_inverse=True)
    return [share(units, place.ravel() == i, str(name)) for i, name in enumerate(names) if name]


def difference(units: CodedUnits, first: Where, second: Where, name: str = "") -> ShareEstimate:
    """Return the share in ``first`` minus that in ``second``: (n,) units of two groups.

    Raises :class:`themescope.core.errors.DataError` if a group has no units, or both have the same unit.
    """
    if bool((first & second).any()):
        raise DataError("The groups have common units. Compare groups without common units.")
    both, documents = first | second, units.labelled_documents(first | second)
    found: list[Estimate | None] = []
    tuning = 0.0
    for one, other in zip(_means(units, first), _means(units, second), strict=True):
        if one is None or other is None:
            found.append(None)
        else:
            found.append(Estimate(*formulas.difference(one, other), documents))
            tuning = min(one.tuning, other.tuning)
    people, machine, corrected = found
    warnings = tuple(dict.fromkeys([*units.warnings(first), *units.warnings(second)]))
    labels = int(units.sampled(both).sum())
    result = ShareEstimate(
        name, people, machine, corrected, tuning, int(both.sum()), labels, warnings, **_counts(units, both)
    )
    return _bounded(result, units, both, first.astype(np.float64), lambda other: difference(other, first, second))


def composition(units: CodedUnits, where: Where, name: str = "") -> ShareEstimate:
    """Return the share of ``where`` (n,) among the units with the code, such as a party's part of a theme.

    An estimate is None if no unit has the code. ``units`` of it are those with the code.
    """
    everything, part = _everything(units), where.astype(np.float64)
    place = units.document, units.document_count
    label, codes = units.label, units.codes
    found: list[formulas.MeanEstimate | None] = [None, None, None]
    if not units.too_few(everything):
        found[0] = formulas.ratio(part, label, None, units.weights, *place)
        found[2] = formulas.ratio(part, label, codes, units.weights, *place)
    if codes is not None:
        found[1] = formulas.ratio(part, codes, None, np.ones(len(part)), *place)
    result = replace(_result(name, found, units, everything), units=int(units.with_code.sum()), **_counts(units, where))
    return _bounded(result, units, everything, part, lambda other: composition(other, where))


def _bounded(
    found: ShareEstimate, units: CodedUnits, where: Where, most: Floats, again: Callable[[CodedUnits], ShareEstimate]
) -> ShareEstimate:
    """Return ``found`` with its bounds: open units have the labels ``most`` (n,) or 1 - ``most`` in estimates again."""
    number = int((units.open & where).sum())
    if not number or found.corrected is None:
        return replace(found, open=number)
    ends = (replace(units, labels=np.where(units.open, label, units.labels)) for label in (1 - most, most))
    least, highest = (again(other).corrected for other in ends)
    return replace(found, open=number, least=least, most=highest)


class _Counts(TypedDict):
    coded: int
    checked: int


def _counts(units: CodedUnits, where: Where) -> _Counts:
    """Return the numbers of units of ``where`` (n,) that have the code, and that people labelled."""
    return {"coded": int((units.with_code & where).sum()), "checked": int((where & ~np.isnan(units.labels)).sum())}


def _everything(units: CodedUnits) -> Where:
    return np.ones(len(units.labels), dtype=bool)


def _means(units: CodedUnits, where: Where) -> list[formulas.MeanEstimate | None]:
    """Return the means of people, of the machine, and corrected."""
    if not where.any():
        raise DataError("There are no units to estimate a share of. Choose a group with units.")
    place = units.document[where], units.document_count
    codes = None if units.codes is None else units.codes[where]
    found: list[formulas.MeanEstimate | None] = [None, None, None]
    if codes is not None:
        found[1] = formulas.mean(codes, None, np.ones(len(codes)), *place)
    if not units.too_few(where):
        label, weights = units.label[where], units.weights[where]
        found[0], found[2] = (formulas.mean(label, used, weights, *place) for used in (None, codes))
    return found


def _result(name: str, found: Sequence[formulas.MeanEstimate | None], units: CodedUnits, where: Where) -> ShareEstimate:
    counts = units.labelled_documents(where), len(np.unique(units.document[where])), units.labelled_documents(where)
    people, machine, corrected = (
        None if mean is None or math.isnan(mean.value) else Estimate(clipped(mean.value), *formulas.interval(mean), n)
        for mean, n in zip(found, counts, strict=True)
    )
    tuning = found[2].tuning if found[2] is not None else 0.0
    labels = int(units.sampled(where).sum())
    size, warnings = int(where.sum()), units.warnings(where)
    return ShareEstimate(name, people, machine, corrected, tuning, size, labels, warnings, **_counts(units, where))


def clipped(share: float) -> float:
    """Return a share between 0 and 1: a corrected estimate of a rare code may lie a little outside."""
    return min(1.0, max(0.0, share))


# Logistic regression of a code on columns of the units, corrected for the machine's mistakes


FEWEST_PER_COLUMN = 5
"""Labels of the rarer kind, with or without the code, for each coefficient (Vittinghoff and McCulloch 2007)."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A log odds ratio with its 95 % interval and the two-sided p of its being 0."""

    name: str
    """Name of the column, "(intercept)", or the name of a text column with the value and what it is compared with."""
    value: float
    error: float
    """Standard error over documents."""
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class RegressionEstimate:
    """A logistic regression, estimated in three ways; None where there are too few labels, or no finite estimate."""

    people: tuple[Coefficient, ...] | None
    machine: tuple[Coefficient, ...] | None
    """From the machine's codes alone: errors and intervals leave out their mistakes."""
    corrected: tuple[Coefficient, ...] | None
    tuning: float
    """Weight of the machine's codes in the corrected estimate, 0…1."""
    units: int
    labels: int
    warnings: tuple[str, ...]


def regression(units: CodedUnits, columns: Mapping[str, Sequence[str] | Floats]) -> RegressionEstimate:
    """Return the logistic regression of the code on ``columns`` of (n,) numbers or texts.

    A text column has a coefficient for each value but its most frequent one. Units with NaN or "" in a column are left
    out, and counted in a warning. Raises :class:`DataError` if a column has a wrong length, or one value only.
    """
    known = np.ones(len(units.labels), dtype=bool)
    for name, values in columns.items():
        if len(values) != len(known):
            raise DataError(f"Column {name!r} has {len(values):,} values for {len(known):,} units. Give one for each.")
        column = np.asarray(values)
        known &= ~np.isnan(column) if column.dtype.kind == "f" else column != ""
    names, table = _design(columns, known)
    weights, place = units.weights[known], (units.document[known], units.document_count)
    label, codes = units.label[known], None if units.codes is None else units.codes[known]
    warnings = [*units.warnings(known)]
    if not known.all():
        warnings.insert(0, f"{counted(int((~known).sum()), 'unit')} without a value in a column left out.")
    sampled = weights > 0
    rarer = int(min(label[sampled].sum(), (1 - label[sampled]).sum()))
    people = machine = corrected = None
    tuning = 0.0
    if rarer < FEWEST_PER_COLUMN * len(names):
        warnings.append(
            f"Too few labels to tell: {counted(rarer, 'label')} of the rarer kind, with or without the code; "
            f"{len(names)} coefficients need at least {FEWEST_PER_COLUMN * len(names)}."
        )
    elif not units.too_few(known):
        of_sample = table[sampled], label[sampled], None, weights[sampled], place[0][sampled], place[1]
        people = _coefficients(names, formulas.logistic(*of_sample))
        found = (
            formulas.logistic(*of_sample) if codes is None else formulas.logistic(table, label, codes, weights, *place)
        )
        corrected, tuning = _coefficients(names, found), found.tuning
        if people is None or corrected is None:
            warnings.append("A column predicts the code perfectly, or follows from other columns. Leave it out.")
    if codes is not None:
        machine = _coefficients(names, formulas.logistic(table, codes, None, np.ones(len(codes)), *place))
    return RegressionEstimate(people, machine, corrected, tuning, int(known.sum()), int(sampled.sum()), tuple(warnings))


def _design(columns: Mapping[str, Sequence[str] | Floats], known: np.ndarray) -> tuple[list[str], Floats]:
    """Return the names of the coefficients and the (n, k) columns without the intercept."""
    names, table = ["(intercept)"], []
    for name, values in columns.items():
        chosen = np.asarray(values)[known]
        kinds, counts = np.unique(chosen, return_counts=True)
        if len(kinds) < 2:
            raise DataError(f"Column {name!r} has one value only. Leave it out.")
        if chosen.dtype.kind != "U":
            names.append(name)
            table.append(chosen.astype(np.float64))
            continue
        base = kinds[counts.argmax()]
        for kind in kinds[kinds != base]:
            names.append(f"{name}: {kind} (against {base})")
            table.append((chosen == kind).astype(np.float64))
    return names, np.stack(table, axis=1) if table else np.empty((int(known.sum()), 0))


def _coefficients(names: Sequence[str], found: formulas.LogisticEstimate) -> tuple[Coefficient, ...] | None:
    if not found.converged:
        return None
    t = formulas.t_quantile(found.degrees)
    return tuple(
        Coefficient(
            name, b, se, b - t * se, b + t * se, 2 * formulas.t_tail(abs(b) / se, found.degrees) if se else math.nan
        )
        for name, b, se in zip(names, found.values.tolist(), found.errors.tolist(), strict=True)
    )


# How many more labels make intervals as narrow as wanted, and of which units

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
    known = not units.too_few(_everything(units))
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
        spread = np.array([_spread(rest[side & sampled], pooled[at], _PRIOR) for at, side in enumerate(sides)])
        inside = place == number
        of_inside = units.document[inside], units.document_count
        machine = formulas.mean(codes[inside], None, np.ones(int(inside.sum())), *of_inside)
        fixed = tuning**2 * machine.variance  # which further labels do not change
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
