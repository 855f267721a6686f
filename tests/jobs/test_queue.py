"""The queue: one class of tests, run unchanged on SQLite, Redis and PostgreSQL."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.jobs.helpers import get, wait_for
from themescope.core.errors import ConfigError, StoreError
from themescope.db.records import JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.huey_queue import JobQueue, JsonMessages, build_huey
from themescope.jobs.queue.worker import Worker

pytestmark = pytest.mark.usefixtures("toys")


@pytest.fixture
def make(queue_url: str) -> Iterator[Callable[..., JobQueue]]:
    made: list[JobQueue] = []

    def make_one(**options: object) -> JobQueue:
        made.append(JobQueue(queue_url, **options))
        return made[-1]

    yield make_one
    for queue in made:
        queue.close()


def receive(queue: JobQueue) -> None:
    """Take one message off the queue and hand it on, as a consumer does."""
    queue.huey.execute(queue.huey.dequeue())


class TestQueue:
    def test_ids_arrive_once_and_in_order(self, make: Callable[..., JobQueue]) -> None:
        got: list[int] = []
        sender, receiver = make(), make(work=got.append)
        assert receiver.is_empty()
        for job_id in (5, 3, 8):
            sender.send(job_id)
        assert not receiver.is_empty()
        for _ in range(3):
            receive(receiver)
        assert got == [5, 3, 8]
        assert receiver.is_empty()

    def test_no_result_is_kept(self, make: Callable[..., JobQueue]) -> None:
        queue = make(work=lambda job_id: None)
        queue.send(1)
        receive(queue)
        assert queue.huey.storage.result_store_size() == 0

    def test_queues_of_other_names_are_apart(self, make: Callable[..., JobQueue]) -> None:
        make(name="gpu").send(1)
        assert make().is_empty()
        assert not make(name="gpu").is_empty()

    def test_a_worker_does_the_jobs_that_wait(self, queue_url: str, sqlite_store: Store) -> None:
        store = Store(Settings(sqlite_store.settings.home, sqlite_store.settings.database_url, queue_url))
        jobs = [enqueue(store, "toy", {"steps": n}) for n in (1, 2, 3)]
        last = enqueue(store, "toy", {}, after=jobs[-1].id)
        worker = Worker(store, warm_up=False)
        consumer = worker.consumer(workers=2)
        consumer._set_signal_handlers = lambda: None  # signals belong to pytest here
        thread = threading.Thread(target=consumer.run)
        thread.start()
        try:
            # The first jobs are done side by side: the last one may end before the very first.
            wait_for(lambda: all(get(store, job.id).status.ended for job in (*jobs, last)))
        finally:
            consumer.stop()
            thread.join()
        assert [get(store, j.id).result for j in jobs] == [{"steps": 1}, {"steps": 2}, {"steps": 3}]
        assert get(store, last.id).status is JobStatus.DONE
        store.close()
        worker.queue.close()


class TestMessages:
    def test_are_json_without_anything_to_run(self, settings: Settings) -> None:
        queue = JobQueue(settings.queue_url)
        queue.send(7)
        (data,) = queue.huey.storage.enqueued_items()
        assert json.loads(bytes(data))["args"] == [7]
        queue.close()

    def test_a_pickle_is_not_read(self) -> None:
        with pytest.raises(ValueError):
            JsonMessages().deserialize(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.")


class TestAddress:
    @pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
    def test_memory_is_refused(self, url: str) -> None:
        with pytest.raises(ConfigError, match="must name a file"):
            build_huey(url, "default")

    def test_unknown_kind_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="QUEUE_URL must begin with"):
            build_huey("amqp://somewhere", "default")

    def test_a_server_that_is_not_there(self, tmp_path: Path) -> None:
        queue = JobQueue("redis://127.0.0.1:1/0")
        with pytest.raises(StoreError, match="queue cannot be reached"):
            queue.send(1)
