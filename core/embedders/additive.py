"""``c-phrase``: published word vectors made to be added up; a sentence is their sum at unit length (SJH17, section 4).

Any table of additive word vectors serves; SJH17 took the 300-d vectors of C-PHRASE (Pham et al. 2015). Words are read
in lower case without punctuation, unstemmed (algorithms F.7). Cosine distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from core.config import Config, option
from core.embedders.distances import cosine_distances, unit_length
from core.embedders.storage import read_settings, read_word_vectors, write_settings, write_word_vectors
from core.embedders.word_sums import summed
from core.errors import DataError
from core.protocols import Report
from core.text.stems import content_words
from core.text.word_vectors import STORAGES, Storage, WordVectors, load_word_vectors
from core.types import Corpus, Sentence, Vectors


@dataclass(frozen=True)
class AdditiveConfig(Config):
    """Settings of ``c-phrase``."""

    word_vectors: str = option(
        "glove-6b-50d", "Table of word vectors: a file of the C-PHRASE vectors, or any other table.", file=True
    )
    vocabulary_limit: int = option(0, "Keep only this many words of the table, from its start; 0 keeps all.", low=0)
    storage: str = option("fp16", "How the saved model keeps its vectors.", choices=STORAGES)


class Additive:
    """Sums of word vectors at unit length; nothing is learned, :meth:`fit` reads the table."""

    def __init__(self, config: AdditiveConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self._words: WordVectors | None = None

    def fit(self, corpus: Corpus, report: Report) -> None:
        """Read the table of word vectors; ``corpus`` is not used."""
        report.progress(0, 1, "Reading word vectors")
        storage: Storage = self.config.storage  # type: ignore[assignment]
        loaded = load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None)
        self._words = loaded.stored_as(storage)
        report.progress(1, 1, f"{len(loaded):,} words")

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, dim) rows of unit length; a sentence without a known word is the zero vector."""
        words = [content_words(s.text, stemmed=False) for s in sentences]
        return unit_length(summed(words, self._fitted(), mean=False))

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write the settings and the table."""
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, self._fitted())

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        model = cls(*read_settings(folder, AdditiveConfig))
        model._words = read_word_vectors(folder)
        return model

    def _fitted(self) -> WordVectors:
        if self._words is None:
            raise DataError("c-phrase has no word vectors yet: call fit() first, or load a saved model.")
        return self._words
