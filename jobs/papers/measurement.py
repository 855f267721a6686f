"""Result of one measurement of an experiment spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from core.types import Ids

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measurement:
    """Measured scores. ``items`` and each of ``values`` have shape (n,); they are empty for counts."""

    scores: Mapping[str, float]
    values: Mapping[str, Floats] = field(default_factory=dict)
    items: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    groups: Ids | None = None
    """Articles of the items, where an article has several."""
    intervals: Mapping[str, tuple[float, float, int]] = field(default_factory=dict)
    """(low, high, n) of metrics that have no values per item."""
    run: str = ""
    """Digest of the stored run."""
    warning: str = ""
    """Warning about the validity of the scores."""
