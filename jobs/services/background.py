"""Functions for pages and the command line to queue and control background jobs."""

from __future__ import annotations

from jobs.kinds import check_job
from jobs.queue.control import abandoned, cancel, enqueue, forget, retry, worker_alive
from jobs.services.demo import seed_demo

__all__ = ["abandoned", "cancel", "check_job", "enqueue", "forget", "retry", "seed_demo", "worker_alive"]
