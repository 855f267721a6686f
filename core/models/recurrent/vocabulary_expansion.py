"""Vocabulary expansion: a linear map from a large table to learned word vectors (Kiros et al. 2015, section 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.text.word_vectors import WordVectors

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
