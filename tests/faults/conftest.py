from __future__ import annotations

from tests.jobs.conftest import add, queue, runner, toys

__all__ = ["add", "queue", "runner", "toys"]
