"""Stored articles as input of samplers, benchmark builders and training."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from themescope.core.errors import ConfigError, DataError
from themescope.core.records.stored import ArticleRecord, CorpusRecord
from themescope.core.triplets.rules import ArticleSentences, SectionRules, section_sentences
from themescope.core.types import Sentence, Split, fold_title
from themescope.db.store import Store

_SAMPLE_SEED = 0


def ready_corpus(store: Store, name: str) -> CorpusRecord:
    """Return the corpus called ``name``; raise ``DataError`` while it is being imported."""
    with store.reading() as r:
        corpus = r.corpora.by_name(name)
    if not corpus.ready:
        raise DataError(f"Project {name!r} is still being imported. Wait for its import to end.")
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
