"""Checks of the work of one labeller over time: right answers on gold items, and agreement with the consensus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from themescope.core.metrics.statistics.paired_tests import holm
from themescope.core.types import Floats

LAST = 10
"""Number of the last items that are compared with those before."""
FEWEST = 4
"""Minimum number of items on either side of a comparison."""
ALPHA = 0.05
_EXACT, _DRAWN = 20_000, 20_000
_CELLS = 1_000_000
"""Random numbers in memory at once."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether the last items of a person are worse than those before."""

    before: float | None
    """Mean of the items before the last ones."""
    last: float | None
    items: int
    """Number of items."""
    p: float | None
    """P-value of a one-sided permutation test of the difference, corrected for the number of tests."""
    undefined: str
    """Reason why there is no test; "" if there is one."""

    @property
    def found(self) -> bool:
        """Return whether the test finds that the work has become worse."""
        return self.p is not None and self.p < ALPHA


def drifts(scores: Mapping[str, Sequence[float]], last: int = LAST, seed: int = 0) -> dict[str, Drift]:
    """Compare the last items of every series with those before.

    ``scores`` are the scores of the items of each series (a person and a measure) in the order in which they were
    done. The items are permuted, because sentences of one item are not independent. P-values are corrected by Holm's
    method over all series.
    """
    found = {name: _compared(np.asarray(values, dtype=np.float64), last, seed) for name, values in scores.items()}
    tested = [name for name, drift in found.items() if drift.p is not None]
    if tested:
        raw = np.array([found[name].p for name in tested], dtype=np.float64)
        for name, p in zip(tested, holm(raw), strict=True):
            drift = found[name]
            found[name] = Drift(drift.before, drift.last, drift.items, float(p), "")
    return found


def _compared(scores: Floats, last: int, seed: int) -> Drift:
    n = len(scores)
    late = min(last, n // 2)
    if late < FEWEST:
        need = 2 * FEWEST
        return Drift(None, None, n, None, f"at least {need} checked items are needed, and there are {n}")
    before, after = scores[: n - late], scores[n - late :]
    p = _permutation_p(before, after, seed)
    return Drift(float(before.mean()), float(after.mean()), n, p, "")


def _permutation_p(before: Floats, after: Floats, seed: int) -> float:
    """Return the probability, without drift, that the last items are at least that much worse."""
    scores, k = np.concatenate([before, after]), len(after)
    if comb(len(scores), k) <= _EXACT:
        sums = np.array([scores[list(chosen)].sum() for chosen in combinations(range(len(scores)), k)])
        return float((sums <= after.sum() + 1e-12).mean())
    random = np.random.default_rng(seed)
    rows = max(_CELLS // len(scores), 1)
    low = 0
    for start in range(0, _DRAWN, rows):
        order = random.random((min(rows, _DRAWN - start), len(scores))).argpartition(k, axis=1)[:, :k]
        low += int((scores[order].sum(axis=1) <= after.sum() + 1e-12).sum())
    return (low + 1) / (_DRAWN + 1)
