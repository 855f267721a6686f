"""Measurements of a row with one seed: the job to run, and its values per item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.papers.spec import (
    Accuracy,
    ChosenSetting,
    Clustering,
    CountBenchmark,
    CountSummaries,
    CountTopics,
    CountTriplets,
    Measure,
    Model,
    Relatedness,
    Summaries,
    Topics,
)
from core.tasks.summaries import REGISTRY as SUMMARIZERS
from core.types import Split
from db.records import ModelRecord
from jobs.papers.measurement import Measurement
from jobs.papers.topic_measures import measure_of_topics
from jobs.papers.work import Work

ACCURACY = "accuracy"


def seeds_of(measure: Measure, work: Work) -> tuple[int, ...]:
    """Return the seeds on which a measurement depends; counts depend on none."""
    match measure:
        case CountTriplets() | CountBenchmark() | CountTopics() | CountSummaries():
            return (0,)
        case ChosenSetting():
            return work.profile.seeds[:1]
        case Summaries(_, summarizer, "") if "seeded" not in SUMMARIZERS.get(summarizer).tags:
            return (0,)
        case Accuracy(model) if not work.paper.model(model).random:
            return (0,)
    return work.profile.seeds


def measure(wanted: Measure, work: Work, seed: int) -> Measurement:
    """Carry out a measurement, reusing stored results."""
    match wanted:
        case CountTriplets(triplets):
            return _counted_triplets(work, triplets)
        case CountBenchmark(benchmark):
            table = work.benchmark(benchmark).counts["table"]["ours"]
            return Measurement({name: float(value) for name, value in table.items()})
        case Accuracy():
            return _accuracy(wanted, work, seed)
        case Clustering():
            return _clustering(wanted, work, seed)
        case Relatedness():
            return _relatedness(wanted, work, seed)
        case _:
            return measure_of_topics(wanted, work, seed)


def data_of(wanted: Measure, work: Work) -> str:
    """Describe the evaluation data and the training data."""
    match wanted:
        case CountTriplets(triplets):
            return f"{work.sources.corpus.name}: {work.sources.corpus.articles:,} articles"
        case CountBenchmark(benchmark):
            return _benchmark_words(work, benchmark)
        case Accuracy(model, triplets):
            return f"{_test_words(work, triplets)}; {_model_words(work, model)}"
        case Clustering(model, _, benchmark):
            return _benchmark_words(work, benchmark) + (f"; {_model_words(work, model)}" if model else "")
        case Relatedness(model):
            return f"SICK; {_model_words(work, model)}"
        case CountTopics(labels) | ChosenSetting(_, labels):
            return work.corpus_of_model(labels).name
        case Topics(model, labels):
            return f"{work.corpus_of_model(labels).name}; {_model_words(work, model)}"
        case CountSummaries(documents):
            return documents.rsplit("/", 1)[-1]
        case Summaries(documents, _, model):
            return documents.rsplit("/", 1)[-1] + (f"; {_model_words(work, model)}" if model else "")


def _counted_triplets(work: Work, id: str) -> Measurement:
    counts = work.triplet_set(id).counts
    numbers = {split.value: float(counts["triplets"][split.value]) for split in Split}
    return Measurement({**numbers, "articles": float(counts["articles"]["with_triplets"]["total"])})


def _accuracy(wanted: Accuracy, work: Work, seed: int) -> Measurement:
    args: dict[str, Any] = {"model": work.model(wanted.model, seed).name}
    if wanted.regressor:
        args["sick"] = str(work.sources.pairs())
    file = _test_file(work, wanted.triplets)
    where = {"file": str(file)} if file else {"triplets": work.triplet_set(wanted.triplets).name}
    result = work.steps.run("evaluate-triplets", {**args, **where})
    with work.store.reading() as r:
        ids, margins = r.runs.margins(result["run_id"], Split.TEST)
        groups = None if file else r.triplets.rows(work.triplet_set(wanted.triplets).id, Split.TEST).articles
    correct = (0.5 + 0.5 * np.sign(margins)).astype(np.float64)
    return Measurement({ACCURACY: float(correct.mean())}, {ACCURACY: correct}, ids, groups, run=result["digest"])


def _clustering(wanted: Clustering, work: Work, seed: int) -> Measurement:
    args = {
        "model": work.model(wanted.model, seed).name if wanted.model else "",
        "clusterer": wanted.clusterer,
        "benchmark": work.benchmark(wanted.benchmark).name,
        "settings": dict(wanted.settings),
        "seed": seed,
    }
    result = work.steps.run("cluster", args)
    with work.store.reading() as r:
        rows = r.runs.scores([result["run_id"]], per_article=True)
    by_metric: dict[str, dict[int, float]] = {}
    for row in rows:
        by_metric.setdefault(row.metric, {})[row.article_id or 0] = row.value
    items = np.array(sorted(next(iter(by_metric.values()))), dtype=np.int64)
    values = {metric: np.array([found[int(i)] for i in items]) for metric, found in by_metric.items()}
    seen = result["articles_seen_in_training"]
    warning = f"{seen:,} of these articles were in its training" if seen else ""
    means = {metric: float(found.mean()) for metric, found in values.items()}
    return Measurement(means, values, items, run=result["digest"], warning=warning)


def _relatedness(wanted: Relatedness, work: Work, seed: int) -> Measurement:
    args = {"sick": str(work.sources.pairs()), "regressor": wanted.regressor, "seed": seed}
    result = work.steps.run("evaluate-relatedness", {"model": work.model(wanted.model, seed).name, **args})
    scores: Mapping[str, Mapping[str, Any]] = result["scores"]
    return Measurement(
        {metric: score["value"] for metric, score in scores.items()},
        intervals={metric: (score["low"], score["high"], score["n"]) for metric, score in scores.items()},
        run=result["digest"],
    )


def _test_file(work: Work, triplets: str) -> Any:
    return work.sources.triplet_files.get(Split.TEST) if work.paper.triplet_data(triplets).replaceable else None


def _test_words(work: Work, triplets: str) -> str:
    file = _test_file(work, triplets)
    if file:
        return f"triplets of {file.name}"
    counts = work.triplet_set(triplets).counts
    articles = counts["articles"]["with_triplets"]["test"]
    return f"{counts['triplets']['test']:,} test triplets of {articles:,} articles ({work.sources.corpus.name})"


def _benchmark_words(work: Work, id: str) -> str:
    counts = work.benchmark(id).counts
    table = counts["table"]["ours"]
    source = work.sources.benchmark_corpus or work.sources.corpus.name
    return f"{table['articles']:,} articles, {table['sentences']:,} sentences ({source})"


def _model_words(work: Work, id: str) -> str:
    """Describe the training data: triplets, text, word vectors alone, or other models."""
    declared = work.paper.model(id)
    if declared.parts:
        return "made of: " + "; ".join(_model_words(work, part) for part in declared.parts)
    found = work.model(id, work.profile.seeds[0])
    if declared.pretrained:
        return f"model {found.name}"
    parts = [*_learned_from(work, declared, found)]
    if declared.words:
        parts.append("words of " + work.sources.words_for(declared.words).replace("\\", "/").rsplit("/", 1)[-1])
    return ", ".join(parts) or "nothing to learn"


def _learned_from(work: Work, declared: Model, found: ModelRecord) -> list[str]:
    if not declared.triplets:
        return [f"text of {work.corpus(declared.corpus).name}"] if found.corpus_id else []
    files = work.sources.training_files() if work.paper.triplet_data(declared.triplets).replaceable else None
    if files:
        return [f"learned from {files[0].name}"]
    known = work.triplet_set(declared.triplets).counts["triplets"]["train"]
    drawn = int(found.config.get("triplets_per_epoch", 0)) * int(found.config.get("epochs", 1))
    return [
        f"learned from {drawn:,} draws of {known:,} triplets"
        if 0 < drawn < known
        else f"learned from {known:,} triplets"
    ]
