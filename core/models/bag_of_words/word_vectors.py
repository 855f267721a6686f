"""Models that combine pretrained word vectors of a sentence: ``mean-vectors`` and ``c-phrase``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.config import Config, option
from core.errors import ArtifactError, DataError
from core.models.base import BaseModel
from core.models.distances import unit_length
from core.models.storage import read_settings, read_word_vectors, write_settings, write_word_vectors
from core.protocols import SILENT, Report
from core.text.stems import content_words
from core.text.word_tables import load_word_vectors
from core.text.word_vectors import STORAGES, Storage, WordVectors, token_ids
from core.types import Corpus, Sentence, Vectors

_BLOCK = 8_192  # sentences tokenised at once, which bounds the memory


@dataclass(frozen=True)
class MeanVectorsConfig(Config):
    """Settings of ``mean-vectors``."""

    word_vectors: str = option(
        "glove-6b-50d",
        "Table of word vectors: the id of a table, a file, or distilled:FOLDER of a sentence encoder.",
        file=True,
    )
    vocabulary_limit: int = option(0, "Read only the first words of the table, this many; 0 reads all.", low=0)
    storage: str = option("fp16", "Number format of the word vectors in the saved model.", choices=STORAGES)


@dataclass(frozen=True)
class CPhraseConfig(Config):
    """Settings of ``c-phrase``."""

    word_vectors: str = option(
        "glove-6b-50d", "Table of word vectors: a file of the C-PHRASE vectors, or any other table.", file=True
    )
    vocabulary_limit: int = option(0, "Read only the first words of the table, this many; 0 reads all.", low=0)
    storage: str = option("fp16", "Number format of the word vectors in the saved model.", choices=STORAGES)


class _WordVectorModel(BaseModel):
    """A model without training: :meth:`fit` reads the table of word vectors that the settings name."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self._vectors: WordVectors | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Read the table of word vectors; ``corpus`` is not used."""
        report.progress(0, 1, "Reading word vectors")
        storage: Storage = self.config.storage
        loaded = load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None)
        self._vectors = loaded.stored_as(storage)
        report.progress(1, 1, f"{len(loaded):,} words")
        return self

    @abstractmethod
    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors; a sentence without known words is the zero vector."""

    def save(self, folder: Path) -> None:
        """Write the settings and the word vectors."""
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, self._fitted())

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, cls.config_class))
        model._vectors = read_word_vectors(folder)
        if not model._vectors.dim:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: its word vectors have no dimensions.")
        return model

    def _fitted(self) -> WordVectors:
        if self._vectors is None:
            raise DataError("This model has no word vectors yet. Call fit() first, or load a saved model.")
        return self._vectors


class MeanVectors(_WordVectorModel):
    """Mean of the vectors of a sentence's known words, cosine distance (Ein Dor et al. 2018, section 4)."""

    config_class: ClassVar[type[Config]] = MeanVectorsConfig

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) means; a sentence without known words is the zero vector."""
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


class CPhrase(_WordVectorModel):
    """Sum of additive word vectors scaled to length 1 (Pham et al. 2015; Saha et al. 2017, section 4).

    Saha et al. use the 300-dimensional C-PHRASE vectors; any table of additive word vectors works. Words are
    lower-cased without punctuation and not stemmed. Cosine distance.
    """

    config_class: ClassVar[type[Config]] = CPhraseConfig

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) rows of length 1; a sentence without known words is the zero vector."""
        words = [content_words(s.text, stemmed=False) for s in sentences]
        return unit_length(combined_words(words, self._fitted(), mean=False))


def combined_words(sentences: Sequence[Sequence[str]], vectors: WordVectors, *, mean: bool) -> npt.NDArray[np.float32]:
    """Return (n, dim) means or sums of the vectors of each sentence's known words; zero where none is known."""
    rows = [[row for row in map(vectors.row, sentence) if row >= 0] for sentence in sentences]
    out = np.zeros((len(rows), vectors.dim), np.float32)
    for i, found in enumerate(rows):
        if found:
            known = vectors.vectors(np.array(found, np.int64))
            out[i] = known.mean(axis=0) if mean else known.sum(axis=0)
    return out
