"""Base classes of all models, and the distances that vectors are compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.config import Config
from themescope.core.errors import DataError, TrainingError
from themescope.core.models.artifact import (
    load_submodels,
    read_json,
    read_settings,
    save_submodels,
    write_json,
    write_settings,
)
from themescope.core.types import SILENT, Corpus, FittedModel, Float32, Report, Sentence, Vectors

_TRAINING = "training.json"
T = TypeVar("T")


class BaseModel(ABC):
    """A model as ``core.types.Model`` defines it.

    Subclasses add ``fit`` and ``embed`` and, if they learn anything, ``_write`` and ``_read``.
    """

    config_class: ClassVar[type[Config]]
    """Class of :attr:`config`, which a saved model is read with; the class statement names it as ``config=…``."""

    def __init_subclass__(cls, config: type[Config] | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        if config is not None:
            cls.config_class = config

    def __init__(self, config: Any, seed: int) -> None:
        self.config, self.seed = config, seed

    @abstractmethod
    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn from ``corpus`` and return self."""

    @abstractmethod
    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors, row i for sentence i."""

    def save(self, folder: Path) -> None:
        """Write settings and everything learned into ``folder``. Raises ``DataError`` before the first fit."""
        self._write(folder)
        write_settings(folder, self.config, self.seed)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote. Raises ``ArtifactError`` for a damaged folder."""
        model = cls(*read_settings(folder, cls.config_class))
        model._read(folder)
        return model

    def _write(self, folder: Path) -> None:  # noqa: B027  # some models learn nothing
        """Write what was learned into ``folder``."""

    def _read(self, folder: Path) -> None:  # noqa: B027
        """Read what :meth:`_write` wrote."""

    def _fitted(self, part: T | None) -> T:
        """Return a part of the model that ``fit`` and ``load`` set; raises ``DataError`` before."""
        if part is None:
            raise DataError("This model is not fitted yet. Call fit() first, or load a saved model.")
        return part

    @property
    def distance(self) -> str:
        """Name of the distance in :data:`themescope.core.models.base.DISTANCES` that this model is evaluated with."""
        return "cosine"

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """Return (n,) distances of row i of ``a`` to row i of ``b``."""
        return DISTANCES[self.distance](a, b)


class TrainedModel(BaseModel):
    """A model whose training has metrics, which are saved with it."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self.metrics: dict[str, float] = {}
        """Metrics of the training: the measure that decides, losses, steps, seconds, speed."""
        self.history: list[dict[str, float]] = []
        """One row for each validation, see :class:`themescope.core.models.networks.Trained`."""

    def save(self, folder: Path) -> None:
        """Write settings, everything learned and the metrics of the training."""
        super().save(folder)
        history = {"history": self.history} if self.history else {}
        write_json(folder / _TRAINING, {"metrics": self.metrics, **history})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote. Raises ``ArtifactError`` for a damaged folder."""
        model, course = super().load(folder), read_json(folder / _TRAINING)
        model.metrics, model.history = course.get("metrics", {}), course.get("history", [])
        return model


class CombiningModel(BaseModel):
    """A model that embeds with other fitted models, which are saved with it."""

    _models: tuple[FittedModel, ...] = ()

    @property
    def submodels(self) -> tuple[FittedModel, ...]:
        """The models that this one is built on."""
        return self._fitted(self._models or None)

    def cut_off(self, sentences: Sequence[Sentence]) -> int:
        """Return the number of sentences of which a submodel reads only the beginning."""
        return max((cut_off(model, sentences) for model in self._models), default=0)

    def _take(self, models: Sequence[FittedModel], purpose: str, dense: str = "") -> None:
        """Embed with ``models``. Raises ``DataError`` without models and, if ``dense`` says why, for a sparse one."""
        if not models:
            raise DataError(f"{purpose} Name one or more models.")
        if dense and any(sparse.issparse(model.embed([])) for model in models):
            raise DataError(f"{dense} Name models with dense vectors only.")
        self._models = tuple(models)

    def _write(self, folder: Path) -> None:
        save_submodels(self.submodels, folder)

    def _read(self, folder: Path) -> None:
        self._models = tuple(load_submodels(folder))


def require_learned(metrics: Mapping[str, float]) -> None:
    """Raise :class:`TrainingError` for the metrics of a training of which no state is better than its start."""
    if metrics.get("steps") and not metrics.get("best step", 1):
        raise TrainingError(
            f"Nothing was learned: in {metrics['steps']:,.0f} steps no state was better on the validation data than "
            "the one before the first step, so there is no model. Train on more data or for more epochs, or with "
            "another learning rate; triplet networks learn from few triplets with loss=section, the default."
        )


def cut_off(model: FittedModel, sentences: Sequence[Sentence]) -> int:
    """Return the number of sentences of which a model reads only the beginning, 0 if it has no method of that name."""
    count: Callable[[Sequence[Sentence]], int] | None = getattr(model, "cut_off", None)
    return 0 if count is None else count(sentences)


def cosine_distances(a: Vectors, b: Vectors) -> Float32:
    """Return (n,) 1 − cosine of row i of ``a`` and row i of ``b``; 1 where either row is zero."""
    _check_shapes(a, b)
    products = _row_sums(_product(a, b))
    norms = np.sqrt(_squared_norms(a) * _squared_norms(b))
    cosine = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return np.asarray(1 - cosine, np.float32)


def l1_distances(a: Vectors, b: Vectors) -> Float32:
    """Return (n,) sums of absolute differences of the rows, accumulated in float64."""
    _check_shapes(a, b)
    return np.asarray(_row_sums(abs(a - b)), np.float32)


def l2_distances(a: Vectors, b: Vectors) -> Float32:
    """Return (n,) Euclidean distances of the rows."""
    _check_shapes(a, b)
    return np.asarray(np.sqrt(_squared_norms(a - b)), np.float32)


DISTANCES: dict[str, Callable[[Vectors, Vectors], Float32]] = {
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
