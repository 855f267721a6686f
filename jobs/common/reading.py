"""Files are read in a process of their own, with limits of memory, time and output, so that none can stop a worker.

Only short texts are read here, by readers in Python, which take time and memory in proportion to a file, and limit
lines and articles (:mod:`themescope.core.readers.streams`). Whatever is packed or binary, such as a PDF of a few
hundred bytes that draws itself a billion times, is read apart, also for a preview. The limits hold for readers of
plug-ins too.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from themescope.core.errors import ReadError
from themescope.core.readers.arrow_tables import files_below
from themescope.core.readers.formats import Preview, preview
from themescope.core.readers.streams import FileHead, packing_of
from themescope.core.types import NullReport, Report
from themescope.jobs.executors import POLL_S, Failure, as_data, data_of, end_with_parent

T = TypeVar("T")
R = TypeVar("R")

MEMORY_BYTES, MOST_MEMORY_BYTES = 2 << 30, 4 << 30
"""Memory that a process may use to read a file of no size, and any file (on Linux); between them, 16 times its size."""
OUTPUT_BYTES = 64 << 20
"""What a process may send about a file of no size; 200 times its size is added."""
SILENCE_S = 300.0
"""Seconds without progress after which reading, or parsing a piece of a file, is ended."""
ANSWER_S = 120.0
"""Seconds after which reading for a person who waits is ended."""
_TOGETHER = 25
"""Files that a process previews: starting one for each would take minutes for hundreds."""
SMALL_BYTES = 1 << 18
"""Size of texts that are read in the process of the job: starting another one would take longer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may use to read files."""

    memory: int
    output: int

    @classmethod
    def of(cls, size: int) -> Limits:
        """Return the limits for files of so many bytes when unpacked."""
        return cls(min(MEMORY_BYTES + 16 * size, MOST_MEMORY_BYTES), OUTPUT_BYTES + 200 * size)

    def begin(self) -> None:
        """Limit the memory of this process, beside what it has already."""
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own one takes 1 GB for a file of any size
        with suppress(ImportError, OSError, ValueError):  # Windows; systems without /proc
            import resource

            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + self.memory, hard))

    def too_large(self, path: Path) -> ReadError:
        """Return the error for a file that needs more memory."""
        problem = f"reading it needs more than {self.memory / (1 << 30):.1f} GB of memory."
        return ReadError(path, problem, advice="Check the file, or split it.")

    def check(self, path: Path, sent: int) -> None:
        """Raise ``ReadError`` if more bytes were sent than may be."""
        if sent > self.output:
            problem = f"its text is larger than {self.output / 1_000_000:,.0f} MB, which is implausible for its size."
            raise ReadError(path, problem, advice="Check the file.")


def read_files(
    paths: Sequence[Path], read: Callable[[Report], Generator[Path | T, None, R]], report: Report
) -> Generator[T, None, R]:
    """Yield what ``read(report)`` yields, and return what it returns; files that are not small are read apart.

    ``read`` can be pickled. It yields the path of a file when it begins to read it; paths are not passed on. Raises its
    exceptions, and ``ReadError`` if its process uses too much memory, makes no progress, or ends unexpectedly.
    """
    files = [file for path in paths for file in files_below(path)]
    size = sum(map(unpacked_bytes, files))
    if size < SMALL_BYTES and all(map(_is_plain, files)):
        return (yield from _without_paths(read(report)))
    return (yield from _read_apart(read, report, Limits.of(size)))


def _is_plain(file: Path) -> bool:
    """Return whether a file is text, neither packed nor read by a library of C."""
    try:
        head = FileHead.of(file)
        with file.open("rb") as stream:
            packed = packing_of(stream.read(6))
    except (OSError, ReadError):
        return True  # its reader says what is wrong
    return not packed and head.binary_at is None and b"%PDF-" not in head.data[:1024]


def unpacked_bytes(file: Path) -> int:
    """Return the size of a file, of a ZIP archive that of its members if it is larger."""
    packed = file.stat().st_size
    try:
        with zipfile.ZipFile(file) as archive:
            return max(packed, sum(member.file_size for member in archive.infolist()))
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return packed


def call_apart(path: Path, function: Callable[..., R], *args: Any, among: Sequence[Path] = ()) -> R:
    """Return ``function(*args)``, which reads a file and can be pickled; unless it is a short text, in a process.

    This is for those who wait, at a page or a command: Streamlit replaces ``__main__``, which processes of
    multiprocessing would run again. Raises what the function does, and ``ReadError`` if the process uses too much
    memory or time, or returns too much. ``among`` are the files that it reads if it is not only ``path``.
    """
    files = [file for one in among or [path] for file in files_below(one) if file.is_file()]
    size = sum(map(unpacked_bytes, files))
    if size < SMALL_BYTES and all(map(_is_plain, files)):
        return function(*args)
    limits = Limits.of(size)
    # Its arguments are those of this process, and what it writes is read by nobody else.
    command = [sys.executable, "-c", f"from {__name__} import answer; answer()"]
    asked = pickle.dumps((path, limits, function, args))
    try:
        done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, timeout=ANSWER_S, check=False)
    except subprocess.TimeoutExpired:
        problem = f"reading it takes more than {ANSWER_S:.0f} s."
        raise ReadError(path, problem, advice="Check the file, or split it.") from None
    if done.returncode:
        raise _ended(path, done.returncode, limits)
    found = sent_by(path, done.stdout)
    if isinstance(found, Failure):
        raise found.exception()
    result: R = found
    return result


def preview_of(path: Path, reader: str = "", settings: Mapping[str, Any] | None = None, n: int = 5) -> Preview:
    """Return the first articles of a file, read by :func:`call_apart`, in the detected format if none is given."""
    return call_apart(path, preview, path, reader or None, settings, n)


def each_apart(paths: Sequence[Path], function: Callable[[Path], R]) -> list[R | ReadError]:
    """Return what ``function``, which can be pickled, returns for each file, or what is wrong with the file.

    See :func:`call_apart`; a process reads several files.
    """
    found: list[R | ReadError] = []
    for start in range(0, len(paths), _TOGETHER):
        some = paths[start : start + _TOGETHER]
        try:
            found += call_apart(some[0], _each, some, function, among=some)
        except ReadError as error:  # of the process: one of them ended it
            found += [error] if len(some) == 1 else [one for path in some for one in each_apart([path], function)]
    return found


def _each(paths: Sequence[Path], function: Callable[[Path], R]) -> list[R | ReadError]:
    found: list[R | ReadError] = []
    for path in paths:
        try:
            found.append(function(path))
        except ReadError as error:
            found.append(error)
    return found


def answer() -> None:
    """Call the function on standard input, with limits, and write what it returns or raises to standard output."""
    path, limits, function, args = pickle.load(sys.stdin.buffer)
    parent = os.getppid()
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    limits.begin()
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    try:
        data = as_data(function(*args))
        limits.check(path, len(data))
    except MemoryError:
        data = as_data(Failure.of(limits.too_large(path)))
    except Exception as error:
        data = as_data(Failure.of(error))
    out.write(data)


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _without_paths(items: Generator[Path | T, None, R]) -> Generator[T, None, R]:
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            result: R = end.value
            return result
        if not isinstance(item, Path):
            yield item


def _read_apart(
    read: Callable[[Report], Generator[Path | T, None, R]], report: Report, limits: Limits
) -> Generator[T, None, R]:
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(sender, read, limits), daemon=True)
    process.start()
    sender.close()
    path, progress = Path(), (0.0, 0.0, "")
    try:
        while True:
            end = time.monotonic() + SILENCE_S
            while not receiver.poll(POLL_S):
                report.progress(*progress)  # so that the job can be cancelled
                if time.monotonic() > end:
                    raise _stopped(path)
            try:
                kind, value = sent_by(path, receiver.recv_bytes())
            except (EOFError, ConnectionError):
                process.join()
                raise _ended(path, process.exitcode, limits) from None
            if kind == "path":
                path = value
            elif kind == "progress":
                progress = value
                report.progress(*progress)
            elif kind == "item":
                yield value
            elif kind == "memory":
                raise limits.too_large(path)
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


def sent_by(path: Path, answer: bytes) -> Any:
    """Return the data that the process which read a file has sent; raise ``ReadError`` for anything else."""
    try:
        return data_of(answer)
    except Exception:  # of whatever kind: a file that takes a process over may let it write anything
        problem = "the process that read it sent something else than its content."
        raise ReadError(path, problem, advice="It may be an attack: open it nowhere else.") from None


def _ended(path: Path, code: int | None, limits: Limits) -> ReadError:
    if code is not None and code < 0:  # a library of C, which found no memory or a fault
        reason = f"probably because it needs more than {limits.memory / (1 << 30):.1f} GB of memory"
        problem = f"reading it was ended by signal {-code}, {reason}."
        return ReadError(path, problem, advice="Check the file, or split it.")
    problem = f"the process that read it ended unexpectedly (exit code {code})."
    return ReadError(path, problem, advice="If memory was short, free some. Then try again.")


def _stopped(path: Path) -> ReadError:
    problem = f"reading was ended, since it made no progress for {SILENCE_S:.0f} s."
    return ReadError(path, problem, advice="Check the file for damage, or split it.")


class _Sender(NullReport):
    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def progress(self, done: float, total: float, message: str = "") -> None:
        self._connection.send_bytes(as_data(("progress", (done, total, message))))


def _read(connection: Connection, read: Callable[[Report], Generator[Any, None, Any]], limits: Limits) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the job, which ends this process
    limits.begin()
    with suppress(BrokenPipeError):  # the job has ended
        try:
            connection.send_bytes(as_data(("result", _sent(connection, read(_Sender(connection)), limits))))
        except BrokenPipeError:
            raise
        except MemoryError:
            connection.send_bytes(as_data(("memory", None)))
        except Exception as error:
            connection.send_bytes(as_data(("failed", Failure.of(error))))


def _sent(connection: Connection, items: Generator[Any, None, Any], limits: Limits) -> Any:
    sent, path = 0, Path()
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            return end.value
        if isinstance(item, Path):
            path = item
        data = as_data(("path" if isinstance(item, Path) else "item", item))
        limits.check(path, sent := sent + len(data))
        connection.send_bytes(data)


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
