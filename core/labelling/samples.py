"""Probability samples of units: simple random and stratified ones, in which the sampling probabilities are known.

Within a stratum of N units of which n are drawn, each has the probability n / N (Cochran 1977, Sampling Techniques,
chapter 5). A simple random sample has one stratum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.types import Floats, Ids


class Allocation(StrEnum):
    """How the units of a sample are divided among strata."""

    PROPORTIONAL = "proportional"
    """In proportion to the number of units."""
    EQUAL = "equal"
    """The same number from each stratum, or all units of a smaller one."""
    GIVEN = "given numbers"
    """A number for each stratum, which may be 0."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows:
    """Units drawn from k strata."""

    rows: Ids
    """(n,) rows of the units drawn, ascending."""
    sizes: Ids
    """(k,) number of units of each stratum."""
    drawn: Ids
    """(k,) number of units drawn from each stratum."""

    @property
    def probabilities(self) -> Floats:
        """Sampling probability (k,) of each unit of a stratum."""
        return self.drawn / self.sizes


def draw(strata: npt.NDArray[np.integer], drawn: Ids, seed: int | Sequence[int]) -> DrawnRows:
    """Draw ``drawn`` (k,) units of each stratum without replacement; ``strata`` (n,) are 0 … k - 1, each with a unit.

    Raises :class:`DataError` if a stratum has fewer units.
    """
    sizes = np.bincount(strata).astype(np.int64)
    if bool(((drawn < 0) | (drawn > sizes)).any()) or not drawn.any():
        raise DataError("From each stratum, 0 up to all of its units can be drawn, and at least one unit in all.")
    order = np.random.default_rng(seed).permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    of = strata[order]
    rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[of]
    return DrawnRows(np.sort(order[rank < drawn[of]]), sizes, drawn)


def allocate(sizes: Ids, number: int, allocation: Allocation) -> Ids:
    """Return the (k,) number of units to draw from strata of ``sizes`` (k,): at least one of each, ``number`` in all.

    Raises :class:`DataError` if there are fewer units, or fewer to draw than strata: a unit that cannot be drawn has no
    sampling probability.
    """
    total, strata = int(sizes.sum()), len(sizes)
    if not 1 <= number <= total:
        raise DataError(f"{number:,} units cannot be drawn from {total:,}. Choose a number from 1 to {total:,}.")
    if number < strata:
        raise DataError(
            f"There are {strata:,} strata, and each needs a unit of the sample, but {number:,} are to be drawn. "
            "Draw more, or choose a column with fewer values."
        )
    weight = sizes.astype(np.float64) if allocation is Allocation.PROPORTIONAL else np.ones(strata)

    def shares(scale: float) -> Floats:
        return np.clip(scale * weight, 1, sizes)

    low, high = 0.0, float((sizes / weight).max())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if shares(middle).sum() <= number else (low, middle)
    wanted = shares(low)
    found = np.floor(wanted + 1e-9).astype(np.int64)
    for place in np.lexsort((-sizes, found - wanted)):  # the largest remainders first, of equal ones larger strata
        if found.sum() < number and found[place] < sizes[place]:
            found[place] += 1
    return found
