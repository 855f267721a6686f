"""Triplet accuracy of a model, on a stored set or on a CSV file, with an interval over articles."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.config import option
from core.errors import ConfigError, DataError
from core.records import ModelRecord, RunRecord, ScoreRecord, TripletSetRecord
from core.types import Ids, Split
from db.store import Store
from jobs.config import JobConfig
from jobs.context import JobContext
from jobs.digests import work_digest
from jobs.scores import estimates, total
from jobs.vectors import find_model, load_model

METRIC = "triplet accuracy"


@dataclass(frozen=True)
class EvaluateTripletsConfig(JobConfig):
    """Arguments of a triplet evaluation."""

    model: str = option("", "Name of the model.")
    triplets: str = option("", "Name of the triplet set.")
    split: str = option("test", "Split of the set to evaluate on.", choices=("train", "validation", "test"))
    file: str = option("", "Instead of a set: a CSV file with the columns Sentence1, Sentence2, Sentence3.")

    def validate(self) -> None:
        """A model is needed, and a set or a file."""
        self.require("model")
        if bool(self.triplets) == bool(self.file):
            raise ConfigError("Name either a triplet set or a CSV file of triplets.")

    def title(self) -> str:
        """Names the model and the data."""
        what = Path(self.file).name if self.file else f"{self.triplets} ({self.split})"
        return f"Triplet accuracy of “{self.model}” on “{what}”"


def run(args: EvaluateTripletsConfig, context: JobContext) -> dict[str, Any]:
    """Evaluate; on a stored set the margins of all triplets are kept, and the same evaluation is not repeated."""
    model = find_model(context.store, args.model)
    return _on_file(args, model, context) if args.file else _on_set(args, model, context)


def _on_file(args: EvaluateTripletsConfig, model: ModelRecord, context: JobContext) -> dict[str, Any]:
    from core.evaluation.triplet_accuracy import triplet_accuracy
    from core.triplets.csv import read_triplets_csv

    texts = read_triplets_csv(Path(args.file)).texts
    embedder, _ = load_model(context.store, model)
    begun = time.monotonic()
    accuracy = triplet_accuracy(embedder, texts, report=context)
    return {
        "model": model.name,
        "file": args.file,
        "cached": False,
        "seconds": round(time.monotonic() - begun, 3),
        "scores": {METRIC: asdict(accuracy.estimate)},
        "triplets": len(texts),
    }


def _on_set(args: EvaluateTripletsConfig, model: ModelRecord, context: JobContext) -> dict[str, Any]:
    from core.evaluation.triplet_accuracy import triplet_accuracy

    store, split = context.store, Split(args.split)
    with store.reading() as r:
        record = r.triplets.by_name(args.triplets)
    digest = work_digest(
        "evaluate-triplets", model=model.digest, triplets=[record.id, record.digest], split=split.value
    )
    with store.reading() as r:
        existing = r.runs.by_digest(digest)
    if existing is not None:
        return _result(store, existing, record, model, cached=True)
    with store.reading() as r:
        texts, rows = r.triplets.texts(record.id, split), r.triplets.rows(record.id, split)
    if len(texts) == 0:
        raise DataError(f"Triplet set {record.name!r} has no {split} triplets. Choose another split.")
    context.progress(0, 1, f"Loading {model.name}")
    embedder, _ = load_model(store, model)
    begun = time.monotonic()
    accuracy = triplet_accuracy(embedder, texts, report=context.part(0.02, 0.98))
    scores = [total(METRIC, accuracy.estimate), *_per_article(rows.articles, accuracy.correct)]
    with context.writing() as w:
        run = w.runs.add(
            kind="triplets",
            digest=digest,
            model_id=model.id,
            triplet_set_id=record.id,
            config={"split": split.value},
            seconds=time.monotonic() - begun,
            scores=scores,
            margins={split: (rows.ids, accuracy.margins)},
        )
    return _result(store, run, record, model, cached=False)


def _per_article(articles: Ids, correct: Any) -> Iterator[ScoreRecord]:
    ids, inverse, counts = np.unique(articles, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=np.asarray(correct, dtype=np.float64)) / counts
    for article, mean, n in zip(ids, means, counts, strict=True):
        yield ScoreRecord(0, int(article), METRIC, float(mean), n=int(n))


def _result(
    store: Store, run: RunRecord, record: TripletSetRecord, model: ModelRecord, *, cached: bool
) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "model": model.name,
        "triplets": record.name,
        "split": run.config["split"],
        "digest": run.digest,
        "cached": cached,
        "seconds": round(run.seconds, 3),
        "scores": estimates(store, run.id),
    }
