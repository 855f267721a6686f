"""A metric learned from pairs, on the vectors of another model: ``linear-metric``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.models.artifact import read_tensors, write_tensors
from themescope.core.models.base import CombiningModel, unit_length
from themescope.core.types import SILENT, Corpus, FittedModel, Floats, Report, Sentence, Split, TripletTexts, Vectors

# A metric learned from pairs that belong together and pairs that do not, in closed form: ``linear-metric``

_NEGLIGIBLE = 1e-3
_SMALLEST = 1e-6


@dataclass(frozen=True)
class LinearMetricConfig(Config):
    """Settings of a learned metric; the defaults were chosen on validation articles (docs/experiments.md)."""

    weight: float = option(2.0, "Weight w of the pairs against the identity; 0 learns nothing.", low=0.0, high=1e6)
    balance: float = option(
        0.2, "Exponent t: 0 uses only pairs that belong together, 1 only pairs that do not.", low=0.0, high=1.0
    )


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """The square root of a metric, I + Vᵀ (diag(f) - I) V, which is symmetric and positive definite."""

    axes: Floats
    """(r, dim) orthonormal rows V."""
    factors: Floats
    """(r,) factors f > 0: above 1 an axis is stretched, below 1 it is shrunk."""

    def apply(self, x: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        """Return (n, dim) rows of ``x`` under the map."""
        along = (x @ self.axes.T) * (self.factors - 1)
        return np.asarray(x + along @ self.axes, dtype=np.float32)

    def metric(self) -> Floats:
        """Return the (dim, dim) metric M."""
        dim = self.axes.shape[1]
        return np.asarray(np.eye(dim) + (self.axes.T * (self.factors**2 - 1)) @ self.axes)


def learn_directions(
    x: npt.NDArray[np.floating],
    first: npt.NDArray[np.integer],
    second: npt.NDArray[np.integer],
    together: npt.NDArray[np.bool_],
    config: LinearMetricConfig,
) -> Directions:
    """Return the metric of p pairs of the rows of ``x`` (m, dim), which have length 1 or 0.

    ``first`` and ``second`` (p,) are rows, ``together`` (p,) says whether the two belong together.
    """
    rows = np.asarray(x, dtype=np.float64)
    axes = np.zeros((0, rows.shape[1]))
    if len(rows) > 1:  # orthonormal axes of the differences of rows
        _, lengths, found = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        axes = found[lengths > _SMALLEST * max(float(lengths[0]), _SMALLEST)]
    reduced = rows @ axes.T
    within, between = (_scatter(reduced, first[kind], second[kind]) for kind in (together, ~together))
    scale = (np.trace(within) + np.trace(between)) / 2
    if not config.weight or not len(axes) or scale < _SMALLEST:
        return Directions(np.zeros((0, rows.shape[1])), np.zeros(0))
    share, identity = config.weight * len(rows) / scale, np.eye(len(axes))
    # A^-1 #_t B = A^-½ (A^½ B A^½)^t A^-½
    a, b = identity + share * within, identity + share * between
    root, inverse = _power(a, 0.5), _power(a, -0.5)
    values, vectors = np.linalg.eigh(inverse @ _power(root @ b @ root, config.balance) @ inverse)
    factors = np.sqrt(values)
    kept = np.abs(np.log(factors)) > _NEGLIGIBLE
    return Directions(vectors.T[kept] @ axes, factors[kept])


def _scatter(x: Floats, first: npt.NDArray[np.integer], second: npt.NDArray[np.integer]) -> Floats:
    """Return the mean outer product of the differences of pairs of rows, XᵀLX / p with the Laplacian L of the pairs."""
    laplacian = np.zeros((len(x), len(x)))
    np.add.at(laplacian, (first, second), -1.0)
    laplacian += laplacian.T
    np.fill_diagonal(laplacian, laplacian.diagonal() - laplacian.sum(axis=1))
    return np.asarray(x.T @ laplacian @ x / max(len(first), 1))


def _power(matrix: Floats, exponent: float) -> Floats:
    """Return a real power of a positive definite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, _SMALLEST) ** exponent) @ vectors.T)


_FILE = "axes.safetensors"
_MOST = 2_000
"""Maximum number of sentences whose triplets are used; the metric then has at most as many axes as they have."""


class LinearMetric(CombiningModel):
    """Vectors of other models under a learned metric, cosine distance."""

    config_class: ClassVar[type[Config]] = LinearMetricConfig
    config: LinearMetricConfig

    def __init__(self, config: LinearMetricConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._directions: Directions | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn from the training triplets: pivot and positive belong together, pivot and negative do not.

        Raises ``DataError`` without triplets or models, and for a model with sparse vectors.
        """
        triplets = corpus.triplets.get(Split.TRAIN)
        if triplets is None or not len(triplets):
            raise DataError("This method learns from training triplets. Choose a triplet set.")
        purpose = "This method learns a metric on the vectors of fitted models."
        self._take(corpus.models, purpose, "A metric is learned on dense vectors.")
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
        return self._fitted(self._directions).apply(self._concatenated(sentences))

    def _concatenated(self, sentences: Sequence[Sentence]) -> npt.NDArray[np.float32]:
        """Return the vectors of all models at length 1, concatenated, of length at most 1."""
        parts = [unit_length(np.asarray(model.embed(sentences), np.float32)) for model in self._models]
        return np.concatenate(parts, axis=1) / np.float32(np.sqrt(len(parts)))

    def _write(self, folder: Path) -> None:
        directions = self._fitted(self._directions)
        super()._write(folder)
        write_tensors(folder / _FILE, {"axes": directions.axes, "factors": directions.factors})

    def _read(self, folder: Path) -> None:
        super()._read(folder)
        found: dict[str, Any] = read_tensors(folder / _FILE, ("axes", "factors"))
        self._directions = Directions(found["axes"], found["factors"])


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
