"""The program as it is, but its jobs stop half way and wait there until they are told to stop, or killed.

``python -m tests.jobs.held write 2 worker`` is ``themescope worker`` whose jobs stand still after their second write.
``nothing 0`` holds none. Such a worker takes over a job after ``SILENT_S`` seconds without a heartbeat instead of 12.
Whoever kills, stops or cancels a job in the middle would otherwise race with its end, and lose on a busy machine.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from themescope.db.store import Unit
from themescope.jobs.cli.main import main
from themescope.jobs.common.job import JobContext
from themescope.jobs.queue import runner

SILENT_S = 4.0
LONGEST_S = 600.0  # nobody comes: the test is long over


def hold(sign: str, number: int) -> None:
    """Stand still at the ``number``-th "write" or "progress" of this process."""
    progress, writing = JobContext.progress, JobContext.writing
    signs = count(1)

    def wait(context: JobContext) -> None:
        if next(signs) != number:
            return
        end = time.monotonic() + LONGEST_S
        while context._stop is None and time.monotonic() < end:
            time.sleep(0.01)
        context.check()

    def progress_and_wait(self: JobContext, done: float, total: float, message: str = "") -> None:
        progress(self, done, total, message)
        wait(self)

    @contextmanager
    def write_and_wait(self: JobContext) -> Iterator[Unit]:
        with writing(self) as w:
            yield w
        wait(self)

    if sign == "write":
        JobContext.writing = write_and_wait  # type: ignore[method-assign]
    elif sign == "progress":
        JobContext.progress = progress_and_wait  # type: ignore[method-assign]


if __name__ == "__main__":
    runner.STALE_S = SILENT_S  # type: ignore[attr-defined]
    hold(sys.argv[1], int(sys.argv[2]))
    main(sys.argv[3:])
