"""Job kinds that measure a model on sentences: triplet accuracy, relatedness of pairs (SICK), and speed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.config import option
from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.core.records.stored import ModelRecord, RunRecord, ScoreRecord
from themescope.core.triplets.rules import article_key
from themescope.core.types import Ids, Sentence, Shard, Split, TripletRows, TripletTexts
from themescope.db.store import Store
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.results import (
    article_means,
    file_digest,
    find_run,
    folder_digest,
    run_result,
    total,
    work_digest,
)
from themescope.jobs.common.vectors import load_model, method_of, model_workers
from themescope.jobs.kinds import REGISTRY as KINDS

if TYPE_CHECKING:
    from themescope.core.metrics.triplets import Context, TripletAccuracy

METRIC = "triplet accuracy"
SAMPLE = "triplet-sample"
"""Kind of the runs that pages do not compare: on some of the articles of a set."""


@dataclass(frozen=True)
class EvaluateTripletsConfig(JobConfig):
    """Arguments of a triplet evaluation."""

    model: str = option("", "Name of the model.", required=True)
    triplets: str = option("", "Name of the triplet set.")
    split: str = option("test", "Split of the set to evaluate on.", choices=("train", "validation", "test"))
    file: str = option("", "CSV file with the columns Sentence1, Sentence2, Sentence3, instead of a set.", file=True)
    sick: str = option(
        "",
        "Compare predicted relatedness instead of distances: copy of SICK to which the regressor is fitted.",
        file=True,
    )
    context: bool = option(
        False, "Embed all sentences of an article of the set together, for models whose vectors depend on them."
    )
    articles: int = option(
        0, "Evaluate on at most this many articles of the set, chosen by title; 0 uses all.", low=0, unit="articles"
    )

    def validate(self) -> None:
        """Check that either a set or a file is given."""
        if bool(self.triplets) == bool(self.file):
            raise ConfigError("Name either a triplet set or a CSV file of triplets.")
        if self.file and (self.context or self.articles):
            raise ConfigError("A CSV file does not say which article a sentence is from. Choose a triplet set.")

    def sample(self) -> dict[str, Any]:
        """Return what differs from an evaluation of all triplets without the rest of their articles."""
        return {name: value for name in ("context", "articles") if (value := getattr(self, name))}

    def title(self) -> str:
        """Return a title with model and data."""
        what = Path(self.file).name if self.file else f"{self.triplets} ({self.split})"
        context = ", with the article" if self.context else ""
        return f"Measure the triplet accuracy of “{self.model}” on “{what}”{context}"


@dataclass(frozen=True)
class _Data:
    """Source of the triplets, and its names in the digest and the result."""

    key: dict[str, Any]
    about: dict[str, Any]
    set_id: int | None = None


def evaluate_triplets(args: EvaluateTripletsConfig, context: JobContext) -> dict[str, Any]:
    """Evaluate and store the margins of all triplets. A stored evaluation with the same digest is returned."""
    store, model = context.store, find_model(context.store, args.model)
    data = _file(args) if args.file else _set(store, args)
    by = {"relatedness": folder_digest(Path(args.sick))} if args.sick else {}
    cards = KINDS.get("evaluate-triplets"), method_of(model)
    digest = work_digest(*cards, model=model.digest, split=args.split, **data.key, **by, **args.sample())
    if existing := find_run(store, digest):
        return _result(store, existing, model, data, cached=True)
    texts, ids = _triplets(store, args, data)
    context.progress(0, 1, f"Loading {model.name}")
    begun = time.monotonic()
    scores, margins = _measured(args, store, model, texts, context, stored=data.set_id is not None)
    with context.writing() as w:
        run = w.runs.add(
            kind=SAMPLE if args.articles else "triplets",
            digest=digest,
            model_id=model.id,
            triplet_set_id=data.set_id,
            config={"split": args.split, **data.about, **by, **args.sample()},
            seconds=time.monotonic() - begun,
            scores=scores,
            margins={Split(args.split): (ids, margins)},
        )
    return _result(store, run, model, data, cached=False)


def _file(args: EvaluateTripletsConfig) -> _Data:
    path = Path(args.file)
    if not path.is_file():
        raise DataError(f"The file {path.name!r} does not exist. Choose a CSV file of triplets.")
    return _Data({"file": file_digest(path)}, {"file": args.file})


def _set(store: Store, args: EvaluateTripletsConfig) -> _Data:
    with store.reading() as r:
        record = r.triplets.by_name(args.triplets)
    return _Data({"triplets": [record.id, record.digest]}, {}, record.id)


def _triplets(store: Store, args: EvaluateTripletsConfig, data: _Data) -> tuple[TripletTexts, Ids]:
    """Return the triplets as text and their ids; for a file, the ids are row numbers."""
    from themescope.core.triplets.sample import read_triplets

    if data.set_id is None:
        texts = read_triplets(Path(args.file))
        return texts, np.arange(len(texts), dtype=np.int64)
    with store.reading() as r:
        split = Split(args.split)
        rows = r.triplets.rows(data.set_id, split)
        if args.articles:
            articles = r.corpora.articles_by_id(rows.articles.tolist())
            rows = _of_articles(
                rows, sorted(articles, key=lambda id: (article_key(articles[id].title, 0), id))[: args.articles]
            )
        texts = r.triplets.texts_of(r.triplets.get(data.set_id).kind, rows)
    if len(texts) == 0:
        raise DataError(f"Triplet set {args.triplets!r} has no {args.split} triplets. Choose another split.")
    return texts, rows.ids


def _of_articles(rows: TripletRows, articles: Sequence[int]) -> TripletRows:
    kept = np.isin(rows.articles, articles)
    return TripletRows(*(getattr(rows, field.name)[kept] for field in fields(rows)))


def _measured(
    args: EvaluateTripletsConfig,
    store: Store,
    model: ModelRecord,
    texts: TripletTexts,
    context: JobContext,
    *,
    stored: bool,
) -> tuple[list[ScoreRecord], Any]:
    """Return the mean, scores per article and margins; a file has no stored articles."""
    context_of = partial(_sentences, store) if args.context else None
    if args.sick:
        # Compare the predictions of a regressor of sentence pairs instead of distances.
        fitted = load_model(store, model)[0]
        from themescope.core.metrics.triplets import triplet_accuracy
        from themescope.core.tasks.relatedness import RelatednessOrder, fit_relatedness, read_sick

        regressor = fit_relatedness(fitted, read_sick(Path(args.sick)), seed=0, report=context.part(0.02, 0.3))
        accuracy = triplet_accuracy(
            RelatednessOrder(fitted, regressor), texts, context.part(0.3, 0.98), context=context_of
        )
    else:
        accuracy = _by_distance(context, model, texts, context_of)
    articles = article_means(METRIC, texts.groups, accuracy.correct) if stored else ()
    return [total(METRIC, accuracy.estimate), *articles], accuracy.margins


def _by_distance(
    context: JobContext, model: ModelRecord, texts: TripletTexts, context_of: Context | None
) -> TripletAccuracy:
    """Compare distances, in the workers of the job."""
    from themescope.core.metrics.triplets import accuracy_of_margins, margins_of_batch, triplet_batches

    rows: deque[Ids] = deque()
    margins = np.empty(len(texts), dtype=np.float32)
    executor, measure = model_workers(context, model, margins_of_batch, 3 * len(texts))
    report = context.part(0.02, 0.98)

    def shards() -> Iterator[Shard]:
        for number, batch in enumerate(triplet_batches(texts, context=context_of), 1):
            rows.append(batch.rows)
            yield Shard(f"batch {number:,} of the triplets", batch, len(batch.rows))

    for found in executor.map(measure, shards(), report=report, total=len(texts), unit="triplets"):
        margins[rows.popleft()] = found
    return accuracy_of_margins(margins, texts.groups)


def _sentences(store: Store, articles: Sequence[int]) -> dict[int, list[Sentence]]:
    with store.reading() as r:
        return r.corpora.sentences_of(articles)


def _result(store: Store, run: RunRecord, model: ModelRecord, data: _Data, *, cached: bool) -> dict[str, Any]:
    where: dict[str, Any] = {**data.about, "context": bool(run.config.get("context"))}
    with store.reading() as r:
        if data.set_id is None:
            where["triplets"] = len(r.runs.margins(run.id, Split(run.config["split"]))[0])
        else:
            where["triplets"] = r.triplets.get(data.set_id).name
    return run_result(store, run, cached, model=model.name, **where, split=run.config["split"])


_RELATEDNESS = "relatedness"


@dataclass(frozen=True)
class EvaluateRelatednessConfig(JobConfig):
    """Arguments of an evaluation on sentence pairs."""

    model: str = option("", "Name of the model.", required=True)
    sick: str = option(
        "", "Folder with the three files of SICK, or the file of its full release.", file=True, required=True
    )
    regressor: bool = option(True, "Fit a regressor to the training pairs; otherwise use the cosine.")
    seed: int = option(0, "Seed of the regressor.", low=0)

    def title(self) -> str:
        """Return a title with model and data."""
        return f"Measure relatedness by “{self.model}” on “{Path(self.sick).name}”"


def evaluate_relatedness(args: EvaluateRelatednessConfig, context: JobContext) -> dict[str, Any]:
    """Evaluate and store. A stored evaluation with the same digest is returned."""
    from themescope.core.tasks.relatedness import evaluate_sick, read_sick

    store, path = context.store, Path(args.sick)
    model = find_model(store, args.model)
    if not path.exists():
        raise ReadError(path, "this file or folder does not exist.", advice="Give the folder of SICK.")
    settings = {"pairs": folder_digest(path), "regressor": args.regressor}
    cards = KINDS.get("evaluate-relatedness"), method_of(model)
    digest = work_digest(*cards, model=model.digest, seed=args.seed, **settings)
    if existing := find_run(store, digest):
        return run_result(store, existing, cached=True, model=model.name)
    pairs = read_sick(path)
    context.progress(0, 1, f"Loading {model.name}")
    fitted = load_model(store, model)[0]
    begun = time.monotonic()
    part = context.part(0.05, 0.98)
    scores = evaluate_sick(fitted, pairs, regressor=args.regressor, seed=args.seed, report=part)
    with context.writing() as w:
        run = w.runs.add(
            kind=_RELATEDNESS,
            digest=digest,
            model_id=model.id,
            config={**settings, "file": path.name, "test_pairs": len(pairs.test)},
            seed=args.seed,
            seconds=time.monotonic() - begun,
            scores=[total(metric, estimate) for metric, estimate in scores.items()],
        )
    return run_result(store, run, cached=False, model=model.name)
