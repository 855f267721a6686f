"""Runner of queued jobs, which recovers lost ones.

huey delivers a message at most once and does not know what a job did. The message therefore carries only the id of the
job, and its row decides: one worker claims it and sends heartbeats while it runs; when they stop, another resumes it.
A duplicate message has no effect; a missing one is sent again by :meth:`Runner.recover`.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from typing import TYPE_CHECKING

from db.records import JobRecord, JobStatus
from db.store import Store
from jobs.common.context import JobContext, Stop
from jobs.queue.attempts import CAP, forgive, note_attempt
from jobs.queue.control import STALE_S
from jobs.queue.execution import execute

if TYPE_CHECKING:
    from jobs.queue.huey_queue import JobQueue

logger = logging.getLogger(__name__)

LOST_S = 60.0
"""Seconds after which a queued job without a message is sent again."""


def new_owner() -> str:
    """Return a globally unique name for this process."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class Runner:
    """Runner of jobs in this process. Thread-safe: several worker threads may share one."""

    def __init__(self, store: Store, queue: JobQueue, owner: str | None = None) -> None:
        self.store, self.queue, self.owner = store, queue, owner or new_owner()
        self._running: dict[int, JobContext] = {}
        self._sent: dict[int, float] = {}
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Return whether a job is running in this process."""
        return bool(self._running)

    def run(self, job_id: int) -> None:
        """Run job ``job_id`` if it can be claimed."""
        job = self._claim(job_id)
        if job is None:
            return
        folder = self.store.artifacts.checkpoint_folder(job_id)
        if note_attempt(folder, job.attempt, job.progress) >= CAP:
            self._give_up(job)
        else:
            self._execute(job)
        self.send_dependents(job_id)

    def send_dependents(self, job_id: int) -> None:
        """Send the jobs that wait for ``job_id``; the store lets them start only if it is done."""
        with self.store.reading() as r:
            waiting = r.jobs.dependents(job_id)
        for next_id in waiting:
            self.queue.send(next_id)

    def recover(self) -> list[int]:
        """Send abandoned jobs, and queued ones without a message, again; return their ids."""
        with self.store.reading() as r:
            lost = r.jobs.stale(STALE_S)
            if self.queue.is_empty():
                lost += r.jobs.waiting(LOST_S)
        now = time.monotonic()
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
            forgive(self.store.artifacts.checkpoint_folder(job_id))
            with self.store.writing() as w:
                ours = w.jobs.requeue(job_id, owner=self.owner, interrupted=True)
            if ours:
                self.queue.send(job_id)

    def _claim(self, job_id: int) -> JobRecord | None:
        with self.store.writing() as w:
            return w.jobs.claim(job_id, self.owner, stale_s=STALE_S)

    def _execute(self, job: JobRecord) -> None:
        context = JobContext(self.store, job, self.owner)
        with self._lock:
            self._running[job.id] = context
        try:
            execute(self.store, job, context)
        finally:
            with self._lock:
                del self._running[job.id]

    def _give_up(self, job: JobRecord) -> None:
        error = (
            f"Given up: the worker died {CAP} times in a row at the same place of this job. Most often the machine "
            "ran out of memory. Make room, or use less data, and retry."
        )
        with self.store.writing() as w:
            w.jobs.finish(job.id, self.owner, JobStatus.FAILED, error=error)
