"""The margins of one model over many triplets, binned for a chart: d(pivot, other) − d(pivot, same).

Zero is always the edge of a bin, so that no bar mixes triplets in right and in wrong order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import DataError

_CUT = 0.005
"""Share of the margins that may lie beyond either end of the chart."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class MarginHistogram:
    """Bin i holds margins from ``edges[i]`` up to, without, ``edges[i + 1]``; ties (exactly 0) are in none of them."""

    edges: npt.NDArray[np.float64]
    """(b + 1,) in the units of the margins."""
    counts: npt.NDArray[np.int64]
    """(b,)."""
    below: int
    above: int
    """How many lie beyond the ends."""
    wrong: int
    tied: int
    right: int
    median: float
    spread: float
    """Standard deviation of the margins."""

    @property
    def n(self) -> int:
        """Number of triplets."""
        return self.wrong + self.tied + self.right


def margin_histogram(margins: npt.ArrayLike, bins: int = 60) -> MarginHistogram:
    """Bin (n,) margins into at most about ``bins`` bins of a round width; .5 % may lie beyond either end.

    Raises :class:`DataError` when there are none, or one is not finite.
    """
    values = np.asarray(margins, dtype=np.float64)
    if not len(values) or not np.isfinite(values).all():
        raise DataError("A histogram needs margins that are finite numbers; there is none, or one is not.")
    low, high = np.quantile(values, [_CUT, 1 - _CUT])
    width = _round_width((max(high, 0.0) - min(low, 0.0)) / max(bins - 2, 1))
    first, last = np.floor(min(low, 0.0) / width), np.floor(max(high, 0.0) / width) + 1
    edges = np.arange(first, last + 1) * width
    untied = values[values != 0]
    place = np.searchsorted(edges, untied, side="right") - 1
    inside = place[(place >= 0) & (place < len(edges) - 1)]
    return MarginHistogram(
        edges,
        np.bincount(inside, minlength=len(edges) - 1),
        below=int((place < 0).sum()),
        above=int((place >= len(edges) - 1).sum()),
        wrong=int((values < 0).sum()),
        tied=len(values) - len(untied),
        right=int((values > 0).sum()),
        median=float(np.median(values)),
        spread=float(values.std()),
    )


def _round_width(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below ``least``; 1 where everything is tied."""
    if least <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(step * power for step in _STEPS if step * power >= least * (1 - 1e-12)))
