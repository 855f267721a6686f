"""Backups during the load test: the last one is restored, and compared with the edits acknowledged before it began.

In the restored store, one person is forgotten; then the name is searched in every row and in every byte of every file.
"""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from themescope.core.labelling.history import replay
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.backups.restoring import restore_backup
from themescope.jobs.backups.writing import write_backup
from themescope.jobs.services.personal_data import forget

FORGOTTEN = "user 7"


@dataclass
class Taken:
    """A backup, the steps that were acknowledged before it began, and its times."""

    path: Path
    acknowledged: set[int]
    began: float
    ended: float = 0.0


@dataclass
class Backups:
    """Backups at regular intervals, in a thread of their own."""

    store: Store
    folder: Path
    logs: Path
    count: int
    seconds: float
    taken: list[Taken] = field(default_factory=list)

    def start(self) -> threading.Thread:
        """Begin, and return the thread."""
        thread = threading.Thread(target=self._run)
        thread.start()
        return thread

    def _run(self) -> None:
        for number in range(self.count):
            time.sleep(self.seconds / (self.count + 1))
            known = {entry["step"] for entry in entries(self.logs) if entry.get("step") is not None}
            taken = Taken(self.folder / f"{number}.zip", known, time.time())
            write_backup(self.store, taken.path)
            taken.ended = time.time()
            self.taken.append(taken)

    def results(self, labelling: int, first: Any, target_url: str) -> dict[str, Any]:
        """Restore the last backup and compare all of them with the final history."""
        found = entries(self.logs)
        during = [e["seconds"] for e in found if any(b.began <= e.get("at", 0) <= b.ended for b in self.taken)]
        times = [b.ended - b.began for b in self.taken]
        last = self.taken[-1]
        target = Store(Settings.in_folder(self.folder / "restored", target_url))
        started = time.perf_counter()
        restore_backup(target.settings, last.path)
        restoring = time.perf_counter() - started
        with target.reading() as r, self.store.reading() as now:
            log, final = r.label_steps.since(labelling, 0), now.label_steps.since(labelling, 0)
            current = r.labellings.snapshot(labelling).partition
        forgetting = _forget(target, labelling)
        target.close()
        steps = [step.id for step, _ in log]
        return {
            "backups": len(self.taken),
            "backup_seconds": [round(t, 2) for t in times],
            "backup_mb": round(last.path.stat().st_size / 1e6, 1),
            "restore_seconds": round(restoring, 2),
            "restored_steps": len(steps),
            "acknowledged_before": len(last.acknowledged),
            "missing_in_backup": len(last.acknowledged - set(steps)),
            "backup_is_prefix": steps == [step.id for step, _ in final][: len(steps)],
            "backup_replayed": replay(first, [change for _, change in log]).to_bytes() == current.to_bytes(),
            "edits_during_backups": len(during),
            "p95_during_backups_ms": round(float(np.percentile(during or [0.0], 95)) * 1000, 1),
            "max_during_backups_ms": round(max(during or [0.0]) * 1000, 1),
            **forgetting,
        }


def _forget(store: Store, labelling: int) -> dict[str, Any]:
    """Forget a person; return where the name was and is, and whether the partition and the history are the same."""
    before, rows, files = _history(store, labelling), _rows(store), _files(store.settings.home)
    started = time.perf_counter()
    forget(store, FORGOTTEN)
    seconds = time.perf_counter() - started
    store.close()
    return {
        "forget_seconds": round(seconds, 2),
        "rows_with_name": [rows, _rows(store)],
        "bytes_with_name": [files, _files(store.settings.home)],
        "labels_kept": _history(store, labelling) == before,
    }


def _history(store: Store, labelling: int) -> tuple[bytes, list[int]]:
    with store.reading() as r:
        steps = [step.id for step, _ in r.label_steps.since(labelling, 0)]
        return r.labellings.snapshot(labelling).partition.to_bytes(), steps


def _rows(store: Store) -> int:
    """Count the rows with the name, in every table."""
    name = re.compile(rf"(?<!\w){FORGOTTEN}(?!\w)")
    with store.reading() as r:
        tables = [r.people.connection.execute(sa.select(table)) for table in metadata.sorted_tables]
        return sum(bool(name.search(str(row))) for rows in tables for row in rows)


def _files(home: Path) -> int:
    """Count the occurrences of the name in the bytes of all files; in SQLite files, a date may follow it directly."""
    return sum(path.read_bytes().count(FORGOTTEN.encode()) for path in home.rglob("*") if path.is_file())


def entries(logs: Path) -> list[dict[str, Any]]:
    """Return the entries of all logs; the last line of a killed process may be incomplete."""
    lines = [line for path in logs.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.endswith("}")]
