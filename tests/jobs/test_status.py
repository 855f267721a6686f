"""Readiness of the web server, and the end of a worker on SIGTERM."""

import json
import os
import subprocess
import threading
from contextlib import closing
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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("state", ["ok", "not migrated", "unreachable"])
def test_the_state_of_the_store_is_told_without_its_address(
    state: str, settings: Settings, request: pytest.FixtureRequest
) -> None:
    if state == "ok":
        request.getfixturevalue("sqlite_store")
    elif state == "unreachable":
        settings = Settings.in_folder(settings.home, f"postgresql://a:secret@127.0.0.1:{free_port()}/db")
    with closing(Health(Store(settings))) as health:
        assert health.states() == {"store": state}


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
def test_on_sigterm_a_worker_requeues_a_job(
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
