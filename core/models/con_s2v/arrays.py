"""Arrays that the compiled loops work on: named tuples, tables of vectors, and noise distributions.

A noise distribution is an alias table (Walker 1977; Vose 1991), from which an item is drawn in constant time. A cell
packs a 32-bit threshold (high half) and the item that is drawn above it (low half).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float32]  # (rows, width), contiguous
LEAST_RATE = 1e-4
"""Minimum of the learning rate, as a share of the initial one."""
_LINE = 16  # number of float32 in a cache line
_FLATTENED = 0.75  # noise is drawn with probability ∝ count to this power
_WHOLE = float(1 << 32)

AliasTable = npt.NDArray[np.uint64]
Sums = npt.NDArray[np.float64]  # content loss, content steps, neighbour loss, neighbour steps
BLOCK_WORDS = 40_000
"""Number of words that a thread processes between two reports."""


class Tables(NamedTuple):
    """Learned tables: (rows, dim) float32 each; a table that a training does not use has no rows."""

    sentences: Any
    """φ, vectors of sentences."""
    words: Any
    """w, output vectors of words."""
    nodes: Any
    """g, output vectors of sentences."""
    inputs: Any
    """Input vectors of words (modes reference, dm and fastsent)."""


class TextArrays(NamedTuple):
    """Text: sentence i has the words ``ids[starts[i]:starts[i + 1]]``; ``keep`` (words,) are subsampling thresholds."""

    ids: Any
    starts: Any
    keep: Any


class Context(NamedTuple):
    """Graph: the neighbours of sentence i are ``targets[starts[i]:starts[i + 1]]``."""

    targets: Any
    starts: Any


class Noise(NamedTuple):
    """Alias tables of noise words and noise sentences, and the number of draws in each step."""

    words: Any
    nodes: Any
    drawn: int


class Losses(NamedTuple):
    """Losses that are trained (Saha et al. 2017, section 3)."""

    content: bool
    neighbours: float
    """Learning rate of neighbour prediction as a share of the learning rate; 0 switches it off."""
    strength: float
    """Weight λ of proximity; 0 switches it off."""
    implicit: bool
    window: int
    """Size of the window in mode reference; 0 for mode paper."""


class Span(NamedTuple):
    """Sentences low ≤ i < high of one pass, and the progress of the whole training."""

    low: int
    high: int
    rate: float
    """Initial learning rate α₀."""
    done: int
    """Number of words in earlier passes."""
    total: int
    """Number of words in all passes."""
    seed: int


class Buffers(NamedTuple):
    """Buffers of a thread: (dim,) gradient and mean, (S + 1,) targets, (longest,) kept words, random state."""

    gradient: Any
    mean: Any
    targets: Any
    kept: Any
    state: Any


def empty_table(rows: int, dim: int) -> Table:
    """Return (rows, width) zeros; width is ``dim`` rounded up to whole cache lines, to which rows are aligned.

    The dimensions beyond ``dim`` stay 0 in training, because a step adds multiples of other rows only.
    """
    width = -(-dim // _LINE) * _LINE
    buffer = np.zeros(rows * width + _LINE, np.float32)
    offset = (-buffer.ctypes.data % (4 * _LINE)) // 4
    return buffer[offset : offset + rows * width].reshape(rows, width)


def random_table(rows: int, dim: int, random: np.random.Generator) -> Table:
    """Return a (rows, width) table with entries ~ U(-0.5/dim, 0.5/dim), and 0 beyond ``dim``."""
    table = empty_table(rows, dim)
    table[:, :dim] = (random.random((rows, dim), np.float32) - np.float32(0.5)) / np.float32(dim)
    return table


def word_noise(counts: npt.NDArray[np.int64]) -> AliasTable:
    """Return the alias table of noise words: ψ_c ∝ count^¾."""
    return alias_table(counts.astype(np.float64) ** _FLATTENED)


def node_noise(targets: npt.NDArray[np.int32], nodes: int) -> AliasTable:
    """Return the alias table of noise sentences: ψ_g ∝ (1 + c)^¾, c being the number of their neighbours."""
    lists = np.bincount(targets, minlength=nodes).astype(np.float64)
    return alias_table((1 + lists) ** _FLATTENED)


def keep_thresholds(counts: npt.NDArray[np.int64], subsampling: float) -> AliasTable:
    """Return (words,) thresholds: a word is kept when a 32-bit random number is below 2³² · keep probability."""
    share = keep_probability(counts, subsampling)
    return np.asarray(np.rint(share * _WHOLE), np.uint64)


def keep_probability(counts: npt.NDArray[np.int64], subsampling: float) -> npt.NDArray[np.float64]:
    """Return (words,) probabilities min(1, (√(f/t) + 1)·t/f), f being relative frequency; 1 where t is 0."""
    frequency = np.maximum(counts, 1) / max(int(counts.sum()), 1)
    if not subsampling:
        return np.ones(len(counts))
    ratio = subsampling / frequency
    return np.asarray(np.minimum(1.0, (np.sqrt(1 / ratio) + 1) * ratio))


def alias_table(weights: npt.NDArray[np.float64]) -> AliasTable:
    """Return the alias table of a distribution ∝ ``weights`` (items,), the uniform one where all are 0."""
    total = weights.sum()
    scaled = (weights / total if total > 0 else np.full(len(weights), 1 / max(len(weights), 1))) * len(weights)
    threshold, alias = np.ones(len(weights)), np.arange(len(weights))
    small = np.flatnonzero(scaled < 1).tolist()
    large = np.flatnonzero(scaled >= 1).tolist()
    left = scaled.tolist()
    while small and large:
        low, high = small.pop(), large[-1]
        threshold[low], alias[low] = left[low], high
        left[high] -= 1 - left[low]
        if left[high] < 1:
            small.append(large.pop())
    cells = np.minimum(threshold * _WHOLE, _WHOLE - 1).astype(np.uint64) << np.uint64(32)
    return np.asarray(cells | alias.astype(np.uint64))


def probabilities(table: AliasTable) -> npt.NDArray[np.float64]:
    """Return the (items,) probabilities of an alias table, exact to 2⁻³²."""
    threshold = (table >> np.uint64(32)).astype(np.float64) / _WHOLE
    found = threshold.copy()
    np.add.at(found, (table & np.uint64(0xFFFFFFFF)).astype(np.int64), 1 - threshold)
    return found / len(table)
