"""A metric learned from pairs that belong together and pairs that do not, in closed form.

The metric M is the geometric mean of two matrices (Zadeh, Hosseini, Sra 2016, Geometric Mean Metric Learning, equation
13), each regularised to the identity. With the mean outer product S of the differences of pairs that belong together
and D of pairs that do not, their common scale s = (tr S + tr D) / 2 and m sentences in pairs,

    M = A^-1 #_t B,    A = I + w m S / s,    B = I + w m D / s.

Without pairs M is the identity. The differences of m sentences span fewer than m dimensions, outside of which M is the
identity, so that everything is computed in that subspace: the metric has low rank, and takes a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config, option

Floats = npt.NDArray[np.float64]

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
    axes = _span(rows)
    reduced = rows @ axes.T
    within, between = (_scatter(reduced, first[kind], second[kind]) for kind in (together, ~together))
    scale = (np.trace(within) + np.trace(between)) / 2
    if not config.weight or not len(axes) or scale < _SMALLEST:
        return Directions(np.zeros((0, rows.shape[1])), np.zeros(0))
    share, identity = config.weight * len(rows) / scale, np.eye(len(axes))
    values, vectors = np.linalg.eigh(_geometric_mean(identity + share * within, identity + share * between, config))
    factors = np.sqrt(values)
    kept = np.abs(np.log(factors)) > _NEGLIGIBLE
    return Directions(vectors.T[kept] @ axes, factors[kept])


def _span(rows: Floats) -> Floats:
    """Return (r, dim) orthonormal axes of the differences of rows."""
    if len(rows) < 2:
        return np.zeros((0, rows.shape[1]))
    _, lengths, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return np.asarray(axes[lengths > _SMALLEST * max(float(lengths[0]), _SMALLEST)])


def _scatter(x: Floats, first: npt.NDArray[np.integer], second: npt.NDArray[np.integer]) -> Floats:
    """Return the mean outer product of the differences of pairs of rows, XᵀLX / p with the Laplacian L of the pairs."""
    laplacian = np.zeros((len(x), len(x)))
    np.add.at(laplacian, (first, second), -1.0)
    laplacian += laplacian.T
    np.fill_diagonal(laplacian, laplacian.diagonal() - laplacian.sum(axis=1))
    return np.asarray(x.T @ laplacian @ x / max(len(first), 1))


def _geometric_mean(within: Floats, between: Floats, config: LinearMetricConfig) -> Floats:
    """Return A^-1 #_t B = A^-½ (A^½ B A^½)^t A^-½ of positive definite matrices."""
    root, inverse = _power(within, 0.5), _power(within, -0.5)
    return inverse @ _power(root @ between @ root, config.balance) @ inverse


def _power(matrix: Floats, exponent: float) -> Floats:
    """Return a real power of a positive definite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, _SMALLEST) ** exponent) @ vectors.T)
