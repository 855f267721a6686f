"""Job kind: measure how many sentences a model embeds per second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from themescope.core.config import option
from themescope.core.errors import DataError
from themescope.core.protocols import Model
from themescope.core.types import Estimate, Sentence
from themescope.db.records import BenchmarkRecord
from themescope.db.store import Store
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.results import find_run, run_result, total, work_digest
from themescope.jobs.common.vectors import load_model, method_of
from themescope.jobs.kinds import REGISTRY as KINDS

KIND, METRIC = "speed", "sentences per second"
_WARM_UP = 32
_LEAST_SECONDS = 2.0


@dataclass(frozen=True)
class EvaluateSpeedConfig(JobConfig):
    """Arguments of a measurement of speed."""

    model: str = option("", "Name of the model.")
    benchmark: str = option("", "Name of the benchmark whose articles are embedded.")
    sentences: int = option(
        500, "Number of sentences after which no further article is used.", low=1, high=1_000_000, unit="sentences"
    )

    def validate(self) -> None:
        """Check that model and benchmark are given."""
        self.require("model", "benchmark")

    def title(self) -> str:
        """Return a title with the model."""
        return f"Speed of “{self.model}”"


def run(args: EvaluateSpeedConfig, context: JobContext) -> dict[str, Any]:
    """Embed whole articles for at least two seconds and store the speed, unless it was measured before."""
    store, model = context.store, find_model(context.store, args.model)
    with store.reading() as r:
        benchmark = r.benchmarks.by_name(args.benchmark)
    inputs = {"model": model.digest, "benchmark": benchmark.digest, "sentences": args.sentences}
    digest = work_digest(KINDS.get("evaluate-speed"), method_of(model), **inputs)
    if existing := find_run(store, digest):
        return run_result(store, existing, cached=True, model=model.name)
    sentences = _articles(store, benchmark, args.sentences)
    context.progress(0, 1, f"Loading {model.name}")
    fitted, _ = load_model(store, model)
    begun = time.monotonic()
    speed = _speed(fitted, sentences, context)
    with context.writing() as w:
        made = w.runs.add(
            kind=KIND,
            digest=digest,
            model_id=model.id,
            benchmark_id=benchmark.id,
            config={"sentences": len(sentences)},
            seconds=time.monotonic() - begun,
            scores=[total(METRIC, Estimate(speed, speed, speed, len(sentences)))],
        )
    return run_result(store, made, cached=False, model=model.name)


def _articles(store: Store, benchmark: BenchmarkRecord, least: int) -> list[Sentence]:
    """Return the sentences of whole articles, at least ``least`` if the benchmark has so many."""
    found: list[Sentence] = []
    with store.reading() as r:
        for item in r.benchmarks.items(benchmark.id):
            found += r.corpora.sentences_of([item.article_id])[item.article_id]
            if len(found) >= least:
                break
    if not found:
        raise DataError(f"Benchmark {benchmark.name!r} has no sentences. Build it again.")
    return found


def _speed(model: Model, sentences: Sequence[Sentence], context: JobContext) -> float:
    """Return the sentences per second of repeated embedding, after a short one that is not measured."""
    model.embed(sentences[:_WARM_UP])
    done, begun = 0, time.perf_counter()
    while True:
        model.embed(sentences)
        done, seconds = done + len(sentences), time.perf_counter() - begun
        context.progress(min(seconds / _LEAST_SECONDS, 1.0), 1, f"{done:,} sentences embedded")
        if seconds >= _LEAST_SECONDS:
            return done / seconds
