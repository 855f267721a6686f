"""Files are read in a process of their own, with limits of memory and of time, so that none can stop a worker.

The limits are a second line of defence: the readers themselves take time and memory in proportion to a file, and limit
lines and articles (:mod:`themescope.core.readers.streams`). They hold for readers of plug-ins too.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
import time
import zipfile
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
    small = sum(unpacked_bytes(file) for path in paths for file in files_below(path)) < SMALL_BYTES
    result: R = yield from _without_paths(read(report)) if small else _read_apart(read, report)
    return result


def unpacked_bytes(file: Path) -> int:
    """Return the size of a file, of a ZIP archive that of its members if it is larger."""
    packed = file.stat().st_size
    try:
        with zipfile.ZipFile(file) as archive:
            return max(packed, sum(member.file_size for member in archive.infolist()))
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return packed


def call_apart(path: Path, function: Callable[..., R], *args: Any) -> R:
    """Return ``function(*args)``, which reads a file and can be pickled; for a file that is not small, in a process.

    This is for pages: Streamlit replaces ``__main__``, which processes of multiprocessing would run again. Raises what
    the function does, and ``ReadError`` if the process uses too much memory or time.
    """
    if unpacked_bytes(path) < SMALL_BYTES:
        return function(*args)
    # Its arguments are those of this process, and what it writes is read by nobody else.
    command = [sys.executable, "-c", f"from {__name__} import answer; answer()"]
    try:
        done = subprocess.run(
            command, input=pickle.dumps((function, args)), stdout=subprocess.PIPE, timeout=SILENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ReadError(
            path, f"reading it takes more than {SILENCE_S:.0f} s.", "", "Check the file, or split it."
        ) from None
    if done.returncode:
        raise _ended(path, done.returncode)
    kind, value = pickle.loads(done.stdout)
    if kind == "memory":
        raise _too_large(path)
    if kind == "failed":
        raise value.exception()
    result: R = value
    return result


def answer() -> None:
    """Call the function on standard input, with limits, and write what it returns or raises to standard output."""
    function, args = pickle.load(sys.stdin.buffer)
    _limit_memory()
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    try:
        found: tuple[str, Any] = "result", function(*args)
    except MemoryError:
        found = "memory", None
    except Exception as error:
        found = "failed", Failure.of(error)
    pickle.dump(found, out)


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
                raise _ended(path, process.exitcode) from None
            if kind == "path":
                path = value
            elif kind == "progress":
                progress = value
                report.progress(*progress)
            elif kind == "item":
                yield value
            elif kind == "memory":
                raise _too_large(path)
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


def _ended(path: Path, code: int | None) -> ReadError:
    problem = f"the process that read it ended unexpectedly (exit code {code})."
    return ReadError(path, problem, advice="If memory was short, free some. Then try again.")


def _too_large(path: Path) -> ReadError:
    problem = f"reading it needs more than {MEMORY_BYTES >> 30} GB of memory."
    return ReadError(path, problem, advice="Check the file, or split it.")


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
    _limit_memory()
    with suppress(BrokenPipeError):  # the job has ended
        try:
            connection.send(("result", _sent(connection, read(_Sender(connection)))))
        except BrokenPipeError:
            raise
        except MemoryError:
            connection.send(("memory", None))
        except Exception as error:
            connection.send(("failed", Failure.of(error)))


def _limit_memory() -> None:
    with suppress(ImportError):  # Windows
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, hard))


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
