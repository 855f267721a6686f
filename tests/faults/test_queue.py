"""The queue loses its messages, workers are stopped or killed, and several take from one queue."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.jobs.helpers import PATIENCE_S, PatientRunner, get, wait_ended, wait_for, worker_process, write_articles
from tests.jobs.test_worker import HALF_STORED, copied_store, stored, text_of
from themescope.db.records import JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.foreground import run_here
from themescope.jobs.queue.huey_queue import JobQueue
from themescope.jobs.queue.runner import LOST_S


@pytest.mark.redis
def test_jobs_run_after_redis_lost_every_message(
    sqlite_store: Store, settings: Settings, redis_server: str, toys: None
) -> None:
    store = Store(replace(settings, queue_url=redis_server))
    queue = JobQueue(redis_server)
    queue.huey.flush()
    first = enqueue(store, "toy", {})
    second = enqueue(store, "toy", {}, after=first.id)
    queue.huey.flush()
    runner = PatientRunner(store, queue)
    assert runner.watch(LOST_S) == [first.id]
    while (task := queue.huey.dequeue()) is not None:
        runner.run(task.args[0])
    assert [get(store, job.id).status for job in (first, second)] == [JobStatus.DONE] * 2
    queue.close()
    store.close()


def test_an_import_that_is_stopped_and_killed_equals_an_undisturbed_one(
    sqlite_store: Store, empty_sqlite_file: Path, tmp_path: Path
) -> None:
    args = {"files": [str(write_articles(tmp_path, 100))], "corpus": "C", "workers": 1}
    job = enqueue(sqlite_store, "import-corpus", args)
    with worker_process(HALF_STORED) as worker:
        wait_for(lambda: stored(sqlite_store, "C"))
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0
    row = get(sqlite_store, job.id)
    assert (row.status, row.attempt, stored(sqlite_store, "C") > 0) == (JobStatus.QUEUED, 0, True)
    with sqlite_store.reading() as r:
        assert (r.corpora.list(), r.workers.alive()) == ([], [])
    with worker_process():
        row = wait_ended(sqlite_store, job.id)
    assert (row.status, row.attempt) == (JobStatus.DONE, 1)
    calm = copied_store(empty_sqlite_file, tmp_path / "calm")
    run_here(calm, "import-corpus", args, quiet=True)
    assert text_of(sqlite_store, "C")[1] == text_of(calm, "C")[1]


def test_two_workers_share_a_queue_and_no_job_runs_twice(sqlite_store: Store, tmp_path: Path) -> None:
    file = str(write_articles(tmp_path, 5))
    args = [{"files": [file], "corpus": f"C{number}", "workers": 1} for number in range(4)]
    with ExitStack() as workers:
        for _ in range(2):
            workers.enter_context(worker_process())
        wait_for(lambda: alive(sqlite_store) == 2)
        jobs = [enqueue(sqlite_store, "import-corpus", each) for each in args]
        rows = [wait_ended(sqlite_store, job.id) for job in jobs]
    assert {(row.status, row.attempt) for row in rows} == {(JobStatus.DONE, 1)}
    with sqlite_store.reading() as r:
        assert {corpus.articles for corpus in r.corpora.list()} == {5}
        assert len(r.corpora.list(include_unready=True)) == 4


def alive(store: Store) -> int:
    """How many workers there are."""
    with store.reading() as r:
        return len(r.workers.alive())
