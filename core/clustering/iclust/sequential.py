"""Iclust: information-based clustering in its hard, sequential form.

Slonim, Atwal, Tkačik, Bialek 2005, PNAS 102:18297; used for sentences by Ein Dor et al. 2018, section 4.3.
Maximises F = (1/N) Σ_c S_c/n_c - T·H(C) over partitions into K clusters. With cosine similarity and T = 0 this is
the objective of k-means on unit vectors; single-item moves reach better optima than Lloyd's algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.clustering.inputs import Square, canonical_labels, check_items, checked, cosine_matrix, kernel_seed
from core.config import Config, option
from core.types import Labels, Matrix


@dataclass(frozen=True)
class IclustConfig(Config):
    """Settings of Iclust; the defaults are the paper's form."""

    temperature: float = option(
        0.0,
        "T: weight of the entropy that is subtracted. Above 0 it rewards unbalanced partitions.",
        low=0.0,
        high=10.0,
    )
    diagonal: bool = option(
        True, "Count a sentence's similarity to itself. Without it tiny clusters are no longer rewarded."
    )
    restarts: int = option(10, "Random starts, of which the best is kept; 50 for final tables.", low=1, high=10_000)
    sweeps: int = option(50, "Most passes over the sentences in a start.", low=1, high=10_000)


class Iclust:
    """Hard Iclust on the cosine similarity of the rows."""

    def __init__(self, config: IclustConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """(n,) labels 0…k-1, every cluster non-empty. A zero row is similar to nothing."""
        matrix, k = checked(x, k)
        return best_partition(cosine_matrix(matrix), k, self.config, seed)[0]


def best_partition(similarity: Square, k: int, config: IclustConfig, seed: int) -> tuple[Labels, float]:
    """Labels (n,) and F of the best start, for any symmetric (n, n) ``similarity``.

    Raises :class:`core.errors.DataError` when there are fewer items than clusters.
    """
    from core.clustering.iclust import kernels

    check_items(len(similarity), k)
    if not config.diagonal:
        similarity = similarity.copy()
        np.fill_diagonal(similarity, 0.0)
    off = 0 if config.diagonal else 1
    labels, objective = kernels.iclust(
        similarity, k, config.restarts, config.sweeps, config.temperature, off, kernel_seed(seed)
    )
    return canonical_labels(labels), float(objective)
