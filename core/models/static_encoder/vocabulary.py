"""Vocabulary of the static encoder: words of sentences as rows of a table, and its initial vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.text.tokens import tokenize
from themescope.core.text.word_vectors import WordVectors

Floats = npt.NDArray[np.float32]
Index = npt.NDArray[np.int64]
_TICK = 4_096  # sentences between two reports
_UNKNOWN = 0.3  # length of the random vector of a word, against that of a known one


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


def initial_vectors(words: Sequence[str], tables: Sequence[WordVectors]) -> Floats:
    """Return (words, sum of dimensions) vectors of all tables, each with a mean length of 1.

    A word that a table lacks has short random coordinates, so that sentences that share it are a little more similar.
    """
    parts = []
    for table in tables:
        found, known = table.of_words(words)
        lengths = np.linalg.norm(found, axis=1)
        scale = max(float(lengths[known].mean()) if known.any() else float(lengths.mean()), 1e-12)
        parts.append(np.where(known[:, None], found, _UNKNOWN * found) / scale)
    return np.ascontiguousarray(np.concatenate(parts, axis=1), np.float32)
