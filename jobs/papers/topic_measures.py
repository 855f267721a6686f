"""Measurements of Saha et al. 2017: topic tasks and summaries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.errors import DataError
from core.papers.spec import ChosenSetting, CountSummaries, CountTopics, Summaries, Topics
from jobs.papers.measurement import Measurement
from jobs.papers.work import Work

BY_DOCUMENT = "accuracy by document"
"""Mean over documents of the share of sentences with the correct topic; used in paired tests."""
SECONDS = "seconds"
"""Wall-clock seconds of fitting the model and its base models."""
_PER_DOCUMENT = "accuracy"


TopicMeasure: TypeAlias = CountTopics | CountSummaries | Topics | ChosenSetting | Summaries


def measure_of_topics(wanted: TopicMeasure, work: Work, seed: int) -> Measurement:
    """Carry out one of these measurements."""
    match wanted:
        case CountTopics():
            return counted_topics(wanted, work)
        case CountSummaries():
            return counted_summaries(wanted, work)
        case Topics():
            return topics(wanted, work, seed)
        case ChosenSetting():
            return chosen_setting(wanted, work, seed)
        case Summaries():
            return summaries(wanted, work, seed)


def counted_topics(wanted: CountTopics, work: Work) -> Measurement:
    """Return the sizes of the task, from the evaluation of the labelling model."""
    result = _evaluated(Topics(wanted.labels, wanted.labels, wanted.settings), work, work.profile.seeds[0])
    return Measurement({name: float(value) for name, value in result["counts"].items()}, run=result["digest"])


def topics(wanted: Topics, work: Work, seed: int) -> Measurement:
    """Return the scores of both tasks, with accuracy per document for paired tests."""
    result = _evaluated(wanted, work, seed)
    with work.store.reading() as r:
        rows = r.runs.scores([result["run_id"]], per_article=True)
    of_document = {row.article_id: row.value for row in rows if row.metric == _PER_DOCUMENT and row.article_id}
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


def chosen_setting(wanted: ChosenSetting, work: Work, seed: int) -> Measurement:
    """Return the value with the highest accuracy on held-out documents; the smaller one in a tie."""
    settings = {**wanted.settings, "part": "validation"}
    scores = {
        value: _evaluated(Topics(model, wanted.labels, settings), work, seed)["scores"]["weighted F1"]
        for value, model in sorted(wanted.models.items())
    }
    best = max(scores, key=lambda value: scores[value]["value"])
    return Measurement({"value": best, "f1": scores[best]["value"]})


def counted_summaries(wanted: CountSummaries, work: Work) -> Measurement:
    """Return the numbers of documents, sentences and references."""
    from core.tasks.summaries.documents import read_summary_documents

    found = read_summary_documents(_documents(wanted.documents, work), report=work.steps.context)
    means = {name: float(np.mean([len(getattr(d, name)) for d in found])) for name in ("sentences", "references")}
    return Measurement({"documents": float(len(found)), **means})


def summaries(wanted: Summaries, work: Work, seed: int) -> Measurement:
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
        raise DataError(f"{name} is not in the data folder (--data).")
    return path.absolute()
