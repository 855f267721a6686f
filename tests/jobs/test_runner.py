"""What happens to a job between the queue and its end."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.jobs import toy
from tests.jobs.helpers import PATIENCE_S, PatientRunner, get, wait_for
from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.records.answers import MetricPoint
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db import tables as t
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext, OwnershipLost
from themescope.jobs.queue.control import HEARTBEAT_S, STALE_S, Heartbeat, cancel, enqueue, forget, retry, worker_alive
from themescope.jobs.queue.runner import GAP_S, MAX_ATTEMPTS, Runner, Watch, note_attempt

Add = Callable[..., JobRecord]


class TestEnd:
    def test_done(self, add: Add, runner: Runner) -> None:
        job = add(steps=4)
        runner.run_next()
        row = get(runner.store, job.id)
        assert (row.status, row.progress, row.result, row.error) == (JobStatus.DONE, 1.0, {"steps": 4}, "")
        with runner.store.reading() as r:
            assert r.jobs.metrics(job.id)[-1] == MetricPoint("height", 3.0, 30.0)

    def test_failed_by_its_input_or_by_a_defect(self, add: Add, runner: Runner) -> None:
        refused, broken = add(what="refuse"), add(what="break")
        runner.run_next()
        runner.run_next()
        row = get(runner.store, refused.id)
        assert (row.status, row.error, row.traceback) == (JobStatus.FAILED, "There is nothing to work on.", "")
        row = get(runner.store, broken.id)
        assert row.status is JobStatus.FAILED and "Traceback" in row.traceback
        assert row.error.startswith("Internal error (KeyError: 'nothing')")

    def test_unknown_kind_in_the_store(self, sqlite_store: Store, runner: Runner) -> None:
        with sqlite_store.writing() as w:
            job = w.jobs.add("relabel", "From a newer version", {})
        runner.run_next()
        assert "no job kind called 'relabel'" in get(sqlite_store, job.id).error

    def test_checkpoint_goes_when_done_and_stays_when_failed(self, add: Add, runner: Runner) -> None:
        add()
        failed = add(what="refuse")
        runner.run_next()
        runner.run_next()
        folder = runner.store.settings.home / "checkpoints"
        assert [path.name for path in folder.iterdir()] == [f"job-{failed.id}"]
        forget(runner.store, failed.id)
        assert list(folder.iterdir()) == []


def test_nonsense_is_refused_before_anything_is_stored(add: Add, sqlite_store: Store) -> None:
    with pytest.raises(ConfigError, match="Steps must be a whole number"):
        add(steps="many")
    with pytest.raises(ConfigError, match="Did you mean 'steps'"):
        add(step=3)
    with pytest.raises(UnknownNameError, match="no job kind called 'toi'"):
        enqueue(sqlite_store, "toi", {})
    with sqlite_store.reading() as r:
        assert r.jobs.list() == []


@contextmanager
def spinning(runner: Runner, job: JobRecord) -> Iterator[None]:
    """Begin with the job in another thread; wait for its end."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner.run_next)
        wait_for(lambda: get(runner.store, job.id).message == "spinning")
        yield
        future.result(PATIENCE_S)


def test_a_running_job_that_is_cancelled_stops_at_the_next_heartbeat(add: Add, runner: Runner) -> None:
    job = add(what="spin")
    with spinning(runner, job):
        cancel(runner.store, job.id)
    assert HEARTBEAT_S <= 2  # people wait for it
    assert get(runner.store, job.id).status is JobStatus.CANCELLED


class TestOwnership:
    def test_who_lost_the_job_stops_and_writes_nothing(self, add: Add, runner: Runner) -> None:
        job = add(what="spin")
        with spinning(runner, job), runner.store.writing() as w:
            w.jobs.requeue(job.id)
            assert w.jobs.claim(job.id, "another") is not None
        row = get(runner.store, job.id)
        assert (row.status, row.owner) == (JobStatus.RUNNING, "another")

    def test_who_lost_it_at_its_end_leaves_the_checkpoint(
        self, add: Add, runner: Runner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lose(context: JobContext) -> None:
            with context.store.writing() as w:
                w.jobs.requeue(context.job_id)
                w.jobs.claim(context.job_id, "another")

        monkeypatch.setattr(JobContext, "end", lose)
        job = add()
        runner.run_next()
        row = get(runner.store, job.id)
        assert (row.status, row.owner) == (JobStatus.RUNNING, "another")
        assert (runner.store.settings.home / "checkpoints" / f"job-{job.id}").is_dir()


class TestRecovery:
    def test_a_job_that_kills_its_worker_is_given_up(self, add: Add, runner: PatientRunner) -> None:
        job = add(what="count")
        chain = [job, waiting := add(after=job.id), add(after=waiting.id)]
        for _ in range(MAX_ATTEMPTS):
            folder = runner.store.artifacts.checkpoint_folder(job.id)
            with runner.store.writing() as w:
                row = w.jobs.claim(job.id, "doomed", w.jobs.get(job.id).heartbeat)
            note_attempt(folder, row.attempt, row.progress)
        runner.watch(STALE_S)
        runner.run_next()
        row = get(runner.store, job.id)
        assert row.status is JobStatus.FAILED
        assert row.error.startswith(f"The worker died {MAX_ATTEMPTS} times in a row")
        assert toy.RUNS[job.id] == 0 and "which failed" in get(runner.store, chain[-1].id).error
        retry(runner.store, job.id)
        while runner.run_next():
            pass
        assert [get(runner.store, one.id).status for one in chain] == [JobStatus.DONE] * 3

    def test_progress_between_two_deaths_is_forgiven(self, runner: PatientRunner) -> None:
        folder = runner.store.artifacts.checkpoint_folder(1)
        deaths = [note_attempt(folder, n, p) for n, p in enumerate([0, 0, 0.2, 0.2, 0.2, 0.5, 0.4], start=1)]
        assert deaths == [0, 1, 0, 1, 2, 0, 1]


def test_running_jobs_go_back_and_resume(add: Add, sqlite_store: Store) -> None:
    job, leaving = add(what="checkpoint", steps=10), Runner(sqlite_store)
    with spinning(leaving, job):
        leaving.shut_down()
    row = get(sqlite_store, job.id)
    assert (row.status, row.attempt) == (JobStatus.QUEUED, 0)
    assert not leaving.run_next()
    Runner(sqlite_store).run_next()
    assert get(sqlite_store, job.id).result == {"started_at": 5}


def test_a_worker_is_seen_for_ten_seconds(sqlite_store: Store) -> None:
    assert not worker_alive(sqlite_store)
    with sqlite_store.writing() as w:
        w.workers.heartbeat("me", "default")
    for age, seen in ((0, True), (5, True), (10, False)):
        with sqlite_store.writing() as w:
            past = datetime.now(UTC) - timedelta(seconds=age)
            w.workers.connection.execute(t.worker.update().values(heartbeat=past))
        assert worker_alive(sqlite_store) is seen


def test_a_heartbeat_continues_after_an_error() -> None:
    sent = threading.Semaphore(0)

    def send() -> None:
        sent.release()
        raise OSError("the disk hiccups")

    with Heartbeat(send, 0.01, "test"):
        assert all(sent.acquire(timeout=PATIENCE_S) for _ in range(3))


def test_who_lost_the_job_cannot_write(add: Add, sqlite_store: Store) -> None:
    job = add()
    with sqlite_store.writing() as w:
        claimed = w.jobs.claim(job.id, "first")
    context = JobContext(sqlite_store, claimed, "first")
    with context.writing() as w:
        w.corpora.create("kept", "en")
    with sqlite_store.writing() as w:
        w.jobs.requeue(job.id)
        w.jobs.claim(job.id, "second")
    with pytest.raises(OwnershipLost), context.writing() as w:
        w.corpora.create("not kept", "en")
    with sqlite_store.reading() as r:
        assert [c.name for c in r.corpora.list(include_unready=True)] == ["kept"]


LIMIT_S = 12.0
START = datetime(2030, 1, 1, tzinfo=UTC)


class Timer:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_time_that_does_not_change_is_found_after_the_limit() -> None:
    timer = Timer()
    watch = Watch(LIMIT_S, timer)
    found = []
    for _ in range(14):
        found.append(watch.look({1: START}))
        timer.seconds += 1
    assert found == [{}] * 12 + [{1: START}] * 2
    assert (watch.unchanged(1), watch.unchanged(2)) == (START, None)
    assert watch.look({}) == {} and watch.unchanged(1) is None


@given(st.lists(st.integers(-100_000, 100_000).filter(bool), min_size=2, max_size=30), st.floats(0.1, 11))
def test_a_time_that_changes_is_never_found_whatever_it_is(changes: list[int], every: float) -> None:
    timer, time = Timer(), START
    watch = Watch(LIMIT_S, timer)
    for change in changes:
        time += timedelta(seconds=change)
        assert watch.look({1: time}) == {}
        timer.seconds += every


def test_after_a_gap_without_looks_the_other_side_gets_time() -> None:
    timer = Timer()
    watch = Watch(LIMIT_S, timer)
    watch.look({1: START})
    timer.seconds = 3600.0
    assert watch.look({1: START}) == {}
    for _ in range(round(LIMIT_S / GAP_S) - 1):
        timer.seconds += 3600.0
        found = watch.look({1: START})
    assert found == {1: START}
