"""Shares of a code: from people's labels alone, from the machine's codes alone, and corrected; with 95 % intervals.

The corrected share is that of prediction-powered inference with power tuning (Angelopoulos, Duchi and Zrnic 2023,
"PPI++", arXiv:2311.01453) for labels sampled with known, unequal probabilities (Egami et al. 2023, "Using imperfect
surrogates for downstream inference: design-based supervised learning", NeurIPS 36), with documents as clusters. It is
valid however bad the machine is, and as precise as people alone at least. docs/estimates.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.labelling.markup import counted
from themescope.core.types import Estimate, Floats, Ids

Where = npt.NDArray[np.bool_]  # (n,) units of a group

TOO_FEW = "Too few labels to tell"
"""How the warning begins that there are too few labels for an interval."""
NOT_RANDOM = (
    "The labels were not sampled at random, or their probabilities are unknown: the intervals leave out the error that "
    "comes from the choice of the units. Label a random sample."
)


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
    def open(self) -> Where:
        """The (n,) units that were given to people and have no label."""
        return np.isnan(self.labels) & (np.zeros(len(self.labels), bool) if self.given is None else self.given)

    def sampled(self, where: Where) -> Where:
        """Return the (n,) units of ``where`` with a label that estimates use."""
        return where & (self.weights > 0)

    def warnings(self, where: Where) -> tuple[str, ...]:
        """Return what a reader of estimates for ``where`` (n,) must know, one sentence or two each."""
        found = []
        if self.probabilities is None and bool(self.sampled(where).any()):
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


def share(units: CodedUnits, where: Where | None = None, name: str = "") -> ShareEstimate:
    """Return the share of the code among the units of ``where`` (n,), by default all.

    Raises :class:`themescope.core.errors.DataError` if there are none.
    """
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
            found.append(Estimate(*difference_of_means(one, other), documents))
            tuning = min(one.tuning, other.tuning)
    people, machine, corrected = found
    warnings = tuple(dict.fromkeys([*units.warnings(first), *units.warnings(second)]))
    labels = int(units.sampled(both).sum())
    result = ShareEstimate(name, people, machine, corrected, tuning, int(both.sum()), labels, warnings)
    return _bounded(result, units, both, first.astype(np.float64), lambda other: difference(other, first, second))


def composition(units: CodedUnits, where: Where, name: str = "") -> ShareEstimate:
    """Return the share of ``where`` (n,) among the units with the code, such as a party's part of a theme.

    An estimate is None if no unit has the code.
    """
    everything, part = _everything(units), where.astype(np.float64)
    place = units.document, units.document_count
    label, codes = units.label, units.codes
    found: list[MeanEstimate | None] = [None, None, None]
    if not units.too_few(everything):
        found[0] = ratio(part, label, None, units.weights, *place)
        found[2] = ratio(part, label, codes, units.weights, *place)
    if codes is not None:
        found[1] = ratio(part, codes, None, np.ones(len(part)), *place)
    result = _result(name, found, units, everything)
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


def _everything(units: CodedUnits) -> Where:
    return np.ones(len(units.labels), dtype=bool)


def _means(units: CodedUnits, where: Where) -> list[MeanEstimate | None]:
    """Return the means of people, of the machine, and corrected."""
    if not where.any():
        raise DataError("There are no units to estimate a share of. Choose a group with units.")
    place = units.document[where], units.document_count
    codes = None if units.codes is None else units.codes[where]
    found: list[MeanEstimate | None] = [None, None, None]
    if codes is not None:
        found[1] = mean(codes, None, np.ones(len(codes)), *place)
    if not units.too_few(where):
        label, weights = units.label[where], units.weights[where]
        found[0], found[2] = (mean(label, used, weights, *place) for used in (None, codes))
    return found


def _result(name: str, found: Sequence[MeanEstimate | None], units: CodedUnits, where: Where) -> ShareEstimate:
    counts = units.labelled_documents(where), len(np.unique(units.document[where])), units.labelled_documents(where)
    people, machine, corrected = (  # a corrected estimate of a rare code may lie a little outside of 0 to 1
        None if mean is None or math.isnan(mean.value) else Estimate(min(1.0, max(0.0, mean.value)), *interval(mean), n)
        for mean, n in zip(found, counts, strict=True)
    )
    tuning = found[2].tuning if found[2] is not None else 0.0
    labels = int(units.sampled(where).sum())
    size, warnings = int(where.sum()), units.warnings(where)
    return ShareEstimate(name, people, machine, corrected, tuning, size, labels, warnings)


# Estimators of shares and of logistic regression from people's labels and the machine's codes, in NumPy alone

Array = npt.NDArray[np.float64]
Documents = npt.NDArray[np.int64]

TAIL = 0.025
"""Probability above a 95 % interval, and below it."""
ITERATIONS = 50
FEWEST_LABELS = 10
FEWEST_DOCUMENTS = 5
"""Labels, and documents with labels, without which people's labels say nothing."""
ROUNDING = 1e-9
"""A sum this small beside the sizes of its terms is 0: what is left of it is rounding, and rounding decides nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class MeanEstimate:
    """An estimated mean."""

    value: float
    variance: float
    """Square of the standard error: over documents, with the correction for few of them. 0 if the documents do not
    differ, as where all labels are equal: then they say nothing about the error, and ``fewest`` stands for it."""
    tuning: float
    """Weight of the machine's codes, 0 (not used) to 1; lambda of PPI++."""
    size: float
    """Effective number of labels, sum(w)² / sum(w²) (Kish 1965)."""
    fewest: float
    """Number of labels that these are worth at least, however alike the units of a document are: sum(w) / max(w) of
    units in documents of their own, otherwise fewer by the ratio of the effective numbers of documents and labels."""
    degrees: int
    """Degrees of freedom: effective number of documents with labels - 1."""
    influence: Array
    """(D,) contribution of each document to the error; their squares add up to the variance without corrections."""


def mean(
    label: Array,
    code: Array | None,
    weight: Array,
    document: Documents,
    documents: int,
    errors: tuple[float, ...] = (1.0,),
) -> MeanEstimate:
    """Return the mean of ``label``, corrected with ``code``: both (N,), as ``weight`` and ``document`` (0…D-1).

    sum(w' y) + lambda (sum(f) / N - sum(w' f)), with the lambda in 0…1 that has the least variance. ``code`` None
    stands for lambda = 0.

    A few labels of a rare code without a wrong one would seem to show a perfect machine. Therefore a missed unit and a
    false alarm, which change y and f by ``errors``, are added to the labels when lambda is chosen, and a quarter of
    each to the variance, times lambda², or times the part of the variance that unequal sampling saves, if that is
    larger (compare Bonett and Price 2012, who add both to the labels).
    """
    share = weight / weight.sum()
    size, fewest, degrees = _counts(share, document, documents)
    labelled = summed(share, document, documents)
    first = float(label[weight > 0][0])
    value = first + float(share @ (label - first))  # exactly the label that all units have, if they do
    influence = summed(share * (label - value), document, documents)
    if not influence.any():
        return MeanEstimate(value, 0.0, 0.0, size, fewest, degrees, influence)
    variance, simple = _variance(influence, labelled), float(share @ (label - value) ** 2) / size
    gain = max(0.0, 1 - variance / simple)
    wrong = np.array(errors)
    added = float(np.mean(wrong**2)) / (2 * size**2)
    alone = MeanEstimate(value, variance + gain * added, 0.0, size, fewest, degrees, influence)
    if code is None:
        return alone
    everywhere, sampled = float(code.mean()), float(share @ code)
    slope = summed((code - everywhere) / len(code) - share * (code - sampled), document, documents)
    across = float(np.mean((wrong - value) * sampled + value * (wrong - sampled))) / size**2
    square = float(np.mean(sampled**2 + (wrong - sampled) ** 2)) / size**2 + float(slope @ slope)
    tuning = min(1.0, max(0.0, -(float(influence @ slope) + across) / square))
    influence = influence + tuning * slope
    leverage = labelled + (slope**2 / square if 0 < tuning < 1 else 0.0)
    variance = _variance(influence, leverage) + max(tuning**2, gain) * added
    if variance >= alone.variance:
        return alone
    return MeanEstimate(value + tuning * (everywhere - sampled), variance, tuning, size, fewest, degrees, influence)


def summed(values: Array, document: Documents, documents: int) -> Array:
    """Return the (D,) sums of ``values`` (N,) over each document, exactly 0 where they cancel out but for rounding."""
    total, sizes = (np.bincount(document, weights=x, minlength=documents) for x in (values, np.abs(values)))
    return np.where(np.abs(total) > ROUNDING * sizes, total, 0.0)


def _counts(share: Array, document: Documents, documents: int) -> tuple[float, float, int]:
    """Return the effective number of labels with weights ``share`` (N,), sum 1; the fewest; and the degrees of freedom.

    If all units drawn have the code, and that had a probability of 2.5 % at least, then the share of those without it
    is 1 - .025^(max(w) / sum(w)) at most: all may lie where a label stands for most units.
    """
    size, clusters = (1 / float((x**2).sum()) for x in (share, summed(share, document, documents)))
    return size, clusters / size / float(share.max()), max(1, math.floor(clusters + ROUNDING) - 1)


def _variance(influence: Array, leverage: Array) -> float:
    """Return the sandwich variance over documents, each with its leverage, below 1 (HC2; MacKinnon and White 1985)."""
    return float((influence**2 / (1 - np.minimum(leverage, 0.9))).sum())


def interval(found: MeanEstimate) -> tuple[float, float]:
    """Return the 95 % interval of a share: Wilson's, with the effective number of labels and the quantile of t.

    The effective number is the one that would give the standard error to a simple random sample, p (1 - p) / variance
    (Korn and Graubard 1998; Franco et al. 2019). It is the fewest that the labels are worth if they show no error.
    """
    inside = min(max(found.value, 0.5 / found.size), 1 - 0.5 / found.size)
    n, degrees = found.fewest, min(found.degrees, max(1, math.floor(found.fewest + ROUNDING) - 1))
    if found.variance > 0:
        n, degrees = inside * (1 - inside) / found.variance, found.degrees
    p, t = min(max(found.value, 0.0), 1.0), t_quantile(degrees)
    centre, half = p + t**2 / (2 * n), t * math.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    return max(0.0, min(p, (centre - half) / (1 + t**2 / n))), min(1.0, max(p, (centre + half) / (1 + t**2 / n)))


def ratio(
    part: Array, label: Array, code: Array | None, weight: Array, document: Documents, documents: int
) -> MeanEstimate:
    """Return mean(part · y) / mean(y): the share of ``part`` (N,), 0 or 1, among the units that have the code.

    The ratio R of two corrected means is the root of mean((part - R) y), so its error is that of this mean divided by
    mean(y). The labels that count are those with the code. NaN where no unit has the code.
    """
    share = weight / weight.sum()
    nothing = MeanEstimate(math.nan, math.nan, 0.0, math.nan, math.nan, 1, np.zeros(documents))
    whole = float(share @ label)
    if not whole > 0:
        return nothing
    counts = _counts(share * label / whole, document, documents)
    value = float(share @ (part * label)) / whole
    for _ in range(3):
        scale = (part - value) / whole
        errors = ((1 - value) / whole, -value / whole)  # of units in the part, and outside of it
        found = mean(scale * label, None if code is None else scale * code, weight, document, documents, errors)
        if code is not None:
            tuned = found.tuning * code
            whole = float(tuned.mean() + share @ (label - tuned))
            if whole <= ROUNDING:
                return nothing
            value = float((part * tuned).mean() + share @ (part * (label - tuned))) / whole
    return MeanEstimate(value, found.variance, found.tuning, *counts, found.influence)


def difference_of_means(first: MeanEstimate, second: MeanEstimate) -> tuple[float, float, float]:
    """Return first - second with its 95 % interval, from their own intervals (Newcombe 1998; Zou 2007, with r).

    r is the correlation of both errors: documents may have units in both groups. As n documents without a difference
    do not show that there is none, r is n / (n + t²) at most: 1 - the upper end of Wilson's interval of 0 of n.
    """
    (low, high), (below, above) = interval(first), interval(second)
    value, degrees = first.value - second.value, min(first.degrees, second.degrees)
    lengths = float(first.influence @ first.influence) * float(second.influence @ second.influence)
    r = float(first.influence @ second.influence) / math.sqrt(lengths) if lengths > 0 else 0.0
    r = min(r, (degrees + 1) / (degrees + 1 + t_quantile(degrees) ** 2))

    def half(one: float, other: float) -> float:
        one, other = max(one, 0.0), max(other, 0.0)
        return math.sqrt(max(0.0, one**2 + other**2 - 2 * r * one * other))

    down = half(first.value - low, above - second.value)
    up = half(high - first.value, second.value - below)
    return value, max(-1.0, value - down), min(1.0, value + up)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticEstimate:
    """A logistic regression of k columns."""

    values: Array
    """(k,) log odds ratios."""
    errors: Array
    """(k,) standard errors over documents."""
    tuning: float
    degrees: int
    converged: bool
    """False if the columns predict the labels perfectly, or are redundant: there is no estimate then."""


def logistic(
    columns: Array, label: Array, code: Array | None, weight: Array, document: Documents, documents: int
) -> LogisticEstimate:
    """Return the logistic regression of ``label`` (N,) on an intercept and ``columns`` (N, k - 1).

    b solves sum(w' x (y - m)) + lambda (mean(x (f - m)) - sum(w' x (f - m))) = 0 with m = 1 / (1 + exp(-x b)): people's
    labels alone for lambda = 0, the moment of design-based supervised learning for 1. lambda in 0…1 minimizes the sum
    of the variances, each divided by that of people alone.
    """
    centre, scale = columns.mean(axis=0), columns.std(axis=0)
    scale[scale == 0] = 1.0
    x = np.column_stack([np.ones(len(columns)), (columns - centre) / scale])
    share = weight / weight.sum()
    labelled = summed(share, document, documents)
    degrees, clusters = math.floor(1 / float((labelled**2).sum()) + 1e-9) - x.shape[1], int((labelled > 0).sum())
    guess, tuning = np.zeros(len(label)) if code is None else code, 0.0
    rows = weight > 0
    values, converged = _solved(x[rows], share[rows], (share * label)[rows], np.zeros(x.shape[1]))
    influence, slope = _scores(x, label, guess, share, values, 0.0, document, documents)
    if code is not None and converged:
        spread = np.maximum((influence**2).sum(axis=0), 1e-300)
        across, square = float((influence * slope / spread).sum()), float((slope**2 / spread).sum())
        tuning = min(1.0, max(0.0, -across / square)) if square > 0 else 0.0
        mix = (1 - tuning) * share + tuning / len(share)
        values, converged = _solved(x, mix, share * (label - tuning * guess) + tuning * guess / len(share), values)
        influence, slope = _scores(x, label, guess, share, values, tuning, document, documents)
        influence = influence + tuning * slope
    raw = np.diag(np.append(1.0, 1 / scale))
    raw[0, 1:] = -centre / scale
    correction = clusters / max(1, clusters - len(values) - (tuning > 0))
    errors = np.sqrt(((influence @ raw.T) ** 2).sum(axis=0) * correction)
    return LogisticEstimate(raw @ values, errors, tuning, max(1, degrees), converged)


def _solved(columns: Array, weight: Array, target: Array, b: Array) -> tuple[Array, bool]:
    """Return the root b of x'(target - weight · m(x b)) by Newton's method, and whether it was found."""
    moment = columns.T @ target
    for _ in range(ITERATIONS):
        m = 1 / (1 + np.exp(-np.clip(columns @ b, -500, 500)))
        slope = (columns * (weight * m * (1 - m))[:, None]).T @ columns
        try:
            step = np.linalg.solve(slope, moment - columns.T @ (weight * m))
        except np.linalg.LinAlgError:
            return b, False
        step = step / max(1.0, float(np.abs(step).max()) / 5)
        b = b + step
        if float(np.abs(step).max()) < 1e-9:
            return b, True
    return b, False


def _scores(
    columns: Array,
    label: Array,
    code: Array,
    share: Array,
    b: Array,
    tuning: float,
    document: Documents,
    documents: int,
) -> tuple[Array, Array]:
    """Return the (D, k) contributions of the documents to the error of b for lambda = 0, and their slope in lambda."""
    m = 1 / (1 + np.exp(-np.clip(columns @ b, -500, 500)))
    mix = (1 - tuning) * share + tuning / len(share)
    inverse = np.linalg.pinv((columns * (mix * m * (1 - m))[:, None]).T @ columns)

    def error(score: Array) -> Array:
        sums: Array = np.stack([summed(column, document, documents) for column in score.T], axis=1) @ inverse
        return sums

    score, guess = columns * (label - m)[:, None], columns * (code - m)[:, None]
    slope = (guess - guess.mean(axis=0)) / len(share) - share[:, None] * (guess - share @ guess)
    return error(share[:, None] * (score - share @ score)), error(slope)


@cache
def t_quantile(degrees: int, tail: float = TAIL) -> float:
    """Return the quantile of Student's t above which ``tail`` lies: by bisection; above 1,000 degrees by expansion."""
    if degrees > 1000:
        z = NormalDist().inv_cdf(1 - tail)
        return z + (z**3 + z) / (4 * degrees)
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, degrees) > tail else (low, middle)
    return (low + high) / 2


def t_tail(t: float, degrees: int) -> float:
    """Return the probability above t ≥ 0 (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4); above 1,000 of the normal."""
    if degrees > 1000:
        return math.erfc(t / math.sqrt(2)) / 2
    angle = math.atan(t / math.sqrt(degrees))
    square, odd = math.cos(angle) ** 2, degrees % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for j in range(degrees // 2):
        total += term
        term *= square * (2 * j + 1 + odd) / (2 * j + 2 + odd)
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return max(0.0, (1 - inside) / 2)
