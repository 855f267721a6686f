"""Filters of triplets by which models order them correctly."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from core.errors import DataError

Mask = npt.NDArray[np.bool_]


class Who(StrEnum):
    """Condition on the correctness of the models."""

    ANY = "any"
    ALL = "all"
    NONE = "none"
    DIFFER = "differ"
    AGAINST = "against"
    """The first is right where the second is wrong."""


def who_is_right(who: Who, margins: npt.ArrayLike) -> Mask:
    """Return an (n,) mask of triplets that meet the condition, from (m, n) margins (NaN if missing).

    A model is right above 0 and wrong below; an exact tie is neither. A triplet without any margin is never chosen.
    Raises :class:`DataError` when there are no models, or not two of them to hold against each other.
    """
    values = np.asarray(margins, dtype=np.float32)
    if values.ndim != 2 or len(values) < (2 if who is Who.AGAINST else 1):
        raise DataError("Choose the models whose answers are asked about.")
    return np.asarray(_ASKED[who](values > 0, values < 0, np.isfinite(values)), dtype=bool)


_ASKED: dict[Who, Callable[[Mask, Mask, Mask], npt.ArrayLike]] = {
    Who.ANY: lambda right, wrong, known: right.any(axis=0),
    Who.ALL: lambda right, wrong, known: known.any(axis=0) & (right | ~known).all(axis=0),
    Who.NONE: lambda right, wrong, known: known.any(axis=0) & ~right.any(axis=0),
    Who.DIFFER: lambda right, wrong, known: right.any(axis=0) & wrong.any(axis=0),
    Who.AGAINST: lambda right, wrong, known: right[0] & wrong[1],
}
