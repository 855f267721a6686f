"""One of the processes of a training: what :mod:`themescope.core.models.launch` starts.

It runs the task that the starting process has written, reports to that process through a connection, and ends as soon
as the connection is lost, so that no process is left behind.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from themescope.core.errors import Cancelled, ThemescopeError
from themescope.core.protocols import Report

PROGRESS, METRIC, RESULT, FAILED, CANCEL = "progress", "metric", "result", "failed", "cancel"
_SETTINGS, _MEETING = "processes.json", "meeting"
_BETWEEN_S = 0.2  # seconds between two reports of progress
LOST = 75
"""Exit code after the starting process has ended."""


@dataclass(frozen=True)
class Settings:
    """What a process has to know before it reads the task."""

    address: str
    key: str
    """Key of the connection in hexadecimal digits."""
    device: str
    """Type of the device: "cpu" or "cuda"."""
    threads: int
    """Processor threads of each process."""
    checkpoints: str | None
    """Folder of checkpoints, if there is one."""

    def write(self, folder: Path) -> None:
        """Write the settings into ``folder``."""
        (folder / _SETTINGS).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Settings:
        """Return the settings in ``folder``."""
        return cls(**json.loads((folder / _SETTINGS).read_text(encoding="utf-8")))


class Link:
    """Connection to the starting process; a thread waits for its messages."""

    def __init__(self, settings: Settings, rank: int) -> None:
        self._connection: Connection[Any, Any] = Client(settings.address, authkey=bytes.fromhex(settings.key))
        self._lock = threading.Lock()
        self._failed = False
        self.cancelled = threading.Event()
        self.send(rank, os.getpid())
        threading.Thread(target=self._listen, name="link to the starting process", daemon=True).start()

    def send(self, *message: Any) -> None:
        """Send a message; ends this process if the starting process has ended."""
        try:
            with self._lock:
                self._connection.send_bytes(pickle.dumps(message))
        except OSError:
            os._exit(LOST)

    def fail(self, error: Exception) -> None:
        """Send the error that ends this process, once: the first one is the cause of those that follow."""
        if not self._failed:
            self._failed = True
            own = error if isinstance(error, ThemescopeError) else None
            text = f"{type(error).__name__}: {' '.join(str(error).split())}"
            self.send(FAILED, time.time(), own, text, "".join(traceback.format_exception(error)))

    def _listen(self) -> None:
        try:
            while pickle.loads(self._connection.recv_bytes()) == CANCEL:
                self.cancelled.set()
        except (OSError, EOFError):
            os._exit(LOST)


class RankReport:
    """Report of one process: the first one sends progress and metrics, all of them notice a cancellation."""

    def __init__(self, link: Link, first: bool, checkpoints: Path | None) -> None:
        self._link, self._first, self._checkpoints = link, first, checkpoints
        self._sent = 0.0

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Send the progress at intervals. Raises ``Cancelled`` after a cancellation."""
        now = time.monotonic()
        if self._first and now - self._sent >= _BETWEEN_S:
            self._sent = now
            self._link.send(PROGRESS, done, total, message)
        if self._link.cancelled.is_set():
            raise Cancelled

    def metric(self, name: str, step: float, value: float) -> None:
        """Send one point of a curve."""
        if self._first:
            self._link.send(METRIC, name, step, value)

    def checkpoint_folder(self) -> Path | None:
        """Return the checkpoint folder of the starting process."""
        return self._checkpoints


def output_file(folder: Path, rank: int) -> Path:
    """Return the file of what a process prints."""
    return folder / f"output-{rank}.txt"


def _print_into(path: Path) -> None:
    with path.open("wb") as stream:
        for printed in (sys.stdout, sys.stderr):
            os.dup2(stream.fileno(), printed.fileno())


def main() -> None:
    """Run the task in the folder that is the argument, as the process that the variables of torchrun describe."""
    folder = Path(sys.argv[1])
    settings, rank = Settings.read(folder), int(os.environ["RANK"])
    _print_into(output_file(folder, rank))
    link = Link(settings, rank)
    report = RankReport(link, rank == 0, Path(settings.checkpoints) if settings.checkpoints else None)
    try:
        with _failures_sent(link), _processes(folder, settings, rank) as task, _failures_sent(link):
            # The inner one sends an error before the others lose their connections to this process.
            result = task(report)
    except Cancelled:
        return
    if rank == 0:
        link.send(RESULT, result)


@contextmanager
def _failures_sent(link: Link) -> Iterator[None]:
    try:
        yield
    except Cancelled:
        raise
    except Exception as error:
        link.fail(error)
        raise


@contextmanager
def _processes(folder: Path, settings: Settings, rank: int) -> Iterator[Callable[[Report], Any]]:
    """Join the other processes, and yield the task."""
    import torch

    from themescope.core.models.processes import together
    from themescope.core.models.task_file import read_task

    torch.set_num_threads(settings.threads)
    device = torch.device(settings.device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    task = read_task(folder)
    with together(rank, int(os.environ["WORLD_SIZE"]), device, folder / _MEETING):
        yield task


def command(folder: Path) -> list[str]:
    """Return the arguments of the Python interpreter that runs :func:`main`, with the module paths of this process."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from themescope.core.models.rank import main; main()"
    return ["-c", code, str(folder)]
