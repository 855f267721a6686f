from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.jobs import toy
from tests.jobs.helpers import PatientRunner
from tests.servers import PostgresServer
from themescope.db.records import JobRecord
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.kinds import REGISTRY
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.huey_queue import JobQueue

QUEUES = [
    "sqlite",
    pytest.param("redis", marks=pytest.mark.redis),
    pytest.param("postgres", marks=pytest.mark.postgres),
]


@pytest.fixture(params=QUEUES)
def queue_url(request: pytest.FixtureRequest, settings: Settings) -> str:
    """The address of an empty queue, on each kind of server in turn."""
    if request.param == "sqlite":
        return settings.queue_url
    if request.param == "redis":
        import redis

        url: str = request.getfixturevalue("redis_server")
        with redis.Redis.from_url(url) as client:
            client.flushdb()
        return url
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.new_database()


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the toy to the kinds of jobs, in place: a module that is first imported meanwhile keeps the registry."""
    monkeypatch.setitem(REGISTRY._cards, toy.CARD.id, toy.CARD)
    toy.RUNS.clear()


@pytest.fixture
def add(sqlite_store: Store, toys: None) -> Callable[..., JobRecord]:
    """Enqueue a toy."""

    def add_it(after: int | None = None, **args: object) -> JobRecord:
        return enqueue(sqlite_store, "toy", args, after=after)

    return add_it


@pytest.fixture
def queue(sqlite_store: Store) -> Iterator[JobQueue]:
    """The sending side of the store's queue."""
    queue = JobQueue(sqlite_store.settings.queue_url)
    yield queue
    queue.close()


@pytest.fixture
def runner(sqlite_store: Store, queue: JobQueue) -> PatientRunner:
    """A runner in this process."""
    return PatientRunner(sqlite_store, queue)
