import math
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from tests.jobs.helpers import get
from themescope.core.errors import StoreError, UnknownNameError
from themescope.core.records.answers import MetricPoint
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db import tables as t
from themescope.db.repositories.jobs import HeartbeatReply
from themescope.db.store import Store


def add(store: Store, title: str = "Import", after: int | None = None) -> int:
    with store.writing() as w:
        return w.jobs.add("import-corpus", title, {"files": ["a.xml"]}, after=after).id


def claim(store: Store, id: int, owner: str = "me", silent: datetime | None = None) -> JobRecord | None:
    with store.writing() as w:
        return w.jobs.claim(id, owner, silent)


def finish(store: Store, id: int, status: JobStatus, owner: str = "me", **about: str) -> bool:
    with store.writing() as w:
        return w.jobs.finish(id, owner, status, **about)


def ended(store: Store, status: JobStatus, after: int | None = None) -> int:
    id = add(store, after=after)
    claim(store, id)
    finish(store, id, status, error="No." if status is JobStatus.FAILED else "")
    return id


class TestLife:
    def test_a_job_from_the_queue_to_its_end(self, store: Store) -> None:
        id = add(store)
        job = get(store, id)
        assert (job.status, job.attempt, job.progress, job.owner) == (JobStatus.QUEUED, 0, 0.0, "")
        assert job.args == {"files": ["a.xml"]}
        assert job.created.tzinfo is not None and abs(job.created - datetime.now(UTC)) < timedelta(minutes=10)
        assert job.started is None and job.heartbeat is None and job.ended is None
        claimed = claim(store, id)
        assert claimed is not None
        assert (claimed.status, claimed.owner, claimed.attempt) == (JobStatus.RUNNING, "me", 1)
        with store.writing() as w:
            assert w.jobs.heartbeat(id, "me", 0.5, "half") == HeartbeatReply(owned=True, cancel=False)
        assert (get(store, id).progress, get(store, id).message) == (0.5, "half")
        with store.writing() as w:
            assert w.jobs.finish(id, "me", JobStatus.DONE, result={"corpus": 7})
        end = get(store, id).ended
        assert finish(store, id, JobStatus.DONE) and not finish(store, id, JobStatus.FAILED)
        assert not finish(store, id, JobStatus.DONE, "another")
        assert claim(store, id, silent=get(store, id).heartbeat) is None
        with store.writing() as w:
            assert w.jobs.request_cancel(id, stale_s=30).status is JobStatus.DONE
            assert w.jobs.heartbeats() == {}
        job = get(store, id)
        assert (job.status, job.progress, job.result, job.ended) == (JobStatus.DONE, 1.0, {"corpus": 7}, end)
        assert job.ended is not None and job.started is not None and job.ended >= job.started

    def test_newest_first_and_by_status(self, store: Store) -> None:
        first, second, third = add(store), add(store), add(store)
        claim(store, second)
        with store.reading() as r:
            assert [job.id for job in r.jobs.list()] == [third, second, first]
            assert [job.id for job in r.jobs.list(limit=1)] == [third]
            assert [job.id for job in r.jobs.list(status=JobStatus.RUNNING)] == [second]
            both = r.jobs.list(status=[JobStatus.RUNNING, JobStatus.QUEUED])
            assert [job.id for job in both] == [third, second, first]
            assert r.jobs.counts()[JobStatus.QUEUED] == 2
            assert r.jobs.heartbeats() == {second: get(store, second).heartbeat}
            with pytest.raises(UnknownNameError, match="no job called '77'"):
                r.jobs.get(77)
        assert claim(store, 77) is None

    def test_only_ended_jobs_are_deleted_and_ids_are_never_used_again(self, store: Store) -> None:
        id = add(store)
        with store.writing() as w, pytest.raises(StoreError, match="Cancel it before"):
            w.jobs.delete(id)
        claim(store, id)
        finish(store, id, JobStatus.DONE)
        with store.writing() as w:
            w.jobs.delete(id)
        assert add(store) > id


class TestOwnership:
    def test_a_silent_owner_loses_the_job_and_a_beating_one_keeps_it(self, store: Store) -> None:
        id = add(store)
        claim(store, id, "one")
        before = get(store, id).heartbeat
        with store.writing() as w:
            w.jobs.heartbeat(id, "one")
        assert claim(store, id, "two", silent=before) is None
        assert claim(store, id, "two") is None
        taken = claim(store, id, "two", silent=get(store, id).heartbeat)
        assert taken is not None and (taken.owner, taken.attempt) == ("two", 2)
        with store.writing() as w:
            assert w.jobs.heartbeat(id, "one", 0.9) == HeartbeatReply(owned=False, cancel=False)
            assert not w.jobs.finish(id, "one", JobStatus.DONE)
            assert not w.jobs.requeue(id, "one")
        assert (get(store, id).status, get(store, id).progress) == (JobStatus.RUNNING, 0.0)

    def test_started_is_the_first_start_and_an_orderly_interruption_no_attempt(self, store: Store) -> None:
        id, starts = add(store), set()
        for interrupted, attempt in ((True, 1), (True, 1), (False, 1), (True, 2)):
            job = claim(store, id)
            assert job is not None and job.attempt == attempt
            starts.add(job.started)
            with store.writing() as w:
                assert w.jobs.requeue(id, "me", interrupted=interrupted)
        assert len(starts) == 1

    def test_a_requeued_job_is_taken_after_those_that_wait(self, store: Store) -> None:
        first, second = add(store), add(store)
        claim(store, first)
        with store.writing() as w:
            assert w.jobs.requeue(first)
            taken = [w.jobs.claim_next("worker"), w.jobs.claim_next("worker")]
        assert [job and job.id for job in taken] == [second, first]


class TestChains:
    def test_a_job_waits_for_the_earlier_one(self, store: Store) -> None:
        first = add(store)
        second = add(store, after=first)
        assert claim(store, second) is None
        assert get(store, second).status is JobStatus.QUEUED
        claim(store, first)
        assert claim(store, second) is None
        finish(store, first, JobStatus.DONE)
        assert claim(store, second) is not None

    @pytest.mark.parametrize(("end", "word"), [(JobStatus.FAILED, "failed"), (JobStatus.CANCELLED, "was cancelled")])
    def test_a_failure_fails_the_chain_which_a_retry_revives(self, store: Store, end: JobStatus, word: str) -> None:
        first = add(store, "Import Rome")
        second = add(store, "Triplets", after=first)
        third = add(store, "Train", after=second)
        claim(store, first)
        finish(store, first, end, error="No.", traceback="…")
        assert get(store, second).status is JobStatus.FAILED
        assert f"job {first} (Import Rome), which {word}" in get(store, second).error
        assert f"job {second} (Triplets), which failed" in get(store, third).error
        with store.writing() as w:
            job = w.jobs.retry(first)
        assert (job.status, job.attempt, job.error, job.traceback) == (JobStatus.QUEUED, 0, "", "")
        assert [get(store, id).status for id in (second, third)] == [JobStatus.QUEUED] * 2

    def test_what_is_added_after_the_failure_fails_when_claimed_or_the_failed_one_is_deleted(
        self, store: Store
    ) -> None:
        first = ended(store, JobStatus.FAILED)
        late, later = add(store, after=first), add(store, after=first)
        assert claim(store, late) is None
        assert get(store, late).status is JobStatus.FAILED
        with store.writing() as w:
            w.jobs.delete(first)
        assert get(store, later).status is JobStatus.FAILED

    def test_retry_leaves_what_failed_by_itself(self, store: Store) -> None:
        first = ended(store, JobStatus.DONE)
        second = ended(store, JobStatus.FAILED, after=first)
        with store.writing() as w, pytest.raises(StoreError, match="done; only a failed"):
            w.jobs.retry(first)
        assert get(store, second).error == "No."


class TestCancel:
    def test_a_queued_job_ends_at_once_and_a_running_one_when_it_learns_or_is_taken_over(self, store: Store) -> None:
        queued, id = add(store), add(store)
        claim(store, id)
        with store.writing() as w:
            assert w.jobs.request_cancel(queued, stale_s=30).status is JobStatus.CANCELLED
            assert w.jobs.request_cancel(id, stale_s=30).status is JobStatus.RUNNING
            assert w.jobs.heartbeat(id, "me") == HeartbeatReply(owned=True, cancel=True)
        assert claim(store, queued) is None
        assert claim(store, id, "two", silent=get(store, id).heartbeat) is None
        assert get(store, id).status is JobStatus.CANCELLED

    def test_one_of_a_dead_worker_is_cancelled_at_once_with_what_waited_for_it(self, store: Store) -> None:
        id = add(store)
        late = add(store, after=id)
        claim(store, id)
        with store.writing() as w:
            past = datetime.now(UTC) - timedelta(seconds=60)
            w.jobs.connection.execute(t.job.update().where(t.job.c.id == id).values(queued=past, heartbeat=past))
            assert w.jobs.request_cancel(id, stale_s=90).status is JobStatus.RUNNING
            assert w.jobs.request_cancel(id, stale_s=30).status is JobStatus.CANCELLED
            assert not w.jobs.heartbeat(id, "me").owned
        assert get(store, late).status is JobStatus.FAILED


def test_curves_have_one_point_a_step_and_go_with_their_job(store: Store) -> None:
    id = add(store)
    with store.writing() as w:
        w.jobs.add_metrics(id, [MetricPoint("loss", 2, 0.5), MetricPoint("accuracy", 1, 0.6)])
        w.jobs.add_metrics(id, [MetricPoint("loss", 1, 0.9), MetricPoint("loss", 1, 0.8)])
        w.jobs.add_metrics(id, [MetricPoint("loss", 1, 0.7)])
        w.jobs.add_metrics(id, [])
    with store.reading() as r:
        points = r.jobs.metrics(id)
    assert points == [MetricPoint("accuracy", 1, 0.6), MetricPoint("loss", 1, 0.7), MetricPoint("loss", 2, 0.5)]
    with store.writing() as w:
        w.jobs.add_metrics(id, [MetricPoint("loss", 1, math.nan), MetricPoint("loss", 2, math.inf)])
        _, nan, infinite = w.jobs.metrics(id)
        assert math.isnan(nan.value) and infinite.value == math.inf
        w.jobs.request_cancel(id, stale_s=30)
        w.jobs.delete(id)
        assert w.jobs.connection.execute(sa.select(sa.func.count()).select_from(t.job_metric)).scalar_one() == 0


def test_workers_come_and_go_and_the_silent_are_forgotten(store: Store) -> None:
    with store.writing() as w:
        w.workers.heartbeat("host:1", "default")
        w.workers.heartbeat("host:1", "default")
        w.workers.heartbeat("host:2", "gpu")
    with store.reading() as r:
        assert [(one.owner, one.queue) for one in r.workers.alive()] == [("host:1", "default"), ("host:2", "gpu")]
        assert all(one.heartbeat >= one.started for one in r.workers.alive())
    with store.writing() as w:
        w.workers.leave("host:1")
        w.workers.leave("nobody")
        assert [one.owner for one in w.workers.alive()] == ["host:2"]
        past = datetime.now(UTC) - timedelta(days=2)
        w.workers.connection.execute(t.worker.update().values(heartbeat=past))
        assert w.workers.alive() == []
        w.workers.heartbeat("new", "default")
        assert w.workers.connection.execute(sa.select(t.worker.c.owner)).scalars().all() == ["new"]
