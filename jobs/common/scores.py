"""Conversion of estimates of ``core`` to score rows of the store."""

from __future__ import annotations

from typing import Any

from core.types import Estimate
from db.records import ScoreRecord
from db.store import Store


def total(metric: str, estimate: Estimate) -> ScoreRecord:
    """Return the score row of a mean with its interval."""
    return ScoreRecord(0, None, metric, estimate.value, estimate.low, estimate.high, estimate.n)


def estimates(store: Store, run_id: int) -> dict[str, dict[str, Any]]:
    """Return the means of a run by metric as JSON values."""
    with store.reading() as r:
        rows = r.runs.scores([run_id])
    return {row.metric: {"value": row.value, "low": row.low, "high": row.high, "n": row.n} for row in rows}
