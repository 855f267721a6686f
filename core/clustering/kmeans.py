"""k-means in the variants compatible with Ein Dor et al. 2018.

All use the matrix of inner products, which is smaller than the vectors of an article and also serves sparse rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log

import numpy as np

from themescope.core.clustering.inputs import Square, canonical_labels, checked, cosine_matrix, gram_matrix, kernel_seed
from themescope.core.config import Config, option
from themescope.core.types import Labels, Matrix


@dataclass(frozen=True)
class KMeansConfig(Config):
    """Settings of every k-means variant."""

    seeding: str = option(
        "greedy-k-means++",
        "Choice of initial centres: greedy k-means++ (the best of 2 + ln k draws for each centre, as in scikit-learn) "
        "or plain k-means++. Results depend on it, so state it in tables.",
        choices=("greedy-k-means++", "k-means++"),
    )
    restarts: int = option(
        10, "Number of starts; the one with the smallest sum of distances is kept.", low=1, high=10_000
    )
    iterations: int = option(300, "Maximum number of passes in a start.", low=1, high=100_000)

    def candidates(self, k: int) -> int:
        """Return the number of draws for each centre."""
        return 2 + int(log(k)) if self.seeding == "greedy-k-means++" else 1


class _GramKMeans(ABC):
    spherical = False

    def __init__(self, config: KMeansConfig) -> None:
        self.config = config

    @abstractmethod
    def gram(self, x: Matrix) -> Square:
        """Return the (n, n) inner products of the clustered rows."""

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty."""
        from themescope.core.clustering import kernels

        matrix, k = checked(x, k)
        config = self.config
        labels, _ = kernels.lloyd(
            self.gram(matrix),
            k,
            config.restarts,
            config.iterations,
            config.candidates(k),
            self.spherical,
            kernel_seed(seed),
        )
        return canonical_labels(labels)


class UnitKMeans(_GramKMeans):
    """Euclidean k-means on rows of length 1; a zero row stays at the origin."""

    def gram(self, x: Matrix) -> Square:
        """Return the cosines."""
        return cosine_matrix(x)


class RawKMeans(_GramKMeans):
    """Euclidean k-means on unscaled rows."""

    def gram(self, x: Matrix) -> Square:
        """Return the inner products of the centred rows, which lose no precision far from the origin."""
        products = gram_matrix(x)
        means = products.mean(axis=0)
        return np.ascontiguousarray(products - means[:, None] - means[None, :] + means.mean())


class SphericalKMeans(UnitKMeans):
    """Assignment by largest cosine to the normalised sum of a cluster's unit vectors."""

    spherical = True
