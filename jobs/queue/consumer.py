"""Worker for ``huey_consumer jobs.queue.consumer.huey``, configured by environment variables.

Nothing is opened when this module is imported; ``huey`` is built on first access.
``themescope worker`` does the same and is the recommended way to start one.
"""

from __future__ import annotations

import os
from functools import cache

# Waiting OpenMP threads must not occupy a core that another process needs: 2.4 s became 18 s when two processes
# shared two cores. Torch reads this when it is imported, so it is set before anything can import torch.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from db.settings import Settings
from db.store import Store
from jobs.queue.worker import Worker


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
