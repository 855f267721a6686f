"""The database is locked, goes away, is damaged, or has the tables of another version while jobs run."""

import random
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.jobs import toy
from tests.jobs.helpers import (
    PATIENCE_S,
    PatientRunner,
    get,
    kill,
    program_environment,
    wait_ended,
    wait_for,
    worker_process,
    write_articles,
)
from tests.servers import PostgresServer, postgres
from themescope.core.errors import SchemaError, StoreError
from themescope.core.records.stored import JobRecord, JobStatus, Sharing
from themescope.db.records import NewLabelling
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.backups import write_backup
from themescope.jobs.queue.control import STALE_S, enqueue
from themescope.jobs.queue.runner import Runner, run_here
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

Add = Callable[..., JobRecord]


@contextmanager
def locked(store: Store) -> Iterator[None]:
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
def test_a_job_that_lost_postgresql_is_resumed(
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


WRITER = """
import os, sys, time
from themescope.core.errors import StoreError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import StaleChangeError
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services.labelling.session import LabellingSession
labelling, person, life = int(sys.argv[1]), sys.argv[2], sys.argv[3]
store, session, number = Store(Settings.from_environment()), None, 0
acknowledged = os.open(sys.argv[4], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
while True:
    number += 1
    name = f"{person} {life} {number}"
    try:
        session = session or LabellingSession(store, labelling, person)
        session.sync()
        ids = session.partition.ids[number % len(session.partition.ids) :][:1]
        if session.do(op.note(session.partition, ids, name), name):
            os.write(acknowledged, f"{name}\\n".encode())
    except StaleChangeError:
        continue
    except StoreError as error:
        print(error, flush=True)
        session = None
        time.sleep(0.05)
"""
KILLS, WRITES = 24, 20


@pytest.mark.slow
@pytest.mark.postgres
def test_what_postgresql_acknowledged_outlives_kills_of_everybody(
    themescope_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Three writers of one labelling, a worker and the server are killed in turn; every other kill is of a writer."""
    chance, lives, acknowledged = random.Random(7), count(1), tmp_path / "acknowledged"
    with postgres() as server, ExitStack() as processes:
        url = server.new_database()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET synchronous_commit = on")
        monkeypatch.setenv("DATABASE_URL", url)
        store = Store(Settings.from_environment())
        store.migrate()
        run_here(store, "import-corpus", {"files": [str(write_articles(tmp_path, 5))], "corpus": "W"}, quiet=True)
        with store.reading() as r:
            corpus = r.corpora.by_name("W").id
        labelling = starts.begin(store, NewLabelling(corpus, "L", "ada", Sharing.SHARED), starts.from_sections).id
        log = processes.enter_context((tmp_path / "log").open("wb"))
        shared = {"stdout": log, "stderr": subprocess.STDOUT, "env": program_environment()}

        def writer(person: str) -> subprocess.Popen[bytes]:
            words = [sys.executable, "-c", WRITER, str(labelling), person, str(next(lives)), str(acknowledged)]
            return processes.enter_context(ended(subprocess.Popen(words, **shared)))

        def more(than: Sequence[str], person: str = "", most: int = 1) -> bool:
            return sum(line.startswith(person) for line in acknowledged.read_text().splitlines()[len(than) :]) >= most

        writers = {person: writer(person) for person in ("ada", "ben", "cleo")}
        files = [str(write_articles(tmp_path, 120))]
        jobs = [enqueue(store, "import-corpus", {"files": files, "corpus": f"C{n}", "workers": 1}) for n in range(4)]
        worker = processes.enter_context(worker_process())
        wait_for(acknowledged.exists)
        for number in range(KILLS):
            written = acknowledged.read_text().splitlines()
            wait_for(lambda so_far=written: more(so_far, most=WRITES))
            time.sleep(chance.uniform(0.0, 0.5))
            if number % 2:
                person = chance.choice([*writers])
                kill(writers[person])
                writers[person] = writer(person)
            elif number % 4:
                kill(worker)
                worker = processes.enter_context(worker_process())
            else:
                server.restart("immediate")
        written = acknowledged.read_text().splitlines()
        wait_for(lambda: all(more(written, person) for person in writers))
        for process in writers.values():
            assert process.poll() is None, (tmp_path / "log").read_text()
            kill(process)
        rows = [wait_ended(store, job.id) for job in jobs]
        assert {row.status for row in rows} == {JobStatus.DONE}, [row.error for row in rows]
        steps = Counter(step.reason for step in LabellingSession(store, labelling, "ada").steps)
        written = acknowledged.read_text().splitlines()
        assert len(written) > KILLS * WRITES and max(Counter(written).values()) == 1
        assert set(written) <= set(steps) and max(steps[name] for name in written) == 1
        with store.reading() as r:
            corpora = {corpus.name: corpus.articles for corpus in r.corpora.list(include_unready=True)}
        assert corpora == {"W": 5, **{f"C{n}": 120 for n in range(4)}}
        store.close()


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()


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
