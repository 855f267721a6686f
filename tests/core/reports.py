"""A report that records what it is told, and ends the work when it is asked to."""

from pathlib import Path

from themescope.core.errors import Cancelled
from themescope.core.types import NullReport


class Watched(NullReport):
    """Records progress and metrics; raises ``error`` at the ``at``-th report of progress."""

    def __init__(self, folder: Path | None = None, at: int = 0, error: type[Exception] = Cancelled) -> None:
        super().__init__(folder)
        self.at, self.error = at, error
        self.calls: list[tuple[float, float]] = []
        self.points: list[tuple[str, float, float]] = []

    def progress(self, done: float, total: float, message: str = "") -> None:
        assert 0 <= done <= total
        self.calls.append((done, total))
        if len(self.calls) == self.at:
            raise self.error

    def metric(self, name: str, step: float, value: float) -> None:
        self.points.append((name, step, value))
