"""Job kinds that measure a model on documents: their topics from single sentences, and summaries (ROUGE-1)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.config import config_from_dict, option
from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.core.records.stored import CorpusRecord, ModelRecord, RunRecord, ScoreRecord
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.tasks.summaries import Summarize, document_groups, read_summary_documents, score_summaries
from themescope.core.tasks.topics import (
    MaxEntSettings,
    TopicItems,
    TopicSettings,
    TopicTask,
    classify,
    cluster_topics,
    joined,
    scores_with_intervals,
    tuned,
)
from themescope.core.triplets.rules import article_key
from themescope.core.types import Executor, Ids, Matrix, Sentence, Shard, Split, TripletRows, TripletTexts
from themescope.db.store import Store
from themescope.jobs.common.articles import (
    article_means,
    file_digest,
    find_run,
    folder_digest,
    ready_corpus,
    run_result,
    total,
    tree_digest,
    work_digest,
)
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled import text_digest, topic_task_of, vectors_of_articles
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import load_model, method_of, model_workers, stacked
from themescope.jobs.kinds import REGISTRY as KINDS

if TYPE_CHECKING:
    from themescope.core.metrics.triplets import Context, TripletAccuracy
    from themescope.core.tasks.summaries import Summary, SummaryDocument

KIND = "topics"
PER_DOCUMENT = "accuracy"
"""Score that is also stored per document, for paired tests of two methods."""


@dataclass(frozen=True)
class EvaluateTopicsConfig(JobConfig):
    """Arguments of an evaluation on topics."""

    TITLE = "Classify the topics of “{corpus}” by “{model}”"

    model: str = option("", "Name of the model.", required=True)
    corpus: str = option(
        "", "Name of a corpus whose documents have topics and are marked train or test.", required=True
    )
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
        """Check the settings."""
        self.topic_settings()
        self.classifier_settings()

    def topic_settings(self) -> TopicSettings:
        """Return the settings of sentence labelling."""
        return config_from_dict(TopicSettings, self.task)

    def classifier_settings(self) -> MaxEntSettings:
        """Return the settings of the classifier."""
        return config_from_dict(MaxEntSettings, self.classifier)


def evaluate_topics(args: EvaluateTopicsConfig, context: JobContext) -> dict[str, Any]:
    """Label, embed, classify, cluster and store. A stored evaluation with the same digest is returned."""
    store, corpus = context.store, ready_corpus(context.store, args.corpus)
    model, labels = find_model(store, args.model), find_model(store, args.labels or args.model)
    labelling, classifier = args.topic_settings().to_dict(), args.classifier_settings().to_dict()
    settings: dict[str, Any] = {"part": args.part, "task": labelling, "classifier": classifier}
    settings |= {"tune": args.tune, "unit": args.unit}
    settings |= {"documents": args.documents} if args.documents else {}
    names = {"model": model.digest, "labels": labels.digest, "corpus": text_digest(corpus)}
    card = KINDS.get("evaluate-topics")
    digest = work_digest(card, method_of(model), method_of(labels), run=KIND, **names, **settings, seed=args.seed)
    if existing := find_run(store, digest):
        return _result(store, existing, corpus, model, cached=True)
    begun = time.monotonic()
    report = context.part(0.0, 0.35, "Labelling")
    task = topic_task_of(context, card, corpus, labels, args.topic_settings(), report, args.documents)
    scores, chosen = _measure(args, context, task, _Vectors(context, corpus, model, task))
    with context.writing() as w:
        made = w.runs.add(
            kind=KIND,
            digest=digest,
            model_id=model.id,
            corpus_id=corpus.id,
            config=settings | {"labels": labels.name} | chosen | {"counts": asdict(task.counts)},
            seed=args.seed,
            seconds=time.monotonic() - begun,
            scores=scores,
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


def _measure(
    args: EvaluateTopicsConfig, context: JobContext, task: TopicTask, vectors: _Vectors
) -> tuple[list[ScoreRecord], dict[str, Any]]:
    """Return score rows and the chosen settings.

    The rows are means with intervals over documents, the accuracy per document, and the scores of the clusters.
    """
    settings, train, held = args.classifier_settings(), task.train, task.validation
    x = vectors.of(train)
    if args.tune:
        report = context.part(0.7, 0.8, "Tuning")
        settings = tuned(x, train.labels, vectors.of(held), held.labels, settings, report=report)
    test = task.test if args.part == "test" else held
    report = context.part(0.8, 0.9, "Classifying")
    scores = classify(x, train.labels, vectors.of(test), test.labels, settings, report)
    context.progress(0.9, 1, "Clustering")
    clustered = joined([task.train, task.test]) if args.part == "test" else held
    clusters = cluster_topics(vectors.of(clustered), clustered.labels, len(task.topics), args.seed, args.unit)
    estimates = scores_with_intervals(test.labels, scores, test.articles, args.seed)
    records = [total(name, estimate) for name, estimate in estimates.items()]
    records += article_means(PER_DOCUMENT, test.articles, scores.correct)
    named = {"V": clusters.v, "AMI": clusters.ami_max, "AMI (arithmetic)": clusters.ami_arithmetic}
    records += [ScoreRecord(0, None, name, value, n=len(clustered)) for name, value in named.items()]
    return records, {"c": settings.c, "converged": scores.converged, "topics": list(task.topics)}


def _result(store: Store, run: RunRecord, corpus: CorpusRecord, model: ModelRecord, *, cached: bool) -> dict[str, Any]:
    about = {name: run.config[name] for name in ("part", "counts", "c", "converged")}
    return run_result(store, run, cached, model=model.name, corpus=corpus.name, **about)


@dataclass(frozen=True)
class EvaluateSummariesConfig(JobConfig):
    """Arguments of an evaluation on summaries."""

    documents: str = option(
        "", "File of JSON lines, or folder with documents/ and references/.", file=True, required=True
    )
    summarizer: str = option("lexrank", "Id of the method that ranks sentences.", required=True)
    model: str = option("", "Name of the model whose vectors are used; empty for methods without vectors.")
    settings: Mapping[str, Any] = option({}, "Settings of the summarizer.")
    rouge: Mapping[str, Any] = option({}, "Settings of ROUGE (words, stemming, remove_stop_words).")
    words: int = option(100, "Maximum number of words of a summary.", low=1, high=100_000)
    language: str = option("en", "Language of the documents, for sentence splitting.")
    seed: int = option(0, "Seed of random order.", low=0)

    def validate(self) -> None:
        """Check that a model is given exactly if the method uses vectors."""
        from themescope.core.metrics.statistics import RougeSettings

        SUMMARIZERS.configure(self.summarizer, self.settings)
        config_from_dict(RougeSettings, self.rouge)
        if not self.model and "vectors" in SUMMARIZERS.get(self.summarizer).tags:
            raise ConfigError(f"{self.summarizer!r} uses vectors. Name a model.")

    def title(self) -> str:
        """Return a title with documents and method."""
        by = f"{self.model} × {self.summarizer}" if self.model else self.summarizer
        return f"Summarise “{Path(self.documents).name}” by {by}"


def evaluate_summaries(args: EvaluateSummariesConfig, context: JobContext) -> dict[str, Any]:
    """Summarise, score and store. A stored evaluation with the same digest is returned."""
    from themescope.core.metrics.statistics import RougeSettings

    store, path = context.store, Path(args.documents)
    if not path.exists():
        raise ReadError(path, "this file or folder does not exist.", advice="Choose documents with their summaries.")
    model = find_model(store, args.model) if "vectors" in SUMMARIZERS.get(args.summarizer).tags else None
    config = SUMMARIZERS.configure(args.summarizer, args.settings)
    rouge: RougeSettings = config_from_dict(RougeSettings, args.rouge)
    settings: dict[str, Any] = {"documents": tree_digest(path), "summarizer": args.summarizer}
    settings |= {"settings": config.to_dict(), "rouge": rouge.to_dict()}
    settings |= {"words": args.words, "language": args.language}
    cards = [KINDS.get("evaluate-summaries"), SUMMARIZERS.get(args.summarizer), *([method_of(model)] if model else [])]
    digest = work_digest(*cards, model=model.digest if model else "", seed=args.seed, **settings)
    if existing := find_run(store, digest):
        return _summaries_result(store, existing, model, cached=True)
    begun = time.monotonic()
    documents = read_summary_documents(path, args.language, context.part(0.0, 0.1, "Reading"))
    summarize = Summarize(SUMMARIZERS.build(args.summarizer, config), args.words, args.seed)
    made = _summarize(context, model, documents, summarize)
    context.progress(0.9, 1, "Scoring")
    scores = score_summaries(documents, [summary.text for summary in made], rouge, args.seed)
    # Documents outside the store have no rows, so the values for paired tests are stored with the run.
    single = {"ids": list(scores.ids)} | {name: values.round(6).tolist() for name, values in scores.values.items()}
    with context.writing() as w:
        run = w.runs.add(
            kind="summaries",
            digest=digest,
            model_id=model.id if model else None,
            config=settings | {"file": path.name, "per_document": single},
            seed=args.seed,
            seconds=time.monotonic() - begun,
            scores=[total(f"ROUGE-1 {name}", estimate) for name, estimate in scores.means.items()],
        )
    return _summaries_result(store, run, model, cached=False)


def _summarize(
    context: JobContext, model: ModelRecord | None, documents: Sequence[SummaryDocument], summarize: Summarize
) -> list[Summary]:
    """Return the extract of every document, computed by the workers of the job."""
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


def _summaries_result(store: Store, run: RunRecord, model: ModelRecord | None, *, cached: bool) -> dict[str, Any]:
    about = {"summarizer": run.config["summarizer"], "documents": run.config["file"], "words": run.config["words"]}
    return run_result(store, run, cached, model=model.name if model else "", **about)


# Job kinds that measure a model on sentences: triplet accuracy, relatedness of pairs (SICK), and speed

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
    if args.file:
        if not (path := Path(args.file)).is_file():
            raise DataError(f"The file {path.name!r} does not exist. Choose a CSV file of triplets.")
        data = _Data({"file": file_digest(path)}, {"file": args.file})
    else:
        with store.reading() as r:
            record = r.triplets.by_name(args.triplets)
        data = _Data({"triplets": [record.id, record.digest]}, {}, record.id)
    by = {"relatedness": folder_digest(Path(args.sick))} if args.sick else {}
    cards = KINDS.get("evaluate-triplets"), method_of(model)
    digest = work_digest(*cards, model=model.digest, split=args.split, **data.key, **by, **args.sample())
    if existing := find_run(store, digest):
        return _result_of_sentences(store, existing, model, data, cached=True)
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
    return _result_of_sentences(store, run, model, data, cached=False)


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
            chosen = sorted(articles, key=lambda id: (article_key(articles[id].title, 0), id))[: args.articles]
            kept = np.isin(rows.articles, chosen)
            rows = TripletRows(*(getattr(rows, field.name)[kept] for field in fields(rows)))
        texts = r.triplets.texts_of(r.triplets.get(data.set_id).kind, rows)
    if len(texts) == 0:
        raise DataError(f"Triplet set {args.triplets!r} has no {args.split} triplets. Choose another split.")
    return texts, rows.ids


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
        order, report = RelatednessOrder(fitted, regressor), context.part(0.3, 0.98)
        accuracy = triplet_accuracy(order, texts, report, context=context_of)
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


def _result_of_sentences(
    store: Store, run: RunRecord, model: ModelRecord, data: _Data, *, cached: bool
) -> dict[str, Any]:
    where: dict[str, Any] = {**data.about, "context": bool(run.config.get("context"))}
    with store.reading() as r:
        if data.set_id is None:
            where["triplets"] = len(r.runs.margins(run.id, Split(run.config["split"]))[0])
        else:
            where["triplets"] = r.triplets.get(data.set_id).name
    return run_result(store, run, cached, model=model.name, **where, split=run.config["split"])


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
            kind="relatedness",
            digest=digest,
            model_id=model.id,
            config={**settings, "file": path.name, "test_pairs": len(pairs.test)},
            seed=args.seed,
            seconds=time.monotonic() - begun,
            scores=[total(metric, estimate) for metric, estimate in scores.items()],
        )
    return run_result(store, run, cached=False, model=model.name)
