"""Enqueue, cancel, retry and delete jobs."""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from themescope.core.errors import Cancelled, SchemaError, StoreError, StoreUnavailableError, ThemescopeError
from themescope.core.records.stored import JobRecord, JobStatus, JobSummary, ModelRecord
from themescope.db.store import Store
from themescope.jobs.common.files import check_files
from themescope.jobs.common.job import JobContext, LeaveJob
from themescope.jobs.common.logs import about_job
from themescope.jobs.kinds import REGISTRY, check_job

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


# Execution of a claimed job with its heartbeat, in a worker or in the foreground

logger = logging.getLogger(__name__)

HEARTBEAT_S = 1.0
"""Seconds between two heartbeats of a running job; also the delay of a live curve."""

FINISH_S = 60.0
"""Seconds during which the end of a job is written again and again if the store is unavailable."""


class Heartbeat:
    """Daemon thread that calls ``send`` at once and then every ``every`` seconds; a context manager.

    An error in ``send`` is logged and does not end the heartbeat.
    """

    def __init__(self, send: Callable[[], None], every: float, name: str) -> None:
        self._send, self._every = send, every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float | None = 20.0) -> None:
        """Stop the thread, and wait for a call in progress."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        while True:
            try:
                self._send()
            except Exception:
                logger.warning("A heartbeat failed; the next one follows.", exc_info=True)
            if self._ended.wait(self._every):
                return


@dataclass(frozen=True)
class Outcome:
    """Status and result of a job that has ended."""

    status: JobStatus
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    traceback: str = ""
    cause: Exception | None = None
    """The exception, for a caller that runs the job in the foreground."""


def execute(store: Store, job: JobRecord, context: JobContext, *, resumable: bool = False) -> Outcome | None:
    """Run a job that ``context.owner`` has claimed; return None if it is left unchanged (see :class:`LeaveJob`).

    With ``resumable``, a job that ends because the store is unavailable is left too. It sends no more heartbeats, so
    that a worker resumes it when the store can be used again.
    """
    with about_job(job.id):
        try:
            with Heartbeat(context.heartbeat, HEARTBEAT_S, f"heartbeat of job {job.id}"), closing(context):
                outcome = _run(job, context)
        except LeaveJob as reason:
            logger.info("Job %d released: %s.", job.id, type(reason).__name__)
            return None
        if resumable and isinstance(outcome.cause, StoreUnavailableError):
            logger.warning("Job %d will be resumed: %s", job.id, outcome.error)
            return None
        context.end()
        until = time.monotonic() + FINISH_S
        while (owned := _written(store, job, context.owner, outcome, last=time.monotonic() >= until)) is None:
            time.sleep(HEARTBEAT_S)
        # A failed or cancelled job may be retried, and then resumes from its checkpoint, as does another owner.
        if owned and outcome.status is JobStatus.DONE:
            store.artifacts.drop_checkpoint(job.id)
        if not owned:
            logger.info("Job %d released: another worker has taken it over.", job.id)
            return None
        return outcome


def _run(job: JobRecord, context: JobContext) -> Outcome:
    try:
        config = check_job(job.kind, job.args)
        return Outcome(JobStatus.DONE, REGISTRY.get(job.kind).resolve()(config, context))
    except (Cancelled, KeyboardInterrupt):
        return Outcome(JobStatus.CANCELLED, error="Cancelled.")
    except ThemescopeError as error:
        return Outcome(JobStatus.FAILED, error=str(error), cause=error)
    except Exception as error:
        logger.exception("Job %d (%s) failed.", job.id, job.kind)
        return Outcome(JobStatus.FAILED, error=sentence_for(error), traceback=traceback.format_exc(), cause=error)


def sentence_for(error: Exception) -> str:
    """Return the message for an error that the user did not cause."""
    if isinstance(error, MemoryError):
        return "The machine ran out of memory. Close other programs, or use less data or a smaller model."
    text = " ".join(str(error).split())[:200]
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return "The disk is full. Free space and try again."
        if error.errno == errno.EFBIG:
            return "A file exceeds the maximum size of this system. Raise the limit (ulimit -f), or use less data."
        if isinstance(error, PermissionError) and error.filename:
            # It could not be made or moved.
            if os.access(error.filename, os.R_OK | os.W_OK) or not os.path.exists(error.filename):
                folder = os.path.dirname(error.filename)
                return f"Themescope may not write to the folder {folder!r}. Change its permissions and retry."
            return f"Themescope may not open {error.filename!r}. Change its permissions and retry."
        if error.filename:
            return f"{error.filename!r} cannot be opened or written: {error.strerror}."
        return f"A file could not be read or written completely ({text}). Check the disk and its free space."
    return f"Internal error ({type(error).__name__}: {text}). The log of the job has the details."


def _written(store: Store, job: JobRecord, owner: str, outcome: Outcome, last: bool) -> bool | None:
    """Write the end of a job; return whether it was owned, or None to repeat it: the store is locked, away or full."""
    try:
        with store.writing() as w:
            return w.jobs.finish(
                job.id, owner, outcome.status, result=outcome.result, error=outcome.error, traceback=outcome.traceback
            )
    except StoreError as error:
        # A job that failed since the disk is full is resumed once there is room: nothing is said, nothing is lost.
        failed = outcome.status is JobStatus.FAILED and not isinstance(error, StoreUnavailableError)
        if last or failed or isinstance(error, SchemaError):
            raise
        logger.warning("The end of job %d is written again: %s", job.id, error)
        return None
