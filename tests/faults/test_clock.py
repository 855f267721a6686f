"""The clock jumps a day ahead or back, or differs from that of another machine: no job is lost, and none runs twice."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.jobs import toy
from tests.jobs.helpers import PATIENCE_S, PatientRunner, get, wait_for
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.queue.control import STALE_S, cancel
from themescope.jobs.queue.worker import Worker

Add = Callable[..., JobRecord]
DAY = timedelta(days=1)
jumps = pytest.mark.parametrize("jump", [DAY, -DAY], ids=["ahead", "back"])


class Clock:
    """The clock of the repository of jobs, which a test sets."""

    ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("themescope.db.repositories.jobs.now", clock.now)
    return clock


@pytest.fixture
def abandoned(add: Add, sqlite_store: Store) -> JobRecord:
    """A job whose worker died."""
    job = add()
    with sqlite_store.writing() as w:
        w.jobs.claim(job.id, "dead")
    return job


@jumps
def test_a_job_whose_worker_died_is_resumed_in_time(
    abandoned: JobRecord, runner: PatientRunner, clock: Clock, jump: timedelta
) -> None:
    clock.ahead = jump
    assert runner.watch(STALE_S) == [abandoned.id]
    runner.run_next()
    row = get(runner.store, abandoned.id)
    assert (row.status, row.attempt) == (JobStatus.DONE, 2)


@jumps
def test_a_job_whose_worker_died_can_be_cancelled(
    abandoned: JobRecord, runner: PatientRunner, clock: Clock, jump: timedelta
) -> None:
    clock.ahead = jump
    cancel(runner.store, abandoned.id)
    runner.watch(STALE_S)
    runner.run_next()
    assert get(runner.store, abandoned.id).status is JobStatus.CANCELLED
    assert toy.RUNS[abandoned.id] == 0


def heartbeat_changed(store: Store, job: JobRecord) -> bool:
    """Whether the heartbeat of a job is another one than before."""
    return get(store, job.id).heartbeat != job.heartbeat


@jumps
def test_a_living_job_is_left_alone_by_a_worker_with_another_clock(
    add: Add, runner: PatientRunner, clock: Clock, jump: timedelta
) -> None:
    job, other = add(what="spin"), PatientRunner(runner.store)
    clock.ahead = jump
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner.run_next)
        wait_for(lambda: get(runner.store, job.id).message == "spinning")
        clock.ahead = timedelta(0)
        for _ in range(8):
            assert other.watch(STALE_S / 4) == []
            wait_for(partial(heartbeat_changed, runner.store, get(runner.store, job.id)))
            assert not other.run_next()
        assert (get(runner.store, job.id).attempt, toy.RUNS[job.id]) == (1, 1)
        runner.shut_down()
        future.result(PATIENCE_S)


def test_threads_of_one_worker_do_not_both_run_a_job_whose_heartbeat_stopped(
    add: Add, runner: PatientRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("themescope.jobs.queue.control.HEARTBEAT_S", 600.0)
    job = add(what="spin")
    with ThreadPoolExecutor(2) as pool:
        future = pool.submit(runner.run_next)
        wait_for(lambda: toy.RUNS[job.id])
        assert runner.watch(STALE_S) == []
        pool.submit(runner.run_next).result(PATIENCE_S)
        assert toy.RUNS[job.id] == 1
        runner.shut_down()
        future.result(PATIENCE_S)


def test_files_that_look_a_day_old_are_kept_while_a_job_runs(abandoned: JobRecord, sqlite_store: Store) -> None:
    def write(folder: Path) -> None:
        (folder / "weights").write_bytes(b"1")

    digest = sqlite_store.artifacts.put(write)
    two_days_ago = time.time() - 2 * DAY.total_seconds()
    os.utime(sqlite_store.artifacts.path(digest), (two_days_ago, two_days_ago))
    worker = Worker(sqlite_store, warm_up=False)
    worker._present()
    assert sqlite_store.artifacts.has(digest)
    with sqlite_store.writing() as w:
        w.jobs.finish(abandoned.id, "dead", JobStatus.DONE)
    worker._present()
    assert not sqlite_store.artifacts.has(digest)
