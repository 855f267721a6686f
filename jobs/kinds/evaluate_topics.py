"""Job kind: predict the topic of a sentence's document by classification and clustering."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.config import config_from_dict, option
from themescope.core.tasks.topic_data import TopicItems, TopicSettings, TopicTask, joined
from themescope.core.types import Matrix
from themescope.db.records import CorpusRecord, ModelRecord, RunRecord, ScoreRecord
from themescope.db.store import Store
from themescope.jobs.common.articles import ready_corpus
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.results import article_means, find_run, run_result, total, work_digest
from themescope.jobs.common.topic_labels import text_digest, topic_task_of, vectors_of_articles
from themescope.jobs.common.vectors import method_of, stacked
from themescope.jobs.kinds import REGISTRY as KINDS

if TYPE_CHECKING:
    from themescope.core.tasks.topics import MaxEntSettings, TopicClusters, TopicScores

KIND = "topics"
PER_DOCUMENT = "accuracy"
"""Score that is also stored per document, for paired tests of two methods."""


@dataclass(frozen=True)
class EvaluateTopicsConfig(JobConfig):
    """Arguments of an evaluation on topics."""

    model: str = option("", "Name of the model.")
    corpus: str = option("", "Name of a corpus whose documents have topics and are marked train or test.")
    labels: str = option("", "Model whose vectors select the labelled sentences; empty: the evaluated one.")
    part: str = option(
        "test",
        "Evaluated documents: the test documents, or the held-out ones that settings are tuned on.",
        choices=("test", "validation"),
    )
    task: Mapping[str, Any] = option(
        {}, "Settings of sentence labelling (share, min_words, threshold, validation, seed)."
    )
    classifier: Mapping[str, Any] = option({}, "Settings of the classifier (c, multinomial, scaling, iterations).")
    tune: bool = option(False, "Choose the classifier's C on the held-out documents.")
    unit: bool = option(False, "Cluster vectors of length 1 instead of raw ones.")
    seed: int = option(0, "Seed of the clustering's starts.", low=0)
    documents: int = option(
        0, "Evaluate on at most this many documents, chosen by title; 0 uses all.", low=0, unit="documents"
    )

    def validate(self) -> None:
        """Check that model and corpus are given and the settings are valid."""
        self.require("model", "corpus")
        self.topic_settings()
        self.classifier_settings()

    def topic_settings(self) -> TopicSettings:
        """Return the settings of sentence labelling."""
        return config_from_dict(TopicSettings, self.task)

    def classifier_settings(self) -> MaxEntSettings:
        """Return the settings of the classifier."""
        from themescope.core.tasks.topics import MaxEntSettings

        return config_from_dict(MaxEntSettings, self.classifier)

    def title(self) -> str:
        """Return a title with model and corpus."""
        return f"Topics of “{self.corpus}” by “{self.model}”"


def run(args: EvaluateTopicsConfig, context: JobContext) -> dict[str, Any]:
    """Label, embed, classify, cluster and store. A stored evaluation with the same digest is returned."""
    store, corpus = context.store, ready_corpus(context.store, args.corpus)
    model, labels = find_model(store, args.model), find_model(store, args.labels or args.model)
    settings: dict[str, Any] = {
        "part": args.part,
        "task": args.topic_settings().to_dict(),
        "classifier": args.classifier_settings().to_dict(),
        "tune": args.tune,
        "unit": args.unit,
        **({"documents": args.documents} if args.documents else {}),
    }
    names = {"model": model.digest, "labels": labels.digest, "corpus": text_digest(corpus)}
    card = KINDS.get("evaluate-topics")
    digest = work_digest(card, method_of(model), method_of(labels), run=KIND, **names, **settings, seed=args.seed)
    if existing := find_run(store, digest):
        return _result(store, existing, corpus, model, cached=True)
    begun = time.monotonic()
    report = context.part(0.0, 0.35, "Labelling")
    task = topic_task_of(context, card, corpus, labels, args.topic_settings(), report, args.documents)
    measured = _measure(args, context, task, _Vectors(context, corpus, model, task))
    with context.writing() as w:
        made = w.runs.add(
            kind=KIND,
            digest=digest,
            model_id=model.id,
            corpus_id=corpus.id,
            config=settings | {"labels": labels.name} | measured.about | {"counts": asdict(task.counts)},
            seed=args.seed,
            seconds=time.monotonic() - begun,
            scores=measured.records(args.seed),
        )
    return _result(store, made, corpus, model, cached=False)


class _Vectors:
    """Vectors of the labelled sentences of a task, by part."""

    def __init__(self, context: JobContext, corpus: CorpusRecord, model: ModelRecord, task: TopicTask) -> None:
        items = joined([task.train, task.validation, task.test])
        wanted: dict[int, list[int]] = {}
        for article, position in zip(items.articles.tolist(), items.positions.tolist(), strict=True):
            wanted.setdefault(article, []).append(position)
        self._rows: dict[tuple[int, int], int] = {}
        parts: list[Any] = []
        report = context.part(0.35, 0.7)
        for article, _, vectors in vectors_of_articles(context, corpus, model, report, wanted):
            for position in wanted[article.id]:
                self._rows[article.id, position] = len(self._rows)
            parts.append(vectors[np.array(wanted[article.id])])
        self._matrix = stacked(parts)

    def of(self, items: TopicItems) -> Matrix:
        """Return the (n, dim) vectors of the items."""
        places = zip(items.articles.tolist(), items.positions.tolist(), strict=True)
        matrix: Matrix = self._matrix[np.array([self._rows[place] for place in places], np.int64)]
        return matrix


@dataclass(frozen=True)
class _Measured:
    """Results: scores of the test items, clusters, and the chosen settings."""

    test: TopicItems
    scores: TopicScores
    clusters: TopicClusters
    clustered: int
    about: dict[str, Any]

    def records(self, seed: int) -> Iterator[ScoreRecord]:
        """Return score rows: means with intervals over documents, accuracy per document, and cluster scores."""
        from themescope.core.tasks.topics import scores_with_intervals

        for name, estimate in scores_with_intervals(self.test.labels, self.scores, self.test.articles, seed).items():
            yield total(name, estimate)
        yield from article_means(PER_DOCUMENT, self.test.articles, self.scores.correct)
        named = {"V": self.clusters.v, "AMI": self.clusters.ami_max, "AMI (arithmetic)": self.clusters.ami_arithmetic}
        for name, value in named.items():
            yield ScoreRecord(0, None, name, value, n=self.clustered)


def _measure(args: EvaluateTopicsConfig, context: JobContext, task: TopicTask, vectors: _Vectors) -> _Measured:
    from themescope.core.tasks.topics import classify, cluster_topics, tuned

    settings, train, held = args.classifier_settings(), task.train, task.validation
    x = vectors.of(train)
    if args.tune:
        report = context.part(0.7, 0.8, "Tuning")
        settings = tuned(x, train.labels, vectors.of(held), held.labels, settings, report=report)
    test = task.test if args.part == "test" else held
    report = context.part(0.8, 0.9, "Classifying")
    scores = classify(x, train.labels, vectors.of(test), test.labels, settings, report)
    context.progress(0.9, 1, "Clustering")
    clustered = task.clustered() if args.part == "test" else held
    clusters = cluster_topics(vectors.of(clustered), clustered.labels, len(task.topics), args.seed, args.unit)
    about = {"c": settings.c, "converged": scores.converged, "topics": list(task.topics)}
    return _Measured(test, scores, clusters, len(clustered), about)


def _result(store: Store, run: RunRecord, corpus: CorpusRecord, model: ModelRecord, *, cached: bool) -> dict[str, Any]:
    about = {name: run.config[name] for name in ("part", "counts", "c", "converged")}
    return run_result(store, run, cached, model=model.name, corpus=corpus.name, **about)
