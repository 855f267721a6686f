"""Training text: word ids of the training sentences, and the vocabulary with its counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from themescope.core.text.tokens import content_words
from themescope.core.types import Sentence

FEWEST = 3
"""Minimum number of words of a training sentence (Saha et al. 2017)."""
_TICK = 1_000

Index = npt.NDArray[np.int64]
WordIds = npt.NDArray[np.int32]


@dataclass(frozen=True)
class CorpusVocabulary:
    """Words in order of falling count; ties in order of first appearance."""

    words: list[str]
    counts: Index
    """(words,) number of occurrences in the training text."""

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Word → row."""
        return {word: row for row, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def rows(self, text: str, stemmed: bool = True) -> list[int]:
        """Return the rows of the known words of ``text``, in order."""
        known = self.row_of
        return [known[word] for word in content_words(text, stemmed) if word in known]


@dataclass(frozen=True)
class EncodedText:
    """The training sentences in corpus order; sentence i has the words ``ids[starts[i]:starts[i + 1]]``."""

    vocabulary: CorpusVocabulary
    ids: WordIds
    starts: Index
    """(n + 1,)."""
    rows: Index
    """(n,) index of each in the sequence given to :func:`encode_text`."""
    articles: Index
    """(n,) article of each, or -1."""
    positions: Index
    """(n,) position in its article."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def words(self) -> int:
        """Total number of words."""
        return len(self.ids)


def encode_text(
    sentences: Sequence[Sentence], min_count: int = 0, stemmed: bool = True, tick: Callable[[], None] = lambda: None
) -> EncodedText:
    """Tokenise every sentence once; sentences with fewer than :data:`FEWEST` words are left out.

    Words that occur fewer than ``min_count`` times are removed first. ``tick`` is called every thousand sentences.
    """
    index: dict[str, int] = {}
    flat: list[int] = []
    ends: list[int] = []
    for number, sentence in enumerate(sentences):
        if number % _TICK == 0:
            tick()
        flat.extend([index.setdefault(word, len(index)) for word in content_words(sentence.text, stemmed)])
        ends.append(len(flat))
    kept = [word for word, count in Counter(flat).most_common() if count >= min_count]
    row_of = np.full(len(index), -1, np.int32)
    row_of[kept] = np.arange(len(kept), dtype=np.int32)
    names = list(index)
    ids = row_of[np.array(flat, np.int64)]
    owners = np.repeat(np.arange(len(ends)), np.diff([0, *ends]))[ids >= 0]
    ids = ids[ids >= 0]
    lengths = np.bincount(owners, minlength=len(ends))
    rows = np.flatnonzero(lengths >= FEWEST)
    ids = ids[lengths[owners] >= FEWEST]
    vocabulary = CorpusVocabulary([names[i] for i in kept], np.bincount(ids, minlength=len(kept)).astype(np.int64))
    places = [(sentences[i].article_id, sentences[i].position) for i in rows.tolist()]
    articles, positions = np.array(places, np.int64).reshape(-1, 2).T
    starts = np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64)
    return EncodedText(vocabulary, ids, starts, rows, articles.copy(), positions.copy())
