"""Formatting of scores with their intervals."""

from __future__ import annotations

from db.records import ScoreRecord
from webapp.shared.figures import IntervalRow
from webapp.shared.text import interval, score

HEADLINE = "ami"
"""Metric that is shown where there is room for one: chance-corrected, and a column of the paper's table."""


def interval_row(label: str, found: ScoreRecord, colour: int = 0) -> IntervalRow:
    """Return a row of the interval chart."""
    return IntervalRow(label, found.value, found.low, found.high, colour)


def with_interval(found: ScoreRecord | None) -> str:
    """Return ``.312 [.290, .334]``, or a dash for no score."""
    return "–" if found is None else interval(found.value, found.low, found.high)


def with_half_width(found: ScoreRecord | None) -> str:
    """Return ``.312 ±.022``, or a dash for no score."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return score(found.value)
    return f"{score(found.value)} ±{score((found.high - found.low) / 2)}"


def p_text(p: float) -> str:
    """Return ``.012`` or ``< .001``."""
    return "< .001" if p < 0.001 else score(p)
