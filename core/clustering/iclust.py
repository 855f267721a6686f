"""Iclust: information-based clustering, whole and in blocks.

Slonim, Atwal, Tkačik, Bialek 2005, PNAS 102:18297; used for sentences by Ein Dor et al. 2018, section 5.1.
It maximises F = (1/N) Σ_c S_c/n_c - T·H(C) over partitions into K clusters. With cosine similarity and T = 0 this is
the objective of k-means on unit vectors; moves of single items reach better optima than Lloyd's algorithm.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.inputs import (
    Square,
    canonical_labels,
    check_items,
    checked,
    cosine_matrix,
    extended_unit,
    gram_matrix,
    kernel_seed,
    squared_lengths,
    unit_rows,
)
from themescope.core.config import Config, option
from themescope.core.types import Index, Labels, Matrix


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
    settings = config.restarts, config.sweeps, config.temperature, 0 if config.diagonal else 1
    labels, objective = kernels.iclust(similarity, k, *settings, kernel_seed(seed))
    return canonical_labels(labels), float(objective)


_MOST = 1_000_000
_PER_CLUSTER = 20


@dataclass(frozen=True)
class BlockConfig(Config):
    """Settings of Iclust in blocks."""

    block: int = option(
        500, "Number of sentences in a block, whose similarities are computed at once.", low=2, high=12_000
    )
    sample: int = option(
        5_000,
        "Number of sentences drawn for the random starts, at least 20 for each cluster; the best start is then "
        "improved with all sentences.",
        low=100,
        high=1_000_000,
    )
    restarts: int = option(3, "Number of random starts; the best is kept.", low=1, high=1_000)
    sweeps: int = option(2, "Number of passes over a block in a round.", low=1, high=1_000)
    rounds: int = option(60, "Maximum number of rounds in a start, and with all sentences.", low=1, high=100_000)
    change: float = option(0.01, "Rounds end when the share of moved sentences falls below this.", low=0, high=1)
    seconds: float = option(
        0.0,
        "Time after which no further round starts; 0 sets no limit. With a limit, results depend on the machine.",
        low=0,
        high=1e6,
        unit="s",
    )
    diagonal: bool = option(True, "Include the similarity of a sentence to itself.")


class BlockIclust:
    """Hard Iclust at T = 0 on cosines for many items (Yom-Tov and Slonim 2009, Parallel pairwise clustering, SDM).

    Each round divides the items at random into blocks whose similarities fit into memory. As the similarity is an inner
    product, that of an item to a whole cluster is the product with the sum of its unit vectors: unlike in the paper,
    items are compared with all items of a cluster, not only with those in the block.
    """

    def __init__(self, config: BlockConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1, every cluster non-empty. A zero row has similarity 0 to all rows."""
        matrix, k = checked(x, k, _MOST)
        unit = unit_rows(matrix)
        n = unit.shape[0]
        rng = np.random.default_rng(seed)
        ends = time.monotonic() + self.config.seconds if self.config.seconds else float("inf")
        rows = np.sort(rng.permutation(n)[: max(self.config.sample, _PER_CLUSTER * k)])
        sample = unit if len(rows) == n else unit[rows]
        best, best_labels = -np.inf, np.zeros(len(rows), np.int64)
        for _ in range(self.config.restarts):
            labels = np.asarray(rng.integers(k, size=len(rows)), np.int64)
            labels[rng.permutation(len(rows))[:k]] = np.arange(k)
            self._improve(sample, labels, k, rng, ends)
            found = objective(sample, labels, k, diagonal=self.config.diagonal)
            if found > best:
                best, best_labels = found, labels
            if time.monotonic() > ends:
                break
        if len(rows) < n:
            best_labels = np.asarray(extended_unit(unit, rows, best_labels, k), np.int64)
            self._improve(unit, best_labels, k, rng, ends)
        return canonical_labels(best_labels)

    def _improve(self, unit: Matrix, labels: Index, k: int, rng: np.random.Generator, ends: float) -> None:
        """Change ``labels`` by rounds until few items move."""
        from themescope.core.clustering import kernels

        n = unit.shape[0]
        parts = -(-n // self.config.block)
        off = 0 if self.config.diagonal else 1
        lengths = squared_lengths(unit) if off else np.zeros(n)
        for _ in range(self.config.rounds):
            sums: Any = membership(labels, k) @ unit
            sizes = np.bincount(labels, minlength=k)
            within = squared_lengths(sums) - np.bincount(labels, lengths, k)
            moved = 0
            for rows in np.array_split(rng.permutation(n), parts):
                block, before = unit[rows], labels[rows]
                after = before.copy()
                similarity, near = gram_matrix(block), sums @ block.T
                near = np.ascontiguousarray(near.toarray() if sparse.issparse(near) else near)
                if off:
                    np.fill_diagonal(similarity, 0.0)
                    near[before, np.arange(len(rows))] -= lengths[rows]
                state = np.array([kernel_seed(int(rng.integers(2**63)))], np.uint64)
                kernels.improve(similarity, after, near, within, sizes, 0.0, off, self.config.sweeps, state)
                if (changed := np.flatnonzero(after != before)).size:
                    labels[rows] = after
                    sums = sums + (membership(after[changed], k) - membership(before[changed], k)) @ block[changed]
                    moved += len(changed)
            if moved <= self.config.change * n or time.monotonic() > ends:
                break


def membership(labels: npt.NDArray[np.integer], k: int) -> Any:
    """Return the (k, n) sparse matrix with a one for each item in the row of its cluster."""
    n = len(labels)
    return sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k)).T


def objective(unit: Matrix, labels: npt.NDArray[np.integer], k: int, *, diagonal: bool = True) -> float:
    """Return F at T = 0 of (n,) ``labels`` over unit rows, where S_c is the squared length of a cluster's sum."""
    n, member = unit.shape[0], membership(labels, k)
    within, sizes = squared_lengths(member @ unit), np.bincount(labels, minlength=k).astype(np.float64)
    if not diagonal:
        within, sizes = within - member @ squared_lengths(unit), sizes - 1
    return float(np.divide(within, sizes, out=np.zeros_like(within), where=sizes > 0).sum() / n)
