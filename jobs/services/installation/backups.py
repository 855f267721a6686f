"""State of the regular backups, for pages and checks. It is read from the store, as workers may be elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.backups.writing import BACKUP_JOB


@dataclass(frozen=True)
class BackupState:
    """The last complete regular backup, and what is wrong."""

    regular: bool
    """Whether the settings name a folder for backups."""
    every: timedelta
    newest: JobRecord | None
    """Last job that wrote a backup."""
    failed: JobRecord | None
    """Last attempt, if it failed."""

    @property
    def _result(self) -> dict[str, Any]:
        return dict(self.newest.result) if self.newest is not None else {}

    @property
    def made(self) -> datetime | None:
        """Return the moment that the last backup has saved."""
        return datetime.fromisoformat(self._result["made"]) if self._result else None

    @property
    def summary(self) -> str:
        """Return time, size and file of the last backup."""
        if self.made is None:
            return "none yet"
        return f"{self.made:%Y-%m-%d %H:%M} UTC, {self._result['bytes'] / 1e6:,.1f} MB, {self._result['file']}"

    @property
    def problem(self) -> str:
        """Return what is wrong, as a sentence; "" for nothing."""
        if self.failed is not None:
            return f"The last attempt failed: {self.failed.error}"
        if problems := self._result.get("problems"):
            return f"Files were missing or damaged ({len(problems)}): {problems[0]}"
        return ""

    def overdue(self, now: datetime) -> bool:
        """Return whether the last backup is older than two intervals."""
        return self.regular and (self.made is None or now - self.made > 2 * self.every)


def backup_state(store: Store) -> BackupState:
    """Return the state of the regular backups."""
    with store.reading() as r:
        last, newest = r.jobs.newest(BACKUP_JOB), r.jobs.newest(BACKUP_JOB, JobStatus.DONE)
    failed = last if last is not None and last.status is JobStatus.FAILED else None
    settings = store.settings
    return BackupState(settings.backup_folder is not None, timedelta(hours=settings.backup_hours), newest, failed)
