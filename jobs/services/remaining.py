"""Remaining time of jobs, from their progress or from earlier jobs of the same kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from statistics import median

from themescope.db.records import JobRecord, JobStatus

_LEAST_PROGRESS, _LEAST_S = 0.05, 2.0
_EARLIER = 5
_ALIKE = ("method", "model", "clusterer")
"""Arguments that must be the same in an earlier job for its time to be a guide."""


def remaining_s(job: JobRecord, known: Sequence[JobRecord], now: datetime) -> float | None:
    """Return the estimated seconds until a running job ends; None where there is nothing to judge by.

    From 5 % on, the rate since the start counts; before, the median time of the last five jobs like this one among
    ``known``, newest first. A resumed job began with progress made earlier, so its rate says nothing.
    """
    if job.status is not JobStatus.RUNNING or job.started is None:
        return None
    elapsed = (now - job.started).total_seconds()
    if job.attempt <= 1 and job.progress >= _LEAST_PROGRESS and elapsed >= _LEAST_S:
        return max(0.0, elapsed * (1 - job.progress) / job.progress)
    times = [seconds for old in known if _is_guide(old, job) and (seconds := _seconds(old)) is not None]
    left = median(times[:_EARLIER]) - elapsed if times else 0.0
    return left if left > 0 else None


def _is_guide(old: JobRecord, job: JobRecord) -> bool:
    alike = all(old.args.get(name) == job.args.get(name) for name in _ALIKE)
    return old.status is JobStatus.DONE and old.kind == job.kind and old.attempt <= 1 and alike


def _seconds(job: JobRecord) -> float | None:
    return None if job.started is None or job.ended is None else (job.ended - job.started).total_seconds()
