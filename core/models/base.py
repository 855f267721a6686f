"""Base class of all models, and the distances that vectors are compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.config import Config
from themescope.core.errors import DataError
from themescope.core.protocols import SILENT, Report
from themescope.core.types import Corpus, FittedModel, Sentence, Vectors


class BaseModel(ABC):
    """A model as ``core.protocols.Model`` defines it; subclasses add ``fit``, ``embed``, ``save`` and ``load``."""

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
        """Name of the distance in :data:`themescope.core.models.base.DISTANCES` that this model is evaluated with."""
        return "cosine"

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """Return (n,) distances of row i of ``a`` to row i of ``b``."""
        return DISTANCES[self.distance](a, b)


@runtime_checkable
class BuiltOnModels(Protocol):
    """A model that embeds with other models, which can be exchanged for equal ones that are loaded already."""

    @property
    def submodels(self) -> tuple[FittedModel, ...]:
        """The models that this one is built on."""
        ...

    def use_submodels(self, models: Sequence[FittedModel]) -> None:
        """Embed with ``models``, which give the same vectors as :attr:`submodels`, in the same order."""
        ...


@runtime_checkable
class ForSentenceTransformers(Protocol):
    """A model that can be written as a folder of the package sentence-transformers, with vectors of length 1."""

    def save_for_sentence_transformers(self, folder: Path) -> None:
        """Write everything that ``SentenceTransformer(folder)`` needs into an existing ``folder``."""
        ...


Distances = npt.NDArray[np.float32]


def cosine_distances(a: Vectors, b: Vectors) -> Distances:
    """Return (n,) 1 − cosine of row i of ``a`` and row i of ``b``; 1 where either row is zero."""
    _check_shapes(a, b)
    products = _row_sums(_product(a, b))
    norms = np.sqrt(_squared_norms(a) * _squared_norms(b))
    cosine = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return np.asarray(1 - cosine, np.float32)


def l1_distances(a: Vectors, b: Vectors) -> Distances:
    """Return (n,) sums of absolute differences of the rows, accumulated in float64."""
    _check_shapes(a, b)
    return np.asarray(_row_sums(abs(a - b)), np.float32)


def l2_distances(a: Vectors, b: Vectors) -> Distances:
    """Return (n,) Euclidean distances of the rows."""
    _check_shapes(a, b)
    return np.asarray(np.sqrt(_squared_norms(a - b)), np.float32)


DISTANCES: dict[str, Callable[[Vectors, Vectors], Distances]] = {
    "cosine": cosine_distances,
    "l1": l1_distances,
    "l2": l2_distances,
    "mean-l1": l1_distances,  # differs from l1 by a constant factor, which changes no order
}


def bounded_rows(x: npt.NDArray[np.float32], bound: float) -> npt.NDArray[np.float32]:
    """Return (n, dim) rows, those longer than ``bound`` scaled to that length; a bound of 0 changes nothing."""
    if not bound:
        return x
    return np.asarray(x * (bound / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), bound)), np.float32)


def unit_length(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return (n, dim) rows scaled to length 1; zero rows stay zero."""
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0), np.float32)


def _check_shapes(a: Vectors, b: Vectors) -> None:
    if a.shape != b.shape:
        raise DataError(f"Distances are computed row by row, but the matrices have the shapes {a.shape} and {b.shape}.")


def _product(a: Any, b: Any) -> Any:
    return a.multiply(b) if sparse.issparse(a) else a * b


def _row_sums(x: Vectors) -> npt.NDArray[np.float64]:
    return np.asarray(x.sum(axis=1, dtype=np.float64)).ravel()


def _squared_norms(x: Vectors) -> npt.NDArray[np.float64]:
    return _row_sums(_product(x, x))
