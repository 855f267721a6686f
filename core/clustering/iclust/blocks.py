"""Iclust for many items (after Yom-Tov and Slonim 2009, Parallel pairwise clustering, SDM).

Each round splits the items at random into blocks whose similarities fit into memory. A block starts from the labels of
all items restricted to it, so that clusters keep their identity and the results of the blocks are simply put together.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from core.clustering.inputs import canonical_labels, checked, gram_matrix, kernel_seed, unit_rows
from core.config import Config, option
from core.types import Labels, Matrix

_MOST = 1_000_000
_QUIET_ROUNDS = 5
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BlockConfig(Config):
    """Settings of Iclust in blocks."""

    block: int = option(
        2_000, "Sentences in a block; a block's similarities take 8 · block² bytes.", low=2, high=12_000
    )
    restarts: int = option(3, "Random starts, of which the best is kept.", low=1, high=1_000)
    sweeps: int = option(2, "Passes over a block in a round.", low=1, high=1_000)
    rounds: int = option(60, "Most rounds in a start.", low=1, high=100_000)
    change: float = option(
        0.01, "A start ends when, on average over five rounds, a smaller share moves.", low=0, high=1
    )
    seconds: float = option(0.0, "Begin no further round after this time; 0: no limit. With a limit, results depend "
                            "on the machine.", low=0, high=1e6, unit="s")  # fmt: skip
    diagonal: bool = option(True, "Count a sentence's similarity to itself.")


class BlockIclust:
    """Hard Iclust at T = 0 on cosine similarity; memory is that of the vectors and of one block."""

    def __init__(self, config: BlockConfig) -> None:
        self.config = config

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """(n,) labels 0…k-1, every cluster non-empty. A zero row is similar to nothing."""
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
        """Rounds from a random partition until hardly anything moves."""
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
        from core.clustering.iclust import kernels

        similarity = gram_matrix(unit[rows])
        if not self.config.diagonal:
            np.fill_diagonal(similarity, 0.0)
        moved = labels.copy()
        state = np.array([kernel_seed(int(rng.integers(2**63)))], np.uint64)
        kernels.sequential(similarity, moved, k, 0.0, 0 if self.config.diagonal else 1, self.config.sweeps, state)
        return moved


def objective(unit: Matrix, labels: npt.NDArray[np.integer], k: int, *, diagonal: bool = True) -> float:
    """F at T = 0 of (n,) ``labels`` over unit rows, without a matrix: S_c is the squared length of a cluster's sum."""
    n = unit.shape[0]
    member = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k)).T
    within, sizes = _squares(member @ unit), np.bincount(labels, minlength=k).astype(np.float64)
    if not diagonal:
        within, sizes = within - member @ _squares(unit), sizes - 1
    return float(np.divide(within, sizes, out=np.zeros_like(within), where=sizes > 0).sum() / n)


def _squares(x: Any) -> npt.NDArray[np.float64]:
    """(n,) squared lengths of the rows."""
    products = x.multiply(x) if sparse.issparse(x) else x * x
    return np.asarray(products.sum(axis=1), np.float64).ravel()
