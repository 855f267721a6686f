"""The database is locked, goes away, is damaged, or has the tables of another version while jobs run."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.jobs import toy
from tests.jobs.helpers import PATIENCE_S, PatientRunner, get, wait_for, worker_process, write_articles
from tests.servers import PostgresServer
from themescope.core.errors import SchemaError, StoreError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.backups import write_backup
from themescope.jobs.queue.control import STALE_S, enqueue
from themescope.jobs.queue.runner import Runner, run_here

Add = Callable[..., JobRecord]


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """Keep every writer out."""
    with closing(sqlite3.connect(store.settings.home / "themescope.db", isolation_level=None)) as db:
        db.execute("PRAGMA busy_timeout=60000")
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


def stored(store: Store, job: JobRecord) -> int:
    return int(get(store, job.id).result.get("stored", 0))


class TestLockedForLong:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Wait a fifth of a second for the lock instead of 15, so that a short lock is a long one."""
        monkeypatch.setattr("themescope.db.engine.TIMEOUT_SECONDS", 0.2)

    def test_a_job_that_could_not_write_is_resumed_where_it_was(self, add: Add, runner: PatientRunner) -> None:
        job = add(what="store", steps=60, pause=0.005)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(runner.run_next)
            wait_for(lambda: stored(runner.store, job) > 3)
            with locked(runner.store):
                before = stored(runner.store, job)
                future.result(PATIENCE_S)
        assert get(runner.store, job.id).status is JobStatus.RUNNING
        assert runner.watch(STALE_S) == [job.id]
        runner.run_next()
        row = get(runner.store, job.id)
        assert (row.status, row.attempt, row.error) == (JobStatus.DONE, 2, "")
        assert row.result == {"stored": 60, "started_at": before}

    def test_a_job_that_ends_meanwhile_keeps_its_result(self, add: Add, runner: PatientRunner) -> None:
        job = add(steps=1, pause=0.3)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(runner.run_next)
            wait_for(lambda: toy.RUNS[job.id])
            with locked(runner.store), pytest.raises(TimeoutError):
                future.result(1.0)
            future.result(PATIENCE_S)
        row = get(runner.store, job.id)
        assert (row.status, row.attempt, row.result) == (JobStatus.DONE, 1, {"steps": 1})


@pytest.mark.postgres
def test_a_job_that_lost_postgresql_is_resumed_where_it_was(
    postgres_server: PostgresServer, themescope_home: Path, toys: None
) -> None:
    url = postgres_server.new_database()
    store = Store(Settings.in_folder(themescope_home, url))
    store.migrate()
    runner, job = PatientRunner(store), enqueue(store, "toy", {"what": "store", "steps": 60, "pause": 0.005})
    name = url.rsplit("/", 1)[1]
    with ThreadPoolExecutor(1) as pool, psycopg.connect(postgres_server.url(), autocommit=True) as server:
        future = pool.submit(runner.run_next)
        wait_for(lambda: stored(store, job) > 3)
        # What a restart looks like from outside: every connection ends, and no new one is accepted for a while.
        server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        future.result(PATIENCE_S)
        server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    assert get(store, job.id).status is JobStatus.RUNNING
    before = stored(store, job)
    assert runner.watch(STALE_S) == [job.id]
    runner.run_next()
    row = get(store, job.id)
    assert (row.status, row.attempt) == (JobStatus.DONE, 2)
    assert row.result == {"stored": 60, "started_at": before}
    store.close()


def test_a_damaged_page_is_reported_and_hides_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    run_here(sqlite_store, "import-corpus", {"files": [str(write_articles(tmp_path, 12))], "corpus": "C"}, quiet=True)
    job = enqueue(sqlite_store, "build-triplets", {"corpus": "C", "name": "T"})
    sqlite_store.close()
    damage(sqlite_store.settings.home / "themescope.db", b"was seen near the")
    Runner(sqlite_store).run_next()
    row = get(sqlite_store, job.id)
    assert row.status is JobStatus.FAILED
    assert row.error == "The database is damaged. Restore it from a backup."
    with sqlite_store.reading() as r:
        assert r.triplets.list() == []


def test_a_backup_of_a_damaged_page_fails_with_one_sentence(sqlite_store: Store, tmp_path: Path) -> None:
    run_here(sqlite_store, "import-corpus", {"files": [str(write_articles(tmp_path, 12))], "corpus": "C"}, quiet=True)
    sqlite_store.close()
    damage(sqlite_store.settings.home / "themescope.db", b"was seen near the")
    with pytest.raises(StoreError) as failed:
        write_backup(sqlite_store, tmp_path / "backup.zip")
    assert re.search(r"is damaged \(\w[^*\n]*\)\. Restore the last backup before that\.$", str(failed.value))


def damage(file: Path, text: bytes) -> None:
    """Overwrite the header of the pages that contain ``text``."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = int(db.execute("PRAGMA page_size").fetchone()[0])
    content = bytearray(file.read_bytes())
    for start in range(0, len(content), size):
        if text in content[start : start + size]:
            content[start : start + 100] = b"\xff" * 100
    file.write_bytes(content)


def set_revision(store: Store, revision: str) -> None:
    """Let another version have migrated the store."""
    with store.writing() as w:
        w.jobs.connection.execute(sa.text("UPDATE alembic_version SET version_num = :new"), {"new": revision})


class TestOtherRevision:
    @pytest.mark.parametrize(("revision", "advice"), [("9999", "Update Themescope"), ("0023", "Restart Themescope")])
    def test_no_job_is_claimed(self, add: Add, runner: PatientRunner, revision: str, advice: str) -> None:
        job = add()
        set_revision(runner.store, revision)
        with pytest.raises(SchemaError, match=advice):
            runner.run_next()
        assert (get(runner.store, job.id).status, toy.RUNS[job.id]) == (JobStatus.QUEUED, 0)

    def test_a_worker_stops_with_the_reason_and_queues_its_job_again(self, sqlite_store: Store, tmp_path: Path) -> None:
        files = [str(write_articles(tmp_path, 100))]
        job = enqueue(sqlite_store, "import-corpus", {"files": files, "corpus": "C", "workers": 1})
        with worker_process(("write", 2)) as worker:
            wait_for(lambda: get(sqlite_store, job.id).status is JobStatus.RUNNING)
            set_revision(sqlite_store, "9999")
            assert worker.wait(30) == 1
        assert (get(sqlite_store, job.id).status, get(sqlite_store, job.id).attempt) == (JobStatus.QUEUED, 0)
        with sqlite_store.reading() as r:
            assert (r.corpora.list(), r.workers.alive()) == ([], [])
