"""Words of recurrent models: tokenised sentences as rows of a vocabulary, batches, and vocabulary expansion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.text.tokens import tokenize
from themescope.core.text.word_vectors import WordVectors
from themescope.core.types import Sentence

Index = npt.NDArray[np.int64]
END, UNKNOWN = 0, 1
SPECIAL = 2
"""Number of rows of the word table before the first word: END of a sentence, and UNKNOWN for other words."""
_TICK = 2_000
_POOL = 32  # number of batches whose sentences are sorted by length together


@dataclass(frozen=True)
class WordRows:
    """Tokenised sentences, and which of them training uses."""

    words: list[str]
    """Word of row SPECIAL + i."""
    counts: Index
    """(SPECIAL + words,) number of times that each row is a target."""
    ids: npt.NDArray[np.int32]
    bounds: Index
    """Sentence i is ``ids[bounds[i]:bounds[i + 1]]``."""
    usable: Index
    """Rows that batches are sampled from."""

    @property
    def lengths(self) -> Index:
        """(n,) number of words of each sentence."""
        return np.diff(self.bounds)

    def padded(self, rows: Index) -> tuple[Index, Index]:
        """Return (n, t) ids padded with END, and (n,) lengths."""
        lengths = self.bounds[rows + 1] - self.bounds[rows]
        steps = np.arange(max(int(lengths.max(initial=1)), 1))
        real = steps < lengths[:, None]
        places = np.where(real, self.bounds[rows][:, None] + steps, 0)
        return np.where(real, self.ids[places], END).astype(np.int64), lengths

    def batches(self, size: int, per_epoch: int, seed: int, epoch: int) -> list[Index]:
        """Return shuffled batches of usable rows of similar length; they depend only on ``seed`` and ``epoch``."""
        random = np.random.default_rng([seed, epoch])
        order = random.permutation(self.usable)[: per_epoch or len(self.usable)]
        lengths = self.bounds[order + 1] - self.bounds[order]
        batches: list[Index] = []
        for start in range(0, len(order), size * _POOL):
            pool = slice(start, start + size * _POOL)
            ranked = order[pool][np.argsort(lengths[pool], kind="stable")]
            batches += [ranked[i : i + size] for i in range(0, len(ranked), size)]
        return [batches[i] for i in random.permutation(len(batches))]


def word_rows(
    sentences: Iterable[Sequence[str]], vocabulary: int, tick: Callable[[], None], *, least: int = 1
) -> WordRows:
    """Tokenise with the ``vocabulary`` most frequent words; sentences of at least ``least`` words are usable."""
    index: dict[str, int] = {}
    flat: list[int] = []
    bounds = [0]
    for number, words in enumerate(sentences):
        if number % _TICK == 0:
            tick()
        flat.extend([index.setdefault(word, len(index)) for word in words])
        bounds.append(len(flat))
    kept = [word for word, _ in Counter(flat).most_common(vocabulary)]
    row_of = np.full(len(index), UNKNOWN, np.int32)
    row_of[kept] = np.arange(SPECIAL, SPECIAL + len(kept))
    names = list(index)
    ids = row_of[np.array(flat, np.int64)] if flat else np.zeros(1, np.int32)
    edges = np.array(bounds, np.int64)
    counts = np.bincount(ids, minlength=SPECIAL + len(kept)).astype(np.int64)
    counts[END] = len(bounds) - 1
    usable = np.flatnonzero(np.diff(edges) >= max(least, 1))
    return WordRows([names[i] for i in kept], counts, ids, edges, usable)


@dataclass(frozen=True)
class SkipData(WordRows):
    """Sentences with their neighbours; non-empty sentences with a non-empty neighbour are usable."""

    neighbours: Index
    """(n, 2) rows of the previous and the next sentence, -1 where there is none."""


def skip_data(sentences: Sequence[Sentence], vocabulary: int, most: int, tick: Callable[[], None]) -> SkipData:
    """Tokenise in lower case with the ``vocabulary`` most frequent words; cut sentences after ``most`` words.

    Neighbours are consecutive sentences of one article; a sentence without an article has none.
    """
    rows = word_rows((tokenize(s.text.lower())[:most] for s in sentences), vocabulary, tick)
    neighbours = _neighbours(sentences)
    filled = np.append(rows.lengths > 0, False)  # row -1: no neighbour
    neighbours = np.where(filled[neighbours], neighbours, -1)
    usable = np.flatnonzero(filled[:-1] & (neighbours >= 0).any(axis=1))
    return SkipData(rows.words, rows.counts, rows.ids, rows.bounds, usable, neighbours)


def _neighbours(sentences: Sequence[Sentence]) -> Index:
    """Return (n, 2) indices of the previous and the next sentence of the same article, -1 where there is none."""
    places = {(s.article_id, s.position): i for i, s in enumerate(sentences) if s.article_id != -1}
    found = [
        [places.get((s.article_id, s.position + step), -1) if s.article_id != -1 else -1 for step in (-1, 1)]
        for s in sentences
    ]
    return np.array(found, np.int64).reshape(-1, 2)


Float32 = npt.NDArray[np.float32]
_RIDGE = 1e-6


@dataclass(frozen=True)
class ExpandedWords:
    """Learned word vectors, extended to other words of ``table`` by ``vector · map + shift``."""

    own: WordVectors
    table: WordVectors
    map: Float32
    """(table.dim, own.dim)"""
    shift: Float32
    """(own.dim,)"""

    def of_words(self, words: Sequence[str]) -> tuple[Float32, npt.NDArray[np.bool_]]:
        """Return (n, dim) vectors and an (n,) mask of known words; vectors of unknown words are zero."""
        vectors = np.zeros((len(words), self.own.dim), np.float32)
        learned = np.array([self.own.row(word) for word in words], np.int64)
        others = np.array([self.table.row(word) for word in words], np.int64)
        mapped = np.flatnonzero((learned < 0) & (others >= 0))
        if len(mapped):
            vectors[mapped] = self.table.vectors(others[mapped]) @ self.map + self.shift
        given = np.flatnonzero(learned >= 0)
        if len(given):
            vectors[given] = self.own.vectors(learned[given])
        return vectors, (learned >= 0) | (others >= 0)


def expanded(own: WordVectors, table: WordVectors) -> ExpandedWords:
    """Fit the map by least squares over the words that both tables have; without common words it is zero."""
    rows = np.array([table.row(word) for word in own.words], np.int64)
    common = np.flatnonzero(rows >= 0)
    if not len(common):
        return ExpandedWords(own, table, np.zeros((table.dim, own.dim), np.float32), np.zeros(own.dim, np.float32))
    x, y = table.vectors(rows[common]).astype(np.float64), own.vectors(common).astype(np.float64)
    middle, target = x.mean(axis=0), y.mean(axis=0)
    x, y = x - middle, y - target
    scale = _RIDGE * max(float(np.square(x).sum()), 1.0)
    solved = np.linalg.solve(x.T @ x + scale * np.eye(table.dim), x.T @ y)
    return ExpandedWords(own, table, solved.astype(np.float32), (target - middle @ solved).astype(np.float32))
