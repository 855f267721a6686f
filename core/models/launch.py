"""Start of the processes of a training by the elastic agent of PyTorch, which is what ``torchrun`` runs.

The agent is a thread of the starting process, which prepares the data once and stays in charge: it passes on progress
and cancellation, and tells which process died. The processes find each other through files in a private folder and
exchange tensors through the loopback interface, so that nothing is reachable from other machines.
"""

from __future__ import annotations

import logging
import os
import pickle
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from themescope.core.compute.machine import available_cores
from themescope.core.errors import Cancelled, ConfigError, TrainingError
from themescope.core.models import rank
from themescope.core.models.task_file import write_task
from themescope.core.paths import working_folder
from themescope.core.protocols import Report

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
POLL_S = 0.5
"""Seconds between two reports while the processes compute."""
STOP_S = 30.0
"""Seconds that the processes have to write a checkpoint after a cancellation."""
_LAST_CHARACTERS = 4_000
_PER_CORE = 2  # processes on each core, at most
_ENDS = (-signal.SIGTERM, rank.LOST)  # exit codes of processes that were ended because another one had failed


def run_processes(task: Callable[[Report], T], devices: int, device: torch.device, report: Report) -> T:
    """Run ``task`` in ``devices`` processes at once and return the result of the first.

    ``task`` is written once and read by every process; it finds the others by
    :func:`themescope.core.models.processes.current`. Each process has a GPU of its own if ``device`` is one, else a
    share of the cores. Raises what ``task`` or ``report`` raises, ``ConfigError`` for more devices than there are, and
    ``TrainingError`` if a process ends unexpectedly.
    """
    check_devices(devices, device)
    report.progress(0, 1, f"Starting {devices} processes")
    with working_folder(report.checkpoint_folder(), "processes-") as folder, _Links(devices) as links:
        write_task(folder, task)
        checkpoints = report.checkpoint_folder()
        rank.Settings(
            links.address, links.key.hex(), device.type, max(available_cores() // devices, 1),
            str(checkpoints) if checkpoints else None,
        ).write(folder)  # fmt: skip
        result: T = _Conversation(links, _Agent(folder, devices), report).result()
        return result


def check_devices(devices: int, device: torch.device) -> None:
    """Raise ``ConfigError`` if there are fewer GPUs, or too few cores for so many processes."""
    import torch

    if device.type == "cuda":
        most, found = torch.cuda.device_count(), f"{torch.cuda.device_count()} GPUs"
    else:
        most, found = _PER_CORE * available_cores(), f"{available_cores()} cores and no GPU is used"
    if devices > most:
        raise ConfigError(
            f"Training on {devices:,} devices is not possible, because this machine has {found}. "
            f"Set devices to at most {most:,}."
        )


class _Links:
    """Connections to the processes; a context manager."""

    def __init__(self, count: int) -> None:
        self.key = secrets.token_bytes(32)
        self.pids: dict[int, int] = {}
        """Process id by rank."""
        self._listener = Listener(backlog=count, authkey=self.key)
        self.address = str(self._listener.address)
        self._open: list[Connection[Any, Any]] = []
        self._closed = False
        self._thread = threading.Thread(target=self._accept, name="links to processes", daemon=True)

    def __enter__(self) -> _Links:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def receive(self, timeout: float) -> Iterator[tuple[Any, ...]]:
        """Yield the messages that have arrived, after waiting at most ``timeout`` seconds for the first."""
        if not self._open:
            time.sleep(timeout)
        for connection in wait(list(self._open), timeout):
            try:
                message = pickle.loads(connection.recv_bytes())  # type: ignore[union-attr]
            except (OSError, EOFError):
                self._open.remove(connection)  # type: ignore[arg-type]
                continue
            if isinstance(message[0], int):
                self.pids[message[0]] = message[1]
            else:
                yield message

    def send(self, message: str) -> None:
        """Send a message to every process."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.send_bytes(pickle.dumps(message))

    def close(self) -> None:
        """Close all connections, which ends the processes that still run."""
        if not self._closed:
            self._closed = True
            with suppress(OSError, EOFError, AuthenticationError):
                Client(self.address, authkey=self.key).close()  # wakes the thread
            self._thread.join()
            self._listener.close()
            for connection in self._open:
                connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError, AuthenticationError):
                continue
            if self._closed:
                connection.close()
                return
            self._open.append(connection)


class _Agent:
    """The elastic agent of PyTorch in a thread, where it changes no signal handlers of this process."""

    def __init__(self, folder: Path, devices: int) -> None:
        self.devices = devices
        self.exit_codes: Mapping[int, int] = {}
        """Exit codes of failed processes by rank, when the agent has ended."""
        self.error: Exception | None = None
        self._folder = folder
        self._thread = threading.Thread(target=self._run, name="elastic agent", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether all processes have ended."""
        return not self._thread.is_alive()

    def join(self, timeout: float) -> None:
        """Wait until all processes have ended."""
        self._thread.join(timeout)

    def last_output(self, number: int) -> str:
        """Return the end of what a process has printed."""
        with suppress(OSError):
            return rank.output_file(self._folder, number).read_text(errors="replace")[-_LAST_CHARACTERS:]
        return ""

    def _run(self) -> None:
        from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
        from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
        from torch.distributed.launcher.api import LaunchConfig, elastic_launch

        _use_loopback()
        # What the agent logs about a process that fails is in the error that the job shows.
        logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=self.devices,
            run_id=secrets.token_hex(8),
            rdzv_backend="c10d",
            rdzv_endpoint=str(self._folder / "rendezvous"),
            rdzv_configs={"store_type": "file"},
            local_addr="127.0.0.1",
            max_restarts=0,  # a job is resumed from its checkpoint, with other devices if need be
            logs_specs=DefaultLogsSpecs(log_dir=str(self._folder)),
        )
        try:
            elastic_launch(config, sys.executable)(*rank.command(self._folder))
        except ChildFailedError as error:
            self.exit_codes = {number: failure.exitcode for number, failure in error.failures.items()}
        except Exception as error:
            self.error = error


def _use_loopback() -> None:
    """Let Gloo and NCCL use the loopback interface, unless the environment names another one."""
    names = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        if names:
            os.environ.setdefault(variable, names[0])


class _Conversation:
    """What the starting process does while the others compute."""

    def __init__(self, links: _Links, agent: _Agent, report: Report) -> None:
        self._links, self._agent, self._report = links, agent, report
        self._last: tuple[float, float, str] = (0, 1, f"Starting {agent.devices} processes")
        self._results: list[Any] = []
        self._failures: list[tuple[float, Exception | None, str, str]] = []

    def result(self) -> Any:
        """Return the result of the first process."""
        try:
            while not self._agent.ended:
                self._receive(POLL_S)
                self._report.progress(*self._last)
        except Cancelled:
            self._stop()
            if not self._results:
                raise
        except BaseException:
            self._end()
            raise
        self._receive(0)
        if not self._results:
            raise self._failure()
        return self._results[0]

    def _receive(self, timeout: float) -> None:
        for kind, *values in self._links.receive(timeout):
            if kind == rank.PROGRESS:
                self._last = values[0], values[1], values[2]
            elif kind == rank.METRIC:
                self._report.metric(*values)
            elif kind == rank.RESULT:
                self._results.append(values[0])
            else:
                self._failures.append((values[0], values[1], values[2], values[3]))

    def _stop(self) -> None:
        """Let the processes write a checkpoint and end."""
        self._links.send(rank.CANCEL)
        deadline = time.monotonic() + STOP_S
        while not self._agent.ended and time.monotonic() < deadline:
            for kind, *values in self._links.receive(POLL_S):
                if kind == rank.RESULT:
                    self._results.append(values[0])
        self._end()

    def _end(self) -> None:
        """End all processes at once: by closing their connections, and those that do not react by a signal."""
        self._links.close()
        self._agent.join(5.0)
        if not self._agent.ended:
            for pid in self._links.pids.values():
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self._agent.join(STOP_S)

    def _failure(self) -> Exception:
        """Return the error of the process that failed first."""
        codes = self._agent.exit_codes
        killed = [number for number, code in codes.items() if code < 0 and code not in _ENDS]
        if killed:
            return self._death(killed[0], codes[killed[0]])
        if self._failures:
            _, own, text, details = min(self._failures, key=lambda failure: failure[0])
            error = own or TrainingError(f"A process of the training failed ({text}). {_ADVICE}")
            error.add_note(details)
            return error
        if codes:
            return self._death(*next(iter(codes.items())))
        return TrainingError(f"The processes of the training could not be started ({self._agent.error}). {_ADVICE}")

    def _death(self, number: int, code: int) -> Exception:
        size = self._agent.devices
        how = f"was killed by signal {-code} ({_signal_name(-code)})" if code < 0 else f"ended with exit code {code}"
        cause = ", probably because the machine ran out of memory" if code == -signal.SIGKILL else ""
        error = TrainingError(
            f"Process {number} of the {size} of this training (0 to {size - 1}) {how}{cause}. {_ADVICE}"
        )
        error.add_note(self._agent.last_output(number))
        return error


_ADVICE = "Retry to continue from the last checkpoint, with fewer devices if memory is short."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
