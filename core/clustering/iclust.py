"""Iclust: information-based clustering in its sequential, annealed and blockwise forms.

Slonim, Atwal, Tkačik, Bialek 2005, PNAS 102:18297; used for sentences by Ein Dor et al. 2018, section 4.3.
It maximises F = (1/N) Σ_c S_c/n_c - T·H(C) over partitions into K clusters. With cosine similarity and T = 0 this is
the objective of k-means on unit vectors; moves of single items reach better optima than Lloyd's algorithm.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.inputs import (
    Square,
    canonical_labels,
    check_items,
    checked,
    cosine_matrix,
    gram_matrix,
    kernel_seed,
    squared_lengths,
    unit_rows,
)
from themescope.core.config import Config, option
from themescope.core.errors import ConfigError
from themescope.core.types import Labels, Matrix


@dataclass(frozen=True)
class IclustConfig(Config):
    """Settings of Iclust; the defaults are the paper's form."""

    temperature: float = option(
        0.0,
        "Temperature T, the weight of the subtracted entropy. Values above 0 favour unbalanced partitions.",
        low=0.0,
        high=10.0,
    )
    diagonal: bool = option(
        True, "Include the similarity of a sentence to itself. Without it, tiny clusters are not favoured."
    )
    restarts: int = option(10, "Number of random starts; the best is kept. 50 for final tables.", low=1, high=10_000)
    sweeps: int = option(50, "Maximum number of passes over the sentences in a start.", low=1, high=10_000)


class Iclust:
    """Hard Iclust on the cosine similarity of the rows."""

    def __init__(self, config: IclustConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty. A zero row has similarity 0 to all rows."""
        matrix, k = checked(x, k)
        return best_partition(cosine_matrix(matrix), k, self.config, seed)[0]


def best_partition(similarity: Square, k: int, config: IclustConfig, seed: int) -> tuple[Labels, float]:
    """Return (n,) labels and F of the best start, for any symmetric (n, n) ``similarity``.

    Raises :class:`themescope.core.errors.DataError` if there are fewer items than clusters.
    """
    from themescope.core.clustering import kernels

    check_items(len(similarity), k)
    if not config.diagonal:
        similarity = similarity.copy()
        np.fill_diagonal(similarity, 0.0)
    off = 0 if config.diagonal else 1
    labels, objective = kernels.iclust(
        similarity, k, config.restarts, config.sweeps, config.temperature, off, kernel_seed(seed)
    )
    return canonical_labels(labels), float(objective)


@dataclass(frozen=True)
class AnnealedConfig(Config):
    """Settings of annealed Iclust."""

    inverse_temperatures: tuple[float, ...] = option(
        (5.0, 10.0, 20.0, 40.0),
        "1/T of each stage, increasing; a stage starts from the result of the previous one.",
        low=0.1,
        high=1e4,
    )
    restarts: int = option(5, "Number of random starts; the best is kept.", low=1, high=1000)
    tolerance: float = option(1e-4, "A stage ends when no probability changes by more than this.", low=1e-12, high=0.1)
    rounds: int = option(200, "Maximum number of rounds in a stage.", low=1, high=100_000)
    sweeps: int = option(50, "Maximum number of passes of single moves at the end.", low=1, high=10_000)

    def validate(self) -> None:
        """Reject a schedule that is empty or not increasing."""
        stages = self.inverse_temperatures
        if not stages or any(later <= earlier for earlier, later in pairwise(stages)):
            name = self.named("inverse_temperatures")
            raise ConfigError(f"{name} must increase from stage to stage, not {list(stages)}.")


class AnnealedIclust:
    """Soft Iclust on cosines at falling temperatures: P(C|i) ∝ P(C)·exp{[2 s(C;i) - s(C)]/T}, then moves at T = 0."""

    def __init__(self, config: AnnealedConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty."""
        from themescope.core.clustering import kernels

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


_MOST = 1_000_000
_QUIET_ROUNDS = 5
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BlockConfig(Config):
    """Settings of Iclust in blocks."""

    block: int = option(
        2_000, "Number of sentences in a block, whose similarities take 8 · block² bytes.", low=2, high=12_000
    )
    restarts: int = option(3, "Number of random starts; the best is kept.", low=1, high=1_000)
    sweeps: int = option(2, "Number of passes over a block in a round.", low=1, high=1_000)
    rounds: int = option(60, "Maximum number of rounds in a start.", low=1, high=100_000)
    change: float = option(
        0.01,
        "A start ends when the share of moved sentences, averaged over five rounds, falls below this.",
        low=0,
        high=1,
    )
    seconds: float = option(0.0, "Time after which no further round starts; 0 sets no limit. With a limit, results "
                            "depend on the machine.", low=0, high=1e6, unit="s")  # fmt: skip
    diagonal: bool = option(True, "Include the similarity of a sentence to itself.")


class BlockIclust:
    """Hard Iclust at T = 0 on cosines for many items (Yom-Tov and Slonim 2009, Parallel pairwise clustering, SDM).

    Each round divides the items at random into blocks whose similarities fit into memory. A block starts from the
    current labels, so that clusters keep their identity across blocks.
    """

    def __init__(self, config: BlockConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty. A zero row has similarity 0 to all rows."""
        matrix, k = checked(x, k, _MOST)
        unit = unit_rows(matrix)
        rng = np.random.default_rng(seed)
        ends = time.monotonic() + self.config.seconds if self.config.seconds else float("inf")
        best, best_labels = -np.inf, np.zeros(unit.shape[0], np.int64)
        for _ in range(self.config.restarts):
            labels = self._start(unit, k, rng, ends)
            found = objective(unit, labels, k, diagonal=self.config.diagonal)
            if found > best:
                best, best_labels = found, labels
            if time.monotonic() > ends:
                break
        return canonical_labels(best_labels)

    def _start(self, unit: Matrix, k: int, rng: np.random.Generator, ends: float) -> Integers:
        """Return the labels after rounds from a random partition until few items move."""
        n = unit.shape[0]
        labels = np.asarray(rng.integers(k, size=n), np.int64)
        labels[rng.permutation(n)[:k]] = np.arange(k)
        parts = -(-n // self.config.block)
        shares: list[float] = []
        for _ in range(self.config.rounds):
            before = labels.copy()
            for rows in np.array_split(rng.permutation(n), parts):
                labels[rows] = self._block(unit, rows, labels[rows], k, rng)
            shares.append(float((labels != before).mean()))
            quiet = len(shares) >= _QUIET_ROUNDS and np.mean(shares[-_QUIET_ROUNDS:]) < self.config.change
            if quiet or shares[-1] == 0.0 or time.monotonic() > ends:
                break
        return labels

    def _block(self, unit: Matrix, rows: Integers, labels: Integers, k: int, rng: np.random.Generator) -> Integers:
        from themescope.core.clustering import kernels

        similarity = gram_matrix(unit[rows])
        if not self.config.diagonal:
            np.fill_diagonal(similarity, 0.0)
        moved = labels.copy()
        state = np.array([kernel_seed(int(rng.integers(2**63)))], np.uint64)
        kernels.sequential(similarity, moved, k, 0.0, 0 if self.config.diagonal else 1, self.config.sweeps, state)
        return moved


def objective(unit: Matrix, labels: npt.NDArray[np.integer], k: int, *, diagonal: bool = True) -> float:
    """Return F at T = 0 of (n,) ``labels`` over unit rows, where S_c is the squared length of a cluster's sum."""
    n = unit.shape[0]
    member = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k)).T
    within, sizes = squared_lengths(member @ unit), np.bincount(labels, minlength=k).astype(np.float64)
    if not diagonal:
        within, sizes = within - member @ squared_lengths(unit), sizes - 1
    return float(np.divide(within, sizes, out=np.zeros_like(within), where=sizes > 0).sum() / n)
