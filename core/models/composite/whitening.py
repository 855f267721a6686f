"""Vectors turned to the principal axes of a corpus, with their spread evened out (PCA whitening)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

_LEAST = 1e-9  # of the largest variance: an axis with less is noise of rounding
Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class PrincipalAxes:
    """Where the vectors of a corpus lie. The zero vector says nothing, takes no part, and stays zero."""

    mean: Float32
    """(1, dim)."""
    axes: Float32
    """(dim, count), scaled."""

    @classmethod
    def of(cls, blocks: Iterable[Float32], count: int, evenness: float) -> Self:
        """The ``count`` first axes of the (n, dim) rows in ``blocks``; fewer where the rows span fewer.

        An axis is divided by its standard deviation to the power ``evenness``: 0 keeps the spread, 1 makes it equal.
        """
        n, total, products = 0, np.zeros(0), np.zeros((0, 0))
        for block in blocks:
            used = block[block.any(axis=1)].astype(np.float64)
            if not n:
                total, products = np.zeros(block.shape[1]), np.zeros((block.shape[1], block.shape[1]))
            n, total, products = n + len(used), total + used.sum(axis=0), products + used.T @ used
        mean = total / max(n, 1)
        values, vectors = np.linalg.eigh(products / max(n, 1) - np.outer(mean, mean))
        order = np.argsort(values)[::-1][:count]
        order = order[values[order] > _LEAST * values.max(initial=0.0)]
        axes = vectors[:, order] / values[order] ** (evenness / 2)
        return cls(mean[None].astype(np.float32), axes.astype(np.float32))

    def turned(self, x: Float32) -> Float32:
        """(n, count) coordinates of (n, dim) ``x``."""
        return np.where(x.any(axis=1, keepdims=True), (x - self.mean) @ self.axes, 0).astype(np.float32)
