"""Measurements of a table row with one seed: the job to run, and its values per item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import DataError
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
from core.types import Ids, Split
from db.records import ModelRecord
from jobs.papers.work import Work

Floats = npt.NDArray[np.float64]
ACCURACY = "accuracy"
BY_DOCUMENT = "accuracy by document"
"""Mean over documents of the share of sentences with the correct topic; used in paired tests."""
SECONDS = "seconds"
"""Wall-clock seconds of fitting the model and its base models."""


@dataclass(frozen=True)
class Measurement:
    """Measured scores. ``items`` and each of ``values`` have shape (n,); they are empty for counts."""

    scores: Mapping[str, float]
    values: Mapping[str, Floats] = field(default_factory=dict)
    items: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    groups: Ids | None = None
    """Articles of the items, if an article has several items."""
    intervals: Mapping[str, tuple[float, float, int]] = field(default_factory=dict)
    """(low, high, n) of metrics that have no values per item."""
    run: str = ""
    """Digest of the stored run."""
    warning: str = ""
    """Warning about the validity of the scores."""


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
            return _measure_topics(wanted, work, seed)


def _measure_topics(
    wanted: CountTopics | CountSummaries | Topics | ChosenSetting | Summaries, work: Work, seed: int
) -> Measurement:
    match wanted:
        case CountTopics():
            return _counted_topics(wanted, work)
        case CountSummaries():
            return _counted_summaries(wanted, work)
        case Topics():
            return _topics(wanted, work, seed)
        case ChosenSetting():
            return _chosen_setting(wanted, work, seed)
        case Summaries():
            return _summaries(wanted, work, seed)


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
    parts = [*_training_words(work, declared, found)]
    if declared.words:
        parts.append("words of " + work.sources.words_for(declared.words).replace("\\", "/").rsplit("/", 1)[-1])
    return ", ".join(parts) or "nothing to learn"


def _training_words(work: Work, declared: Model, found: ModelRecord) -> list[str]:
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


def _counted_topics(wanted: CountTopics, work: Work) -> Measurement:
    """Return the sizes of the task, from the evaluation of the labelling model."""
    result = _evaluated(Topics(wanted.labels, wanted.labels, wanted.settings), work, work.profile.seeds[0])
    return Measurement({name: float(value) for name, value in result["counts"].items()}, run=result["digest"])


def _topics(wanted: Topics, work: Work, seed: int) -> Measurement:
    """Return the scores of both tasks, with accuracy per document for paired tests."""
    result = _evaluated(wanted, work, seed)
    with work.store.reading() as r:
        rows = r.runs.scores([result["run_id"]], per_article=True)
    of_document = {row.article_id: row.value for row in rows if row.metric == ACCURACY and row.article_id}
    items = np.array(sorted(of_document), dtype=np.int64)
    by_document = np.array([of_document[int(i)] for i in items])
    found: Mapping[str, Mapping[str, Any]] = result["scores"]
    known = {metric: score for metric, score in found.items() if score["low"] is not None}
    return Measurement(
        {metric: score["value"] for metric, score in found.items()}
        | {BY_DOCUMENT: float(by_document.mean()), SECONDS: _seconds(wanted.model, work, seed)},
        {BY_DOCUMENT: by_document},
        items,
        intervals={metric: (score["low"], score["high"], score["n"]) for metric, score in known.items()},
        run=result["digest"],
        warning="" if result["converged"] else "the classifier was stopped before its end",
    )


def _chosen_setting(wanted: ChosenSetting, work: Work, seed: int) -> Measurement:
    """Return the value with the highest accuracy on held-out documents; the smaller one in a tie."""
    settings = {**wanted.settings, "part": "validation"}
    scores = {
        value: _evaluated(Topics(model, wanted.labels, settings), work, seed)["scores"]["weighted F1"]
        for value, model in sorted(wanted.models.items())
    }
    best = max(scores, key=lambda value: scores[value]["value"])
    return Measurement({"value": best, "f1": scores[best]["value"]})


def _counted_summaries(wanted: CountSummaries, work: Work) -> Measurement:
    """Return the numbers of documents, sentences and references."""
    from core.tasks.summaries.documents import read_summary_documents

    found = read_summary_documents(_documents(wanted.documents, work), report=work.steps.context)
    means = {name: float(np.mean([len(getattr(d, name)) for d in found])) for name in ("sentences", "references")}
    return Measurement({"documents": float(len(found)), **means})


def _summaries(wanted: Summaries, work: Work, seed: int) -> Measurement:
    """Return ROUGE-1 recall per document."""
    args: dict[str, Any] = {
        "documents": str(_documents(wanted.documents, work)),
        "summarizer": wanted.summarizer,
        "seed": seed,
    }
    if wanted.model:
        args["model"] = work.model(wanted.model, seed).name
    result = work.steps.run("evaluate-summaries", args)
    with work.store.reading() as r:
        single = r.runs.get(result["run_id"]).config["per_document"]
    values = {metric: np.array(numbers) for metric, numbers in single.items() if metric != "ids"}
    scores = {metric: float(found.mean()) for metric, found in values.items()}
    return Measurement(scores, values, np.arange(len(single["ids"])), run=result["digest"])


def _evaluated(wanted: Topics, work: Work, seed: int) -> dict[str, Any]:
    args = {
        "model": work.model(wanted.model, seed).name,
        "labels": work.model(wanted.labels, seed).name,
        "corpus": work.corpus_of_model(wanted.labels).name,
        "seed": seed,
        **wanted.settings,
    }
    return work.steps.run("evaluate-topics", args)


def _seconds(id: str, work: Work, seed: int) -> float:
    own = float(work.model(id, seed).metrics.get("seconds", 0.0))
    return own + sum(_seconds(part, work, seed) for part in work.paper.model(id).parts)


def _documents(name: str, work: Work) -> Path:
    path = work.sources.data / name if work.sources.data else None
    if path is None or not path.exists():
        raise DataError(f"The data folder (--data) has no {name}.")
    return path.absolute()
