"""Readiness of the web server, and the end of a worker on SIGTERM."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.helpers import get, program, program_environment, wait_for, write_articles
from tests.servers import free_port
from themescope.core.records.stored import JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services import installation
from themescope.jobs.services.installation import Health


@pytest.fixture
def health(sqlite_store: Store) -> Iterator[Health]:
    found = Health(sqlite_store)
    yield found
    found.close()


def test_a_migrated_store_is_ready(health: Health) -> None:
    assert health.states() == {"store": "ok"}


def test_a_store_that_nobody_migrated_is_not_ready(settings: Settings) -> None:
    health = Health(Store(settings))
    assert health.states() == {"store": "not migrated"}
    health.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_servers_that_do_not_answer_are_not_named(themescope_home: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    health = Health(Store(Settings.in_folder(themescope_home, f"postgresql://a:secret@{address}/db")))
    assert health.states() == {"store": "unreachable"}
    health.close()


def test_a_part_without_an_answer_holds_up_nobody(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_ANSWER_S", 0.05)
    asked, answered = [], threading.Event()

    def is_current() -> bool:
        asked.append(True)
        return answered.wait(60)

    monkeypatch.setattr(sqlite_store, "is_current", is_current)
    health = Health(sqlite_store)
    assert [health.states()["store"] for _ in range(3)] == ["no answer"] * 3
    assert len(asked) == 1
    answered.set()
    wait_for(lambda: health.states()["store"] == "ok")
    health.close()


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM is a matter of POSIX systems")
def test_on_sigterm_a_worker_queues_its_job_again(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEMESCOPE_LOG_FORMAT", "json")
    job = enqueue(sqlite_store, "import-corpus", {"files": [str(write_articles(tmp_path, 100))], "corpus": "C"})
    command = program("worker", "--no-warm-up", held=("write", 2))
    log = tmp_path / "log.txt"
    with log.open("wb") as out:
        worker = subprocess.Popen(command, env=program_environment(), stdout=out, stderr=out)
    try:
        wait_for(lambda: get(sqlite_store, job.id).status is JobStatus.RUNNING)
        worker.terminate()
        assert worker.wait(60) == 0
    finally:
        worker.kill()
        worker.wait()
    row = get(sqlite_store, job.id)
    assert (row.status, row.attempt) == (JobStatus.QUEUED, 0)
    with sqlite_store.reading() as r:
        assert r.workers.alive() == []
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert {record["process"] for record in records} == {records[0]["process"]}
    assert any(record.get("job") == job.id and "released" in record["message"] for record in records)
