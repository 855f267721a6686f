"""Heartbeat threads of workers and running jobs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

logger = logging.getLogger(__name__)


class Heartbeat:
    """Daemon thread that calls ``send`` at once and then every ``every`` seconds; a context manager.

    An error in ``send`` is logged and does not end the heartbeat.
    """

    def __init__(self, send: Callable[[], None], every: float, name: str) -> None:
        self._send, self._every = send, every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float | None = 20.0) -> None:
        """Stop the thread, and wait for a call in progress."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        while True:
            try:
                self._send()
            except Exception:
                logger.warning("A heartbeat failed; the next one follows.", exc_info=True)
            if self._ended.wait(self._every):
                return
