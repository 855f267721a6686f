"""The clock jumps a day ahead or back: no job stands still for a day, and none runs twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from db.records import JobRecord, JobStatus
from db.store import Store
from jobs.queue.control import STALE_S, cancel, worker_alive
from jobs.queue.huey_queue import JobQueue
from jobs.queue.runner import Runner
from tests.jobs import toy
from tests.jobs.helpers import PATIENCE_S, get, grow_old, wait_for

Add = Callable[..., JobRecord]
DAY = timedelta(days=1)


class Clock:
    """The clock of the repository of jobs, which a test sets."""

    ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr("db.repositories.jobs.now", clock.now)
    return clock


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["ahead", "back"])
def test_a_job_whose_worker_died_is_resumed_after_a_jump(
    add: Add, runner: Runner, queue: JobQueue, clock: Clock, jump: timedelta
) -> None:
    job = add()
    with runner.store.writing() as w:
        w.jobs.claim(job.id, "dead", STALE_S)
        w.workers.heartbeat("dead", "default")
    clock.ahead = jump
    assert not worker_alive(runner.store)
    assert runner.recover() == [job.id]
    runner.run(job.id)
    assert (get(runner.store, job.id).status, get(runner.store, job.id).attempt) == (JobStatus.DONE, 2)


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["ahead", "back"])
def test_a_job_without_a_message_is_sent_after_a_jump(
    add: Add, runner: Runner, queue: JobQueue, clock: Clock, jump: timedelta
) -> None:
    job = add()
    queue.huey.flush()
    assert runner.recover() == []
    clock.ahead = jump
    assert runner.recover() == [job.id]


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["ahead", "back"])
def test_a_job_whose_worker_died_is_cancelled_at_once_after_a_jump(
    add: Add, runner: Runner, clock: Clock, jump: timedelta
) -> None:
    job = add()
    with runner.store.writing() as w:
        w.jobs.claim(job.id, "dead", STALE_S)
    clock.ahead = jump
    assert cancel(runner.store, job.id).status is JobStatus.CANCELLED


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["ahead", "back"])
def test_a_running_job_continues_after_its_next_heartbeat(
    add: Add, runner: Runner, clock: Clock, jump: timedelta
) -> None:
    job = add(what="spin")
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner.run, job.id)
        wait_for(lambda: get(runner.store, job.id).message == "spinning")
        clock.ahead = jump

        def in_time() -> bool:
            with runner.store.reading() as r:
                return not r.jobs.stale(STALE_S)

        wait_for(in_time, 5.0)
        assert (get(runner.store, job.id).status, toy.RUNS[job.id]) == (JobStatus.RUNNING, 1)
        cancel(runner.store, job.id)
        future.result(PATIENCE_S)


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["ahead", "back"])
def test_a_worker_that_looks_before_that_heartbeat_takes_over_and_nothing_runs_twice(
    add: Add, sqlite_store: Store, queue: JobQueue, clock: Clock, jump: timedelta
) -> None:
    job = add(what="store", steps=60, pause=0.01)
    first, second = Runner(sqlite_store, queue), Runner(sqlite_store, queue)
    with ThreadPoolExecutor(2) as pool:
        future = pool.submit(first.run, job.id)
        wait_for(lambda: get(sqlite_store, job.id).result.get("stored", 0) > 5)
        grow_old(sqlite_store, job.id) if jump > timedelta(0) else None
        clock.ahead = jump
        pool.submit(second.run, job.id).result(PATIENCE_S)
        future.result(PATIENCE_S)
    row = get(sqlite_store, job.id)
    assert (row.status, row.result["stored"]) == (JobStatus.DONE, 60)
    assert row.attempt == toy.RUNS[job.id]


def test_threads_of_one_worker_do_not_both_run_a_job_with_an_old_heartbeat(add: Add, runner: Runner) -> None:
    job = add(what="spin")
    with ThreadPoolExecutor(2) as pool:
        future = pool.submit(runner.run, job.id)
        wait_for(lambda: get(runner.store, job.id).message == "spinning")
        grow_old(runner.store, job.id)
        pool.submit(runner.run, job.id).result(PATIENCE_S)
        assert toy.RUNS[job.id] == 1
        cancel(runner.store, job.id)
        future.result(PATIENCE_S)
