"""The worker process: a huey consumer that beats, recovers lost jobs, and lets go of its work when told to stop."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from huey.consumer import Consumer

from db.store import Store
from jobs.queue.heartbeat import Heart
from jobs.queue.huey_queue import JobQueue
from jobs.queue.runner import Runner
from jobs.queue.sweep import sweep

logger = logging.getLogger(__name__)

PRESENCE_S = 2.0
"""Seconds between two signs of life of a worker; pages say "no worker" after 10 s without one."""

IDLE_S = 20.0
"""Seconds without a job after which a new worker warms up."""

SWEEP_S = 60.0
"""Seconds between two looks for what killed jobs left behind."""

SWEEP_FILES_S = 3600.0
"""Seconds between two looks for the files of models that are gone; the first look is at the start."""

GRACE_S = 3.5
"""Seconds that a job gets to stop by itself at shutdown; honcho kills after 5."""


class Worker:
    """A consumer with its runner; what ``jobs.queue.consumer`` builds from the settings."""

    def __init__(self, store: Store, queue_name: str = "default", warm_up: bool = True) -> None:
        self.store = store
        self._cold = warm_up
        self.queue = JobQueue(store.settings.queue_url, queue_name, work=self._work)
        self.runner = Runner(store, self.queue)
        self._heart = Heart(self._present, PRESENCE_S, "presence of the worker")
        self._started = False
        self._swept, self._swept_files = -SWEEP_S, -SWEEP_FILES_S
        self._idle_since = time.monotonic()
        self.queue.huey.create_consumer = self.consumer
        self.queue.huey.on_startup()(self.start)
        self.queue.huey.on_shutdown()(self.leave)

    def consumer(self, **options: Any) -> Consumer:
        """A consumer; options are huey's. Polls twice a second when idle, and needs no periodic tasks."""
        options = {"max_delay": 0.5, "periodic": False, "shutdown_timeout": GRACE_S, **options}
        return _Consumer(self, **options)

    def start(self) -> None:
        """Begin to beat and to recover. huey calls it once for each of its threads."""
        if not self._started:
            self._started = True
            self._heart.start()

    def leave(self) -> None:
        """Say goodbye, so that pages know at once that nobody works."""
        self._heart.stop(timeout=2.0)
        with self.store.writing() as w:
            w.workers.leave(self.runner.owner)

    def _work(self, job_id: int) -> None:
        self.runner.run(job_id)

    def _present(self) -> None:
        with self.store.writing() as w:
            w.workers.beat(self.runner.owner, self.queue.name)
        self.runner.recover()
        self._warm_up()
        if time.monotonic() - self._swept >= SWEEP_S:
            self._swept = time.monotonic()
            sweep(self.store)
        if time.monotonic() - self._swept_files >= SWEEP_FILES_S:
            self._swept_files = time.monotonic()
            if gone := self.store.sweep_artifacts():
                logger.info("Removed the files of %d deleted models.", len(gone))

    def _warm_up(self) -> None:
        """Once, when there has been nothing to do for a while: compile what the first map would wait for."""
        now = time.monotonic()
        self._idle_since = now if self.runner.busy else self._idle_since
        if self._cold and now - self._idle_since >= IDLE_S:
            self._cold = False
            threading.Thread(target=_lay_out, name="warm-up", daemon=True).start()


class _Consumer(Consumer):
    """huey's consumer; on any stop signal it first tells running jobs to let go, then waits a moment for them."""

    def __init__(self, worker: Worker, **options: Any) -> None:
        self._owner = worker
        super().__init__(worker.queue.huey, **options)

    def stop(self, graceful: bool = False) -> None:
        self.stop_flag.set()
        self._owner.runner.shut_down()
        deadline = time.monotonic() + GRACE_S
        for _, thread in self.worker_threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        logger.info("The worker stopped.")


def run_worker(store: Store, workers: int = 1, queue_name: str = "default", warm_up: bool = True) -> None:
    """Work until told to stop (SIGTERM, SIGINT)."""
    Worker(store, queue_name, warm_up).queue.huey.create_consumer(workers=workers).run()


def _lay_out() -> None:
    """Draw a tiny map: umap-learn is imported, and its loops are compiled where they never were."""
    from core.precompile import project_points

    project_points()
