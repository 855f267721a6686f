"""The table of jobs as queue, with the same tests on SQLite and PostgreSQL."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from tests.jobs import toy
from tests.jobs.helpers import (
    PATIENCE_S,
    get,
    kill,
    program_environment,
    wait_ended,
    wait_for,
    worker_process,
    write_articles,
)
from tests.places import ROOT
from themescope.core.records.stored import JobStatus
from themescope.db.store import Store
from themescope.jobs.queue.control import cancel, enqueue, without_paths
from themescope.jobs.queue.worker import POLL_S, Worker

pytestmark = pytest.mark.usefixtures("toys")


@contextmanager
def working(store: Store, workers: int = 1) -> Iterator[Worker]:
    """A worker in this process, stopped at the end."""
    worker = Worker(store, warm_up=False)
    thread = threading.Thread(target=worker.run, args=(workers,))
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(PATIENCE_S)


def claim_all(store: Store, owner: str) -> list[int]:
    """Claim jobs until there are none."""
    claimed = []
    while True:
        with store.writing() as w:
            job = w.jobs.claim_next(owner)
        if job is None:
            return claimed
        claimed.append(job.id)


class TestClaimNext:
    def test_in_the_order_of_queueing(self, store: Store) -> None:
        ids = [enqueue(store, "toy", {}).id for _ in range(3)]
        assert claim_all(store, "one") == ids

    def test_each_job_goes_to_one_of_many_workers(self, store: Store) -> None:
        ids = [enqueue(store, "toy", {}).id for _ in range(60)]
        with ThreadPoolExecutor(6) as pool:
            claimed = list(pool.map(lambda owner: claim_all(store, owner), "abcdef"))
        assert sorted(id for part in claimed for id in part) == ids
        assert {get(store, id).attempt for id in ids} == {1}

    def test_queues_of_other_names_are_apart(self, store: Store) -> None:
        with store.writing() as w:
            other = w.jobs.add("toy", "", {}, queue="gpu")
        assert claim_all(store, "one") == []
        with store.writing() as w:
            taken = w.jobs.claim_next("one", queue="gpu")
        assert taken is not None
        assert taken.id == other.id

    def test_a_running_job_only_with_the_heartbeat_that_was_seen(self, store: Store) -> None:
        job = enqueue(store, "toy", {})
        claim_all(store, "dead")
        seen = get(store, job.id).heartbeat
        assert seen is not None
        with store.writing() as w:
            assert w.jobs.claim_next("one", {job.id: datetime(2020, 1, 1, tzinfo=seen.tzinfo)}) is None
            assert w.jobs.claim_next("one", {job.id: seen}, leave=[job.id]) is None
            taken = w.jobs.claim_next("one", {job.id: seen})
        assert taken is not None
        assert (taken.owner, taken.attempt) == ("one", 2)

    def test_a_cancelled_abandoned_job_ends_and_the_next_is_taken(self, store: Store) -> None:
        job = enqueue(store, "toy", {})
        claim_all(store, "dead")
        cancel(store, job.id)
        silent, following = get(store, job.id).heartbeat, enqueue(store, "toy", {})
        assert silent is not None
        with store.writing() as w:
            taken = w.jobs.claim_next("one", {job.id: silent})
        assert taken is not None
        assert (taken.id, get(store, job.id).status) == (following.id, JobStatus.CANCELLED)


class TestWorker:
    def test_jobs_that_wait_run_in_several_threads(self, store: Store) -> None:
        jobs = [enqueue(store, "toy", {"steps": n}) for n in (1, 2, 3)]
        last = enqueue(store, "toy", {}, after=jobs[-1].id)
        with working(store, workers=2):
            for job in (*jobs, last):
                wait_ended(store, job.id)
        assert [get(store, j.id).result for j in jobs] == [{"steps": 1}, {"steps": 2}, {"steps": 3}]
        assert get(store, last.id).status is JobStatus.DONE
        assert {toy.RUNS[job.id] for job in jobs} == {1}

    def test_starts_a_job_of_another_process_within_half_a_second(self, store: Store) -> None:
        assert POLL_S <= 0.5
        with working(store):
            wait_for(lambda: alive(store))
            waits = []
            for _ in range(5):
                with store.writing() as w:  # as another process does: nothing wakes the worker
                    job = w.jobs.add("toy", "", {"steps": 1})
                row = wait_ended(store, job.id)
                assert row.started is not None
                waits.append((row.started - row.created).total_seconds())
        assert sorted(waits)[2] <= 0.5, waits  # the median, because a busy machine may be late once

    def test_starts_a_job_of_its_own_process_at_once(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("themescope.jobs.queue.worker.POLL_S", 3600.0)
        with working(store):
            wait_for(lambda: alive(store))
            time.sleep(0.2)  # the worker has looked once and waits
            job = enqueue(store, "toy", {})
            assert wait_ended(store, job.id).status is JobStatus.DONE

    def test_one_that_is_stopped_runs_nothing_more(self, store: Store) -> None:
        with working(store) as worker:
            wait_for(lambda: alive(store))
        job = enqueue(store, "toy", {})
        assert not worker.runner.run_next()
        assert (get(store, job.id).status, alive(store)) == (JobStatus.QUEUED, 0)


def test_a_killed_worker_loses_no_job_and_none_runs_twice(store: Store, tmp_path: Path) -> None:
    file = str(write_articles(tmp_path, 5))
    args = [{"files": [file], "corpus": f"C{number}", "workers": 1} for number in range(3)]
    with ExitStack() as workers:
        doomed = workers.enter_context(worker_process(("write", 1)))
        wait_for(lambda: alive(store) == 1)
        jobs = [enqueue(store, "import-corpus", each) for each in args]
        wait_for(lambda: get(store, jobs[0].id).status is JobStatus.RUNNING)
        kill(doomed)
        workers.enter_context(worker_process())
        rows = [wait_ended(store, job.id) for job in jobs]
    assert [(row.status, row.attempt) for row in rows] == [(JobStatus.DONE, 2), *[(JobStatus.DONE, 1)] * 2]
    with store.reading() as r:
        assert [corpus.articles for corpus in r.corpora.list(include_unready=True)] == [5] * 3


def alive(store: Store) -> int:
    """How many workers there are."""
    with store.reading() as r:
        return len(r.workers.alive())


RENEWED_AFTER_A_SECOND = """
import sys
from themescope.jobs.cli.main import main
from themescope.jobs.queue import worker
worker.RENEWAL_S = 1.0
main(sys.argv[1:])
"""


@pytest.mark.skipif(os.name == "nt", reason="a process can be replaced only on POSIX systems")
def test_an_idle_worker_starts_anew_after_its_jobs(sqlite_store: Store, tmp_path: Path) -> None:
    def owners() -> set[str]:
        with sqlite_store.reading() as r:
            return {one.owner for one in r.workers.alive(within_s=3_600)}

    def imported(name: str) -> None:
        args = {"files": [str(write_articles(tmp_path, 2))], "corpus": name}
        assert wait_ended(sqlite_store, enqueue(sqlite_store, "import-corpus", args).id).status is JobStatus.DONE

    command = [sys.executable, "-c", RENEWED_AFTER_A_SECOND, "worker"]
    process = subprocess.Popen(command, env=program_environment(), cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        first = wait_for(owners)
        imported("A")
        second = wait_for(lambda: owners() - first)
        imported("B")
        assert {owner.split(":")[1] for owner in first | second} == {str(process.pid)}
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        assert wait_for(lambda: owners() <= first)  # the last one has left
    finally:
        process.kill()
        process.wait()


def test_paths_in_errors_and_results_become_names(sqlite_store: Store) -> None:
    with sqlite_store.writing() as w:
        job = w.jobs.add("toy", "t", {"seconds": 1})
    error = "No space left on device: '/srv/data/home/x.db'. See https://a.org/b/c or 1/2/3."
    shown = without_paths(replace(job, error=error, result={"file": "/srv/out.csv"}, traceback="File /srv/a.py"))
    assert shown.error == "No space left on device: 'x.db'. See https://a.org/b/c or 1/2/3."
    assert shown.result == {"file": "out.csv"} and shown.traceback == "" and shown.args == {"seconds": 1}
