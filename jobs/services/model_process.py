"""Process that keeps models for a web server, which needs them for single sentences only.

PyTorch and one encoder take more memory than all pages together, and Python does not give it back; their import would
also stop the pages of everybody for seconds.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Lock, Timer
from typing import Any, ParamSpec, TypeVar

from themescope.core.errors import ThemescopeError
from themescope.jobs.executors.base import Failure

P = ParamSpec("P")
R = TypeVar("R")

IDLE_S = 120.0
"""Seconds without a call after which the process ends."""


class ModelProcess:
    """Process that calls functions for this one, one after another.

    It starts with the first call, and ends ``idle_s`` seconds after the last one, or with this process. Multiprocessing
    would run ``__main__`` again, which Streamlit replaces.
    """

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._used = 0.0

    @property
    def running(self) -> bool:
        """Return whether the process has been started and has not ended."""
        return self._process is not None

    def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return ``function(*args, **kwargs)``, which can all be pickled.

        Raises what the function raises, and ``ThemescopeError`` if the process dies.
        """
        asked = pickle.dumps((function, args, kwargs))
        with self._lock:
            process = self._process or self._start()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(asked)
                process.stdin.flush()
                found = pickle.load(process.stdout)
            except (OSError, EOFError):
                code = self._end(process)
                raise ThemescopeError(
                    f"The process with the model ended unexpectedly (exit code {code}), probably because the machine "
                    "ran out of memory. Free memory and try again."
                ) from None
            self._used = time.monotonic()
        if isinstance(found, Failure):
            raise found.exception()
        result: R = found
        return result

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", f"from {__name__} import answer; answer()"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._end_later(self._idle_s)
        return self._process

    def _end_later(self, seconds: float) -> None:
        timer = Timer(seconds, self._end_if_idle)
        timer.daemon = True
        timer.start()

    def _end_if_idle(self) -> None:
        with self._lock:
            if self._process is None:
                return
            left = self._used + self._idle_s - time.monotonic()
            if left > 0:
                self._end_later(left)
            else:
                self._end(self._process)

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        self._process = None
        with process:  # closes its standard input, at the end of which it ends
            pass
        return process.returncode


def answer() -> None:
    """Call the functions on standard input until it ends, and write what they return or raise to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal ends the parent, and this process with it
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    while True:
        try:
            function, args, kwargs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            found: Any = function(*args, **kwargs)
        except Exception as error:
            found = Failure.of(error)
        pickle.dump(found, out)
        out.flush()
