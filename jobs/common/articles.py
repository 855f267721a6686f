"""Stored articles as input of samplers, benchmark builders and training."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from scipy import sparse

from themescope.core.errors import ConfigError, DataError
from themescope.core.protocols import Report, SubReport
from themescope.core.records.stored import ArticleRecord, CorpusRecord, ModelRecord, RunRecord
from themescope.core.registry import Card
from themescope.core.tasks.topics import TopicDocument, TopicSettings, TopicTask, assemble, central
from themescope.core.triplets.rules import ArticleSentences, SectionRules, article_key, section_sentences
from themescope.core.types import Labels, Matrix, Sentence, Split, fold_title
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext
from themescope.jobs.common.results import work_digest
from themescope.jobs.common.vectors import article_groups, load_model, method_of

_SAMPLE_SEED = 0


def ready_corpus(store: Store, name: str) -> CorpusRecord:
    """Return the corpus called ``name``; raise ``DataError`` while it is being imported."""
    with store.reading() as r:
        corpus = r.corpora.by_name(name)
    if not corpus.ready:
        raise DataError(f"Corpus {name!r} is still being imported. Wait for its import to end.")
    return corpus


def splits_of(names: Sequence[str]) -> tuple[Split, ...]:
    """Return splits by name, in the order train, validation, test."""
    unknown = sorted(set(names) - {s.value for s in Split})
    if unknown or not names:
        what = f"not {unknown[0]!r}" if unknown else "and at least one is needed"
        raise ConfigError(f"Splits are train, validation and test, {what}.")
    return tuple(split for split in Split if split.value in names)


def titles_of(store: Store, corpora: Sequence[str]) -> frozenset[str]:
    """Return the titles of all articles of the named corpora, folded as for splitting."""
    folded: set[str] = set()
    for name in corpora:
        corpus = ready_corpus(store, name)
        with store.reading() as r:
            titles = (article.title for article in r.corpora.articles(corpus.id, limit=corpus.articles))
            folded.update(map(fold_title, titles))
    return frozenset(folded)


def sampled_articles(articles: Sequence[ArticleRecord], most: int) -> list[ArticleRecord]:
    """Return whole articles, drawn at random, with at most ``most`` sentences, in the given order; 0 for all articles.

    The same articles are drawn every time, so that vectors, themes and map of a large corpus are of the same
    sentences. At least one article is returned, also if it is longer.
    """
    if not most or sum(a.sentences for a in articles) <= most:
        return list(articles)
    order = np.random.default_rng(_SAMPLE_SEED).permutation(len(articles))
    sizes = np.cumsum([articles[i].sentences for i in order])
    return [articles[i] for i in sorted(order[: max(int(np.searchsorted(sizes, most, "right")), 1)])]


class StoredArticles:
    """The articles of a corpus in store order, a few hundred in memory at a time; can be iterated again.

    Articles whose folded title is in ``without`` are skipped.
    """

    def __init__(
        self,
        store: Store,
        corpus: CorpusRecord,
        splits: Sequence[Split] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self._store, self._corpus, self._splits, self._without = store, corpus, splits, without
        self.titles: list[str] = []
        """Titles read in the last iteration."""

    def __length_hint__(self) -> int:
        return self._corpus.articles

    def __iter__(self) -> Iterator[ArticleSentences]:
        self.titles = []
        with self._store.reading() as r:
            for article, sections, sentences in r.corpora.iterate(self._corpus.id, splits=self._splits):
                if fold_title(article.title) in self._without:
                    continue
                self.titles.append(article.title)
                yield ArticleSentences(article.id, article.title, article.bucket, tuple(sections), tuple(sentences))


class StoredSentences(Sequence[Sentence]):
    """Sentences of the articles of a corpus for training, read on first access. Subclasses select them."""

    def __init__(self, articles: StoredArticles, corpus: CorpusRecord) -> None:
        self._articles, self._corpus = articles, corpus

    @abstractmethod
    def _of(self, article: ArticleSentences) -> Iterable[Sentence]:
        """Return the sentences of an article to learn from."""

    @abstractmethod
    def _missing(self) -> str:
        """Return the message of the error that no sentences are found."""

    @cached_property
    def _sentences(self) -> list[Sentence]:
        found = [sentence for article in self._articles for sentence in self._of(article)]
        if not found:
            raise DataError(self._missing())
        return found

    @property
    def titles(self) -> list[str]:
        """Titles of the articles that were read; empty if the method read none."""
        return self._articles.titles

    def __len__(self) -> int:
        return len(self._sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sentence]: ...
    def __getitem__(self, index: int | slice) -> Sentence | Sequence[Sentence]:
        return self._sentences[index]


class TrainingSentences(StoredSentences):
    """All sentences of the training split, or of ``everything``."""

    def __init__(self, store: Store, corpus: CorpusRecord, everything: bool = False) -> None:
        super().__init__(StoredArticles(store, corpus, None if everything else (Split.TRAIN,)), corpus)

    def _of(self, article: ArticleSentences) -> Iterable[Sentence]:
        return article.sentences

    def _missing(self) -> str:
        return (
            f"Corpus {self._corpus.name!r} has no article in the training split, which titles decide (80 % of them). "
            "Import more articles."
        )


class SectionSentences(StoredSentences):
    """Sentences of the sections of one split that triplets may come from, see :class:`SectionRules`."""

    def __init__(self, store: Store, corpus: CorpusRecord, split: Split, without: frozenset[str] = frozenset()) -> None:
        super().__init__(StoredArticles(store, corpus, (split,), without), corpus)
        self._split = split

    def _of(self, article: ArticleSentences) -> Iterable[Sentence]:
        return section_sentences(article, SectionRules())

    def _missing(self) -> str:
        return (
            f"Corpus {self._corpus.name!r} has no article with sections in the {self._split} split, which titles "
            "decide. Import more articles."
        )


# Topic tasks of stored corpora: sentences that LexRank selects by a model's vectors, stored as a run

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
                f"The documents of corpus {corpus.name!r} have no topics. Import a corpus with topics, such as "
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
    return [corpus.id, str(corpus.report.get("digest", ""))]
