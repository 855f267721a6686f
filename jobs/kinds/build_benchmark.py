"""Job kind: build a clustering benchmark (like SCB, or from a published CSV file)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from themescope.core.config import config_from_dict, option
from themescope.core.errors import DataError
from themescope.db.records import BenchmarkRecord
from themescope.jobs.common.articles import StoredArticles, ready_corpus, splits_of
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.results import work_digest
from themescope.jobs.kinds import REGISTRY as KINDS


@dataclass(frozen=True)
class BenchmarkConfig(JobConfig):
    """Arguments of building a benchmark."""

    corpus: str = option("", "Name of the corpus to choose articles from.")
    name: str = option("", "Name of the new benchmark.")
    rules: Mapping[str, Any] = option({}, "Rules; default: those inferred for the published benchmark.")
    seed: int = option(0, "Seed of the choice of articles.", low=0)
    splits: tuple[str, ...] = option(("test",), "Splits to choose from; models are never trained on test articles.")

    def validate(self) -> None:
        """Check names, rules and splits before the job is queued."""
        from themescope.core.tasks.scb import ScbRules

        self.require("corpus", "name")
        config_from_dict(ScbRules, self.rules)
        splits_of(self.splits)

    def title(self) -> str:
        """Return a title with benchmark and corpus."""
        return f"Build benchmark “{self.name}” from “{self.corpus}”"


def run(args: BenchmarkConfig, context: JobContext) -> dict[str, Any]:
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
    digest = work_digest(card, corpus=[corpus.id, corpus.report.get("digest", "")], config=config)
    context.progress(0.9, 1, f"Storing {len(items):,} articles")
    with context.writing() as w:
        record = w.benchmarks.add(corpus.id, args.name, config, digest, counts, items, revision=card.revision)
    return _result(record, cached=False)


def _result(record: BenchmarkRecord, cached: bool) -> dict[str, Any]:
    return {
        "benchmark": record.name,
        "benchmark_id": record.id,
        "digest": record.digest,
        "cached": cached,
        "counts": dict(record.counts),
    }
