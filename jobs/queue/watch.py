"""Detection of times in the store that have stopped changing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime

GAP_S = 3.0
"""Most seconds that count between two looks: after a long lock or a sleep, the other side gets time too."""


class Watch:
    """Watch of one time per job, such as its heartbeat, by the monotonic clock of this process.

    The times come from the clocks of several machines, which differ and jump. They are therefore never compared with
    the clock of this machine: a job whose time changes is alive, whatever the time is.
    """

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit_s, clock
        self._looked, self._watched = clock(), 0.0
        self._seen: dict[int, tuple[datetime, float]] = {}

    def look(self, times: Mapping[int, datetime]) -> dict[int, datetime]:
        """Note the current ``times``; return those that have not changed for the limit of seconds, by id."""
        now = self._clock()
        self._watched += min(now - self._looked, GAP_S)
        self._looked = now
        before = self._seen
        self._seen = {
            id: before[id] if id in before and before[id][0] == value else (value, self._watched)
            for id, value in times.items()
        }
        return {id: time for id, time in times.items() if self.unchanged(id) is not None}

    def unchanged(self, id: int) -> datetime | None:
        """Return the time of a job if it has not changed for the limit of seconds at the last look, else None."""
        value, since = self._seen.get(id, (None, self._watched))
        return value if self._watched - since >= self._limit else None
