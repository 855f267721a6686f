"""Concatenation of dense models with tf-idf: ``hybrid``.

A network that reads one sentence at a time does not know which words distinguish the sections of the article; tf-idf
within the article measures exactly that. The inner product of two concatenated rows is a weighted mean of the cosines,
as in hybrid retrieval with dense and sparse vectors. The default weight was chosen on validation articles
(docs/experiments.md, section 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.models.artifact import load_submodels, save_submodels
from themescope.core.models.bag_of_words import Tfidf, TfidfConfig
from themescope.core.models.base import BaseModel, unit_length
from themescope.core.models.storage import read_settings, write_settings
from themescope.core.protocols import SILENT, Report
from themescope.core.types import Corpus, FittedModel, Sentence, Vectors

WORDS = 2.0
"""Default weight of tf-idf, against 1 for the models."""


@dataclass(frozen=True)
class HybridConfig(Config):
    """Settings of ``hybrid``."""

    words: float | None = option(
        WORDS, "Weight of the cosine of tf-idf within the article, against 1 for the mean cosine of the models. Empty: "
        "the weight that the first of them has learned, such as a set encoder.",
        low=0.0, high=1_000.0,
    )  # fmt: skip
    stop_words: bool = option(
        True, "Count stop words in tf-idf too. A set encoder learns its weight of tf-idf without them."
    )


@runtime_checkable
class LearnsWordsWeight(Protocol):
    """A model that learns the weight of tf-idf that fits its vectors."""

    @property
    def words_weight(self) -> float:
        """The weight of the cosine of tf-idf, against 1 for the cosine of two vectors."""
        ...


class Hybrid(BaseModel):
    """Concatenated vectors of dense models and of tf-idf within the article, cosine distance."""

    config_class: ClassVar[type[Config]] = HybridConfig
    config: HybridConfig

    def __init__(self, config: HybridConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._models: tuple[FittedModel, ...] = ()

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the models in ``corpus.models``. Raises ``DataError`` without models and for a sparse model."""
        if not corpus.models:
            raise DataError("This method concatenates fitted models with tf-idf. Name one or more models.")
        if any(sparse.issparse(model.embed([])) for model in corpus.models):
            raise DataError("A hybrid includes tf-idf already. Name models with dense vectors only.")
        report.progress(1, 1, "Nothing to learn")
        self._models = tuple(corpus.models)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dimensions of all models + 2²⁰) CSR rows, length at most 1; without words a row is empty."""
        if not self._models:
            raise DataError("This hybrid has no models yet. Call fit() with models, or load a saved model.")
        parts = [np.asarray(model.embed(sentences), np.float32) for model in self._models]
        return concatenate_with_tfidf(parts, sentences, self._words(), self.config.stop_words)

    def _words(self) -> float:
        if self.config.words is not None:
            return self.config.words
        learned = [model.words_weight for model in self._models if isinstance(model, LearnsWordsWeight)]
        return learned[0] if learned else WORDS

    @property
    def submodels(self) -> tuple[FittedModel, ...]:
        """The models that this one is built on."""
        return self._models

    def use_submodels(self, models: Sequence[FittedModel]) -> None:
        """Embed with ``models``, which give the same vectors as :attr:`submodels`, in the same order."""
        self._models = tuple(models)

    def save(self, folder: Path) -> None:
        """Write the settings and every model."""
        write_settings(folder, self.config, self.seed)
        save_submodels(self._models, folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, HybridConfig))
        model._models = tuple(load_submodels(folder))
        return model


def concatenate_with_tfidf(
    parts: Sequence[npt.NDArray[np.float32]], sentences: Sequence[Sentence], words: float, stop_words: bool = True
) -> sparse.csr_array:
    """Return (n, dim + 2²⁰) float32 CSR rows whose inner products are weighted means of cosines.

    ``parts`` are (n, dim) vectors of the ``sentences`` by one or more models, which share the weight 1; tf-idf within
    the article has the weight ``words`` and counts English stop words if ``stop_words`` is true.
    """
    share = 1.0 / (1.0 + words)
    dense = np.concatenate([unit_length(part) for part in parts], axis=1) * np.float32(np.sqrt(share / len(parts)))
    counted: Any = Tfidf(TfidfConfig(stop_words=stop_words), 0).embed(sentences) * np.float32(np.sqrt(1.0 - share))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(dense), counted], format="csr", dtype=np.float32))
