"""Consecutive sentences for Skip-Thought: tokenised once, each with the rows of its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.models.recurrent.word_rows import Index, WordRows, word_rows
from core.text.tokens import tokenize
from core.types import Sentence


@dataclass(frozen=True)
class SkipData(WordRows):
    """Sentences, and which follow each other; those that have words and a neighbour with words are usable."""

    neighbours: Index
    """(n, 2) rows of the sentences before and after, -1 where there is none."""


def skip_data(sentences: Sequence[Sentence], vocabulary: int, most: int, tick: Callable[[], None]) -> SkipData:
    """Tokenise in lower case, keep the ``vocabulary`` most frequent words, cut sentences after ``most`` words.

    Neighbours stand next to each other in the same article; a loose sentence has none.
    """
    rows = word_rows((tokenize(s.text.lower())[:most] for s in sentences), vocabulary, tick)
    neighbours = _neighbours(sentences)
    filled = np.append(rows.lengths > 0, False)  # row -1: no neighbour
    neighbours = np.where(filled[neighbours], neighbours, -1)
    usable = np.flatnonzero(filled[:-1] & (neighbours >= 0).any(axis=1))
    return SkipData(rows.words, rows.counts, rows.ids, rows.bounds, usable, neighbours)


def _neighbours(sentences: Sequence[Sentence]) -> Index:
    """(n, 2) places of the sentences before and after in the same article, -1 where there is none."""
    places = {(s.article_id, s.position): i for i, s in enumerate(sentences) if s.article_id != -1}
    found = [
        [places.get((s.article_id, s.position + step), -1) if s.article_id != -1 else -1 for step in (-1, 1)]
        for s in sentences
    ]
    return np.array(found, np.int64).reshape(-1, 2)
