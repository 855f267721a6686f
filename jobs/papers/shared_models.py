"""Models that are loaded once and remember vectors, for evaluations of many models built on the same network.

A hybrid, a centred model and a set encoder contain a copy of the model that they are built on. When they are compared
with each other, its vectors would be computed again for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.models.base import CombiningModel
from themescope.core.protocols import Model
from themescope.core.records.stored import ModelRecord
from themescope.core.types import Sentence, Vectors
from themescope.db.store import Store
from themescope.jobs.common.models import built_on
from themescope.jobs.common.vectors import load_model, method_of

if TYPE_CHECKING:
    from themescope.core.types import FittedModel

_OTHER_INPUT = frozenset({"per-article", "transductive", "sparse"})
_MOST_BYTES = 512 * 2**20


class SharedModels:
    """Loaded models by digest."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loaded: dict[str, Any] = {}

    def get(self, record: ModelRecord) -> Model:
        """Return the model, whose submodels are shared with other models. It can embed, but not be saved."""
        if record.digest not in self._loaded:
            self._loaded[record.digest] = self._load(record)
        model: Model = self._loaded[record.digest]
        return model

    def _load(self, record: ModelRecord) -> Any:
        fitted, _ = load_model(self._store, record)
        if isinstance(fitted, CombiningModel):
            parts = built_on(self._store, record)
            if len(parts) == len(fitted.submodels):
                fitted.use_submodels([self.get(part) for part in parts])
            return fitted
        return fitted if method_of(record).tags & _OTHER_INPUT else RememberedVectors(fitted)


class RememberedVectors:
    """A model whose vectors depend on the text of a sentence alone; each text is embedded once.

    When the vectors take more than ``most_bytes``, all are forgotten.
    """

    def __init__(self, model: FittedModel, most_bytes: int = _MOST_BYTES) -> None:
        self._model, self._most_bytes = model, most_bytes
        self._rows: dict[str, int] = {}
        self._vectors = np.asarray(model.embed([]), np.float32)

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors, row i for sentence i."""
        if self._vectors.nbytes > self._most_bytes:
            self._rows, self._vectors = {}, self._vectors[:0].copy()
        new = list(dict.fromkeys(s.text for s in sentences if s.text not in self._rows))
        if new:
            found = np.asarray(self._model.embed([Sentence(text) for text in new]), np.float32)
            rows = len(self._rows) + len(new)
            if rows > len(self._vectors):
                larger = np.empty((max(rows, 2 * len(self._vectors)), self._vectors.shape[1]), np.float32)
                larger[: len(self._rows)] = self._vectors[: len(self._rows)]
                self._vectors = larger
            self._vectors[len(self._rows) : len(self._rows) + len(new)] = found
            self._rows |= {text: len(self._rows) + i for i, text in enumerate(new)}
        return self._vectors[np.array([self._rows[s.text] for s in sentences], np.int64)]

    def distances(self, a: Vectors, b: Vectors) -> Any:
        """Return (n,) distances of row i of ``a`` to row i of ``b``."""
        return self._model.distances(a, b)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)
