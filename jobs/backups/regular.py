"""Regular backups: the folder of the setting ``THEMESCOPE_BACKUP_FOLDER``, and what is kept there."""

from __future__ import annotations

import re
import shutil
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from themescope.core.errors import ConfigError, DataError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.backups.format import BACKUP_JOB
from themescope.jobs.backups.writing import PARTIAL, Backup, write_backup
from themescope.jobs.common.archive import Progress

TITLE = "Back up the store"
_NAME = re.compile(r"themescope-\d{8}-\d{6}\.zip", re.ASCII)
_RETRY = timedelta(hours=1)
"""Time after which a failed backup is tried again, if the next one is not due earlier."""
_LEFTOVER_S = 86_400.0


def is_due(settings: Settings, last: JobRecord | None, now: datetime) -> bool:
    """Return whether a backup should be queued; ``last`` is the newest job of that kind."""
    if settings.backup_folder is None:
        return False
    if last is None:
        return True
    interval = timedelta(hours=settings.backup_hours)
    if last.status is JobStatus.FAILED:
        interval = min(interval, _RETRY)
    return last.status.ended and now - last.created >= interval


def queue_if_due(store: Store) -> int | None:
    """Queue a backup if one is due, and return the id of its job; only one of several workers does so."""
    if store.settings.backup_folder is None:
        return None
    now = datetime.now(UTC)
    with store.reading() as r:
        due = is_due(store.settings, r.jobs.newest(BACKUP_JOB), now)
    if not due:
        return None
    with store.writing() as w:
        w.jobs.lock()
        if not is_due(store.settings, w.jobs.newest(BACKUP_JOB), now):
            return None
        return w.jobs.add(BACKUP_JOB, TITLE, {}).id


def write_regular(store: Store, progress: Progress) -> tuple[Backup, list[Path]]:
    """Write a backup into the folder of backups, and remove older ones; return it, and what was removed.

    Raises :class:`ConfigError` if no folder is set, and the errors of
    :func:`~themescope.jobs.backups.writing.write_backup`.
    """
    folder = store.settings.backup_folder
    if folder is None:
        raise ConfigError("No folder for backups is set. Set THEMESCOPE_BACKUP_FOLDER, and restart the workers.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The folder of backups {folder} cannot be created: {error.strerror}.") from None
    _remove_leftovers(folder)
    made = write_backup(store, folder / f"themescope-{datetime.now(UTC):%Y%m%d-%H%M%S}.zip", progress)
    old = regular_backups(folder)[: -store.settings.backups_kept]
    for path in old:
        path.unlink(missing_ok=True)
    return made, old


def regular_backups(folder: Path) -> list[Path]:
    """Return the files of regular backups in a folder, oldest first."""
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name)) if folder.is_dir() else []


def _remove_leftovers(folder: Path) -> None:
    """Remove unfinished files of backups whose process was killed; another one may be writing a newer backup."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.name.startswith(PARTIAL) and path.stat().st_mtime < time.time() - _LEFTOVER_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
