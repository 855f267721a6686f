"""Files are read in a process of their own, with limits of memory and of time, so that none can stop a worker.

The limits are a second line of defence: the readers themselves take time and memory in proportion to a file, and limit
lines and articles (:mod:`themescope.core.readers.streams`). They hold for readers of plug-ins too.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from themescope.core.errors import ReadError
from themescope.core.protocols import NullReport, Report
from themescope.core.readers.dataset_folders import files_below
from themescope.jobs.executors.base import POLL_S, Failure
from themescope.jobs.executors.local import end_with_parent

T = TypeVar("T")
R = TypeVar("R")

MEMORY_BYTES = 4 << 30
"""Memory that a process may use to read files (on Linux)."""
SILENCE_S = 300.0
"""Seconds without progress after which reading, or parsing a piece of a file, is ended."""
SMALL_BYTES = 1 << 18
"""Size of files that are read in the process of the job: starting another one would take longer."""


def read_files(
    paths: Sequence[Path], read: Callable[[Report], Generator[Path | T, None, R]], report: Report
) -> Generator[T, None, R]:
    """Yield what ``read(report)`` yields, and return what it returns; files that are not small are read apart.

    ``read`` can be pickled. It yields the path of a file when it begins to read it; paths are not passed on. Raises its
    exceptions, and ``ReadError`` if its process uses too much memory, makes no progress, or ends unexpectedly.
    """
    small = sum(file.stat().st_size for path in paths for file in files_below(path)) < SMALL_BYTES
    result: R = yield from _without_paths(read(report)) if small else _read_apart(read, report)
    return result


def _without_paths(items: Generator[Path | T, None, R]) -> Generator[T, None, R]:
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            result: R = end.value
            return result
        if not isinstance(item, Path):
            yield item


def _read_apart(read: Callable[[Report], Generator[Path | T, None, R]], report: Report) -> Generator[T, None, R]:
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(sender, read), daemon=True)
    process.start()
    sender.close()
    path, progress = Path(), (0.0, 0.0, "")
    try:
        while True:
            _wait(receiver, report, path, progress)
            try:
                kind, value = receiver.recv()
            except (EOFError, ConnectionError):
                process.join()
                problem = f"the process that read it ended unexpectedly (exit code {process.exitcode})."
                raise ReadError(path, problem, advice="If memory was short, free some. Then retry the job.") from None
            if kind == "path":
                path = value
            elif kind == "progress":
                progress = value
                report.progress(*progress)
            elif kind == "item":
                yield value
            elif kind == "memory":
                problem = f"reading it needs more than {MEMORY_BYTES >> 30} GB of memory."
                raise ReadError(path, problem, advice="Check the file, or split it.")
            elif kind == "failed":
                raise value.exception()
            else:
                result: R = value
                return result
    finally:
        process.kill()
        process.join()
        process.close()
        receiver.close()


def _wait(receiver: Connection, report: Report, path: Path, progress: tuple[float, float, str]) -> None:
    """Return once there is a message; report in the meantime, so that the job can be cancelled."""
    end = time.monotonic() + SILENCE_S
    while not receiver.poll(POLL_S):
        report.progress(*progress)
        if time.monotonic() > end:
            raise _stopped(path)


def _stopped(path: Path) -> ReadError:
    problem = f"reading was ended, since it made no progress for {SILENCE_S:.0f} s."
    return ReadError(path, problem, advice="Check the file for damage, or split it.")


class _Sender(NullReport):
    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Send the progress."""
        self._connection.send(("progress", (done, total, message)))


def _read(connection: Connection, read: Callable[[Report], Generator[Any, None, Any]]) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the job, which ends this process
    with suppress(ImportError):  # Windows
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, hard))
    with suppress(BrokenPipeError):  # the job has ended
        try:
            connection.send(("result", _sent(connection, read(_Sender(connection)))))
        except BrokenPipeError:
            raise
        except MemoryError:
            connection.send(("memory", None))
        except Exception as error:
            connection.send(("failed", Failure.of(error)))


def _sent(connection: Connection, items: Generator[Any, None, Any]) -> Any:
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            return end.value
        connection.send(("path" if isinstance(item, Path) else "item", item))


@contextmanager
def time_limit() -> Iterator[Callable[[Path], None]]:
    """Yield a function to be called when work on a piece of a file begins; it may take ``SILENCE_S`` seconds.

    Raises ``ReadError`` then. Only the main thread of a process can be interrupted, as in the processes of executors;
    in others, and on Windows, there is no limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield lambda path: None
        return
    current = Path()

    def begin(path: Path) -> None:
        nonlocal current
        current = path
        signal.setitimer(signal.ITIMER_REAL, SILENCE_S)

    def stop(*_: object) -> None:
        raise _stopped(current)

    before = signal.signal(signal.SIGALRM, stop)
    try:
        yield begin
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
