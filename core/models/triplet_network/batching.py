"""Tokenised triplets and their batches.

The triplets of an article share most of their sentences. A batch of runs of neighbouring triplets (``by-article``)
therefore has few distinct sentences, each of which is encoded once, which multiplies the triplets per second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.text.word_vectors import TokenIds, WordVectors, token_ids
from themescope.core.types import Ids, Index, TripletTexts

_POOL = 32  # number of batches whose items are sorted by length together


@dataclass(frozen=True)
class TripletData:
    """Distinct tokenised sentences, and triplets as rows into them."""

    tokens: TokenIds
    triplets: Index
    """(n, 3) rows of pivot, positive, negative."""
    groups: Ids
    """(n,) article of each triplet."""

    def __len__(self) -> int:
        return len(self.triplets)

    @property
    def lengths(self) -> Index:
        """(n,) number of tokens of the longest sentence of each triplet."""
        lengths: Index = self.tokens.lengths[self.triplets].max(axis=1)
        return lengths

    def weights(self, balance: float) -> npt.NDArray[np.float32]:
        """Return (n,) weights with mean 1: (number of triplets of the article) to the power -``balance``."""
        if not len(self):
            return np.ones(0, np.float32)
        _, inverse, counts = np.unique(self.groups, return_inverse=True, return_counts=True)
        weights = counts[inverse].astype(np.float64) ** -balance
        return np.asarray(weights / weights.mean(), np.float32)


def triplet_data(
    texts: TripletTexts, vectors: WordVectors, limit: int = 0, seed: int = 0, tick: Callable[[], None] = lambda: None
) -> TripletData:
    """Tokenise each distinct sentence once. ``limit`` keeps that many triplets, sampled with ``seed``; 0 keeps all.

    ``tick`` is called every thousand sentences and may raise ``Cancelled``.
    """
    chosen: Sequence[int] = range(len(texts))
    if limit and limit < len(texts):
        chosen = np.sort(np.random.default_rng(seed).choice(len(texts), limit, replace=False)).tolist()
    rows: dict[str, int] = {}
    columns = (texts.pivots, texts.positives, texts.negatives)
    triplets = [[rows.setdefault(column[i], len(rows)) for column in columns] for i in chosen]
    groups = np.asarray(texts.groups)[list(chosen)].astype(np.int64)
    return TripletData(token_ids(rows, vectors, tick=tick), np.array(triplets, np.int64).reshape(-1, 3), groups)


def epoch_batches(data: TripletData, config: TripletNetConfig, seed: int, epoch: int) -> list[Index]:
    """Return the batches of an epoch as indices of triplets; they depend only on data, ``seed`` and ``epoch``."""
    random = np.random.default_rng([seed, epoch])
    known = _of_whole_articles(data.groups, config.training_limit, seed)
    wanted = min(config.triplets_per_epoch or len(known), len(known))
    if config.batching == "by-article":
        order = known[_runs(data.groups[known], config.run_length, random)][:wanted]
        batches = [order[i : i + config.batch_size] for i in range(0, wanted, config.batch_size)]
    else:
        order = known[random.permutation(len(known))][:wanted]
        batches = list(length_batches(order, data.lengths, config.batch_size))
    return [batches[i] for i in random.permutation(len(batches))]


def _of_whole_articles(groups: Ids, limit: int, seed: int) -> Index:
    """Return rows of at most ``limit`` triplets of whole articles in random order, at least one; 0 keeps all."""
    if not 0 < limit < len(groups):
        return np.arange(len(groups))
    _, article, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(counts))
    kept = order[: max(int(np.searchsorted(np.cumsum(counts[order]), limit, side="right")), 1)]
    return np.flatnonzero(np.isin(article, kept))


def _runs(groups: Ids, length: int, random: np.random.Generator) -> Index:
    """Return triplets in shuffled runs of neighbours of one article; the bounds of runs change with every epoch."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[:1]] - 1))
    sizes = np.diff(starts, append=len(order))
    offsets = random.integers(0, length, len(starts))
    place = np.arange(len(order)) - np.repeat(starts, sizes) + np.repeat(offsets, sizes)
    run = np.repeat(np.cumsum(np.append(0, (sizes + offsets) // length + 1))[:-1], sizes) + place // length
    _, run = np.unique(run, return_inverse=True)
    shuffled = random.permutation(int(run.max()) + 1)[run]
    return np.asarray(order[np.argsort(shuffled, kind="stable")], np.int64)


def length_batches(order: Index, lengths: Index, size: int) -> Iterator[Index]:
    """Yield batches of items of similar length: pools of the ``order``, each sorted by length and cut."""
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        yield from (pool[i : i + size] for i in range(0, len(pool), size))


def length_chunks(lengths: Index, tokens: int) -> list[Index]:
    """Return rows by falling length, cut into chunks with at most about ``tokens`` cells after padding."""
    order = np.argsort(-lengths, kind="stable")
    chunks, start = [], 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        count = max(tokens // longest, 1)
        chunks.append(order[start : start + count])
        start += count
    return chunks
