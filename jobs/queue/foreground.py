"""Foreground execution of jobs with a progress bar, with the same code and row as in a worker.

Pages show a foreground job as running. If this process is killed, a worker resumes the job.
"""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import FrameType
from typing import Any

import click

from themescope.core.errors import Cancelled, DataError, ThemescopeError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext, Stop
from themescope.jobs.kinds import check_job
from themescope.jobs.queue.control import STALE_S
from themescope.jobs.queue.execution import HEARTBEAT_S, execute
from themescope.jobs.queue.runner import Watch, new_owner


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

    def __call__(self, share: float, message: str) -> None:
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
