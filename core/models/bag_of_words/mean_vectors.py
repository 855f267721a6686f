"""``mean-vectors``: the mean of the vectors of a sentence's in-table words (algorithms B.7). Cosine distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from core.config import Config, option
from core.models.bag_of_words.word_table import WordTable
from core.text.word_vectors import STORAGES, token_ids
from core.types import Sentence, Vectors

_BLOCK = 8_192  # sentences tokenised at once; keeps memory flat


@dataclass(frozen=True)
class MeanVectorsConfig(Config):
    """Settings of ``mean-vectors``."""

    word_vectors: str = option(
        "glove-6b-50d",
        "Table of word vectors: a table's id, a file, or distilled:FOLDER of a sentence encoder.",
        file=True,
    )
    vocabulary_limit: int = option(0, "Keep only this many words of the table, from its start; 0 keeps all.", low=0)
    storage: str = option("fp16", "How the saved model keeps its vectors.", choices=STORAGES)


class MeanVectors(WordTable):
    """Mean of word vectors; nothing is learned, :meth:`fit` reads the table."""

    config_class: ClassVar[type[Config]] = MeanVectorsConfig

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, dim) means; a sentence without a known word is the zero vector."""
        vectors = self._fitted()
        means = np.zeros((len(sentences), vectors.dim), np.float32)
        for start in range(0, len(sentences), _BLOCK):
            block = sentences[start : start + _BLOCK]
            tokens = token_ids((s.text for s in block), vectors, unknown=False)
            filled = np.flatnonzero(tokens.lengths)
            if len(filled):
                sums = np.add.reduceat(tokens.table[tokens.ids], tokens.starts[filled], axis=0)
                means[start + filled] = sums / tokens.lengths[filled, None]
        return means
