"""Batches of whole articles: sentences of several sections of each, drawn anew at every visit.

The sections of one article are the hard cases of thematic similarity; sentences of other articles are easily told
apart. A batch therefore holds samples of few articles with many sentences each, and the loss compares sentences of one
article only (:mod:`themescope.core.models.contrastive.loss`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.types import Corpus, Sentence, Split

Index = npt.NDArray[np.int64]
_CHOICE, _ORDER, _VISIT, _VALIDATION, _THINNING = range(5)  # streams of random numbers


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Limits of what is drawn from an article at a visit; 0 sets no limit."""

    sections: int = 0
    sentences_per_section: int = 0
    sentences: int = 0
    least_share: float = 1.0
    """The share of sentences that is kept is drawn between this and 1."""


@dataclass(frozen=True)
class SectionedArticles:
    """Sentences of the articles that can be learned from, ordered by article.

    An article can be learned from if it has two sections and two sentences of one section.
    """

    sentences: Index
    """(n,) place of each row in the sequence of sentences that was given."""
    sections: Index
    """(n,) section of each row; no two articles share a number."""
    starts: Index
    """(articles + 1,) first row of each article."""

    def __len__(self) -> int:
        """Return the number of articles."""
        return len(self.starts) - 1

    def rows(self, article: int) -> Index:
        """Return the rows of an article."""
        return np.arange(self.starts[article], self.starts[article + 1])

    def only(self, articles: Index) -> SectionedArticles:
        """Return some of the articles."""
        rows = np.concatenate([np.zeros(0, np.int64), *map(self.rows, articles.tolist())])
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[articles])]).astype(np.int64)
        return SectionedArticles(self.sentences[rows], self.sections[rows], starts)

    def limited(self, limit: int, seed: int) -> SectionedArticles:
        """Return at most ``limit`` articles, sampled with ``seed`` and in the same order; 0 returns all."""
        if not limit or limit >= len(self):
            return self
        order = np.random.default_rng([seed, _CHOICE]).permutation(len(self))
        return self.only(np.sort(order[:limit]))

    def thinned(self, sentences: int, seed: int) -> SectionedArticles:
        """Return the articles with at most ``sentences`` of each, sampled with ``seed``; 0 keeps all.

        Articles that can no longer be learned from are left out.
        """
        if not sentences:
            return self
        size = SampleSize(sentences=sentences)
        kept = [draw(self, i, size, np.random.default_rng([seed, _THINNING, i])) for i in range(len(self))]
        kept = [rows for rows in kept if _usable(self.sections[rows])]
        rows = np.concatenate([np.zeros(0, np.int64), *kept])
        starts = np.cumsum([0, *map(len, kept)]).astype(np.int64)
        return SectionedArticles(self.sentences[rows], self.sections[rows], starts)


def training_and_validation(corpus: Corpus, subject: str) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
    """Return ``corpus.sections`` of the splits train and validation.

    Raises ``DataError``, whose message begins with ``subject``, if one of them is missing.
    """
    training, validation = (corpus.sections.get(split) for split in (Split.TRAIN, Split.VALIDATION))
    if not training or not validation:
        raise DataError(
            f"{subject} needs the sections of training and of validation articles, because validation decides when "
            "training stops. Name a corpus that has both."
        )
    return training, validation


def sectioned_articles(sentences: Sequence[Sentence]) -> SectionedArticles:
    """Return the articles of ``sentences`` that can be learned from; sentences without an article are left out."""
    labels = np.array([(s.article_id, s.section) for s in sentences], np.int64).reshape(-1, 2)
    order = np.lexsort((labels[:, 1], labels[:, 0]))
    order = order[labels[order, 0] != -1]
    _, articles = np.unique(labels[order, 0], return_inverse=True)
    _, sections = np.unique(labels[order], axis=0, return_inverse=True)
    found = SectionedArticles(order, sections.ravel(), _starts(articles))
    return found.only(np.array([i for i in range(len(found)) if _usable(found.sections[found.rows(i)])], np.int64))


def _starts(articles: Index) -> Index:
    """Return the first row of each article and the number of rows."""
    return np.concatenate([[0], np.cumsum(np.bincount(articles))]).astype(np.int64)


def _usable(sections: Index) -> bool:
    """Return whether the rows of an article contain a positive and a negative pair."""
    sizes = np.unique(sections, return_counts=True)[1]
    return len(sizes) > 1 and bool(sizes.max() > 1)


@dataclass(frozen=True)
class Batch:
    """Samples of several articles, one after the other."""

    rows: Index
    """(m,) rows of :class:`SectionedArticles`."""
    articles: Index
    """(m,) number of the article in the batch, rising."""
    sections: Index
    """(m,) section of each row."""

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.rows)


class EpochBatches(Sequence[Batch]):
    """The batches of one epoch. A batch depends only on the data, the limits, the seed, the epoch and its number."""

    def __init__(
        self, data: SectionedArticles, size: SampleSize, articles_per_batch: int, seed: int, epoch: int
    ) -> None:
        self._data, self._size, self._count = data, size, articles_per_batch
        self._seed, self._epoch = seed, epoch
        self._order = np.random.default_rng([seed, _ORDER, epoch]).permutation(len(data))

    def __len__(self) -> int:
        return -(-len(self._order) // self._count)

    def __getitem__(self, number: int) -> Batch:  # type: ignore[override]  # batches are drawn one at a time
        if not 0 <= number < len(self):
            raise IndexError(number)
        articles = self._order[number * self._count : (number + 1) * self._count]
        return _batch(self._data, [self._visit(article) for article in articles.tolist()])

    def _visit(self, article: int) -> Index:
        random = np.random.default_rng([self._seed, _VISIT, self._epoch, article])
        return draw(self._data, article, self._size, random)


def validation_batches(data: SectionedArticles, articles: Index, most: int, seed: int) -> Iterator[Batch]:
    """Yield each of some articles as a batch of its own, with at most ``most`` of its sentences, always the same."""
    for article in articles.tolist():
        random = np.random.default_rng([seed, _VALIDATION, article])
        yield _batch(data, [draw(data, article, SampleSize(sentences=most), random)])


def draw(data: SectionedArticles, article: int, size: SampleSize, random: np.random.Generator) -> Index:
    """Return sorted rows of an article: some sections, then some sentences of each, then some of all."""
    rows = data.rows(article)
    names = np.unique(data.sections[rows])
    if size.sections and len(names) > size.sections:
        rows = rows[np.isin(data.sections[rows], random.permutation(names)[: size.sections])]
    rows = random.permutation(rows)
    if size.sentences_per_section:
        rows = rows[_rank_in_section(data.sections[rows]) < size.sentences_per_section]
    most = size.sentences or len(rows)
    share = random.uniform(size.least_share, 1.0)
    return np.sort(rows[: min(most, max(2, round(share * len(rows))))])


def _rank_in_section(sections: Index) -> Index:
    """Return how many rows of the same section come before each row."""
    order = np.argsort(sections, kind="stable")
    _, first, counts = np.unique(sections[order], return_index=True, return_counts=True)
    ranks = np.empty(len(sections), np.int64)
    ranks[order] = np.arange(len(sections)) - np.repeat(first, counts)
    return ranks


def _batch(data: SectionedArticles, visits: Sequence[Index]) -> Batch:
    rows = np.concatenate(visits)
    articles = np.repeat(np.arange(len(visits)), [len(visit) for visit in visits])
    return Batch(rows, articles, data.sections[rows])
