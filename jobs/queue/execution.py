"""Execution of a claimed job, in a worker or in the foreground."""

from __future__ import annotations

import errno
import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import Cancelled, ThemescopeError
from db.records import JobRecord, JobStatus
from db.store import Store
from jobs.common.context import JobContext, LeaveJob
from jobs.kinds import REGISTRY, check_job
from jobs.queue.heartbeat import Heartbeat

logger = logging.getLogger(__name__)

HEARTBEAT_S = 1.0
"""Seconds between two heartbeats of a running job; also the delay of a live curve."""


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    status: JobStatus
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    traceback: str = ""
    cause: Exception | None = None
    """The exception, for a caller that runs the job in the foreground."""


def execute(store: Store, job: JobRecord, context: JobContext) -> Outcome | None:
    """Run a job that ``context.owner`` has claimed; None if it must be left as it is (see :class:`LeaveJob`)."""
    heartbeat = Heartbeat(context.heartbeat, HEARTBEAT_S, f"heartbeat of job {job.id}")
    heartbeat.start()
    try:
        outcome = _run(job, context)
    except LeaveJob as reason:
        logger.info("Job %d released: %s.", job.id, type(reason).__name__)
        return None
    finally:
        heartbeat.stop()
    context.end()
    _finish(store, job, context.owner, outcome)
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
        return "The machine ran out of memory. Close other programs, or use less data or a smaller method."
    said = " ".join(str(error).split())[:200]
    if isinstance(error, OSError):
        return _refused(error, said)
    return f"Internal error ({type(error).__name__}: {said}). The log of the job has the details."


def _refused(error: OSError, said: str) -> str:
    """Return the message for a file operation that failed."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full. Make room on it and try again."
    if error.errno == errno.EFBIG:
        return "A file became larger than this system allows. Raise that limit (ulimit -f), or use less data."
    if isinstance(error, PermissionError) and error.filename:
        return f"Themescope may not open {error.filename!r}. Change its permissions and retry."
    if error.filename:
        return f"{error.filename!r} cannot be opened or written: {error.strerror}."
    return f"A file could not be read or written in full ({said}). Check the disk and its free space."


def _finish(store: Store, job: JobRecord, owner: str, outcome: Outcome) -> None:
    with store.writing() as w:
        w.jobs.finish(
            job.id,
            owner,
            outcome.status,
            result=outcome.result,
            error=outcome.error,
            traceback=outcome.traceback,
        )
    # A failed or cancelled job may be retried, and then goes on from its checkpoint.
    if outcome.status is JobStatus.DONE:
        store.artifacts.drop_checkpoint(job.id)
