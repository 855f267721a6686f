"""Worker processes that are alive."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from db import tables as t
from db.records import WorkerRecord
from db.repositories.base import Repository
from db.sql import now

FORGET_AFTER = timedelta(days=1)


class Workers(Repository):
    """Repository of worker processes, updated by their heartbeats."""

    def heartbeat(self, owner: str, queue: str) -> None:
        """Record a heartbeat of ``owner``; the first one adds it and removes workers silent for a day."""
        time = now()
        update = t.worker.update().where(t.worker.c.owner == owner).values(queue=queue, heartbeat=time)
        if self.connection.execute(update).rowcount == 0:
            self.connection.execute(t.worker.delete().where(t.worker.c.heartbeat < time - FORGET_AFTER))
            self.connection.execute(t.worker.insert().values(owner=owner, queue=queue, started=time, heartbeat=time))

    def alive(self, within_s: float = 10) -> list[WorkerRecord]:
        """Return the workers with a heartbeat in the last ``within_s`` seconds, oldest first."""
        query = sa.select(t.worker).where(t.worker.c.heartbeat >= now() - timedelta(seconds=within_s))
        return [WorkerRecord(**r._mapping) for r in self.connection.execute(query.order_by(t.worker.c.started))]

    def leave(self, owner: str) -> None:
        """Remove the row of a worker that stops; unknown owners are ignored."""
        self.connection.execute(t.worker.delete().where(t.worker.c.owner == owner))
