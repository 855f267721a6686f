"""Vocabulary of the static encoder: words of sentences as rows of a table, and its initial vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.text.tokens import tokenize
from core.text.word_vectors import WordVectors

Floats = npt.NDArray[np.float32]
Index = npt.NDArray[np.int64]
_TICK = 4_096  # sentences between two reports
_RANDOM = 0.3  # spread of added coordinates, against that of the table


@dataclass(frozen=True)
class Words:
    """Words of sentences by number; sentence i is ``ids[starts[i]:starts[i + 1]]``."""

    ids: npt.NDArray[np.int32]
    starts: Index

    def only(self, numbers: Index) -> Words:
        """Replace number j by ``numbers[j]`` and leave out words that get −1."""
        replaced = numbers[self.ids].astype(np.int32)
        kept = replaced >= 0
        counts = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
        return Words(replaced[kept], counts[self.starts])


@dataclass(frozen=True)
class Vocabulary:
    """Words in lower case, in the order of falling frequency."""

    words: Sequence[str]
    shares: Floats
    """(words,) share of all words of the text."""


def read_words(texts: Iterable[str], tick: Callable[[], None]) -> tuple[list[str], Words]:
    """Return the distinct tokens of ``texts``, with their case, and the texts by number of token.

    ``tick`` is called every few thousand texts.
    """
    index: dict[str, int] = {}
    ids: list[int] = []
    starts = [0]
    for number, text in enumerate(texts):
        if number % _TICK == 0:
            tick()
        ids.extend([index.setdefault(word, len(index)) for word in tokenize(text)])
        starts.append(len(ids))
    return list(index), Words(np.array(ids, np.int32), np.array(starts, np.int64))


def rows_of(distinct: Sequence[str], table: WordVectors) -> Index:
    """Return the (words,) row of each distinct word in ``table``, −1 for an unknown one."""
    return np.fromiter(map(table.row, distinct), np.int64, len(distinct))


def vocabulary_of(distinct: Sequence[str], words: Words, most: int, least_count: int) -> Vocabulary:
    """Return at most ``most`` words that occur ``least_count`` times; raises ``DataError`` if there is none."""
    counts: dict[str, int] = {}
    for word, count in zip(distinct, np.bincount(words.ids, minlength=len(distinct)).tolist(), strict=True):
        counts[word.lower()] = counts.get(word.lower(), 0) + count
    frequent = sorted((-count, word) for word, count in counts.items() if count >= least_count)[:most]
    if not frequent:
        raise DataError(f"No word occurs {least_count:,} times in the training articles. Use more articles.")
    shares = -np.array([count for count, _ in frequent], np.float64) / len(words.ids)
    return Vocabulary([word for _, word in frequent], shares.astype(np.float32))


def initial_vectors(words: Sequence[str], table: WordVectors, dim: int, seed: int) -> Floats:
    """Return (words, dim) vectors with a mean length of 1: those of ``table``, random where it lacks the word.

    A table with more dimensions is projected onto its principal directions, one with fewer gets random coordinates.
    """
    found, _ = table.of_words(words)
    if found.shape[1] > dim:
        _, directions = np.linalg.eigh((found.T @ found).astype(np.float64))  # in rising order
        found = found @ directions[:, : -dim - 1 : -1].astype(np.float32)
    elif found.shape[1] < dim:
        spread = _RANDOM * float(found.std())
        more = np.random.default_rng(seed).normal(0, spread, (len(words), dim - found.shape[1]))
        found = np.concatenate([found, more.astype(np.float32)], axis=1)
    return np.ascontiguousarray(found / max(float(np.linalg.norm(found, axis=1).mean()), 1e-12))
