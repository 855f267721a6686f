"""Batches of whole articles: sentences of several sections of each, drawn anew at every visit.

The sections of one article are the hard cases of thematic similarity; sentences of other articles are easily told
apart. A batch therefore holds samples of few articles with many sentences each, and the loss compares sentences of one
article only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from themescope.core.errors import DataError
from themescope.core.models.contrastive.config import ContrastiveConfig, SampleSize
from themescope.core.models.networks import LEAST_WEIGHT
from themescope.core.types import Corpus, Float32, Index, Sentence, Split

_CHOICE, _ORDER, _VISIT, _VALIDATION, _THINNING = range(5)  # streams of random numbers


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
        return self.only(np.sort(np.random.default_rng([seed, _CHOICE]).permutation(len(self))[:limit]))

    def thinned(self, sentences: int, seed: int) -> SectionedArticles:
        """Return the articles with at most ``sentences`` of each, sampled with ``seed``; 0 keeps all.

        Articles that can no longer be learned from are left out. Raises ``DataError`` if none is left.
        """
        if not sentences:
            return self
        size = SampleSize(sentences=sentences)
        kept = [draw(self, i, size, np.random.default_rng([seed, _THINNING, i])) for i in range(len(self))]
        kept = [rows for rows in kept if _usable(self.sections[rows])]
        if len(self) and not kept:
            raise DataError(
                f"With {sentences:,} sentences of each article none has two sections and two sentences of one of them. "
                "Embed more sentences of each article, or all."
            )
        rows = np.concatenate([np.zeros(0, np.int64), *kept])
        starts = np.cumsum([0, *map(len, kept)]).astype(np.int64)
        return SectionedArticles(self.sentences[rows], self.sections[rows], starts)


def split_articles(
    corpus: Corpus, config: ContrastiveConfig, seed: int, subject: str
) -> list[tuple[Sequence[Sentence], SectionedArticles]]:
    """Return the sentences of training and of validation, each with its articles within the limits of ``config``.

    Raises ``DataError``, whose message begins with ``subject``, if one of the splits is missing.
    """
    limits = {Split.TRAIN: config.training_limit, Split.VALIDATION: config.validation_limit}
    if not all(corpus.sections.get(split) for split in limits):
        raise DataError(
            f"{subject} needs the sections of training and of validation articles, because validation decides when "
            "training stops. Name a corpus that has both."
        )
    parts = ((corpus.sections[split], limit) for split, limit in limits.items())
    return [(sentences, sectioned_articles(sentences).limited(limit, seed)) for sentences, limit in parts]


def sectioned_articles(sentences: Sequence[Sentence]) -> SectionedArticles:
    """Return the articles of ``sentences`` that can be learned from; sentences without an article are left out."""
    labels = np.array([(s.article_id, s.section) for s in sentences], np.int64).reshape(-1, 2)
    order = np.lexsort((labels[:, 1], labels[:, 0]))
    order = order[labels[order, 0] != -1]
    _, articles = np.unique(labels[order, 0], return_inverse=True)
    _, sections = np.unique(labels[order], axis=0, return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(np.bincount(articles))]).astype(np.int64)
    found = SectionedArticles(order, sections.ravel(), starts)
    return found.only(np.array([i for i in range(len(found)) if _usable(found.sections[found.rows(i)])], np.int64))


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
        return len(self.rows)


class EpochBatches(Sequence[Batch]):
    """The batches of one epoch. A batch depends only on the data, the limits, the seed, the epoch and its number."""

    def __init__(self, data: SectionedArticles, size: SampleSize, per_batch: int, seed: int, epoch: int) -> None:
        self._data, self._size, self._count = data, size, per_batch
        self._seed, self._epoch = seed, epoch
        self._order = np.random.default_rng([seed, _ORDER, epoch]).permutation(len(data))

    def __len__(self) -> int:
        return -(-len(self._order) // self._count)

    def __getitem__(self, number: int) -> Batch:  # type: ignore[override]  # batches are drawn one at a time
        if not 0 <= number < len(self):
            raise IndexError(number)
        visits = []
        for article in self._order[number * self._count : (number + 1) * self._count].tolist():
            random = np.random.default_rng([self._seed, _VISIT, self._epoch, article])
            visits.append(draw(self._data, article, self._size, random))
        return _batch(self._data, visits)


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
        sections = data.sections[rows]  # of each, how many rows of the same section come before it
        order = np.argsort(sections, kind="stable")
        _, first, counts = np.unique(sections[order], return_index=True, return_counts=True)
        ranks = np.empty(len(sections), np.int64)
        ranks[order] = np.arange(len(sections)) - np.repeat(first, counts)
        rows = rows[ranks < size.sentences_per_section]
    most = size.sentences or len(rows)
    share = random.uniform(size.least_share, 1.0)
    return np.sort(rows[: min(most, max(2, round(share * len(rows))))])


def _batch(data: SectionedArticles, visits: Sequence[Index]) -> Batch:
    rows = np.concatenate(visits)
    return Batch(rows, np.repeat(np.arange(len(visits)), [len(visit) for visit in visits]), data.sections[rows])


# Supervised contrastive loss within articles (Khosla et al. 2020, equation 2), and the measure of validation


class Mean(NamedTuple):
    """A weighted mean of losses over the items of a batch."""

    total: Tensor
    """() sum of the weighted losses, with their gradient."""
    weight: Tensor
    """() sum of the weights, a constant."""

    @property
    def value(self) -> Tensor:
        """The mean; 0 without items."""
        return self.total / self.weight.clamp(min=LEAST_WEIGHT)


def section_masks(articles: Tensor, sections: Tensor) -> tuple[Tensor, Tensor]:
    """Return two (m, m) masks: the candidates K and the positives P of each anchor, from (m,) labels."""
    others = ~torch.eye(len(articles), dtype=torch.bool, device=articles.device)
    candidates = (articles.unsqueeze(1) == articles) & others
    return candidates, candidates & (sections.unsqueeze(1) == sections)


def contrastive_loss(logits: Tensor, candidates: Tensor, positives: Tensor) -> Mean:
    """Return the mean of L_i over the anchors that have positives.

    ``logits`` are (m, m) similarities divided by τ, in which row i belongs to anchor i.
    """
    logits = logits.float().masked_fill(~candidates, -torch.inf)
    counts = positives.sum(dim=1)
    anchors = counts > 0
    if not anchors.any():
        return Mean(0.0 * torch.where(candidates, logits, 0.0).sum(), logits.new_zeros(()))
    chosen, kept = logits[anchors], positives[anchors]
    logs = chosen - torch.logsumexp(chosen, dim=1, keepdim=True)
    of_anchor = torch.where(kept, logs, 0.0).sum(dim=1) / counts[anchors]
    return Mean(-of_anchor.sum(), logits.new_tensor(len(of_anchor)))


def distillation_loss(logits: Tensor, teacher: Tensor, candidates: Tensor) -> Mean:
    """Return the mean over the anchors i with candidates of KL(softmax_K(i)(teacher_i) ‖ softmax_K(i)(logits_i)).

    ``logits`` and ``teacher`` are (m, m) similarities divided by a temperature, in which row i belongs to anchor i. The
    minimum is 0, where both give the same probabilities.
    """
    anchors = candidates.any(dim=1)
    kept = candidates[anchors]
    # A finite number in place of −∞, because 0 · ∞ would make the gradient not a number.
    ours, theirs = (
        x.float()[anchors].masked_fill(~kept, torch.finfo(torch.float32).min).log_softmax(dim=1)
        for x in (logits, teacher)
    )
    divergence = torch.where(kept, theirs.exp() * (theirs - ours), 0.0).sum(dim=1)
    return Mean(divergence.sum(), divergence.new_tensor(len(divergence)))


def average_precision(similarities: Float32, sections: npt.NDArray[np.int64]) -> float:
    """Return the mean average precision of ranking the other sentences of an article, or nan without usable anchors.

    An anchor's relevant sentences are those of its section; an anchor without relevant or without other sentences is
    left out. ``similarities`` is (n, n), ``sections`` (n,). Ties are ranked in the order of rows.
    """
    same = sections[:, None] == sections
    np.fill_diagonal(same, False)
    counts = same.sum(axis=1)
    anchors = np.flatnonzero((counts > 0) & (counts < len(sections) - 1))
    if not len(anchors):
        return float("nan")
    scores = similarities[anchors].astype(np.float64)
    scores[np.arange(len(anchors)), anchors] = -np.inf
    hits = np.take_along_axis(same[anchors], np.argsort(-scores, axis=1, kind="stable"), axis=1)
    precision = np.cumsum(hits, axis=1) / np.arange(1, len(sections) + 1)
    return float(((precision * hits).sum(axis=1) / counts[anchors]).mean())
