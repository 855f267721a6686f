"""Base class of all models: configuration, seed and the distance that vectors are compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.config import Config
from core.models.distances import DISTANCES
from core.protocols import SILENT, Report
from core.types import Corpus, Sentence, Vectors


class BaseModel(ABC):
    """A model as :class:`core.protocols.Model` defines it; subclasses add ``fit``, ``embed``, ``save`` and ``load``."""

    config_class: ClassVar[type[Config]]
    """Class of :attr:`config`, which a saved model is read with."""

    def __init__(self, config: Any, seed: int) -> None:
        self.config, self.seed = config, seed

    @abstractmethod
    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn from ``corpus`` and return self."""

    @abstractmethod
    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors, row i for sentence i."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the model into ``folder``."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote. Raises ``ArtifactError`` for a damaged folder."""

    @property
    def distance(self) -> str:
        """Name of the distance in :data:`core.models.distances.DISTANCES` that this model is evaluated with."""
        return "cosine"

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """Return (n,) distances of row i of ``a`` to row i of ``b``."""
        return DISTANCES[self.distance](a, b)
