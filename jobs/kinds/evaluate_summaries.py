"""Job kind: summarise documents and compute ROUGE-1 against reference summaries."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from themescope.core.config import config_from_dict, option
from themescope.core.errors import ConfigError, ReadError
from themescope.core.protocols import Executor
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.types import Shard
from themescope.db.records import ModelRecord, RunRecord
from themescope.db.store import Store
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.results import find_run, run_result, total, tree_digest, work_digest
from themescope.jobs.common.vectors import method_of, model_workers
from themescope.jobs.kinds import REGISTRY as KINDS

if TYPE_CHECKING:
    from themescope.core.tasks.summaries.documents import SummaryDocument
    from themescope.core.tasks.summaries.summarizing import Summarize, Summary

KIND = "summaries"


@dataclass(frozen=True)
class EvaluateSummariesConfig(JobConfig):
    """Arguments of an evaluation on summaries."""

    documents: str = option("", "File of JSON lines, or folder with documents/ and references/.", file=True)
    summarizer: str = option("lexrank", "Id of the method that ranks sentences.")
    model: str = option("", "Name of the model whose vectors are used; empty for methods without vectors.")
    settings: Mapping[str, Any] = option({}, "Settings of the summarizer.")
    rouge: Mapping[str, Any] = option({}, "Settings of ROUGE (words, stemming, remove_stop_words).")
    words: int = option(100, "Maximum number of words of a summary.", low=1, high=100_000)
    language: str = option("en", "Language of the documents, for sentence splitting.")
    seed: int = option(0, "Seed of random order.", low=0)

    def validate(self) -> None:
        """Check that documents are given, and a model exactly if the method uses vectors."""
        from themescope.core.metrics.rouge import RougeSettings

        self.require("documents", "summarizer")
        SUMMARIZERS.configure(self.summarizer, self.settings)
        config_from_dict(RougeSettings, self.rouge)
        if not self.model and "vectors" in SUMMARIZERS.get(self.summarizer).tags:
            raise ConfigError(f"{self.summarizer!r} uses vectors. Name a model.")

    def title(self) -> str:
        """Return a title with documents and method."""
        by = f"{self.model} × {self.summarizer}" if self.model else self.summarizer
        return f"Summaries of “{Path(self.documents).name}” by {by}"


def run(args: EvaluateSummariesConfig, context: JobContext) -> dict[str, Any]:
    """Summarise, score and store. A stored evaluation with the same digest is returned."""
    from themescope.core.metrics.rouge import RougeSettings
    from themescope.core.tasks.summaries.documents import read_summary_documents
    from themescope.core.tasks.summaries.summarizing import Summarize, score_summaries

    store, path = context.store, Path(args.documents)
    if not path.exists():
        raise ReadError(path, "this file or folder does not exist.", advice="Choose documents with their summaries.")
    model = find_model(store, args.model) if "vectors" in SUMMARIZERS.get(args.summarizer).tags else None
    config = SUMMARIZERS.configure(args.summarizer, args.settings)
    rouge: RougeSettings = config_from_dict(RougeSettings, args.rouge)
    settings: dict[str, Any] = {
        "documents": tree_digest(path),
        "summarizer": args.summarizer,
        "settings": config.to_dict(),
        "rouge": rouge.to_dict(),
        "words": args.words,
        "language": args.language,
    }
    cards = [KINDS.get("evaluate-summaries"), SUMMARIZERS.get(args.summarizer), *([method_of(model)] if model else [])]
    digest = work_digest(*cards, model=model.digest if model else "", seed=args.seed, **settings)
    if existing := find_run(store, digest):
        return _result(store, existing, model, cached=True)
    begun = time.monotonic()
    documents = read_summary_documents(path, args.language, context.part(0.0, 0.1, "Reading"))
    made = _summarize(
        context, model, documents, Summarize(SUMMARIZERS.build(args.summarizer, config), args.words, args.seed)
    )
    context.progress(0.9, 1, "Scoring")
    scores = score_summaries(documents, [summary.text for summary in made], rouge, args.seed)
    # Documents outside the store have no rows, so the values for paired tests are stored with the run.
    single = {"ids": list(scores.ids)} | {name: values.round(6).tolist() for name, values in scores.values.items()}
    with context.writing() as w:
        run = w.runs.add(
            kind=KIND,
            digest=digest,
            model_id=model.id if model else None,
            config=settings | {"file": path.name, "per_document": single},
            seed=args.seed,
            seconds=time.monotonic() - begun,
            scores=[total(f"ROUGE-1 {name}", estimate) for name, estimate in scores.means.items()],
        )
    return _result(store, run, model, cached=False)


def _summarize(
    context: JobContext, model: ModelRecord | None, documents: Sequence[SummaryDocument], summarize: Summarize
) -> list[Summary]:
    """Return the extract of every document, computed by the workers of the job."""
    from themescope.core.tasks.summaries.summarizing import document_groups

    executor: Executor = context.executor
    function: Callable[[Any], list[Summary]] = partial(summarize, None)
    if model is not None:
        context.progress(0.1, 1, f"Loading {model.name}")
        executor, function = model_workers(context, model, summarize, sum(len(d.sentences) for d in documents))
    shards = (
        Shard(f"documents {group[0][0] + 1:,} to {group[-1][0] + 1:,}", group, len(group))
        for group in document_groups(documents)
    )
    report, total = context.part(0.1, 0.9), len(documents)
    found = executor.map(function, shards, report=report, total=total, unit="documents summarised")
    return [summary for group in found for summary in group]


def _result(store: Store, run: RunRecord, model: ModelRecord | None, *, cached: bool) -> dict[str, Any]:
    about = {"summarizer": run.config["summarizer"], "documents": run.config["file"], "words": run.config["words"]}
    return run_result(store, run, cached, model=model.name if model else "", **about)
