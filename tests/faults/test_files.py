"""A disk without room, folders that cannot be written, damaged files of models, and clocks that jump."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.homes import CopyHome, MakeHome
from tests.jobs import toy
from tests.jobs.helpers import PATIENCE_S, PatientRunner, get, wait_ended, wait_for, worker_process, write_articles
from tests.jobs.test_queue import copied_store, stored, text_of
from themescope.core.errors import StoreError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.queue.control import STALE_S, cancel, enqueue, retry
from themescope.jobs.queue.runner import Runner, run_here
from themescope.jobs.queue.worker import Worker

Add = Callable[..., JobRecord]


def perform(store: Store, kind: str, **args: object) -> JobRecord:
    """Queue a job, let a worker in this process run it, and return its row."""
    job = enqueue(store, kind, args)
    Runner(store).run_next()
    return get(store, job.id)


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a corpus and a model."""
    file = write_articles(tmp_path_factory.mktemp("text"), 12)

    def fill(store: Store) -> None:
        run_here(store, "import-corpus", {"files": [str(file)], "corpus": "C"}, quiet=True)
        run_here(store, "train", {"method": "tfidf", "name": "M", "corpus": "C"}, quiet=True)

    return make_home(fill)


def test_checkpoints_that_cannot_be_written_fail_the_job(add: Add, runner: Runner) -> None:
    folder = runner.store.settings.home / "checkpoints"
    folder.write_text("A file where the folder should be.", encoding="utf-8")
    job = add()
    runner.run_next()
    row = get(runner.store, job.id)
    assert (row.status, toy.RUNS[job.id]) == (JobStatus.FAILED, 0)
    assert str(folder) in row.error
    folder.unlink()
    retry(runner.store, job.id)
    runner.run_next()
    assert get(runner.store, job.id).status is JobStatus.DONE


def test_artifacts_that_cannot_be_written_fail_the_training(copy_home: CopyHome, home: Path) -> None:
    store = copy_home(home)
    folder = store.settings.home / "artifacts"
    shutil.rmtree(folder)
    folder.write_text("A file where the folder should be.", encoding="utf-8")
    row = perform(store, "train", method="tfidf", name="N", corpus="C", seed=7)
    assert row.status is JobStatus.FAILED
    assert str(folder) in row.error
    with store.reading() as r:
        assert [model.name for model in r.models.list()] == ["M"]


@pytest.mark.parametrize("fault", ["changed", "truncated", "missing", "no description", "gone"])
def test_damaged_files_of_a_model_fail_the_job_with_a_reason(copy_home: CopyHome, home: Path, fault: str) -> None:
    store = copy_home(home)
    with store.reading() as r:
        folder = store.artifacts.path(r.models.by_name("M").artifact)
    weights = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(weights.read_bytes())
    if fault == "changed":
        content[-1] ^= 1
        weights.write_bytes(content)
    elif fault == "truncated":
        weights.write_bytes(content[: len(content) // 2])
    elif fault == "missing":
        weights.unlink()
    elif fault == "no description":
        (folder / "model.json").write_text("{", encoding="utf-8")
    else:
        shutil.rmtree(folder)
    row = perform(store, "embed", corpus="C", model="M")
    assert row.status is JobStatus.FAILED
    assert not row.traceback, row.error
    with store.reading() as r:
        assert not r.embeddings.files()


@contextmanager
def full_disk(pid: int = 0) -> Iterator[None]:
    """Let a process, by default this one, write no file beyond its first 4 kB."""
    import resource

    resource.prlimit(pid, resource.RLIMIT_FSIZE, (4_096, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the files of a process that runs")


@linux
@pytest.mark.parametrize("patient", [True, False])
def test_an_end_that_finds_no_room_is_written_later_or_the_job_is_resumed(
    add: Add, runner: PatientRunner, monkeypatch: pytest.MonkeyPatch, patient: bool
) -> None:
    monkeypatch.setattr("themescope.jobs.queue.control.FINISH_S", PATIENCE_S if patient else 0.2)
    job = add(steps=1, pause=0.3)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner.run_next)
        wait_for(lambda: toy.RUNS[job.id])
        with full_disk(), pytest.raises(TimeoutError if patient else StoreError):
            future.result(2.0 if patient else PATIENCE_S)
        if patient:
            future.result(PATIENCE_S)
    if not patient:
        assert get(runner.store, job.id).status is JobStatus.RUNNING
        assert runner.watch(STALE_S) == [job.id]
        runner.run_next()
    row = get(runner.store, job.id)
    assert (row.status, row.attempt, row.result) == (JobStatus.DONE, 1 if patient else 2, {"steps": 1})


def silent(job: JobRecord) -> bool:
    return job.heartbeat is not None and datetime.now(UTC) - job.heartbeat > timedelta(seconds=1.8)


@linux
def test_an_import_is_resumed_when_the_disk_has_room(
    sqlite_store: Store, empty_sqlite_file: Path, tmp_path: Path
) -> None:
    args = {"files": [str(write_articles(tmp_path, 300))], "corpus": "C", "workers": 1}
    job = enqueue(sqlite_store, "import-corpus", args)
    with worker_process() as worker:
        wait_for(lambda: stored(sqlite_store, "C"), every=0.005)
        with full_disk(worker.pid):
            wait_for(lambda: silent(get(sqlite_store, job.id)))
            assert get(sqlite_store, job.id).status is JobStatus.RUNNING
            with sqlite_store.reading() as r:
                assert r.corpora.list() == []
        row = wait_ended(sqlite_store, job.id)
    assert (row.status, row.attempt, row.error) == (JobStatus.DONE, 2, "")
    calm = copied_store(empty_sqlite_file, tmp_path / "calm")
    run_here(calm, "import-corpus", args, quiet=True)
    assert text_of(sqlite_store, "C")[1] == text_of(calm, "C")[1]


# --- the clock jumps a day ahead or back, or differs from that of another machine -------------------------------------

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
    job = add()
    with sqlite_store.writing() as w:
        w.jobs.claim(job.id, "dead")
    return job


@jumps
def test_a_job_of_a_dead_worker_is_resumed(
    abandoned: JobRecord, runner: PatientRunner, clock: Clock, jump: timedelta
) -> None:
    clock.ahead = jump
    assert runner.watch(STALE_S) == [abandoned.id]
    runner.run_next()
    row = get(runner.store, abandoned.id)
    assert (row.status, row.attempt) == (JobStatus.DONE, 2)


@jumps
def test_one_of_a_dead_worker_is_cancelled(
    abandoned: JobRecord, runner: PatientRunner, clock: Clock, jump: timedelta
) -> None:
    clock.ahead = jump
    cancel(runner.store, abandoned.id)
    runner.watch(STALE_S)
    runner.run_next()
    assert get(runner.store, abandoned.id).status is JobStatus.CANCELLED
    assert toy.RUNS[abandoned.id] == 0


@jumps
def test_another_clock_leaves_a_living_job_alone(
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
            before = get(runner.store, job.id).heartbeat
            wait_for(lambda before=before: get(runner.store, job.id).heartbeat != before)
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
