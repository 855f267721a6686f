"""Worker of ``benchmarks/faults.py``, whose jobs pause, and whose clock can be moved.

    python -m benchmarks._paced_worker FOLDER [NUMBER]

While FOLDER has a file ``paced``, each report and transaction of a job appends a byte to it, and from the NUMBER-th
one on the job pauses after each. The file ``days`` has the number of days by which the clock is ahead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

PAUSE_S = 1.0


def move_clock(file: Path) -> None:
    """Move ``time.time`` and the clock of the store by the days in ``file``; call it before they are imported."""
    import themescope.db.sql as sql

    seconds, now = time.time, sql.now

    def ahead() -> timedelta:
        with suppress(OSError, ValueError):
            return timedelta(days=float(file.read_text(encoding="utf-8")))
        return timedelta(0)

    def moved_seconds() -> float:
        return seconds() + ahead().total_seconds()

    def moved_now() -> datetime:
        return now() + ahead()

    time.time, sql.now = moved_seconds, moved_now


def pause_jobs(file: Path, first: int) -> None:
    """Let jobs pause after every report and transaction, from number ``first`` on, while ``file`` exists."""
    from themescope.db.store import Unit
    from themescope.jobs.common.job import JobContext

    progress, writing = JobContext.progress, JobContext.writing

    def pause() -> None:
        with suppress(FileNotFoundError), file.open("r+b") as stream:
            number = len(stream.read()) + 1
            stream.write(b".")
            stream.flush()
            end = time.monotonic() + (PAUSE_S if number >= first else 0.0)
            while file.exists() and time.monotonic() < end:
                time.sleep(0.02)

    def paused_progress(self: JobContext, done: float, total: float, message: str = "") -> None:
        progress(self, done, total, message)
        pause()

    @contextmanager
    def paused_writing(self: JobContext) -> Iterator[Unit]:
        with writing(self) as w:
            yield w
        pause()

    JobContext.progress = paused_progress  # type: ignore[method-assign]
    JobContext.writing = paused_writing  # type: ignore[method-assign]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    move_clock(folder / "days")
    pause_jobs(folder / "paced", int(sys.argv[2]))
    from themescope.jobs.cli.main import main

    main(["worker", "--no-warm-up"])
