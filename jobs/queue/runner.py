"""Runner of queued jobs, which recovers lost ones.

huey delivers a message at most once and does not know what a job did. The message therefore carries only the id of the
job, and its row decides: one worker claims it and sends heartbeats while it runs; when they stop, another resumes it.
A duplicate message has no effect; a missing one is sent again by :meth:`Runner.recover`.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from themescope.db.migrate import check_current
from themescope.db.records import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext, Stop
from themescope.jobs.queue.control import STALE_S
from themescope.jobs.queue.execution import Outcome, execute, sentence_for
from themescope.jobs.queue.watch import Watch

if TYPE_CHECKING:
    from themescope.jobs.queue.huey_queue import JobQueue

logger = logging.getLogger(__name__)

LOST_S = 20.0
"""Seconds after which a queued job without a message is sent again."""

MAX_ATTEMPTS = 5
"""Attempts without progress after which a job fails."""

_GIVEN_UP = (
    f"The worker died {MAX_ATTEMPTS} times in a row at the same point of this job, probably because the machine ran "
    "out of memory, or it lost the database each time. Free memory or use less data, then retry."
)
_ATTEMPTS = "attempts.json"


def new_owner() -> str:
    """Return a globally unique name for this process."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class Runner:
    """Runner of jobs in this process. Thread-safe: several worker threads may share one."""

    def __init__(self, store: Store, queue: JobQueue, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.queue, self.owner = store, queue, new_owner()
        self._clock = clock
        self._heartbeats, self._waiting = Watch(STALE_S, clock), Watch(LOST_S, clock)
        self._running: dict[int, JobContext] = {}
        self._taken: set[int] = set()
        self._sent: dict[int, float] = {}
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Return whether a job is running in this process."""
        return bool(self._running)

    def run(self, job_id: int) -> None:
        """Run job ``job_id`` if it can be claimed; raise ``SchemaError`` if the store is of another version.

        A job that a thread of this process runs is never claimed again, even if its heartbeat stopped, as during a
        long lock: both threads would own it.
        """
        with self._lock:
            if job_id in self._taken:
                return
            self._taken.add(job_id)
        try:
            self._run(job_id)
        finally:
            with self._lock:
                self._taken.discard(job_id)

    def _run(self, job_id: int) -> None:
        job = self._claim(job_id)
        if job is None:
            return
        try:
            folder = self.store.artifacts.checkpoint_folder(job_id)
            attempts = note_attempt(folder, job.attempt, job.progress)
        except OSError as error:  # nothing can be written here, so the job cannot run
            self._fail(job, sentence_for(error))
        else:
            if attempts >= MAX_ATTEMPTS:
                self._fail(job, _GIVEN_UP)
            elif self._execute(job) is None:
                return
        self.send_dependents(job_id)

    def send_dependents(self, job_id: int) -> None:
        """Send the jobs that wait for ``job_id``; the store lets them start only if it is done."""
        with self.store.reading() as r:
            waiting = r.jobs.dependents(job_id)
        for next_id in waiting:
            self.queue.send(next_id)

    def recover(self) -> list[int]:
        """Send abandoned jobs, and queued ones without a message, again; return their ids. Call it every few seconds.

        A job is abandoned when this process has seen the same heartbeat for ``STALE_S`` seconds.
        """
        with self.store.reading() as r:
            running, queued = r.jobs.heartbeats(), r.jobs.waiting()
        lost, waiting = self._heartbeats.look(running), self._waiting.look(queued)
        if waiting and self.queue.is_empty():
            lost += waiting
        now = self._clock()
        with self._lock:  # a message for a job of this process would be dropped, and missing when the job is released
            lost = [i for i in lost if i not in self._taken]
        again = [i for i in lost if now - self._sent.get(i, -LOST_S) >= LOST_S]
        self._sent = {i: at for i, at in self._sent.items() if i in lost} | dict.fromkeys(again, now)
        for job_id in again:
            logger.info("Job %d is sent to the queue again.", job_id)
            self.queue.send(job_id)
        return again

    def shut_down(self) -> None:
        """Queue every running job again, to be resumed by the next worker."""
        with self._lock:
            running = list(self._running.items())
        for job_id, context in running:
            context.stop(Stop.SHUTDOWN)
            reset_attempts(self.store.artifacts.checkpoint_folder(job_id))
            with self.store.writing() as w:
                ours = w.jobs.requeue(job_id, owner=self.owner, interrupted=True)
            if ours:
                self.queue.send(job_id)

    def _claim(self, job_id: int) -> JobRecord | None:
        with self.store.writing() as w:
            job = w.jobs.claim(job_id, self.owner, self._heartbeats.unchanged(job_id))
            # After the claim, in its transaction: a migration is seen here, or waits and then takes the job back.
            check_current(w.jobs.connection, self.store.settings)
        return job

    def _execute(self, job: JobRecord) -> Outcome | None:
        context = JobContext(self.store, job, self.owner)
        with self._lock:
            self._running[job.id] = context
        try:
            return execute(self.store, job, context, resumable=True)
        finally:
            with self._lock:
                del self._running[job.id]

    def _fail(self, job: JobRecord, error: str) -> None:
        with self.store.writing() as w:
            w.jobs.finish(job.id, self.owner, JobStatus.FAILED, error=error)


def note_attempt(folder: Path, attempt: int, progress: float) -> int:
    """Record the start of attempt ``attempt`` (from 1); return the number of attempts without progress.

    A job may be interrupted any number of times as long as it makes progress between two interruptions. The counter is
    stored beside the checkpoint.
    """
    path = folder / _ATTEMPTS
    best, idle = 0.0, 0
    if attempt > 1:
        best, idle = _read(path, progress)
        best, idle = (progress, 0) if progress > best else (best, idle + 1)
    path.write_text(json.dumps({"best": best, "vain": idle}), encoding="utf-8")
    return idle


def reset_attempts(folder: Path) -> None:
    """Reset the counter after an interruption that the job did not cause."""
    (folder / _ATTEMPTS).unlink(missing_ok=True)


def _read(path: Path, progress: float) -> tuple[float, int]:
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
        return float(noted["best"]), int(noted["vain"])
    except (OSError, ValueError, KeyError, TypeError):
        return progress, -1
