"""A metric learned from pairs, on the vectors of other models: ``linear-metric``.

The models stay as they are. Their vectors are scaled to length 1 and then stretched or shrunk along a few axes, see
:mod:`themescope.core.models.linear_metric.directions`. New text is embedded in the same way, so that searches use the
metric too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.config import Config
from themescope.core.errors import DataError
from themescope.core.models.artifact import load_submodels, save_submodels
from themescope.core.models.base import BaseModel, unit_length
from themescope.core.models.linear_metric.directions import Directions, LinearMetricConfig, learn_directions
from themescope.core.models.storage import read_settings, read_tensors, write_settings, write_tensors
from themescope.core.protocols import SILENT, Report
from themescope.core.types import Corpus, FittedModel, Sentence, Split, TripletTexts, Vectors

_FILE = "axes.safetensors"
_MOST = 2_000
"""Maximum number of sentences whose triplets are used; the metric then has at most as many axes as they have."""


class LinearMetric(BaseModel):
    """Vectors of other models under a learned metric, cosine distance."""

    config_class: ClassVar[type[Config]] = LinearMetricConfig
    config: LinearMetricConfig

    def __init__(self, config: LinearMetricConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._models: tuple[FittedModel, ...] = ()
        self._directions: Directions | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn from the training triplets: pivot and positive belong together, pivot and negative do not.

        Raises ``DataError`` without triplets or models, and for a model with sparse vectors.
        """
        triplets = corpus.triplets.get(Split.TRAIN)
        if triplets is None or not len(triplets):
            raise DataError("This method learns from training triplets. Choose a triplet set.")
        if not corpus.models:
            raise DataError("This method learns a metric on the vectors of fitted models. Name one or more models.")
        if any(sparse.issparse(model.embed([])) for model in corpus.models):
            raise DataError("A metric is learned on dense vectors. Name models with dense vectors only.")
        self._models = tuple(corpus.models)
        texts, first, second, together = _pairs(triplets)
        report.progress(0, 1, f"Embedding {len(texts):,} sentences")
        x = self._concatenated([Sentence(text) for text in texts])
        report.progress(0.9, 1, "Learning the metric")
        self._directions = learn_directions(x, first, second, together, self.config)
        return self

    def use(self, base: FittedModel, directions: Directions) -> Self:
        """Take a base model and a metric of its vectors that was learned elsewhere."""
        self._models, self._directions = (base,), directions
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dimensions of all models) vectors under the metric."""
        return self._learned().apply(self._concatenated(sentences))

    def _concatenated(self, sentences: Sequence[Sentence]) -> npt.NDArray[np.float32]:
        """Return the vectors of all models at length 1, concatenated, of length at most 1."""
        parts = [unit_length(np.asarray(model.embed(sentences), np.float32)) for model in self._models]
        return np.concatenate(parts, axis=1) / np.float32(np.sqrt(len(parts)))

    def _learned(self) -> Directions:
        if self._directions is None:
            raise DataError("This method has no metric yet. Call fit() with models and triplets, or load a model.")
        return self._directions

    @property
    def submodels(self) -> tuple[FittedModel, ...]:
        """The models whose vectors are mapped."""
        return self._models

    def use_submodels(self, models: Sequence[FittedModel]) -> None:
        """Embed with ``models``, which give the same vectors as :attr:`submodels`, in the same order."""
        self._models = tuple(models)

    def save(self, folder: Path) -> None:
        """Write the settings, the axes with their factors, and the models."""
        directions = self._learned()
        write_settings(folder, self.config, self.seed)
        save_submodels(self._models, folder)
        write_tensors(folder / _FILE, {"axes": directions.axes, "factors": directions.factors})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, LinearMetricConfig))
        found: dict[str, Any] = read_tensors(folder / _FILE, ("axes", "factors"))
        model._models, model._directions = tuple(load_submodels(folder)), Directions(found["axes"], found["factors"])
        return model


_Rows = npt.NDArray[np.int64]


def _pairs(triplets: TripletTexts) -> tuple[list[str], _Rows, _Rows, npt.NDArray[np.bool_]]:
    """Return the texts of the first triplets, and their pairs: rows of both texts, and whether they belong together."""
    rows: dict[str, int] = {}
    pairs: dict[tuple[int, int], bool] = {}
    for pivot, positive, negative in zip(triplets.pivots, triplets.positives, triplets.negatives, strict=True):
        if len(rows) > _MOST - 3:
            break
        own, near, far = (rows.setdefault(text, len(rows)) for text in (pivot, positive, negative))
        pairs.setdefault((own, near), True)
        pairs.setdefault((own, far), False)
    first, second = np.array(list(pairs), np.int64).reshape(-1, 2).T
    return list(rows), first, second, np.array(list(pairs.values()), np.bool_)
