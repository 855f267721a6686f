"""``mean-vectors``: the mean of the vectors of a sentence's in-table words (algorithms B.7). Cosine distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from core.config import Config, option
from core.embedders.distances import cosine_distances
from core.embedders.storage import read_settings, read_word_vectors, write_settings, write_word_vectors
from core.errors import ArtifactError, DataError
from core.protocols import Report
from core.text.word_vectors import STORAGES, Storage, WordVectors, load_word_vectors, token_ids
from core.types import Corpus, Sentence, Vectors

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


class MeanVectors:
    """Mean of word vectors; nothing is learned, :meth:`fit` reads the table."""

    def __init__(self, config: MeanVectorsConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self._vectors: WordVectors | None = None

    def fit(self, corpus: Corpus, report: Report) -> None:
        """Read the table of word vectors; ``corpus`` is not used."""
        report.progress(0, 1, "Reading word vectors")
        storage: Storage = self.config.storage  # type: ignore[assignment]
        loaded = load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None)
        self._vectors = loaded.stored_as(storage)
        report.progress(1, 1, f"{len(loaded):,} words")

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

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine, as the paper evaluates mean-vectors."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write the settings and the table."""
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, self._fitted())

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        config, seed = read_settings(folder, MeanVectorsConfig)
        model = cls(config, seed)
        model._vectors = read_word_vectors(folder)
        if not model._vectors.dim:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: its word vectors have no coordinates.")
        return model

    def _fitted(self) -> WordVectors:
        if self._vectors is None:
            raise DataError("mean-vectors has no word vectors yet: call fit() first, or load a saved model.")
        return self._vectors
