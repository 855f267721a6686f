"""Enqueue, cancel, retry and delete jobs."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from themescope.core.records.stored import JobRecord, JobStatus, JobSummary, ModelRecord
from themescope.db.store import Store
from themescope.jobs.common.files import check_files
from themescope.jobs.kinds import check_job

STALE_S = 12.0
"""Seconds without a new heartbeat after which a running job counts as abandoned.

Heartbeats are sent every second from their own thread, so only a dead or stopped process pauses for so long. Workers
count these seconds themselves (see :class:`themescope.jobs.queue.runner.Watch`). Only pages use the clock, for what
they show.
"""


_QUEUED = threading.Condition()
_Job = TypeVar("_Job", bound=JobSummary | ModelRecord)
_WITH_PATHS = ("args", "result", "error", "message", "config")
_FOLDERS = re.compile(r"(?<![\w:/.])/(?:[^/\s'\"]+/)+")


def wake_workers() -> None:
    """Let the worker in this process, if there is one, look for queued jobs at once."""
    with _QUEUED:
        _QUEUED.notify_all()


def wait_for_jobs(seconds: float) -> None:
    """Wait until a job is queued in this process, at most ``seconds``."""
    with _QUEUED:
        _QUEUED.wait(seconds)


def enqueue(
    store: Store,
    kind: str,
    args: Mapping[str, Any],
    *,
    title: str = "",
    after: int | None = None,
    files_known: bool = False,
) -> JobRecord:
    """Put a job into the queue; with ``after``, it starts when that job is done, and fails if that one fails.

    Raises ``ConfigError`` or ``UnknownNameError`` before anything is stored if the arguments are invalid, and
    ``AccessError`` for a store for people and a path that pages may not read. ``files_known`` skips that check, for
    paths of the installation or of an earlier job, which nobody entered in a page.
    """
    config = check_job(kind, args)
    if store.for_people and not files_known:
        check_files(store.settings, config)
    with store.writing() as w:
        job = w.jobs.add(kind, title or config.title(), config.to_dict(), after=after)
    wake_workers()
    return job


def cancel(store: Store, job_id: int) -> JobRecord:
    """Cancel a job. A queued or abandoned one ends at once, a running one within seconds."""
    with store.writing() as w:
        return w.jobs.request_cancel(job_id, stale_s=STALE_S)


def abandoned(job: JobRecord) -> bool:
    """Return whether the process of a running job is dead or stopped and no other one has resumed the job yet.

    For pages: the heartbeat is compared with the clock of this machine.
    """
    if job.status is not JobStatus.RUNNING or job.heartbeat is None:
        return False
    return (datetime.now(UTC) - job.heartbeat).total_seconds() > STALE_S


def without_paths(job: _Job) -> _Job:
    """Return a job or model with names in place of paths of the server, for people who may not manage jobs."""
    found = replace(job, **{name: _named(getattr(job, name)) for name in _WITH_PATHS if hasattr(job, name)})
    return replace(found, traceback="") if isinstance(found, JobRecord) else found


def _named(value: Any) -> Any:
    if isinstance(value, str):
        return Path(value).name if Path(value).is_absolute() else _FOLDERS.sub("", value)
    if isinstance(value, Mapping):
        return {key: _named(one) for key, one in value.items()}
    return [_named(one) for one in value] if isinstance(value, Sequence) else value


def retry(store: Store, job_id: int) -> JobRecord:
    """Queue a failed or cancelled job again, with the jobs that failed because of it; it resumes where it can."""
    with store.writing() as w:
        job = w.jobs.retry(job_id)
    wake_workers()
    return job


def forget(store: Store, job_id: int) -> None:
    """Delete the row of an ended job, and its checkpoint."""
    with store.writing() as w:
        w.jobs.delete(job_id)
    store.artifacts.drop_checkpoint(job_id)


def worker_alive(store: Store) -> bool:
    """Return whether a worker has sent a heartbeat within the last 10 seconds."""
    with store.reading() as r:
        return bool(r.workers.alive(within_s=10))
