"""Logistic regression of a code on columns of the units, corrected for the machine's mistakes; documents are clusters.

The moment of Egami et al. 2023 (design-based supervised learning), with the power tuning of PPI++ (Angelopoulos, Duchi
and Zrnic 2023, arXiv:2311.01453); see :func:`themescope.core.estimates.formulas.logistic`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from themescope.core.errors import DataError
from themescope.core.estimates import formulas
from themescope.core.estimates.shares import CodedUnits
from themescope.core.labelling.markup import counted
from themescope.core.types import Floats

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
    out, and counted in a warning. Raises :class:`themescope.core.errors.DataError` if a column has a wrong length, or
    one value only.
    """
    known = np.ones(len(units.labels), dtype=bool)
    for name, values in columns.items():
        if len(values) != len(known):
            raise DataError(f"Column {name!r} has {len(values):,} values for {len(known):,} units. Give one for each.")
        known &= (
            ~np.isnan(values) if isinstance(values, np.ndarray) and values.dtype.kind == "f" else np.array(values) != ""
        )
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
