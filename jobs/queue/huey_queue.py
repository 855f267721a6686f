"""Job queue: huey on SQLite, Redis or PostgreSQL, chosen by the URL.

Messages are JSON and contain only the id of a job. With huey's pickled messages, anybody who can write to the queue
could run code in the worker.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from huey import PostgresHuey, PriorityRedisHuey, SqliteHuey
from huey.api import Huey
from huey.exceptions import ConfigurationError
from huey.registry import Message
from huey.serializer import Serializer

from themescope.core.errors import ConfigError, MissingExtraError, StoreError, ThemescopeError
from themescope.db.settings import sqlite_path, without_password

Work = Callable[[int], None]
"""Function that receives the ids of jobs."""


class JsonMessages(Serializer):
    """Serialiser of messages as JSON objects: id, task name and arguments."""

    def _serialize(self, data: Message) -> bytes:
        return json.dumps({"id": data.id, "name": data.name, "args": list(data.args or ())}).encode("utf-8")

    def _deserialize(self, data: bytes) -> Message:
        message = json.loads(bytes(data))
        return Message(
            id=str(message["id"]),
            name=str(message["name"]),
            retries=0,
            retry_delay=0,
            args=tuple(int(a) for a in message["args"]),
            kwargs={},
        )


class JobQueue:
    """Queue of job ids; in a worker, ``work`` receives them.

    The default is one queue named ``default`` with one consumer thread: jobs use all cores themselves, and do not share
    a GPU. With more threads (``themescope worker --workers 2``), short jobs do not wait for a long training. Several
    machines need PostgreSQL or Redis as queue, a PostgreSQL store and a shared data folder.
    """

    def __init__(self, url: str, name: str = "default", work: Work | None = None) -> None:
        self.name = name
        self.huey = build_huey(url, name)
        receive = work or _no_worker

        # Defined here for clients and workers, because huey names a task after the module of its function.
        def run_job(job_id: int) -> None:
            receive(job_id)

        self._task = self.huey.task(retries=0)(run_job)

    def send(self, job_id: int) -> None:
        """Send job ``job_id`` to a worker. Call it after the row is committed."""
        try:
            self._task(job_id)
        except Exception as error:
            raise StoreError(
                f"The queue cannot be reached ({type(error).__name__}). Check QUEUE_URL and that its server runs."
            ) from error

    def is_empty(self) -> bool:
        """Return whether the queue has no messages."""
        return self.size() == 0

    def size(self) -> int:
        """Return the number of messages that wait for a worker."""
        return int(self.huey.storage.queue_size())

    def close(self) -> None:
        """Close connections; they are opened again on the next use."""
        self.huey.storage.close()


def build_huey(url: str, name: str) -> Huey:
    """Return a huey for ``url`` (``sqlite:///file``, ``redis://…``, ``postgresql://…``) without result storage."""
    kind = url.split(":", 1)[0].split("+", 1)[0]
    common: dict[str, Any] = {"results": False, "serializer": JsonMessages()}
    try:
        if kind == "sqlite":
            return SqliteHuey(name, filename=_sqlite_file(url), timeout=15, **common)
        if kind in ("redis", "rediss", "unix"):
            return PriorityRedisHuey(name, url=url, **common)
        if kind in ("postgresql", "postgres"):
            # Polled like a file: waiting for notifications needs one connection per thread, which huey never closes.
            return PostgresHuey(name, dsn="postgresql" + url[url.index(":") :], blocking=False, **common)
    except ThemescopeError:
        raise
    except ConfigurationError:
        package = "redis" if kind.startswith("redis") else "psycopg"
        extra = "redis" if package == "redis" else "postgres"
        raise MissingExtraError(f"A queue at {kind}://", package, extra) from None
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"The queue at {without_password(url)} cannot be opened ({error}). Check the permissions of that file and "
            "its folder, or set QUEUE_URL."
        ) from error
    except Exception as error:
        raise StoreError(f"The queue cannot be opened ({type(error).__name__}: {error}). Check QUEUE_URL.") from error
    raise ConfigError(f"QUEUE_URL must begin with sqlite:///, redis:// or postgresql://, not {kind!r}.")


def _sqlite_file(url: str) -> str:
    path = sqlite_path(url)
    if path is None or path.name in ("", ":memory:"):
        raise ConfigError("QUEUE_URL must name a file, such as sqlite:////data/queue.db, because workers read it too.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(path)


def _no_worker(job_id: int) -> None:
    raise ConfigError(f"Job {job_id} was sent to a process that is not a worker.")
