"""``hybrid``: what trained models say of a sentence, beside the words that it shares with others of its article.

A network that reads one sentence cannot know which of its words tell the sections of *this* article apart; Tf-idf
within the article knows nothing else. Side by side, the cosine is a weighted mean of both, as in the hybrid retrieval
of dense and sparse vectors. Nothing is learned. The weight was chosen on validation articles (docs/experiments.md 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.config import Config, option
from core.errors import DataError
from core.models.bag_of_words.tfidf import Tfidf, TfidfConfig
from core.models.composite.submodels import load_inside, save_inside
from core.models.distances import cosine_distances, unit_length
from core.models.storage import read_settings, write_settings
from core.protocols import SILENT, Report
from core.types import Corpus, FittedModel, Sentence, Vectors

WORDS = 2.0
"""How much shared words count, against 1 for a model's cosine."""


@dataclass(frozen=True)
class HybridConfig(Config):
    """Settings of ``hybrid``."""

    words: float = option(
        WORDS, "How much the words count that two sentences of an article share, against 1 for the models.",
        low=0.0, high=1_000.0,
    )  # fmt: skip


class Hybrid:
    """Vectors of dense models and Tf-idf vectors within the article, side by side. Cosine distance."""

    def __init__(self, config: HybridConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self._models: tuple[FittedModel, ...] = ()

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the models in ``corpus.models``. A sparse one is refused: words are counted here already."""
        if not corpus.models:
            raise DataError("This method joins the vectors of fitted models with Tf-idf. Name one or more.")
        if any(sparse.issparse(model.embed([])) for model in corpus.models):
            raise DataError("A hybrid counts words by itself: join it with models whose vectors are not words already.")
        report.progress(1, 1, "Nothing to learn")
        self._models = tuple(corpus.models)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, dim of all models + 2²⁰) CSR rows of length 1 at most; a sentence without words is an empty row."""
        if not self._models:
            raise DataError("This hybrid has no model yet: call fit() with one, or load a saved model.")
        parts = [np.asarray(model.embed(sentences), np.float32) for model in self._models]
        return beside_words(parts, sentences, self.config.words)

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write the settings, and every model."""
        write_settings(folder, self.config, self.seed)
        save_inside(self._models, folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        model = cls(*read_settings(folder, HybridConfig))
        model._models = tuple(load_inside(folder))
        return model


def beside_words(
    parts: Sequence[npt.NDArray[np.float32]], sentences: Sequence[Sentence], words: float
) -> sparse.csr_array:
    """(n, dim + 2²⁰) float32 CSR rows whose inner products are weighted means of cosines.

    ``parts`` are (n, dim) vectors of the ``sentences`` by one or more models, which share the weight 1; Tf-idf within
    the article has the weight ``words``.
    """
    share = 1.0 / (1.0 + words)
    dense = np.concatenate([unit_length(part) for part in parts], axis=1) * np.float32(np.sqrt(share / len(parts)))
    counted: Any = Tfidf(TfidfConfig(), 0).embed(sentences) * np.float32(np.sqrt(1.0 - share))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(dense), counted], format="csr", dtype=np.float32))
