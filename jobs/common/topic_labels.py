"""Topic tasks of stored corpora: sentences that LexRank selects by a model's vectors, stored as a run."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from themescope.core.errors import DataError
from themescope.core.protocols import Report, SubReport
from themescope.core.records.stored import ArticleRecord, CorpusRecord, ModelRecord, RunRecord
from themescope.core.registry import Card
from themescope.core.tasks.topics import TopicDocument, TopicSettings, TopicTask, assemble, central
from themescope.core.triplets.rules import article_key
from themescope.core.types import Labels, Matrix, Sentence
from themescope.jobs.common.job import JobContext
from themescope.jobs.common.results import work_digest
from themescope.jobs.common.vectors import article_groups, load_model, method_of

KIND = "topic-labels"


def topic_task_of(
    context: JobContext,
    card: Card,
    corpus: CorpusRecord,
    model: ModelRecord,
    settings: TopicSettings,
    report: Report,
    limit: int = 0,
) -> TopicTask:
    """Return the task of a corpus whose central sentences are selected by the vectors of ``model``.

    ``card`` is the card of the calling job kind; its revision is part of the digest of the labels. With ``limit`` the
    task has at most so many documents.
    """
    chosen = _chosen(context, card, corpus, model, settings, report)
    if limit:
        with context.store.reading() as r:
            articles = r.corpora.articles_by_id(chosen)
        order = sorted(articles.values(), key=lambda a: (article_key(a.title, 0), a.id))
        chosen = {article.id: chosen[article.id] for article in order[:limit]}
    documents = (
        (TopicDocument(article.title, article.topic, article.part, sentences), chosen[article.id])
        for group in _texts(context, corpus, chosen)
        for article, sentences in group
    )
    return assemble(documents, settings)


def vectors_of_articles(
    context: JobContext,
    corpus: CorpusRecord,
    model: ModelRecord,
    report: Report,
    wanted: Collection[int] | None = None,
) -> Iterator[tuple[ArticleRecord, Sequence[Sentence], Matrix]]:
    """Yield every article, or those with the ``wanted`` ids, with its sentences and their vectors.

    The vectors are not stored, because comparisons of many methods would fill the store with blocks that are read once.
    """
    report.progress(0, 1, f"Loading {model.name}")
    fitted = load_model(context.store, model)[0]
    done = 0
    for group in _texts(context, corpus, wanted):
        flat = [sentence for _, sentences in group for sentence in sentences]
        vectors: Any = fitted.embed(flat)
        start = 0
        for article, sentences in group:
            yield article, sentences, vectors[start : start + len(sentences)]
            start += len(sentences)
        done += len(flat)
        report.progress(done, corpus.sentences, f"{done:,} of {corpus.sentences:,} sentences embedded")


def _texts(
    context: JobContext, corpus: CorpusRecord, wanted: Collection[int] | None
) -> Iterator[list[tuple[ArticleRecord, list[Sentence]]]]:
    """Yield groups of (the wanted) articles with their sentences; no transaction is open in between."""
    with context.store.reading() as r:
        articles = r.corpora.articles(corpus.id, limit=corpus.articles)
    if wanted is not None:
        articles = [article for article in articles if article.id in wanted]
    for group in article_groups(articles):
        with context.store.reading() as r:
            found = r.corpora.sentences_of([article.id for article in group])
        yield [(article, found.get(article.id, [])) for article in group]


def _chosen(
    context: JobContext, card: Card, corpus: CorpusRecord, model: ModelRecord, settings: TopicSettings, report: Report
) -> dict[int, list[int]]:
    # Held-out documents are chosen afterwards, so their share and the seed are not part of the digest.
    labelling = {name: getattr(settings, name) for name in ("share", "min_words", "threshold", "centred")}
    digest = work_digest(card, method_of(model), run=KIND, model=model.digest, corpus=text_digest(corpus), **labelling)
    store = context.store
    with store.reading() as r:
        existing = r.runs.by_digest(digest)
    if existing is None:
        existing = _label(context, corpus, model, settings, report, digest=digest, config=labelling)
    with store.reading() as r:
        return {article: chosen.tolist() for article, chosen in r.runs.labels(existing.id).items()}


def _label(
    context: JobContext,
    corpus: CorpusRecord,
    model: ModelRecord,
    settings: TopicSettings,
    report: Report,
    *,
    digest: str,
    config: dict[str, Any],
) -> RunRecord:
    with context.store.reading() as r:
        if not any(topic for topic, _ in r.corpora.topic_counts(corpus.id)):
            raise DataError(
                f"The documents of project {corpus.name!r} have no topics. Import a project with topics, such as "
                "Reuters-21578 or 20 Newsgroups."
            )
    begun = time.monotonic()
    labels: dict[int, Labels] = {}
    mean = None
    if settings.centred:
        mean, report = _mean(context, corpus, model, SubReport(report, 0.0, 0.5)), SubReport(report, 0.5, 1.0)
    for article, sentences, found in vectors_of_articles(context, corpus, model, report):
        vectors = found if mean is None else found - mean
        labels[article.id] = np.array(central(sentences, vectors, settings), np.int32)
    with context.writing() as w:
        return w.runs.add(
            kind=KIND,
            digest=digest,
            model_id=model.id,
            corpus_id=corpus.id,
            config=config,
            seconds=time.monotonic() - begun,
            assignments=labels,
        )


def _mean(context: JobContext, corpus: CorpusRecord, model: ModelRecord, report: Report) -> Any:
    total, count = np.zeros(0), 0
    for _, _, vectors in vectors_of_articles(context, corpus, model, report):
        if sparse.issparse(vectors):
            raise DataError(f"{model.name!r} has sparse vectors, which cannot be centred. Choose another model.")
        used = vectors[vectors.any(axis=1)]
        total = used.sum(axis=0, dtype=np.float64) + (total if len(total) else 0.0)
        count += len(used)
    return (total / max(count, 1)).astype(np.float32)


def text_digest(corpus: CorpusRecord) -> list[Any]:
    """Return the values that identify the text and topics of a stored corpus in a digest."""
    return [corpus.id, corpus.digest]
