"""Worker process: runs queued jobs, sends heartbeats, cleans up after killed jobs, and stops gracefully."""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import time
from datetime import UTC, datetime, timedelta
from types import FrameType

from themescope.core.errors import SchemaError, ThemescopeError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.common import memory
from themescope.jobs.kinds import REGISTRY
from themescope.jobs.kinds.append_corpus import staged_name
from themescope.jobs.kinds.import_corpus import remove_unfinished
from themescope.jobs.queue.control import Heartbeat, wait_for_jobs, wake_workers
from themescope.jobs.queue.runner import Runner

logger = logging.getLogger(__name__)

POLL_S = 0.25
"""Seconds between two looks of an idle worker at the table of jobs."""

PRESENCE_S = 2.0
"""Seconds between two heartbeats of a worker; pages report a missing worker after 10 s without one."""

IDLE_S = 20.0
"""Seconds without a job after which a new worker precompiles."""

RENEWAL_S = math.inf if os.name == "nt" else 60.0  # on Windows, it would be a process that no supervisor knows
"""Seconds without a job after which a worker that has run some starts anew, without the models that they loaded."""

CLEANUP_S = 60.0
"""Seconds between two cleanups after killed jobs."""

CLEANUP_FILES_S = 3600.0
"""Seconds between two removals of the files of deleted models, or more until no job runs; the first is at the start."""

GRACE_S = 3.5
"""Seconds that a job has to stop at shutdown; ``webapp.start`` kills the process after 5 s."""

ALL_JOBS = 10_000
"""Limit of a list of all active jobs."""

LEFTOVER_AGE = timedelta(minutes=1)
"""Minimum age of unfinished corpora and triplet sets that are removed; the job of a newer one may not be stored yet."""

CORPUS_S = 4.0
"""Seconds spent on one corpus per cleanup, during which the worker sends no heartbeat; the next one continues."""


class Worker:
    """Threads that run the jobs of a queue, with their runner."""

    def __init__(self, store: Store, queue_name: str = "default", warm_up: bool = True) -> None:
        self.store = store
        self._cold = warm_up
        self.runner = Runner(store, queue_name)
        self._heartbeat = Heartbeat(self._present, PRESENCE_S, "presence of the worker")
        self._stopped, self._signalled = threading.Event(), False
        self.outdated: SchemaError | None = None
        """Why this worker stops, once the store has the tables of another version."""
        self._cleaned, self._files_cleaned = -CLEANUP_S, -CLEANUP_FILES_S
        self._idle_since, self._used = time.monotonic(), False
        self._renewed = False

    def run(self, workers: int = 1) -> bool:
        """Run jobs in ``workers`` threads until the process is stopped (SIGTERM, SIGINT) or :meth:`stop` is called.

        The default is one: jobs use all cores themselves, and do not share a GPU. With more, short jobs do not wait for
        a long training. Raises ``SchemaError`` if the store was migrated to another version meanwhile. Jobs that run at
        the end are queued again. Returns True if another worker should take the place of this process, which has been
        idle and still has the memory of its jobs: Python and PyTorch do not give it back.
        """
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._on_signal)
        threads = [threading.Thread(target=self._work, name=f"slot {n + 1}", daemon=True) for n in range(workers)]
        self._heartbeat.start()
        for thread in threads:
            thread.start()
        logger.info("The worker started.")
        while not self._signalled and not self._stopped.wait(POLL_S):
            pass
        self.stop()
        self.runner.shut_down()
        wake_workers()
        deadline = time.monotonic() + GRACE_S
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        self._heartbeat.stop(timeout=2.0)
        if self.outdated is None and self._renewed and not self._signalled:
            return True
        with self.store.writing() as w:
            w.workers.leave(self.runner.owner)  # so that pages report at once that it has stopped
        logger.info("The worker stopped.")
        if self.outdated is not None:
            raise self.outdated
        return False

    def stop(self) -> None:
        """Let :meth:`run` end."""
        self._stopped.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signalled = True  # setting the event could wait for a lock that the interrupted code holds

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                if self.runner.run_next():
                    self._idle_since, self._used = time.monotonic(), True
                    memory.give_back()
                else:
                    wait_for_jobs(POLL_S)
            except SchemaError as error:
                self.outdated = error
                self.stop()
            except Exception as error:
                logger.warning("No job could be claimed: %s", error, exc_info=not isinstance(error, ThemescopeError))
                self._stopped.wait(PRESENCE_S)

    def _present(self) -> None:
        try:
            self.store.check_current()
        except SchemaError as error:
            self.outdated = error
            self.stop()
            return
        with self.store.writing() as w:
            w.workers.heartbeat(self.runner.owner, self.runner.queue)
        self.runner.look()
        # Precompile the code of maps once, after a while without a job.
        now = time.monotonic()
        self._idle_since = now if self.runner.busy else self._idle_since
        if self._used and not self.runner.busy and now - self._idle_since >= RENEWAL_S:
            self._renewed = True
            self.stop()
            return
        if self._cold and now - self._idle_since >= IDLE_S:
            self._cold = False
            threading.Thread(target=_precompile, name="warm-up", daemon=True).start()
        if time.monotonic() - self._cleaned >= CLEANUP_S:
            self._cleaned = time.monotonic()
            remove_leftovers(self.store)
        if time.monotonic() - self._files_cleaned >= CLEANUP_FILES_S and self._no_job_runs():
            self._files_cleaned = time.monotonic()
            with self.store.writing() as w:
                old = w.jobs.remove_old()
            for id in old:
                self.store.artifacts.drop_checkpoint(id)
            self.store.release_free_pages()
            if removed := self.store.remove_unused_artifacts():
                logger.info("Removed the files of %d deleted models.", len(removed))
            if removed := self.store.remove_unused_vector_files():
                logger.info("Removed %d files of deleted vectors.", len(removed))

    def _no_job_runs(self) -> bool:
        """Return whether no worker runs a job. A file counts as new for a day, but the clock may jump by a day."""
        with self.store.reading() as r:
            return not r.jobs.heartbeats()


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
    wanted |= {staged_name(job.id) for job in live if "adds-a-wave" in _tags(job)}
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
