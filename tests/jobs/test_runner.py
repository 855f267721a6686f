"""What happens to a job between the queue and its end."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.jobs import toy
from tests.jobs.helpers import PATIENCE_S, PatientRunner, get, wait_for
from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.records.answers import MetricPoint
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext, OwnershipLost
from themescope.jobs.queue.control import HEARTBEAT_S, STALE_S, cancel, enqueue, forget, retry, worker_alive
from themescope.jobs.queue.runner import MAX_ATTEMPTS, Runner, note_attempt

Add = Callable[..., JobRecord]


class TestEnd:
    def test_done(self, add: Add, runner: Runner) -> None:
        job = add(steps=4)
        runner.run_next()
        row = get(runner.store, job.id)
        assert (row.status, row.progress, row.result, row.error) == (JobStatus.DONE, 1.0, {"steps": 4}, "")
        with runner.store.reading() as r:
            assert r.jobs.metrics(job.id)[-1] == MetricPoint("height", 3.0, 30.0)

    def test_failed_by_its_input(self, add: Add, runner: Runner) -> None:
        job = add(what="refuse")
        runner.run_next()
        row = get(runner.store, job.id)
        assert (row.status, row.error, row.traceback) == (JobStatus.FAILED, "There is nothing to work on.", "")

    def test_failed_by_a_defect(self, add: Add, runner: Runner) -> None:
        job = add(what="break")
        runner.run_next()
        row = get(runner.store, job.id)
        assert row.status is JobStatus.FAILED
        assert row.error.startswith("Internal error (KeyError: 'nothing')")
        assert "Traceback" in row.traceback

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


class TestEnqueue:
    def test_nonsense_is_refused_before_anything_is_stored(self, add: Add, sqlite_store: Store) -> None:
        with pytest.raises(ConfigError, match="Steps must be a whole number"):
            add(steps="many")
        with pytest.raises(ConfigError, match="Did you mean 'steps'"):
            add(step=3)
        with pytest.raises(UnknownNameError, match="no job kind called 'toi'"):
            enqueue(sqlite_store, "toi", {})
        with sqlite_store.reading() as r:
            assert r.jobs.list() == []


class TestCancel:
    def test_a_running_job_stops_at_the_next_heartbeat(self, add: Add, runner: Runner) -> None:
        job = add(what="spin")
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(runner.run_next)
            wait_for(lambda: get(runner.store, job.id).message == "spinning")
            cancel(runner.store, job.id)
            future.result(PATIENCE_S)
        assert HEARTBEAT_S <= 2  # people wait for it
        assert get(runner.store, job.id).status is JobStatus.CANCELLED


class TestOwnership:
    def test_who_lost_the_job_stops_and_writes_nothing(self, add: Add, runner: Runner) -> None:
        job = add(what="spin")
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(runner.run_next)
            wait_for(lambda: get(runner.store, job.id).message == "spinning")
            with runner.store.writing() as w:
                w.jobs.requeue(job.id)
                assert w.jobs.claim(job.id, "another") is not None
            future.result(PATIENCE_S)
        row = get(runner.store, job.id)
        assert (row.status, row.owner) == (JobStatus.RUNNING, "another")

    def test_who_lost_the_job_at_its_end_leaves_the_checkpoint(
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


class TestChain:
    def test_what_waited_fails_with_the_first_and_is_retried_with_it(
        self, add: Add, runner: Runner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = add(what="refuse")
        second = add(after=first.id)
        third = add(after=second.id)
        runner.run_next()
        assert "which failed" in get(runner.store, third.id).error
        monkeypatch.setattr(toy, "_refuse", toy._count)
        retry(runner.store, first.id)
        while runner.run_next():
            pass
        assert get(runner.store, third.id).status is JobStatus.DONE


class TestRecovery:
    def test_a_job_that_kills_its_worker_is_given_up(self, add: Add, runner: PatientRunner) -> None:
        job = add(what="count")
        for _ in range(MAX_ATTEMPTS):
            folder = runner.store.artifacts.checkpoint_folder(job.id)
            with runner.store.writing() as w:
                row = w.jobs.claim(job.id, "doomed", w.jobs.get(job.id).heartbeat)
            assert row is not None
            note_attempt(folder, row.attempt, row.progress)
        runner.watch(STALE_S)
        runner.run_next()
        row = get(runner.store, job.id)
        assert row.status is JobStatus.FAILED
        assert row.error.startswith(f"The worker died {MAX_ATTEMPTS} times in a row")
        assert toy.RUNS[job.id] == 0
        retry(runner.store, job.id)
        runner.run_next()
        assert get(runner.store, job.id).status is JobStatus.DONE

    def test_progress_between_two_deaths_is_forgiven(self, runner: PatientRunner) -> None:
        folder = runner.store.artifacts.checkpoint_folder(1)
        assert [note_attempt(folder, n, p) for n, p in enumerate([0, 0, 0.2, 0.2, 0.2, 0.5, 0.4], start=1)] == [
            0, 1, 0, 1, 2, 0, 1,
        ]  # fmt: skip


class TestShutDown:
    def test_running_jobs_go_back_and_resume(self, add: Add, sqlite_store: Store) -> None:
        job = add(what="checkpoint", steps=10)
        leaving = Runner(sqlite_store)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(leaving.run_next)
            wait_for(lambda: get(sqlite_store, job.id).message == "spinning")
            leaving.shut_down()
            future.result(PATIENCE_S)
        row = get(sqlite_store, job.id)
        assert (row.status, row.attempt) == (JobStatus.QUEUED, 0)
        assert not leaving.run_next()
        Runner(sqlite_store).run_next()
        assert get(sqlite_store, job.id).result == {"started_at": 5}


class TestPresence:
    def test_no_worker_is_seen_within_ten_seconds(self, sqlite_store: Store) -> None:
        from datetime import UTC, datetime, timedelta

        from themescope.db import tables as t

        assert not worker_alive(sqlite_store)
        with sqlite_store.writing() as w:
            w.workers.heartbeat("me", "default")
        assert worker_alive(sqlite_store)
        with sqlite_store.writing() as w:
            past = datetime.now(UTC) - timedelta(seconds=10)
            w.workers.connection.execute(t.worker.update().values(heartbeat=past))
        assert not worker_alive(sqlite_store)


def test_a_heartbeat_continues_after_an_error() -> None:
    from themescope.jobs.queue.control import Heartbeat

    sent: list[int] = []
    enough = threading.Event()

    def send() -> None:
        sent.append(1)
        if len(sent) == 3:
            enough.set()
        raise OSError("the disk hiccups")

    with Heartbeat(send, 0.01, "test"):
        assert enough.wait(PATIENCE_S)


class TestFence:
    def test_who_lost_the_job_cannot_write(self, add: Add, sqlite_store: Store) -> None:
        job = add()
        with sqlite_store.writing() as w:
            claimed = w.jobs.claim(job.id, "first")
        assert claimed is not None
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
