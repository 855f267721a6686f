"""One job in a store of its own with the workers that run it, for ``faults.py``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from benchmarks._fault_data import arguments
from tests.servers import PostgresServer
from themescope.core.errors import StoreError
from themescope.db.records import JobRecord
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.queue.control import enqueue

LIMIT_S = 180.0
ROOT = Path(__file__).parents[1]
NOT_COUNTED = ("job", "job_metric", "worker", "alembic_version")
AS_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""Command before a worker: root may write to read-only folders, so its worker gives that up."""
Condition = Callable[[JobRecord], bool]


class MissedError(Exception):
    """Raised if the job had ended before the fault."""


@dataclass(frozen=True)
class Place:
    """URLs of store and queue, empty for SQLite files, and the PostgreSQL server of the store."""

    database_url: str = ""
    queue_url: str = ""
    server: PostgresServer | None = None


@dataclass(frozen=True)
class Results:
    """Numbers of rows by table, and of results that pages show."""

    rows: dict[str, int]
    shown: dict[str, int]


class Case:
    """One job in a store of its own, with the workers that run it."""

    def __init__(self, kind: str, files: Path, home: Path, middle: int, place: Place) -> None:
        self.home, self.middle, self.server = home, middle, place.server
        self.store = Store(Settings.in_folder(home, place.database_url, place.queue_url))
        self.env = os.environ | {"THEMESCOPE_HOME": str(home), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        self.env |= {"DATABASE_URL": place.database_url, "QUEUE_URL": place.queue_url}
        self.env |= {"THEMESCOPE_BACKUP_FOLDER": str(home / "backups")} if kind == "back-up" else {}
        self.before = results(self.store)
        self.paced = home.parent / "paced"
        self.paced.touch()
        self.workers: list[subprocess.Popen[bytes]] = []
        self.owner = ""
        self.job = enqueue(self.store, kind, arguments(kind, files))

    def start(self) -> None:
        """Start a worker."""
        words = [*AS_USER, sys.executable, "-m", "benchmarks._paced_worker", str(self.home.parent), str(self.middle)]
        with (self.home.parent / "worker.log").open("ab") as log:
            self.workers.append(subprocess.Popen(words, env=self.env, cwd=ROOT, stdout=log, stderr=log))

    def catch(self, workers: int = 1) -> subprocess.Popen[bytes]:
        """Start workers, wait for the middle of the job, and return the first worker."""
        for _ in range(workers):
            self.start()
        self.wait(lambda row: row.status.ended or self.pauses >= self.middle)
        if self.row().status.ended:
            raise MissedError
        self.owner = self.row().owner
        return self.workers[0]

    @property
    def pauses(self) -> int:
        """Return the number of reports and transactions of the job until now."""
        return self.paced.stat().st_size

    def row(self) -> JobRecord:
        """Return the row of the job."""
        with self.store.reading() as r:
            return r.jobs.get(self.job.id)

    def wait(self, condition: Condition) -> JobRecord:
        """Return the row once it meets ``condition``; raise ``TimeoutError`` after three minutes."""
        end = time.monotonic() + LIMIT_S
        while not condition(row := self.row()):
            if time.monotonic() > end:
                raise TimeoutError(f"still {row.status.value}: {row.message}")
            time.sleep(0.05)
        return row

    def taken(self) -> Condition:
        """Return the condition that another worker has the job or it waits for one, or that it has ended."""
        before = self.row()
        return lambda row: row.status.ended or (row.owner, row.attempt) != (before.owner, before.attempt)

    def progressing(self) -> Condition:
        """Return the condition that a worker sends heartbeats for the job, or that it has ended."""
        before, taken = self.row().heartbeat, self.taken()
        return lambda row: taken(row) or row.heartbeat != before

    def release(self) -> None:
        """End the pauses."""
        self.paced.unlink(missing_ok=True)

    def close(self) -> None:
        """End the workers."""
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.store.close()


def results(store: Store) -> Results:
    """Return the numbers of rows of the tables that can be read, and of the results that pages show."""
    found = {}
    for name in set(metadata.tables) - set(NOT_COUNTED):
        query = sa.select(sa.func.count()).select_from(metadata.tables[name])
        try:
            with store.reading() as r:
                found[name] = int(r.jobs.connection.scalar(query) or 0)
        except StoreError:
            continue
    with store.reading() as r:
        shown = {"corpora": r.corpora.list(), "triplet sets": r.triplets.list(), "models": r.models.list()}
        shown |= {"benchmarks": r.benchmarks.list(), "runs": r.runs.list(), "maps": r.maps.list()}
    return Results(found, {name: len(records) for name, records in shown.items()})
