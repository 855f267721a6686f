"""Log records of the web server and of workers, and numbers for monitoring.

Records contain no texts of users: of an exception, they have the types and the places in the code, but not the message,
in which a database driver quotes the values of a statement. Pages show messages, and the row of a job keeps its own.

=============  ========================================================================
``time``       when, as ISO 8601 with the time zone UTC
``level``      such as ``INFO`` or ``WARNING``
``logger``     name of the module
``message``    what happened
``process``    ``web`` or ``worker``, host name and process id, such as ``web@lab:4711``
``job``        id of the job that was running, if any
``person``     name of the person who used the page, if known
``error``      types of the exception and of its causes, if there is one
``stack``      places in the code
=============  ========================================================================
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from themescope.core.errors import ThemescopeError
from themescope.db.records import JobStatistics
from themescope.db.store import Store, database_errors

_JOB: ContextVar[int | None] = ContextVar("job", default=None)
_PERSON: ContextVar[str] = ContextVar("person", default="")
_FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "websockets")

ErrorInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


@contextmanager
def about_job(job_id: int) -> Iterator[None]:
    """Name a job in the records of this thread."""
    token = _JOB.set(job_id)
    try:
        yield
    finally:
        _JOB.reset(token)


def about_person(name: str) -> None:
    """Name a person in the following records of this thread; "" for nobody."""
    _PERSON.set(name)


def set_up(process: str, log_format: str) -> None:
    """Write the records of this process to standard error; ``process`` is "web" or "worker".

    Records of the packages of Themescope are written from the level INFO on, those of others from WARNING on.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(process) if log_format == "json" else TextLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("themescope").setLevel(logging.INFO)
    logging.captureWarnings(True)
    redirect()
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: _uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def redirect() -> None:
    """Write the records of loggers with handlers of their own, as Streamlit and uvicorn create, with ours instead.

    Loggers that are created later keep their handlers, until this is called again.
    """
    existing = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "streamlit"]
    for name in (*existing, *_FOREIGN):
        logger = logging.getLogger(name)
        if not any(isinstance(one, _Redirect) for one in logger.filters):
            logger.addFilter(_Redirect())


class _Redirect(logging.Filter):
    """Filter that passes every record from the root logger's level on to the handlers of that one only.

    A filter, because these libraries configure the handlers of their loggers anew whenever they read their settings.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        root = logging.getLogger()
        if root.isEnabledFor(record.levelno):
            root.handle(record)
        return False


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt | SystemExit) or error is None:
        return
    name = threading.current_thread().name
    logging.getLogger(__name__).critical("Uncaught exception in %s.", name, exc_info=(kind, error, trace))


class TextLines(logging.Formatter):
    """Records as text: time, level, logger, message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: ErrorInfo) -> str:
        """Return the places in the code and the types of an exception."""
        return "\n".join([*_stack(ei), *_types(ei)])


class JsonLines(logging.Formatter):
    """Records as JSON objects, one per line; the module describes the fields."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = f"{process}@{socket.gethostname()}"

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": f"{self._process}:{os.getpid()}",
        }
        if (job := _JOB.get()) is not None:
            fields["job"] = job
        if person := _PERSON.get():
            fields["person"] = person
        if record.exc_info and record.exc_info[0] is not None:
            fields |= {"error": _types(record.exc_info), "stack": _stack(record.exc_info)}
        return json.dumps(fields, ensure_ascii=False)


def _chain(info: ErrorInfo) -> list[BaseException]:
    """Return an exception and its causes, the first cause first."""
    chain: list[BaseException] = []
    error = info[1]
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain[::-1]


def _types(info: ErrorInfo) -> list[str]:
    return [f"{type(error).__module__}.{type(error).__qualname__}" for error in _chain(info)]


def _stack(info: ErrorInfo) -> list[str]:
    """Return the places in the code, those of the first cause first."""
    frames = [frame for error in _chain(info) for frame in traceback.extract_tb(error.__traceback__)]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


# Counters and histograms of this process, and values of the store, in the text format of Prometheus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

PROCESS = CollectorRegistry()
"""Metrics of this process."""

JOB_SECONDS = Histogram(
    "themescope_job_seconds",
    "Duration of the jobs that this process has ended.",
    ["kind", "status"],
    buckets=(1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400),
    registry=PROCESS,
)
SENTENCES_EMBEDDED = Counter(
    "themescope_sentences_embedded", "Sentences whose vectors jobs of this process have stored.", registry=PROCESS
)

ProcessCollector(registry=PROCESS)
GCCollector(registry=PROCESS)


class _DatabaseErrors(Collector):
    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "themescope_database_errors", "Transactions of this process that failed in the database.", labels=["type"]
        )
        for kind, count in database_errors().items():
            family.add_metric([kind], count)
        yield family


PROCESS.register(_DatabaseErrors())


class StoreMetrics(Collector):
    """Collector of jobs and workers; only ``themescope_store_up`` if the store cannot be read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def describe(self) -> Iterator[Metric]:
        """Describe nothing in advance, because that would read the store."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        """Read the store."""
        try:
            with self._store.reading() as r:
                jobs, workers = r.jobs.statistics(), r.workers.alive(within_s=3_600)
        except ThemescopeError:
            yield _gauge("themescope_store_up", "Whether the store can be read.", 0)
            return
        yield _gauge("themescope_store_up", "Whether the store can be read.", 1)
        yield from _of_jobs(jobs)
        family = GaugeMetricFamily(
            "themescope_worker_heartbeat_seconds", "Age of the heartbeat of a worker.", labels=["worker", "queue"]
        )
        for worker in workers:
            family.add_metric([worker.owner, worker.queue], _age(worker.heartbeat))
        yield family


def _of_jobs(jobs: JobStatistics) -> Iterator[Metric]:
    family = GaugeMetricFamily("themescope_jobs", "Jobs in the store.", labels=["kind", "status"])
    for (kind, status), count in sorted(jobs.counts.items()):
        family.add_metric([kind, status.value], count)
    yield family
    yield _gauge(
        "themescope_oldest_queued_job_seconds",
        "Waiting time of the oldest job that could run.",
        _age(jobs.oldest_queued),
    )
    yield _gauge(
        "themescope_oldest_job_heartbeat_seconds",
        "Age of the oldest heartbeat of a running job.",
        _age(jobs.oldest_heartbeat),
    )


def _age(time: datetime | None) -> float:
    return 0.0 if time is None else max((datetime.now(UTC) - time).total_seconds(), 0.0)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def text_of(*registries: CollectorRegistry) -> bytes:
    """Return the metrics of some registries in the text format."""
    return b"".join(generate_latest(registry) for registry in registries)
