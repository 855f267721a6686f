"""Job kind: label the rest. Predicts the codes of what people have not labelled."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from themescope.core.config import option
from themescope.core.labelling.code_sets import combinations
from themescope.core.labelling.partition import UNASSIGNED
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled.clusterings import LabelledText, models_to_compare
from themescope.jobs.common.labelled.documents import documents_of
from themescope.jobs.common.labelled.placed import judged_sentences

_BLOCK = 20_000
"""Sentences whose vectors are in memory at once."""


@dataclass(frozen=True)
class PredictLabelsConfig(JobConfig):
    """Arguments of predicting the rest of a labelling."""

    TITLE = "Label the rest of “{labelling}”"

    labelling: str = option("", "Name of the labelling.", required=True)
    model: str = option("", "Model of the vectors; empty: the best with vectors of all its articles.")
    seed: int = option(0, "Seed of samples and folds.", low=0)


def predict_labels(args: PredictLabelsConfig, context: JobContext) -> dict[str, Any]:
    """Learn from the labels of people, and store the probabilities of the codes of all sentences of the project.

    For a labelling of one article, those of its sentences. Those of a labelled sentence are learned without the labels
    of its document.
    """
    from themescope.core.labelling.prediction import NODES, learn

    with context.store.reading() as r:
        record = r.labellings.by_name(args.labelling)
        snapshot = r.labellings.snapshot(record.id)
        judged = judged_sentences(r, record, snapshot.partition)
        corpus = r.corpora.get(record.corpus_id)
        everything = r.maps.places(r.corpora.sentence_ids(corpus.id))
    partition = snapshot.partition
    codes = partition.numbers[partition.rows(judged)]
    judged, codes = judged[codes != UNASSIGNED], codes[codes != UNASSIGNED]
    model = models_to_compare(context.store, record, [args.model] if args.model else [])[0]
    with context.store.reading() as r:
        embedded = np.isin(everything.articles, list(r.embeddings.have(model.id, corpus.id)))
    rest = np.setdiff1d(everything.ids[embedded] if record.article_id is None else partition.ids, judged)
    context.progress(0.05, 1, f"Learning from {len(judged):,} labels")
    known = LabelledText(context.store, judged)
    sampled = np.sort(np.random.default_rng(args.seed).permutation(rest)[:NODES])
    others = LabelledText(context.store, sampled)
    with context.store.reading() as r:
        documents = documents_of(r, corpus, judged, known.articles)
    classifier, report = learn(
        known.vectors(model.name) if len(judged) else np.empty((0, 1)), known.texts, codes, documents,
        others.vectors(model.name) if len(sampled) else np.empty((0, 1)), others.texts, args.seed,
        combinations(partition),
    )  # fmt: skip
    ids = np.concatenate([judged, rest])
    order = np.argsort(ids)
    found = np.empty((len(ids), len(classifier.codes)), np.float16)
    found[: len(judged)] = classifier.held_out
    for start in range(0, len(rest), _BLOCK):
        context.progress(0.3 + 0.7 * start / len(rest), 1, f"{start:,} of {len(rest):,} sentences predicted")
        block = LabelledText(context.store, rest[start : start + _BLOCK])
        made = classifier.probabilities(block.vectors(model.name), block.texts)
        found[len(judged) + start :][: len(made)] = made
    with context.writing() as w:
        stored = w.predictions.replace(
            record.id, model=model.name, step=snapshot.step, labels=len(judged), codes=classifier.codes,
            report=_json(asdict(report)), ids=ids[order], probabilities=found[order],
        )  # fmt: skip
    return {
        "labelling": record.name, "labelling_id": record.id, "prediction_id": stored.id, "model": model.name,
        "labels": len(judged), "predicted": len(rest), "accuracy": report.accuracy.value,
        "macro_f1": report.macro_f1.value, "calibration_error": report.calibration_error,
    }  # fmt: skip


def _json(value: Any) -> Any:
    """Return JSON values: arrays as lists, and null for what is not a number."""
    if isinstance(value, dict):
        return {key: _json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_json(one) for one in value]
    if isinstance(value, np.ndarray):
        return _json(np.round(value, 4).tolist() if value.dtype.kind == "f" else value.tolist())
    return None if isinstance(value, float) and math.isnan(value) else value
