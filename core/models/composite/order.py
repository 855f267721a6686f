"""Models with the order of sentences as a prior for running text: ``with-order``.

Sections are contiguous, so in running text the distance between two sentences tells much about whether they share a
section. A benchmark that clusters sentences regardless of their order must not use this; it is a row of its own.

The prior of two sentences of an article, d sentences apart, is k(d) = exp(−d² / 2h²). The rows hold samples of a
Gaussian curve around the position of each sentence, so that the inner product of two rows contains k:
Σ_c exp(−(i − c)²/h²) exp(−(j − c)²/h²) ∝ exp(−(i − j)²/2h²) for points c at intervals of at most h/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import norm

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.models.artifact import load_submodels, save_submodels
from themescope.core.models.base import BaseModel
from themescope.core.models.storage import read_settings, write_settings
from themescope.core.protocols import SILENT, Report
from themescope.core.types import Corpus, FittedModel, Sentence, Vectors

COLUMNS = 2**20
"""Columns of the positions of all articles."""
_STRIDE = 7_919  # columns between the first sentences of successive articles; prime, so that few articles overlap
_CUT = 6  # points on each side of a position: the curve is exp(−9) at the last of them


@dataclass(frozen=True)
class WithOrderConfig(Config):
    """Settings of ``with-order``."""

    weight: float = option(
        0.4, "Weight of the similarity of positions, against 1 for the mean cosine of the models.", low=0.0, high=1e3
    )
    reach: float = option(
        6.0, "Distance h at which the similarity of positions is exp(−1/2) = 0.61.", low=1.0, high=1_000.0,
        unit="sentences",
    )  # fmt: skip


class WithOrder(BaseModel):
    """Vectors of other models, concatenated with the positions of sentences in their article. Cosine distance."""

    config_class: ClassVar[type[Config]] = WithOrderConfig
    config: WithOrderConfig

    def __init__(self, config: WithOrderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._models: tuple[FittedModel, ...] = ()

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the models in ``corpus.models``. Raises ``DataError`` without models."""
        if not corpus.models:
            raise DataError("This method adds positions to the vectors of fitted models. Name one or more models.")
        report.progress(1, 1, "Nothing to learn")
        self._models = tuple(corpus.models)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dimensions of all models + 2²⁰) CSR rows whose inner products are weighted means.

        Those of two sentences of an article are (cosine + weight · k(d)) / (1 + weight); positions of different
        articles have similarity 0. Sentences without an article form one text. Without words a row is empty.
        """
        if not self._models:
            raise DataError("This method has no models yet. Call fit() with models, or load a saved model.")
        share = 1.0 / (1.0 + self.config.weight)
        found: list[Any] = [_unit_rows(sparse.csr_array(model.embed(sentences))) for model in self._models]
        parts = [part * np.float32(np.sqrt(share / len(found))) for part in found]
        filled = np.any([part.count_nonzero(axis=1) for part in found], axis=0)
        placed: Any = sparse.diags_array(filled * np.sqrt(1.0 - share)) @ position_rows(sentences, self.config.reach)
        joined = sparse.csr_array(sparse.hstack([*parts, placed], format="csr", dtype=np.float32))
        joined.eliminate_zeros()
        return joined

    def save(self, folder: Path) -> None:
        """Write the settings and every model."""
        write_settings(folder, self.config, self.seed)
        save_submodels(self._models, folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, WithOrderConfig))
        model._models = tuple(load_submodels(folder))
        return model


def _unit_rows(x: sparse.csr_array) -> Any:
    """Return the rows of ``x`` with length 1; empty rows stay empty."""
    lengths: Any = norm(x, axis=1)
    return sparse.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ x


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
