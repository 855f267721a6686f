"""Threads that say "I am alive" while the work keeps the main thread busy."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

logger = logging.getLogger(__name__)


class Heart:
    """Calls ``beat`` every ``every`` seconds from a daemon thread, at once first; a context manager.

    A beat that raises is logged and does not end the heart.
    """

    def __init__(self, beat: Callable[[], None], every: float, name: str) -> None:
        self._beat, self._every = beat, every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin beating."""
        self._thread.start()

    def stop(self, timeout: float | None = 20.0) -> None:
        """Stop beating; returns after the beat under way, if any, is through."""
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
                self._beat()
            except Exception:
                logger.warning("A heart beat failed; the next one follows.", exc_info=True)
            if self._ended.wait(self._every):
                return
