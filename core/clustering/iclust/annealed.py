"""Iclust in its soft form with falling temperature (Slonim et al. 2005), hardened at the end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.clustering.inputs import canonical_labels, checked, cosine_matrix, kernel_seed
from core.config import Config, option
from core.errors import ConfigError
from core.types import Labels, Matrix


@dataclass(frozen=True)
class AnnealedConfig(Config):
    """Settings of annealed Iclust."""

    inverse_temperatures: tuple[float, ...] = option(
        (5.0, 10.0, 20.0, 40.0), "1/T of each stage, rising; each starts from the stage before.", low=0.1, high=1e4
    )
    restarts: int = option(5, "Random starts, of which the best is kept.", low=1, high=1000)
    tolerance: float = option(1e-4, "A stage ends when no probability moves further.", low=1e-12, high=0.1)
    rounds: int = option(200, "Most rounds in a stage.", low=1, high=100_000)
    sweeps: int = option(50, "Most passes of single moves after hardening.", low=1, high=10_000)

    def validate(self) -> None:
        """Refuse a schedule that is empty or does not cool."""
        stages = self.inverse_temperatures
        if not stages or any(later <= earlier for earlier, later in pairwise(stages)):
            name = self.named("inverse_temperatures")
            raise ConfigError(f"{name} must rise from stage to stage, not {list(stages)}.")


class AnnealedIclust:
    """Soft Iclust on cosine similarity: P(C|i) ∝ P(C)·exp{[2 s(C;i) - s(C)]/T}, then single moves at T = 0."""

    def __init__(self, config: AnnealedConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """(n,) labels 0…k-1, every cluster non-empty."""
        from core.clustering.iclust import kernels

        matrix, k = checked(x, k)
        config = self.config
        temperatures = 1.0 / np.array(config.inverse_temperatures)
        labels, _ = kernels.anneal(
            cosine_matrix(matrix),
            k,
            temperatures,
            config.restarts,
            config.tolerance,
            config.rounds,
            config.sweeps,
            kernel_seed(seed),
        )
        return canonical_labels(labels)
