"""Dense models concatenated with tf-idf, ``hybrid``; and the order of sentences as vectors, for Themes.

A network that reads one sentence at a time does not know which words distinguish the sections of the article; tf-idf
within the article measures exactly that. The inner product of two concatenated rows is a weighted mean of the cosines,
as in hybrid retrieval with dense and sparse vectors. The default weight was chosen on validation articles
(docs/experiments.md, section 9).

Sections are contiguous, so in running text the distance between two sentences tells much about whether they share a
section. The prior of two sentences of an article, d sentences apart, is k(d) = exp(−d² / 2h²). The rows hold samples of
a Gaussian curve around the position of each sentence, so that the inner product of two rows contains k:
Σ_c exp(−(i − c)²/h²) exp(−(j − c)²/h²) ∝ exp(−(i − j)²/2h²) for points c at intervals of at most h/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.config import Config, option
from themescope.core.models.bag_of_words import Tfidf, TfidfConfig
from themescope.core.models.base import CombiningModel, unit_length
from themescope.core.types import SILENT, Corpus, Report, Sentence, Vectors

WORDS = 2.0
"""Default weight of tf-idf, against 1 for the models."""


@dataclass(frozen=True)
class HybridConfig(Config):
    """Settings of ``hybrid``."""

    words: float = option(
        WORDS,
        "Weight of the cosine of tf-idf within the article, against 1 for the mean cosine of the models.",
        low=0.0,
        high=1_000.0,
    )
    stop_words: bool = option(True, "Count stop words in tf-idf too.")


class Hybrid(CombiningModel):
    """Concatenated vectors of dense models and of tf-idf within the article, cosine distance."""

    config_class: ClassVar[type[Config]] = HybridConfig
    config: HybridConfig

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the models in ``corpus.models``. Raises ``DataError`` without models and for a sparse model."""
        purpose, dense = "This method concatenates fitted models with tf-idf.", "A hybrid includes tf-idf already."
        self._take(corpus.models, purpose, dense)
        report.progress(1, 1, "Nothing to learn")
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dimensions of all models + 2²⁰) CSR rows, length at most 1; without words a row is empty."""
        parts = [np.asarray(model.embed(sentences), np.float32) for model in self.submodels]
        return concatenate_with_tfidf(parts, sentences, self.config.words, self.config.stop_words)


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


COLUMNS = 2**20
"""Columns of the positions of all articles."""
_STRIDE = 7_919  # columns between the first sentences of successive articles; prime, so that few articles overlap
_CUT = 6  # points on each side of a position: the curve is exp(−9) at the last of them


def position_rows(sentences: Sequence[Sentence], reach: float) -> sparse.csr_array:
    """Return (n, 2²⁰) CSR rows of length 1 whose inner products are k(d) within an article and else 0.

    Rows of two articles overlap where their hashed columns do, which is the case for about one pair of articles in ten
    thousand.
    """
    if not sentences:
        return sparse.csr_array((0, COLUMNS), dtype=np.float32)
    step = reach / 2
    positions = np.array([s.position for s in sentences], np.float64)
    articles = np.array([s.article_id for s in sentences], np.int64)
    nearest = np.rint(positions / step).astype(np.int64)
    points = nearest[:, None] + np.arange(-_CUT, _CUT + 1)
    values = np.exp(-(((positions[:, None] - points * step) / reach) ** 2))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    columns = (articles[:, None] * _STRIDE + points) % COLUMNS
    starts = np.arange(0, values.size + 1, values.shape[1])
    rows = sparse.csr_array(
        (values.astype(np.float32).ravel(), columns.ravel(), starts), shape=(len(sentences), COLUMNS)
    )
    rows.sort_indices()
    return rows
