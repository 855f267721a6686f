"""Trainings of a reproduction as background jobs of their own, which all workers take, on this machine or others.

The reproduction is one of the workers: it runs the jobs that no other worker has taken, so that it never waits for
workers that do not exist, and nothing is trained twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from themescope.core.errors import Cancelled, DataError, StoreError, ThemescopeError
from themescope.core.protocols import Report
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.jobs.common.job import JobContext
from themescope.jobs.kinds import check_job
from themescope.jobs.papers.work import ModelKey, Work
from themescope.jobs.queue.control import STALE_S, cancel, enqueue, execute, retry
from themescope.jobs.queue.runner import Watch, new_owner

Json: TypeAlias = dict[str, Any]
POLL_S = 1.0
"""Seconds between two looks at the jobs of other workers."""
_ALL_JOBS = 10_000


class QueuedTrainings:
    """Trainings of models by this process and all workers, as jobs of the kind train."""

    def __init__(self, work: Work) -> None:
        self._work, self._context = work, work.steps.context
        self._store = self._context.store
        self._jobs: dict[ModelKey, int] = {}
        self._added: list[int] = []
        self._watch = Watch(STALE_S)
        self._done = self._elsewhere = 0
        self._total = 0

    def run(self, models: Sequence[ModelKey], report: Report) -> None:
        """Train those of ``models`` that are trained and not stored yet; an error is left for the rows that need them.

        If the reproduction is cancelled, its trainings are. If it is interrupted, they go on on other workers.
        """
        waiting = list(models)
        self._total = len(waiting)
        try:
            while waiting or self._jobs:
                waiting = self._queue(waiting)
                self._collect()
                self._report(report, 0.0)
                if self._jobs and not self._run_one(report):
                    time.sleep(POLL_S)
        except Cancelled:
            for id in self._added:
                cancel(self._store, id)
            raise

    def _queue(self, waiting: Sequence[ModelKey]) -> list[ModelKey]:
        """Queue the trainings of the models whose parts are there; return the other models."""
        later: list[ModelKey] = []
        for key in waiting:
            if any(part in later or part in self._jobs for part in self._work.parts_of(key)):
                later.append(key)
            elif (args := self._args(key)) is None:
                self._done += 1
            else:
                self._jobs[key] = self._job(args).id
                self._added.append(self._jobs[key])
        return later

    def _args(self, key: ModelKey) -> Json | None:
        """Return the arguments of the training, or None if nothing is to be trained here."""
        try:
            return self._work.missing_training(key)
        except (Cancelled, StoreError):
            raise
        except ThemescopeError:
            return None  # The rows of the model report it.

    def _job(self, args: Json) -> JobRecord:
        """Return the unfinished job with these arguments, queued again if it failed or was cancelled, or a new one."""
        wanted = check_job("train", args).to_dict()
        with self._store.reading() as r:
            jobs = r.jobs.list(limit=_ALL_JOBS)
        last = next((job for job in jobs if (job.kind, job.args) == ("train", wanted)), None)
        if last is None or last.status is JobStatus.DONE:
            return enqueue(self._store, "train", args, files_known=True)
        return retry(self._store, last.id) if last.status.ended else last

    def _collect(self) -> None:
        """Note which jobs have ended, and count those that run elsewhere."""
        with self._store.reading() as r:
            jobs = {key: r.jobs.get(id) for key, id in self._jobs.items()}
            self._watch.look(r.jobs.heartbeats())
        for key, job in jobs.items():
            if job.status.ended:
                self._end(key, job)
        self._elsewhere = sum(job.status is JobStatus.RUNNING for job in jobs.values())

    def _end(self, key: ModelKey, job: JobRecord) -> None:
        del self._jobs[key]
        self._done += 1
        if job.status is JobStatus.DONE:
            self._work.steps.computed += not job.result.get("cached", False)
        else:
            reason = "was cancelled" if job.status is JobStatus.CANCELLED else f"failed: {job.error}"
            self._work.refuse(key, DataError(f"Job {job.id}, which was to train this model, {reason}"))

    def _run_one(self, report: Report) -> bool:
        """Run a job that no worker has; return whether there was one."""
        owner = new_owner()
        for id in self._jobs.values():
            with self._store.writing() as w:
                job = w.jobs.claim(id, owner, self._watch.unchanged(id))
            if job is not None:
                break
        else:
            return False

        def watch(share: float, text: str) -> None:
            self._report(report, share, text)

        if execute(self._store, job, JobContext(self._store, job, owner, watcher=watch)) is None:
            with self._store.writing() as w:
                w.jobs.requeue(job.id, owner, interrupted=True)
        self._context.check()
        return True

    def _report(self, report: Report, share: float, text: str = "") -> None:
        elsewhere = f", {self._elsewhere} running on other workers" if self._elsewhere else ""
        message = f"{self._done} of {self._total} models ready{elsewhere}"
        report.progress(self._done + share, self._total, f"{message}. {text}" if text else message)
