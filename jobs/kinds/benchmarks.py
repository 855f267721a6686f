"""Job kinds: build a clustering benchmark (like SCB, or from a published CSV file), and cluster its articles."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import Config, config_from_dict, option
from themescope.core.errors import ConfigError, DataError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.records.stored import ModelRecord, RunRecord, ScoreRecord
from themescope.core.types import BenchmarkItem, Labels, Matrix
from themescope.db.records import BenchmarkRecord
from themescope.db.sql import batches
from themescope.jobs.common.articles import (
    StoredArticles,
    find_run,
    ready_corpus,
    run_result,
    splits_of,
    total,
    work_digest,
)
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import embed_articles, method_of, seen_in_training
from themescope.jobs.executors import ArrayRecords
from themescope.jobs.kinds import REGISTRY as KINDS


@dataclass(frozen=True)
class ClusterConfig(JobConfig):
    """Arguments of a clustering."""

    model: str = option("", "Name of the model; empty for clusterers that use no vectors.")
    clusterer: str = option("", "Id of the clusterer.", required=True)
    benchmark: str = option("", "Name of the benchmark.", required=True)
    settings: Mapping[str, Any] = option({}, "Settings of the clusterer.")
    seed: int = option(0, "Seed of the initialisation.", low=0)

    def validate(self) -> None:
        """Check the clusterer and its settings, and that a model is given if it uses vectors."""
        CLUSTERERS.configure(self.clusterer, self.settings)
        if not self.model and "no-vectors" not in CLUSTERERS.get(self.clusterer).tags:
            raise ConfigError(f"{self.clusterer!r} clusters vectors. Name a model.")

    def title(self) -> str:
        """Return a title with model, clusterer and benchmark."""
        what = f"{self.model} × {self.clusterer}" if self.model else self.clusterer
        return f"Cluster “{self.benchmark}” by {what}"


def cluster(args: ClusterConfig, context: JobContext) -> dict[str, Any]:
    """Embed, cluster, score and store. A stored run with the same digest is returned."""
    store = context.store
    with store.reading() as r:
        benchmark = r.benchmarks.by_name(args.benchmark)
    no_vectors = "no-vectors" in CLUSTERERS.get(args.clusterer).tags
    model = None if no_vectors else find_model(store, args.model)
    config = CLUSTERERS.configure(args.clusterer, args.settings)
    work = _Work(context, benchmark, model, args.clusterer, config, args.seed)
    if existing := find_run(store, work.digest):
        return work.result(existing, cached=True)
    with store.reading() as r:
        items = r.benchmarks.items(benchmark.id)
    work.embed(items)
    begun = time.monotonic()
    labels = work.cluster(items)
    seconds = time.monotonic() - begun
    context.progress(0.97, 1, "Scoring")
    return work.result(work.keep(items, labels, seconds), cached=False)


@dataclass(frozen=True)
class _Work:
    context: JobContext
    benchmark: BenchmarkRecord
    model: ModelRecord | None
    clusterer: str
    config: Config
    seed: int

    @property
    def digest(self) -> str:
        methods = [method_of(self.model)] if self.model else []
        cards = [KINDS.get("cluster"), *methods, CLUSTERERS.get(self.clusterer), *METRICS]
        inputs = {"clusterer": self.clusterer, "config": self.config.to_dict(), "seed": self.seed}
        model = self.model.digest if self.model else ""
        return work_digest(*cards, model=model, benchmark=self.benchmark.digest, **inputs)

    def embed(self, items: Sequence[BenchmarkItem]) -> None:
        """Embed the articles of the benchmark that have no vectors."""
        if self.model is not None:
            with self.context.store.reading() as r:
                articles = r.corpora.articles_by_id([item.article_id for item in items])
            embed_articles(self.context, self.model, list(articles.values()), self.context.part(0.0, 0.5))

    def cluster(self, items: Sequence[BenchmarkItem]) -> list[Labels]:
        """Return the labels of every item, with as many clusters as the article has sections."""
        from themescope.core.tasks.scb import cluster_items

        pairs = ((item.truth, x) for item, x in self._matrices(items))
        report = self.context.part(0.5, 0.97, "Clustering")
        # Vectors and labels of the same digest are the same, also in another attempt of the job.
        records = ArrayRecords(self.context.checkpoint_folder() / "shards" / self.digest)
        workers = self.context.executor
        return cluster_items(pairs, self.clusterer, self.config, self.seed, workers, report, len(items), records)

    def _matrices(self, items: Sequence[BenchmarkItem]) -> Iterator[tuple[BenchmarkItem, Matrix | None]]:
        """Yield each item with the vectors of its sentences, in groups of articles."""
        if self.model is None:
            yield from ((item, None) for item in items)
            return
        for part in batches(items, 50):
            with self.context.store.reading() as r:
                blocks = r.embeddings.get(self.model.id, [item.article_id for item in part])
                places = r.corpora.sentences_by_id(np.concatenate([item.sentence_ids for item in part]))
            for item in part:
                rows = np.array([places[int(i)].position for i in item.sentence_ids])
                yield item, blocks[item.article_id][rows]

    def keep(self, items: Sequence[BenchmarkItem], labels: Sequence[Labels], seconds: float) -> RunRecord:
        from themescope.core.tasks.scb import score_labels

        scores, ids = score_labels([item.truth for item in items], labels), [item.article_id for item in items]
        records = [total(metric, estimate) for metric, (_, estimate) in scores.items()]
        for metric, (values, _) in scores.items():
            records += [ScoreRecord(0, id, metric, float(value)) for id, value in zip(ids, values, strict=True)]
        assignments = {item.article_id: part for item, part in zip(items, labels, strict=True)}
        with self.context.writing() as w:
            return w.runs.add(
                kind="clustering",
                digest=self.digest,
                model_id=self.model.id if self.model else None,
                benchmark_id=self.benchmark.id,
                clusterer=self.clusterer,
                config=self.config.to_dict(),
                seed=self.seed,
                seconds=seconds,
                assignments=assignments,
                scores=records,
            )

    def result(self, run: RunRecord, cached: bool) -> dict[str, Any]:
        """Return the scores, with a warning if the model was trained on articles of the benchmark."""
        model = self.model.name if self.model else ""
        about = {"model": model, "clusterer": self.clusterer, "benchmark": self.benchmark.name}
        store, seen = self.context.store, 0
        if self.model is not None:
            with store.reading() as r:
                articles = r.corpora.articles_by_id(r.benchmarks.article_ids(self.benchmark.id))
            seen = len(seen_in_training(store, self.model, [article.title for article in articles.values()]))
        return run_result(store, run, cached, **about) | {"articles_seen_in_training": seen}


@dataclass(frozen=True)
class BenchmarkConfig(JobConfig):
    """Arguments of building a benchmark."""

    TITLE = "Build benchmark “{name}” from “{corpus}”"

    corpus: str = option("", "Name of the corpus to choose articles from.", required=True)
    name: str = option("", "Name of the new benchmark.", required=True)
    rules: Mapping[str, Any] = option({}, "Rules; default: those inferred for the published benchmark.")
    seed: int = option(0, "Seed of the choice of articles.", low=0)
    splits: tuple[str, ...] = option(("test",), "Splits to choose from; models are never trained on test articles.")

    def validate(self) -> None:
        """Check rules and splits before the job is queued."""
        from themescope.core.tasks.scb import ScbRules

        config_from_dict(ScbRules, self.rules)
        splits_of(self.splits)


def build_benchmark(args: BenchmarkConfig, context: JobContext) -> dict[str, Any]:
    """Choose the articles and store them, unless the same benchmark exists."""
    from themescope.core.tasks.scb import ScbRules, build_scb

    store, corpus = context.store, ready_corpus(context.store, args.corpus)
    rules, splits = config_from_dict(ScbRules, args.rules), splits_of(args.splits)
    config = rules.to_dict() | {"splits": [s.value for s in splits], "seed": args.seed}
    card = KINDS.get("build-benchmark")
    with store.reading() as r:
        known = r.benchmarks.list(corpus.id)
    existing = next((b for b in known if (b.config, b.revision) == (config, card.revision)), None)
    if existing is not None:
        return _result(existing, cached=True)
    report = context.part(0.0, 0.9, "Choosing articles")
    items, counts = build_scb(StoredArticles(store, corpus, splits), rules, args.seed, splits, report)
    if not items:
        raise DataError(
            f"No article of {corpus.name!r} ({', '.join(args.splits)}) has enough sections and sentences for a "
            "benchmark. Use more splits, relax the rules, or import more articles."
        )
    digest = work_digest(card, corpus=[corpus.id, corpus.digest], config=config)
    context.progress(0.9, 1, f"Storing {len(items):,} articles")
    with context.writing() as w:
        record = w.benchmarks.add(corpus.id, args.name, config, digest, counts, items, revision=card.revision)
    return _result(record, cached=False)


def _result(record: BenchmarkRecord, cached: bool) -> dict[str, Any]:
    about = {"benchmark": record.name, "benchmark_id": record.id, "digest": record.digest, "cached": cached}
    return about | {"counts": dict(record.counts)}
