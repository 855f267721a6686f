"""What the function of a job kind receives: its config, and a context with store, progress report and stop request.

A job calls its report about every second. The calls only change values in memory; the heartbeat of the job
(:mod:`themescope.jobs.queue.control`) writes them to the store, so that reporting never waits for the disk.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import ClassVar

from themescope.core.config import Config
from themescope.core.errors import Cancelled
from themescope.core.records.answers import MetricPoint
from themescope.core.records.stored import JobRecord
from themescope.core.types import SubReport
from themescope.db.store import Store, Unit
from themescope.jobs.executors import ShardExecutor, open_executor

logger = logging.getLogger(__name__)

Watcher = Callable[[float, str], None]
"""Callback for the share done (0…1) and the message of a job."""


@dataclass(frozen=True)
class JobConfig(Config):
    """Arguments of a job: names and ids, never objects, so that a chain of jobs can be queued at once.

    A field that is a mapping has the settings of an implementation that another field names, such as a method.
    ``validate`` builds their config, so that invalid settings are rejected when the job is queued.
    """

    TITLE: ClassVar[str]
    """One-line description of the job, with names of arguments in braces; or override :meth:`title`."""

    def title(self) -> str:
        """Return a one-line description of the job."""
        return self.TITLE.format_map(vars(self))


class LeaveJob(BaseException):
    """Raised to leave a job unchanged: another worker owns it, or it will be resumed later.

    Not an ``Exception``, so that clean-up for failures, such as removing imported rows, does not run.
    """


class OwnershipLost(LeaveJob):
    """Raised when another worker has taken over the job, because this one sent no heartbeat."""


class Interrupted(LeaveJob):
    """Raised when the worker shuts down; the job is queued again and resumes from its checkpoint."""


class Stop(Enum):
    """Reason to stop a job."""

    CANCEL = Cancelled
    LOST = OwnershipLost
    SHUTDOWN = Interrupted


class JobContext:
    """Report and store access of one attempt at a job; progress is kept in the job's row."""

    def __init__(self, store: Store, job: JobRecord, owner: str, watcher: Watcher | None = None) -> None:
        self.store, self.job_id, self.owner = store, job.id, owner
        self.last: dict[str, MetricPoint] = {}
        """Latest point of every curve, recorded with the result."""
        self._executor: ShardExecutor | None = None
        self._watcher = watcher
        self._lock = threading.Lock()
        self._share, self._message = job.progress, job.message
        self._metrics: list[MetricPoint] = []
        self._stop = Stop.CANCEL if job.cancel else None

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Record the share done; raise ``Cancelled`` or :class:`LeaveJob` if the job should stop."""
        share = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
        with self._lock:
            self._share, self._message = share, message or self._message
        if self._watcher is not None:
            self._watcher(share, self._message)
        self.check()

    def metric(self, name: str, step: float, value: float) -> None:
        """Record one point of a live curve."""
        point = MetricPoint(name, float(step), float(value))
        with self._lock:
            self.last[name] = point
            self._metrics.append(point)
        self.check()

    def checkpoint_folder(self) -> Path:
        """Return the job's checkpoint folder, which survives a crash of the worker."""
        return self.store.artifacts.checkpoint_folder(self.job_id)

    @property
    def executor(self) -> ShardExecutor:
        """Workers for the shards of the job, as the setting ``EXECUTOR_URL`` says; they stay until the job ends."""
        if self._executor is None:
            self._executor = open_executor(self.store.settings.executor_url)
        return self._executor

    def close(self) -> None:
        """End the workers of the job."""
        if self._executor is not None:
            self._executor.close()

    def part(self, low: float, high: float, message: str = "") -> SubReport:
        """Return a report for one stage, whose 0…1 is ``low``…``high`` of the job."""
        return SubReport(self, low, high, message)

    def stop(self, why: Stop) -> None:
        """Stop the job at its next report; later reasons are ignored."""
        with self._lock:
            self._stop = self._stop or why

    def check(self) -> None:
        """Raise the error of a stop request, if there is one."""
        if self._stop is not None:
            raise self._stop.value()

    @contextmanager
    def writing(self) -> Iterator[Unit]:
        """Begin a transaction that fails unless this worker still owns the job.

        Otherwise a worker that was considered dead, or is shutting down, could write the same as the worker that
        resumed the job. Raises :class:`OwnershipLost`; nothing is written then.
        """
        with self.store.writing() as w:
            if not w.jobs.heartbeat(self.job_id, self.owner).owned:
                raise OwnershipLost
            yield w

    def heartbeat(self) -> None:
        """Write progress and metrics to the row, and read stop requests. Called by the heartbeat thread."""
        with self._lock:
            share, message, points = self._share, self._message, self._metrics
            self._metrics = []
        try:
            with self.store.writing() as w:
                reply = w.jobs.heartbeat(self.job_id, self.owner, progress=share, message=message)
                if reply.owned and points:
                    w.jobs.add_metrics(self.job_id, points)
        except Exception:
            with self._lock:
                self._metrics = points + self._metrics
            logger.warning("The heartbeat of job %d was not written; trying again.", self.job_id, exc_info=True)
            return
        if not reply.owned:
            self.stop(Stop.LOST)
        elif reply.cancel:
            self.stop(Stop.CANCEL)

    def end(self) -> None:
        """Write the remaining metrics when the job ends."""
        with self._lock:
            self._message = ""
        self.heartbeat()
