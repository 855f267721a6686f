"""Random labels as a baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.clustering.inputs import canonical_labels, check_items
from core.config import Config
from core.types import Labels, Matrix


@dataclass(frozen=True)
class RandomConfig(Config):
    """Random labels have no settings."""


class RandomLabels:
    """One random sentence for every cluster, the others uniform."""

    def __init__(self, config: RandomConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """(n,) labels 0…k-1, every cluster non-empty; only the number of rows of ``x`` matters."""
        n = x.shape[0]
        k = check_items(n, k)
        rng = np.random.default_rng(seed)
        labels = np.asarray(rng.integers(k, size=n), np.int64)
        labels[rng.permutation(n)[:k]] = np.arange(k)
        return canonical_labels(labels)
