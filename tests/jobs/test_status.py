"""Health, readiness and metrics of a worker, and its end on SIGTERM."""

import json
import os
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.jobs.helpers import get, program, program_environment, wait_for, write_articles
from tests.servers import free_port
from themescope.core.records.stored import JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.monitoring.logs import SENTENCES_EMBEDDED
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services.installation import health as health_module
from themescope.jobs.services.installation.health import Health, may_read_metrics, serving_status

Found = dict[tuple[str, tuple[str, ...]], float]


def ask(url: str, token: str = "") -> tuple[int, str]:
    """Status and body of a response."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def values(text: str) -> Found:
    """The samples of a text, by name and the values of the labels, sorted by the names of those."""
    families = text_string_to_metric_families(text)
    return {
        (s.name, tuple(s.labels[key] for key in sorted(s.labels))): s.value
        for family in families
        for s in family.samples
    }


@pytest.fixture
def health(sqlite_store: Store) -> Iterator[Health]:
    found = Health(sqlite_store, lambda: 1.0)
    yield found
    found.close()


def test_a_migrated_store_is_ready(health: Health) -> None:
    assert health.states() == {"store": "ok", "worker": "ok"}


def test_a_store_that_nobody_migrated_is_not_ready(settings: Settings) -> None:
    health = Health(Store(settings))
    assert health.states() == {"store": "not migrated"}
    health.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_servers_that_do_not_answer_are_not_named(themescope_home: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    health = Health(Store(Settings.in_folder(themescope_home, f"postgresql://a:secret@{address}/db")))
    assert health.states() == {"store": "unreachable"}
    found = values(health.metrics().decode())
    assert found["themescope_store_up", ()] == 0
    assert found["themescope_database_errors_total", ("OperationalError",)] >= 1
    health.close()


def test_a_late_heartbeat_is_not_ready(sqlite_store: Store) -> None:
    health = Health(sqlite_store, lambda: 60.0)
    assert health.states()["worker"] == "no heartbeat"
    health.close()


def test_a_part_without_an_answer_holds_up_nobody(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "_ANSWER_S", 0.05)
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


def test_jobs_and_workers_are_counted(sqlite_store: Store, health: Health, tmp_path: Path) -> None:
    first = enqueue(sqlite_store, "import-corpus", {"files": [str(write_articles(tmp_path, 1))], "corpus": "C"})
    enqueue(sqlite_store, "build-triplets", {"corpus": "C", "name": "T"}, after=first.id)
    with sqlite_store.writing() as w:
        w.workers.heartbeat("lab:1:ab", "default")
    time.sleep(0.05)
    before = values(health.metrics().decode())["themescope_sentences_embedded_total", ()]
    SENTENCES_EMBEDDED.inc(3)
    found = values(health.metrics().decode())
    assert found["themescope_sentences_embedded_total", ()] == before + 3
    assert found["themescope_jobs", ("import-corpus", "queued")] == 1
    assert found["themescope_jobs", ("build-triplets", "queued")] == 1
    assert 0.05 <= found["themescope_oldest_queued_job_seconds", ()] < 60
    assert found["themescope_oldest_job_heartbeat_seconds", ()] == 0
    assert 0 < found["themescope_worker_heartbeat_seconds", ("default", "lab:1:ab")] < 60
    assert found["themescope_store_up", ()] == 1


def test_a_job_that_waits_for_another_is_not_the_oldest(store: Store) -> None:
    with store.writing() as w:
        assert w.jobs.statistics().oldest_queued is None
        first = w.jobs.add("toy", "", {})
        w.jobs.add("toy", "", {}, after=first.id)
        claimed = w.jobs.claim(first.id, "me")
        found = w.jobs.statistics()
    assert claimed is not None
    assert found.counts == {("toy", JobStatus.QUEUED): 1, ("toy", JobStatus.RUNNING): 1}
    assert (found.oldest_queued, found.oldest_heartbeat) == (None, claimed.heartbeat)


@pytest.mark.parametrize("private", [True, False])
def test_no_other_token_is_accepted(settings: Settings, private: bool) -> None:
    protected = replace(settings, metrics_token="right")
    for header in (
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic right",
        "right",
        "Bearer rïght",
        "Bearer right right",
    ):
        assert not may_read_metrics(protected, header, private), header
    assert may_read_metrics(protected, "bearer right", private)


def test_without_a_token_only_this_machine_reads_metrics(settings: Settings) -> None:
    assert may_read_metrics(settings, "", private=True)
    assert not may_read_metrics(settings, "", private=False)
    assert not may_read_metrics(settings, "Bearer ", private=False)


def test_the_server_of_a_worker(sqlite_store: Store, health: Health) -> None:
    settings = replace(sqlite_store.settings, status_address="127.0.0.1:0", metrics_token="right")
    with serving_status(settings, health) as port:
        url = f"http://127.0.0.1:{port}"
        assert ask(f"{url}/healthz") == (200, "ok")
        status, body = ask(f"{url}/readyz?verbose")
        assert (status, json.loads(body)) == (200, {"store": "ok", "worker": "ok"})
        assert ask(f"{url}/metrics")[0] == ask(f"{url}/metrics", "wrong")[0] == 403
        status, body = ask(f"{url}/metrics", "right")
        assert status == 200 and values(body)["themescope_store_up", ()] == 1
        assert ask(f"{url}/other")[0] == 404


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM is a matter of POSIX systems")
def test_on_sigterm_a_worker_queues_its_job_again(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("THEMESCOPE_STATUS_ADDRESS", address)
    monkeypatch.setenv("THEMESCOPE_LOG_FORMAT", "json")
    job = enqueue(sqlite_store, "import-corpus", {"files": [str(write_articles(tmp_path, 100))], "corpus": "C"})
    command = program("worker", "--no-warm-up", held=("write", 2))
    log = tmp_path / "log.txt"
    with log.open("wb") as out:
        worker = subprocess.Popen(command, env=program_environment(), stdout=out, stderr=out)
    try:
        wait_for(lambda: get(sqlite_store, job.id).status is JobStatus.RUNNING)
        assert ask(f"http://{address}/readyz")[0] == 200
        found = values(ask(f"http://{address}/metrics")[1])
        assert found["themescope_jobs", ("import-corpus", "running")] == 1
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
