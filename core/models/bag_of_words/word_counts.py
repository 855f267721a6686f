"""``word-counts``: how often each word occurs. The input of the clusterer sIB (algorithms C.7). Cosine distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from core.config import Config, option
from core.models.bag_of_words.tfidf import count_words
from core.models.distances import cosine_distances
from core.models.storage import read_settings, write_settings
from core.protocols import SILENT, Report
from core.types import Corpus, Sentence, Vectors


@dataclass(frozen=True)
class WordCountsConfig(Config):
    """Settings of ``word-counts``."""

    lowercase: bool = option(True, "Read upper-case letters as lower-case ones.")
    min_letters: int = option(2, "Leave out words shorter than this.", low=1, high=20)


class WordCounts:
    """Counts of hashed words; nothing is learned."""

    def __init__(self, config: WordCountsConfig, seed: int) -> None:
        self.config, self.seed = config, seed

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Nothing is learned."""
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, 2²⁰) CSR counts; a sentence without words is an empty row."""
        texts = (s.text for s in sentences)
        return count_words(texts, self.config.lowercase, self.config.min_letters).astype(np.float32)

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write the settings."""
        write_settings(folder, self.config, self.seed)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        return cls(*read_settings(folder, WordCountsConfig))
