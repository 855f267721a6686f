"""What methods share that learn nothing and only read a table of word vectors: ``mean-vectors`` and ``c-phrase``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.config import Config
from core.errors import ArtifactError, DataError
from core.models.distances import cosine_distances
from core.models.storage import read_settings, read_word_vectors, write_settings, write_word_vectors
from core.protocols import SILENT, Report
from core.text.word_vectors import Storage, WordVectors, load_word_vectors
from core.types import Corpus, Sentence, Vectors


class WordTable(ABC):
    """A method whose settings name the table (``word_vectors``), its limit and its storage."""

    config_class: ClassVar[type[Config]]

    def __init__(self, config: Any, seed: int) -> None:
        self.config, self.seed = config, seed
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
        """(n, dim) vectors; a sentence without a known word is the zero vector."""

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
        model = cls(*read_settings(folder, cls.config_class))
        model._vectors = read_word_vectors(folder)
        if not model._vectors.dim:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: its word vectors have no coordinates.")
        return model

    def _fitted(self) -> WordVectors:
        if self._vectors is None:
            raise DataError("This method has no word vectors yet: call fit() first, or load a saved model.")
        return self._vectors
