"""Counters and histograms of this process, and values of the store, in the text format of Prometheus.

Every process counts what it does itself. The values of the store (jobs, workers) are the same in all processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from themescope.core.errors import ThemescopeError
from themescope.db.records import JobStatistics
from themescope.db.store import Store, database_errors

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
