"""Worker for ``huey_consumer jobs.queue.consumer.huey``, configured by environment variables.

``huey`` is built on first access, not on import. ``themescope worker`` does the same and is recommended.
"""

from __future__ import annotations

import os
from functools import cache

# Waiting OpenMP threads must not occupy a core that another process needs: with two processes on two cores, 2.4 s
# became 18 s. Torch reads this when it is imported, so it is set first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue.worker import Worker


@cache
def worker() -> Worker:
    """Return the worker of this process, with a migrated store."""
    store = Store(Settings.from_environment())
    store.migrate()
    return Worker(store)


def __getattr__(name: str) -> object:
    if name == "huey":
        return worker().queue.huey
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
