"""Trainings of a reproduction as jobs of their own: with other workers, nothing twice, after errors and stops."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from tests.jobs.helpers import get, run_job, wait_for
from themescope.core.errors import Cancelled, DataError
from themescope.core.models.triplet_network.model import TripletNet
from themescope.core.protocols import Report
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.queue.control import cancel, enqueue
from themescope.jobs.queue.runner import Runner

Reproduce = Callable[..., dict[str, Any]]
StopInTraining = Callable[[Callable[[], object]], AbstractContextManager[None]]
TABLES = ["2", "4"]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.jobs.papers.queued_trainings.POLL_S", 0.02)


def trainings(store: Store) -> list[JobRecord]:
    """The jobs of trainings, oldest first."""
    with store.reading() as r:
        return [job for job in reversed(r.jobs.list(limit=100)) if job.kind == "train"]


def values(store: Store) -> dict[str, Any]:
    """The measured values of each row."""
    with store.reading() as r:
        tables = {name: r.papers.find("tiny", name, "quick") for name in TABLES}
    return {
        f"{name} {row['id']}": (row["missing"], row["ours"])
        for name, table in tables.items()
        if table is not None
        for row in table.content["rows"]
    }


@contextmanager
def another_worker(store: Store) -> Iterator[None]:
    """A worker that takes queued trainings, the newest first, until the end of the block."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.01):
            for job in reversed(trainings(store)):
                if job.status is JobStatus.QUEUED:
                    run_job(store, job.id)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_the_tables_are_those_of_one_process(
    corpus: Store, reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, owners = threading.Barrier(2, timeout=60), []
    original = TripletNet.fit

    def fit(self: TripletNet, *args: Any) -> None:
        if len(owners) < 2:
            owners.append(threading.get_ident())
            at_once.wait()  # passes only if two workers train at the same time
        original(self, *args)

    with monkeypatch.context() as patch, another_worker(corpus):
        patch.setattr(TripletNet, "fit", fit)
        first = reproduce(tables=TABLES, queue_trainings=True)
    assert len(set(owners)) == 2
    jobs = trainings(corpus)
    # two networks with three seeds each, and tf-idf weights
    assert len(jobs) == len({job.args["name"] for job in jobs}) == 7
    assert all(job.status is JobStatus.DONE and job.attempt == 1 for job in jobs)
    assert first["computed"] > 7
    queued = values(corpus)
    again = reproduce(tables=TABLES, queue_trainings=True)
    assert again["cached"] and len(trainings(corpus)) == 7
    with corpus.writing() as w:
        for model in w.models.list():
            w.models.delete(model.id)
    reproduce(tables=TABLES)
    assert len(trainings(corpus)) == 7 and values(corpus) == queued


@pytest.fixture
def stop_in_training(monkeypatch: pytest.MonkeyPatch) -> StopInTraining:
    """A context in which the first training calls a function and then waits for the stop that this causes."""

    @contextmanager
    def stopping(stop: Callable[[], object]) -> Iterator[None]:
        def fit(self: TripletNet, training: Any, report: Report) -> None:
            stop()
            while True:
                report.progress(0, 1, "waiting")
                time.sleep(0.01)

        with monkeypatch.context() as patch:
            patch.setattr(TripletNet, "fit", fit)
            yield

    return stopping


def test_the_trainings_of_a_cancelled_one_are_cancelled_and_resumed(
    corpus: Store, reproduce: Reproduce, stop_in_training: StopInTraining, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel_it() -> None:
        with corpus.reading() as r:
            job = r.jobs.newest("reproduce")
        assert job is not None
        cancel(corpus, job.id)

    with stop_in_training(cancel_it), pytest.raises(Cancelled):
        reproduce(tables=["2"], queue_trainings=True)
    jobs = trainings(corpus)
    assert [job.status for job in jobs] == [JobStatus.CANCELLED] * 3
    with corpus.writing() as w:  # one is retried by somebody, and its worker dies
        w.jobs.retry(jobs[0].id)
        assert w.jobs.claim(jobs[0].id, "a worker that dies") is not None
    monkeypatch.setattr("themescope.jobs.papers.queued_trainings.STALE_S", 0.2)
    monkeypatch.setattr("themescope.jobs.papers.queued_trainings.POLL_S", 0.05)
    reproduce(tables=["2"], queue_trainings=True)
    assert [job.id for job in trainings(corpus)] == [job.id for job in jobs]
    assert all(job.status is JobStatus.DONE for job in trainings(corpus))


def test_an_interrupted_one_leaves_its_trainings_to_others(
    corpus: Store, reproduce: Reproduce, stop_in_training: StopInTraining
) -> None:
    reproduce(tables=["1"])
    with corpus.reading() as r:
        before = r.jobs.newest("reproduce")
    assert before is not None
    leaving = Runner(corpus)
    job = enqueue(corpus, "reproduce", {**before.args, "tables": ["2"], "queue_trainings": True})
    with stop_in_training(leaving.shut_down):
        leaving.run_next()
    jobs = trainings(corpus)
    assert [each.status for each in (get(corpus, job.id), *jobs)] == [JobStatus.QUEUED] * 4
    with another_worker(corpus):
        wait_for(lambda: all(each.status.ended for each in trainings(corpus)))
    Runner(corpus).run_next()
    assert get(corpus, job.id).status is JobStatus.DONE
    assert [each.id for each in trainings(corpus)] == [each.id for each in jobs]


def test_an_error_is_reported_by_the_rows_of_the_model(
    corpus: Store, reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(*_: Any) -> None:
        raise DataError("The triplets are unsuitable.")

    monkeypatch.setattr(TripletNet, "fit", fit)
    result = reproduce(tables=TABLES, queue_trainings=True)
    first = trainings(corpus)[0]
    missing = {row: missing for row, (missing, _) in values(corpus).items() if missing}
    assert missing["2 net"] == f"Job {first.id}, which was to train this model, failed: The triplets are unsuitable."
    assert list(missing) == ["2 net", "4 both"] and result["rows_not_measured"] == 2
