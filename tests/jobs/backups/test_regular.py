"""Regular backups: when they are due, which are kept, and who runs them."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from themescope.core.errors import ConfigError, DataError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.backups import (
    BACKUP_JOB,
    backup_state,
    is_due,
    queue_if_due,
    regular_backups,
    restore_backup,
)
from themescope.jobs.queue.runner import run_here

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def with_folder(store: Store, folder: Path, kept: int = 2, hours: int = 24) -> Store:
    return Store(replace(store.settings, backup_folder=folder, backups_kept=kept, backup_hours=hours))


@pytest.mark.parametrize(
    ("status", "hours_ago", "every", "due"),
    [
        (JobStatus.DONE, 23.9, 24, False),
        (JobStatus.DONE, 24, 24, True),
        (JobStatus.QUEUED, 99, 24, False),
        (JobStatus.RUNNING, 99, 24, False),
        (JobStatus.FAILED, 0.9, 24, False),
        (JobStatus.FAILED, 1, 24, True),
        (JobStatus.CANCELLED, 23, 24, False),
        (JobStatus.CANCELLED, 24, 24, True),
        (JobStatus.DONE, 1, 1, True),
    ],
)
def test_when_a_backup_is_due(
    sqlite_store: Store, tmp_path: Path, status: JobStatus, hours_ago: float, every: int, due: bool
) -> None:
    with sqlite_store.writing() as w:
        job = w.jobs.add(BACKUP_JOB, "", {})
    last: JobRecord = replace(job, status=status, created=NOW - timedelta(hours=hours_ago))
    settings = replace(sqlite_store.settings, backup_folder=tmp_path, backup_hours=every)
    assert is_due(settings, last, NOW) is due
    assert is_due(settings, None, NOW)
    assert not is_due(sqlite_store.settings, None, NOW)


def test_several_workers_queue_one_backup(store: Store, tmp_path: Path) -> None:
    sent: list[int | None] = []
    assert queue_if_due(store) is None
    ours = with_folder(store, tmp_path)
    start = threading.Barrier(4)

    def look() -> None:
        start.wait()
        sent.append(queue_if_due(ours))

    workers = [threading.Thread(target=look) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with store.reading() as r:
        (job,) = r.jobs.list()
    assert sorted(sent, key=bool) == [None, None, None, job.id]
    ours.close()


def test_the_newest_are_kept_and_can_be_restored(sqlite_store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "backups"
    store = with_folder(sqlite_store, folder)
    folder.mkdir(parents=True)
    foreign = [folder / name for name in ("themescope-20200101-000000.zip.old", "notes.txt", "b.zip")]
    old = [folder / f"themescope-202001{day:02}-000000.zip" for day in range(1, 4)]
    leftover, recent = folder / ".themescope-20200101.zip.0123", folder / ".themescope-backup-x"
    for path in (*foreign, *old, leftover):
        path.touch()
    recent.mkdir()
    os.utime(leftover, (0, 0))
    result = run_here(store, BACKUP_JOB, {}, quiet=True)
    assert result["removed"] == [path.name for path in old[:2]]
    made = Path(result["file"])
    assert regular_backups(folder) == [old[2], made] and made.stat().st_size == result["bytes"]
    assert all(path.exists() for path in (*foreign, recent)) and not leftover.exists()
    target = Settings.in_folder(tmp_path / "elsewhere")
    restore_backup(target, made)
    with Store(target).reading() as r:
        assert r.jobs.newest(BACKUP_JOB).status is JobStatus.CANCELLED  # type: ignore[union-attr]


def test_folders_that_cannot_be_used(sqlite_store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Set THEMESCOPE_BACKUP_FOLDER"):
        run_here(sqlite_store, BACKUP_JOB, {}, quiet=True)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(DataError, match="cannot be created"):
        run_here(with_folder(sqlite_store, file / "x"), BACKUP_JOB, {}, quiet=True)


def test_the_state_of_backups(sqlite_store: Store, tmp_path: Path) -> None:
    def end(status: JobStatus, **result: object) -> None:
        with sqlite_store.writing() as w:
            job = w.jobs.add(BACKUP_JOB, "", {})
            w.jobs.claim(job.id, "w")
            w.jobs.finish(job.id, "w", status, result=result, error="The disk is full." * (status is JobStatus.FAILED))

    assert not backup_state(sqlite_store).regular
    store = with_folder(sqlite_store, tmp_path)
    assert backup_state(store).summary == "none yet" and backup_state(store).overdue(NOW)
    end(JobStatus.DONE, file="b.zip", bytes=2_000_000, made=NOW.isoformat(), problems=[])
    state = backup_state(store)
    assert state.summary == "2026-01-01 12:00 UTC, 2.0 MB, b.zip" and not state.problem
    assert not state.overdue(NOW + timedelta(hours=25)) and state.overdue(NOW + timedelta(hours=49))
    end(JobStatus.FAILED)
    assert backup_state(store).problem == "The last attempt failed: The disk is full."
    end(JobStatus.DONE, file="b.zip", bytes=2_000_000, made=NOW.isoformat(), problems=["x", "y"])
    assert backup_state(store).problem == "Files were missing or damaged (2): x"


@pytest.fixture
def settings_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Settings]:
    def read(**environment: str) -> Settings:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return Settings.from_environment()

    return read


def test_settings(settings_of: Callable[..., Settings], tmp_path: Path) -> None:
    assert settings_of().backup_folder is None
    found = settings_of(THEMESCOPE_BACKUP_FOLDER=str(tmp_path), THEMESCOPE_BACKUP_HOURS="6", THEMESCOPE_BACKUP_KEEP="3")
    assert (found.backup_folder, found.backup_hours, found.backups_kept) == (tmp_path, 6, 3)
    right = {"HOURS": "6", "KEEP": "3", "FOLDER": str(tmp_path)}
    for name, value in (("HOURS", "0"), ("HOURS", "x"), ("KEEP", "0"), ("FOLDER", "relative")):
        with pytest.raises(ConfigError, match=f"THEMESCOPE_BACKUP_{name}"):
            settings_of(**{f"THEMESCOPE_BACKUP_{key}": value for key, value in {**right, name: value}.items()})
