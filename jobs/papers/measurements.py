"""Measurements of a table row with one seed: the job to run, and its values per item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.errors import DataError
from themescope.core.papers.spec import (
    Accuracy,
    ChosenSetting,
    ClusteringMeasures,
    CountBenchmark,
    CountSummaries,
    CountTopics,
    CountTriplets,
    ExamplePredictions,
    Measure,
    RelatednessMeasures,
    SummaryMeasures,
    Topics,
)
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.types import Floats, Ids, Sentence, Split, TripletRows
from themescope.jobs.common.vectors import load_model
from themescope.jobs.papers.work import Work

ACCURACY = "accuracy"
BY_DOCUMENT = "accuracy by document"
"""Mean over documents of the share of sentences with the correct topic; used in paired tests."""
SECONDS = "seconds"
"""Wall-clock seconds of fitting the model and its base models."""


@dataclass(frozen=True)
class PerItem:
    """(n,) values of a metric, one for each of the (n,) items."""

    values: Floats
    items: Ids
    groups: Ids | None = None
    """Articles of the items, if an article has several items."""


@dataclass(frozen=True)
class Measurement:
    """Measured scores; counts have no values per item."""

    scores: Mapping[str, float]
    values: Mapping[str, PerItem] = field(default_factory=dict)
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
        case ChosenSetting() | ExamplePredictions():
            return work.profile.seeds[:1]
        case SummaryMeasures(_, summarizer, "") if "seeded" not in SUMMARIZERS.get(summarizer).tags:
            return (0,)
        case Accuracy(model):
            return work.seeds_of_model(model)
        case ClusteringMeasures(model) | RelatednessMeasures(model) | Topics(model) | SummaryMeasures(_, _, model):
            return work.profile.seeds[: (work.paper.model(model).seeds if model else 0) or None]
    return work.profile.seeds


def measure(wanted: Measure, work: Work, seed: int) -> Measurement:
    """Carry out a measurement, reusing stored results."""
    match wanted:
        case CountTriplets(triplets):
            counts = work.triplet_set(triplets).counts
            numbers = {split.value: float(counts["triplets"][split.value]) for split in Split}
            return Measurement({**numbers, "articles": float(counts["articles"]["with_triplets"]["total"])})
        case CountBenchmark(benchmark):
            table = work.benchmark(benchmark).counts["table"]["ours"]
            return Measurement({name: float(value) for name, value in table.items()})
        case Accuracy():
            return _accuracy(wanted, work, seed)
        case ClusteringMeasures():
            return _clustering(wanted, work, seed)
        case RelatednessMeasures():
            args = {"sick": str(work.sources.pairs()), "regressor": wanted.regressor, "seed": seed}
            result = work.steps.run("evaluate-relatedness", {"model": work.model(wanted.model, seed).name, **args})
            scores: Mapping[str, Mapping[str, Any]] = result["scores"]
            return Measurement(
                {metric: score["value"] for metric, score in scores.items()},
                intervals={metric: (score["low"], score["high"], score["n"]) for metric, score in scores.items()},
                run=result["digest"],
            )
        case ExamplePredictions():
            return _examples(wanted, work, seed)
        case _:
            return _measure_topics(wanted, work, seed)


def _measure_topics(
    wanted: CountTopics | CountSummaries | Topics | ChosenSetting | SummaryMeasures, work: Work, seed: int
) -> Measurement:
    match wanted:
        case CountTopics():
            result = _evaluated(Topics(wanted.labels, wanted.labels, wanted.settings), work, work.profile.seeds[0])
            return Measurement({name: float(value) for name, value in result["counts"].items()}, run=result["digest"])
        case CountSummaries():
            from themescope.core.tasks.summaries import read_summary_documents

            found = read_summary_documents(_documents(wanted.documents, work), report=work.steps.context)
            means = {
                name: float(np.mean([len(getattr(d, name)) for d in found])) for name in ("sentences", "references")
            }
            return Measurement({"documents": float(len(found)), **means})
        case Topics():
            return _topics(wanted, work, seed)
        case ChosenSetting():
            settings = {**wanted.settings, "part": "validation"}
            scores = {
                value: _evaluated(Topics(model, wanted.labels, settings), work, seed)["scores"]["weighted F1"]
                for value, model in sorted(wanted.models.items())
            }
            best = max(scores, key=lambda value: scores[value]["value"])
            return Measurement({"value": best, "f1": scores[best]["value"]})
        case SummaryMeasures():
            return _summaries(wanted, work, seed)


def _examples(wanted: ExamplePredictions, work: Work, seed: int) -> Measurement:
    """Return the score of a test pair, and the predictions of regressors, which are fitted anew and not stored."""
    from themescope.core.tasks.relatedness import fit_relatedness, read_sick

    pairs, context = read_sick(work.sources.pairs()), work.steps.context
    known = dict(zip(zip(pairs.test.first, pairs.test.second, strict=True), pairs.test.scores.tolist(), strict=True))
    if wanted.pair not in known:
        raise DataError("The test part of this copy of SICK does not have the pair.")
    scores = {"score": known[wanted.pair]}
    # Each sentence is an article of its own, as where the regressor is trained.
    sentences = [Sentence(text, article_id=i, opens_paragraph=True) for i, text in enumerate(wanted.pair)]
    for metric, id in wanted.models.items():
        model = load_model(work.store, work.model(id, seed))[0]
        vectors = model.embed(sentences)
        regressor = fit_relatedness(model, pairs, seed=seed, report=context)
        scores[metric] = float(regressor.predict(vectors[:1], vectors[1:])[0])
    return Measurement(scores)


def _accuracy(wanted: Accuracy, work: Work, seed: int) -> Measurement:
    args: dict[str, Any] = {"model": work.model(wanted.model, seed).name}
    if wanted.regressor:
        args["sick"] = str(work.sources.pairs())
    file = work.test_file(wanted.triplets)
    if file:
        split, set_id = Split.TEST, 0
        args["file"] = str(file)
    else:
        data, split = work.triplet_set(wanted.triplets), work.profile.split
        set_id = data.id
        args |= {"triplets": data.name, "split": split.value}
        args["articles"] = work.profile.articles
    result = work.steps.run("evaluate-triplets", args)
    with work.store.reading() as r:
        ids, margins = r.runs.margins(result["run_id"], split)
        groups = _articles_of(r.triplets.rows(set_id, split), ids) if set_id else None
    correct = (0.5 + 0.5 * np.sign(margins)).astype(np.float64)
    values = {ACCURACY: PerItem(correct, ids, groups)}
    return Measurement({ACCURACY: float(correct.mean())}, values, run=result["digest"])


def _articles_of(rows: TripletRows, ids: Ids) -> Ids:
    article_of = dict(zip(rows.ids.tolist(), rows.articles.tolist(), strict=True))
    return np.array([article_of[id] for id in ids.tolist()], np.int64)


def _clustering(wanted: ClusteringMeasures, work: Work, seed: int) -> Measurement:
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
    values = {metric: PerItem(np.array([found[int(i)] for i in items]), items) for metric, found in by_metric.items()}
    seen = result["articles_seen_in_training"]
    warning = f"{seen:,} of these articles were in its training" if seen else ""
    means = {metric: float(found.values.mean()) for metric, found in values.items()}
    # A mean over a single article has no interval.
    return Measurement(means, values if len(items) > 1 else {}, run=result["digest"], warning=warning)


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
        {BY_DOCUMENT: PerItem(by_document, items)},
        intervals={metric: (score["low"], score["high"], score["n"]) for metric, score in known.items()},
        run=result["digest"],
        warning="" if result["converged"] else "the classifier was stopped before its end",
    )


def _summaries(wanted: SummaryMeasures, work: Work, seed: int) -> Measurement:
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
    items = np.arange(len(single["ids"]))
    values = {metric: PerItem(np.array(found), items) for metric, found in single.items() if metric != "ids"}
    scores = {metric: float(found.values.mean()) for metric, found in values.items()}
    return Measurement(scores, values, run=result["digest"])


def _evaluated(wanted: Topics, work: Work, seed: int) -> dict[str, Any]:
    args = {
        "model": work.model(wanted.model, seed).name,
        "labels": work.model(wanted.labels, seed).name,
        "corpus": work.corpus_of_model(wanted.labels).name,
        "seed": seed,
        **wanted.settings,
    }
    if work.profile.documents:
        args["documents"] = work.profile.documents
    return work.steps.run("evaluate-topics", args)


def _seconds(id: str, work: Work, seed: int) -> float:
    own = float(work.model(id, seed).metrics.get("seconds", 0.0))
    return own + sum(_seconds(part, work, seed) for part in work.paper.model(id).parts)


def _documents(name: str, work: Work) -> Path:
    path = work.sources.data / name if work.sources.data else None
    if path is None or not path.exists():
        raise DataError(f"The data folder (--data) has no {name}.")
    return path.absolute()
