"""Worker process: a huey consumer that sends heartbeats, recovers and cleans up lost jobs, and stops gracefully."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from huey.consumer import Consumer

from themescope.core.errors import SchemaError
from themescope.db.records import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.backups.regular import queue_if_due
from themescope.jobs.kinds import REGISTRY
from themescope.jobs.kinds.import_corpus import remove_unfinished
from themescope.jobs.queue.execution import Heartbeat
from themescope.jobs.queue.huey_queue import JobQueue
from themescope.jobs.queue.runner import Runner

logger = logging.getLogger(__name__)

PRESENCE_S = 2.0
"""Seconds between two heartbeats of a worker; pages report a missing worker after 10 s without one."""

IDLE_S = 20.0
"""Seconds without a job after which a new worker precompiles."""

CLEANUP_S = 60.0
"""Seconds between two cleanups after killed jobs, and between two checks whether a backup is due."""

CLEANUP_FILES_S = 3600.0
"""Seconds between two removals of the files of deleted models, or more until no job runs; the first is at the start."""

GRACE_S = 3.5
"""Seconds that a job has to stop at shutdown; honcho kills the process after 5 s."""

ALL_JOBS = 10_000
"""Limit of a list of all active jobs."""

LEFTOVER_AGE = timedelta(minutes=1)
"""Minimum age of unfinished corpora and triplet sets that are removed; the job of a newer one may not be stored yet."""

CORPUS_S = 4.0
"""Seconds spent on one corpus per cleanup, during which the worker sends no heartbeat; the next one continues."""


class Worker:
    """A huey consumer with its runner."""

    def __init__(self, store: Store, queue_name: str = "default", warm_up: bool = True) -> None:
        self.store = store
        self._cold = warm_up
        self.queue = JobQueue(store.settings.queue_url, queue_name, work=lambda job_id: self.runner.run(job_id))
        self.runner = Runner(store, self.queue)
        self._heartbeat = Heartbeat(self._present, PRESENCE_S, "presence of the worker")
        self._started = False
        self.outdated: SchemaError | None = None
        """Why this worker stops, once the store has the tables of another version."""
        self._cleaned, self._files_cleaned = -CLEANUP_S, -CLEANUP_FILES_S
        self._idle_since = time.monotonic()
        self.queue.huey.create_consumer = self.consumer
        self.queue.huey.on_startup()(self.start)
        self.queue.huey.on_shutdown()(self.leave)

    def consumer(self, **options: Any) -> Consumer:
        """Return a huey consumer that polls twice a second when idle; ``options`` are those of huey."""
        options = {"max_delay": 0.5, "periodic": False, "shutdown_timeout": GRACE_S, **options}
        return _Consumer(self, **options)

    def run(self, workers: int = 1) -> None:
        """Run jobs in ``workers`` threads until the process is stopped (SIGTERM, SIGINT).

        Raises ``SchemaError`` if the store was migrated to another version meanwhile. Running jobs are queued again.
        """
        self.consumer(workers=workers).run()
        if self.outdated is not None:
            raise self.outdated

    @property
    def heartbeat_age(self) -> float:
        """Return the seconds since the last heartbeat that was written."""
        return self._heartbeat.age

    def start(self) -> None:
        """Start the heartbeat. huey calls this once for each of its threads."""
        if not self._started:
            self._started = True
            self._heartbeat.start()

    def leave(self) -> None:
        """Remove the row of this worker, so that pages report at once that it has stopped."""
        self._heartbeat.stop(timeout=2.0)
        with self.store.writing() as w:
            w.workers.leave(self.runner.owner)

    def _present(self) -> None:
        try:
            self.store.check_current()
        except SchemaError as error:
            self.outdated = error
            return
        with self.store.writing() as w:
            w.workers.heartbeat(self.runner.owner, self.queue.name)
        self.runner.recover()
        self._warm_up()
        if time.monotonic() - self._cleaned >= CLEANUP_S:
            self._cleaned = time.monotonic()
            remove_leftovers(self.store)
            queue_if_due(self.store, self.queue.send)
        if time.monotonic() - self._files_cleaned >= CLEANUP_FILES_S and self._no_job_runs():
            self._files_cleaned = time.monotonic()
            if removed := self.store.remove_unused_artifacts():
                logger.info("Removed the files of %d deleted models.", len(removed))
            if removed := self.store.remove_unused_vector_files():
                logger.info("Removed %d files of deleted vectors.", len(removed))

    def _no_job_runs(self) -> bool:
        """Return whether no worker runs a job. A file counts as new for a day, but the clock may jump by a day."""
        with self.store.reading() as r:
            return not r.jobs.heartbeats()

    def _warm_up(self) -> None:
        """Precompile the code of maps once, after a while without a job."""
        now = time.monotonic()
        self._idle_since = now if self.runner.busy else self._idle_since
        if self._cold and now - self._idle_since >= IDLE_S:
            self._cold = False
            threading.Thread(target=_precompile, name="warm-up", daemon=True).start()


class _Consumer(Consumer):
    """Consumer that, on a stop signal, requests that running jobs stop and waits ``GRACE_S`` for them."""

    def __init__(self, worker: Worker, **options: Any) -> None:
        self._owner = worker
        super().__init__(worker.queue.huey, **options)

    def loop(self, health_check_ts: float | None = None) -> float | None:
        """Wait for a moment, as huey does, and stop if the store has the tables of another version."""
        if self._owner.outdated is not None:
            self.stop()
        found: float | None = super().loop(health_check_ts)
        return found

    def stop(self, graceful: bool = False) -> None:
        self.stop_flag.set()
        self._owner.runner.shut_down()
        deadline = time.monotonic() + GRACE_S
        for _, thread in self.worker_threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        logger.info("The worker stopped.")


def _precompile() -> None:
    """Compute a tiny map, which imports umap-learn and compiles its inner loops where they are not cached."""
    from themescope.core.precompile import project_points

    project_points()


def remove_leftovers(store: Store) -> list[str]:
    """Delete unfinished corpora and triplet sets that no queued or running job writes, and return their names."""
    with store.reading() as r:
        corpora = [c for c in r.corpora.list(include_unready=True) if not c.ready]
        sets = [s for s in r.triplets.list(include_unready=True) if not s.ready]
        if not corpora and not sets:
            return []
        live = r.jobs.list(limit=ALL_JOBS, status=(JobStatus.QUEUED, JobStatus.RUNNING))
    if any("runs-others" in _tags(job) for job in live):
        return []  # Steps have no rows, so the objects that they write are unknown.
    limit = datetime.now(UTC) - LEFTOVER_AGE
    wanted = {job.args.get("corpus") for job in live if "fills-a-corpus" in _tags(job)}
    wanted_sets = {job.args.get("name") for job in live if "fills-a-triplet-set" in _tags(job)}
    # A bundle that is imported without a name gets the name in its manifest, which the arguments do not contain.
    gone_corpora = [] if "" in wanted else [c for c in corpora if c.name not in wanted and c.created < limit]
    gone_sets = [s for s in sets if s.name not in wanted_sets and s.created < limit]
    for corpus in gone_corpora:
        with store.writing() as w:
            w.corpora.abandon(corpus.id)
        remove_unfinished(store, corpus.id, CORPUS_S)
    for triplets in gone_sets:
        with store.writing() as w:
            w.triplets.delete(triplets.id)
    names = [c.name for c in gone_corpora] + [s.name for s in gone_sets]
    if names:
        logger.info("Removed unfinished corpora and triplet sets: %s.", ", ".join(names))
    return names


def _tags(job: JobRecord) -> frozenset[str]:
    return REGISTRY.get(job.kind).tags if job.kind in REGISTRY else frozenset()
