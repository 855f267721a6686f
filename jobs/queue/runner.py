"""Runner of queued jobs, which resumes abandoned ones.

One worker claims the row of a job and sends heartbeats while it runs; when they stop, another one resumes the job.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

import click

from themescope.core.errors import Cancelled, DataError, ThemescopeError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.engine import check_current
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext, Stop
from themescope.jobs.kinds import check_job
from themescope.jobs.queue.control import HEARTBEAT_S, STALE_S, execute, sentence_for, wake_workers

GAP_S = 3.0
"""Most seconds that count between two looks: after a long lock or a sleep, the other side gets time too."""


class Watch:
    """Watch of one time per job, such as its heartbeat, by the monotonic clock of this process.

    The times come from the clocks of several machines, which differ and jump. They are therefore never compared with
    the clock of this machine: a job whose time changes is alive, whatever the time is.
    """

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit_s, clock
        self._looked, self._watched = clock(), 0.0
        self._seen: dict[int, tuple[datetime, float]] = {}

    def look(self, times: Mapping[int, datetime]) -> dict[int, datetime]:
        """Note the current ``times``; return those that have not changed for the limit of seconds, by id."""
        now = self._clock()
        self._watched += min(now - self._looked, GAP_S)
        self._looked = now
        before = self._seen
        self._seen = {
            id: before[id] if id in before and before[id][0] == value else (value, self._watched)
            for id, value in times.items()
        }
        return {id: time for id, time in times.items() if self.unchanged(id) is not None}

    def unchanged(self, id: int) -> datetime | None:
        """Return the time of a job if it has not changed for the limit of seconds at the last look, else None."""
        value, since = self._seen.get(id, (None, self._watched))
        return value if self._watched - since >= self._limit else None


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

    def __init__(self, store: Store, queue: str = "default", clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.queue, self.owner = store, queue, new_owner()
        self._heartbeats = Watch(STALE_S, clock)
        self._abandoned: dict[int, datetime] = {}
        self._running: dict[int, JobContext] = {}
        self._claiming, self._lock = threading.Lock(), threading.Lock()
        self._stopping = False

    @property
    def busy(self) -> bool:
        """Return whether a job is running in this process."""
        return bool(self._running)

    def run_next(self) -> bool:
        """Run the next job of the queue; return False if there is none that can start now.

        Raises ``SchemaError`` if the store is of another version, and ``StoreUnavailableError`` if it does not answer.
        """
        with self._claiming:
            job = self._claim()
            if job is None:
                return False
            context = JobContext(self.store, job, self.owner)
            with self._lock:
                self._running[job.id] = context
                stopping = self._stopping
        try:
            if stopping:
                self._give_back(job.id, context)
            else:
                self._run(job, context)
        finally:
            with self._lock:
                del self._running[job.id]
        wake_workers()  # for the jobs that wait for this one
        return True

    def look(self) -> list[int]:
        """Look at the heartbeats of all jobs; return the ids of abandoned ones, which are claimed like queued ones.

        A job is abandoned when this process has seen the same heartbeat for ``STALE_S`` seconds. Call this every few
        seconds.
        """
        with self.store.reading() as r:
            running = r.jobs.heartbeats()
        self._abandoned = self._heartbeats.look(running)
        with self._lock:
            return [id for id in self._abandoned if id not in self._running]

    def shut_down(self) -> None:
        """Queue every running job again, to be resumed by the next worker; no further one is run."""
        with self._lock:
            self._stopping = True
            running = list(self._running.items())
        for job_id, context in running:
            self._give_back(job_id, context)

    def _give_back(self, job_id: int, context: JobContext) -> None:
        context.stop(Stop.SHUTDOWN)
        # An interruption that the job did not cause does not count.
        (self.store.artifacts.checkpoint_folder(job_id) / _ATTEMPTS).unlink(missing_ok=True)
        with self.store.writing() as w:
            w.jobs.requeue(job_id, owner=self.owner, interrupted=True)

    def _claim(self) -> JobRecord | None:
        """Claim a job. Those of this process are left, even if their heartbeats stopped, as during a long lock."""
        with self._lock:
            ours = [*self._running]
        with self.store.reading() as r:  # waits for no writer; most looks find nothing
            if self._stopping or not r.jobs.has_claimable(self._abandoned, self.queue, ours):
                return None
        with self.store.writing() as w:
            job = w.jobs.claim_next(self.owner, self._abandoned, queue=self.queue, leave=ours)
            # After the claim, in its transaction: a migration is seen here, or waits and then takes the job back.
            check_current(w.jobs.connection, self.store.settings)
        return job

    def _run(self, job: JobRecord, context: JobContext) -> None:
        try:
            folder = self.store.artifacts.checkpoint_folder(job.id)
            attempts = note_attempt(folder, job.attempt, job.progress)
        except OSError as error:  # nothing can be written here, so the job cannot run
            self._fail(job, sentence_for(error))
            return
        if attempts >= MAX_ATTEMPTS:
            self._fail(job, _GIVEN_UP)
        else:
            execute(self.store, job, context, resumable=True)

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
        try:
            noted = json.loads(path.read_text(encoding="utf-8"))
            best, idle = float(noted["best"]), int(noted["vain"])
        except (OSError, ValueError, KeyError, TypeError):
            best, idle = progress, -1
        best, idle = (progress, 0) if progress > best else (best, idle + 1)
    path.write_text(json.dumps({"best": best, "vain": idle}), encoding="utf-8")
    return idle


# Foreground execution of jobs with a progress bar, with the same code and row as in a worker


class JobFailed(ThemescopeError):
    """Raised when a foreground job failed because of a defect; ``traceback`` is for the bug report."""

    def __init__(self, job_id: int, error: str, traceback: str) -> None:
        self.job_id, self.traceback = job_id, traceback
        super().__init__(error)


def run_here(store: Store, kind: str, args: Mapping[str, Any], *, quiet: bool = False) -> dict[str, Any]:
    """Run a job in this process and return its result.

    Raises the ``ThemescopeError`` of the job, :class:`JobFailed` for a defect, and ``Cancelled`` after Ctrl-C or if
    somebody cancelled the job on a page.
    """
    config = check_job(kind, args)
    owner = new_owner()
    with store.writing() as w:
        job = w.jobs.add(kind, config.title(), config.to_dict())
        claimed = w.jobs.claim(job.id, owner)
    assert claimed is not None
    return _run_claimed(store, claimed, owner, quiet)


def resume_here(store: Store, kind: str, args: Mapping[str, Any], *, quiet: bool = False) -> dict[str, Any]:
    """Run a job like :func:`run_here`, but resume an unfinished one with the same arguments from its checkpoint.

    If it seems to be running, its heartbeat is watched first. Raises ``DataError`` if another process runs it.
    """
    wanted = check_job(kind, args).to_dict()
    owner = new_owner()
    with store.reading() as r:
        last = next((job for job in r.jobs.list(limit=10_000) if (job.kind, job.args) == (kind, wanted)), None)
    if last is None or last.status is JobStatus.DONE:
        return run_here(store, kind, args, quiet=quiet)
    silent = _watched(store, last)
    with store.writing() as w:
        if last.status.ended:
            w.jobs.retry(last.id)
        claimed = w.jobs.claim(last.id, owner, silent)
    if claimed is None:
        raise DataError(f"Job {last.id} with the same arguments is running. Wait for it to end, or cancel it.")
    return _run_claimed(store, claimed, owner, quiet)


def _watched(store: Store, job: JobRecord) -> datetime | None:
    """Return the heartbeat of a running job if it does not change for ``STALE_S`` seconds, else None."""
    watch, first = Watch(STALE_S), job.heartbeat
    while first is not None and job.status is JobStatus.RUNNING and job.heartbeat == first:
        if watch.look({job.id: first}):
            return first
        time.sleep(HEARTBEAT_S / 2)
        with store.reading() as r:
            job = r.jobs.get(job.id)
    return None


def _run_claimed(store: Store, claimed: JobRecord, owner: str, quiet: bool) -> dict[str, Any]:
    bar = Bar(claimed.title, quiet)
    context = JobContext(store, claimed, owner, watcher=bar)
    with _ctrl_c(lambda: context.stop(Stop.CANCEL)):
        outcome = execute(store, claimed, context)
    bar.end(outcome is not None and outcome.status is JobStatus.DONE)
    if outcome is None:
        raise JobFailed(claimed.id, f"A worker has taken over job {claimed.id} and continues it.", "")
    if outcome.status is JobStatus.CANCELLED:
        raise Cancelled
    if isinstance(outcome.cause, ThemescopeError):
        raise outcome.cause
    if outcome.status is JobStatus.FAILED:
        raise JobFailed(claimed.id, outcome.error, outcome.traceback)
    return {"job": claimed.id, **outcome.result}


class Bar:
    """Progress line on standard error: redrawn in a terminal, repeated at intervals in a log."""

    def __init__(self, title: str, quiet: bool = False) -> None:
        self._title, self._quiet = title, quiet
        self._terminal = sys.stderr.isatty()
        # In a log, the first line is written after ten seconds, so that short jobs write only their last line.
        self._last, self._line = 0.0 if self._terminal else time.monotonic(), ""

    def __call__(self, share: float, message: str = "") -> None:
        """Show the progress, at most ten times a second."""
        now = time.monotonic()
        if self._quiet or now - self._last < (0.1 if self._terminal else 10.0):
            return
        self._last = now
        self._show(share, message)

    def end(self, success: bool) -> None:
        """Finish the line."""
        if not self._quiet:
            self._show(1.0 if success else 0.0, "done" if success else "stopped")
            if self._terminal:
                click.echo(err=True)

    def _show(self, share: float, message: str) -> None:
        filled = round(24 * share)
        line = f"{self._title}  [{'█' * filled}{'·' * (24 - filled)}] {share:4.0%}  {message}"
        if self._terminal:
            click.echo("\r\x1b[2K" + line[: shutil.get_terminal_size().columns - 1], nl=False, err=True)
        elif line != self._line:
            click.echo(line, err=True)
        self._line = line


@contextmanager
def _ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Handle Ctrl-C: the first one stops the job at its next report, the second one stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def follow(store: Store, job_id: int, show: Callable[[JobRecord], None], every: float = 0.5) -> JobRecord:
    """Call ``show`` with the row until the job has ended."""
    while True:
        with store.reading() as r:
            job = r.jobs.get(job_id)
        show(job)
        if job.status.ended:
            return job
        time.sleep(every)
