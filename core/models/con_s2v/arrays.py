"""What the compiled loops work on: named tuples of arrays, which numba takes apart without cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float32]  # (rows, width), contiguous
LEAST_RATE = 1e-4
"""The rate never falls below this share of the first one."""
_LINE = 16  # float32 in a cache line
_FLATTENED = 0.75
_WHOLE = float(1 << 32)

AliasTable = npt.NDArray[np.uint64]


class Tables(NamedTuple):
    """What is learned: (rows, dim) float32 each; a table that a training does without has no rows."""

    sentences: Any
    """φ."""
    words: Any
    """w, outputs of words."""
    nodes: Any
    """g, outputs of sentences."""
    inputs: Any
    """Input vectors of words (modes reference, dm and fastsent)."""


class Text(NamedTuple):
    """Word ids of sentence i are ``ids[starts[i]:starts[i + 1]]``; ``keep`` (words,) of 2³² are trained on."""

    ids: Any
    starts: Any
    keep: Any


class Context(NamedTuple):
    """The neighbours of sentence i are ``targets[starts[i]:starts[i + 1]]``."""

    targets: Any
    starts: Any


class Noise(NamedTuple):
    """Alias tables of noise words and noise sentences, see ``core.models.con_s2v.noise``; how many are drawn a step."""

    words: Any
    nodes: Any
    drawn: int


class Steps(NamedTuple):
    """Which losses are trained (F.3)."""

    content: bool
    neighbours: float
    """Share of the rate at which neighbours are predicted; 0 for not at all."""
    strength: float
    """λ; 0 for no proximity."""
    implicit: bool
    window: int
    """0 for mode paper."""


class Span(NamedTuple):
    """Sentences low ≤ i < high of one pass, and where they stand in the whole training."""

    low: int
    high: int
    rate: float
    """The first rate α₀."""
    done: int
    """Words of earlier passes."""
    total: int
    """Words of all passes."""
    seed: int


class Work(NamedTuple):
    """Room that a thread works in: (dim,) gradient and mean, (S + 1,) targets, (longest,) kept words, random state."""

    gradient: Any
    mean: Any
    targets: Any
    kept: Any
    state: Any


def empty_table(rows: int, dim: int) -> Table:
    """(rows, width) zeros; width is ``dim`` rounded up to whole cache lines, and rows begin with one.

    The coordinates beyond ``dim`` stay 0 in training: a step moves a row along other rows only.
    """
    width = -(-dim // _LINE) * _LINE
    buffer = np.zeros(rows * width + _LINE, np.float32)
    offset = (-buffer.ctypes.data % (4 * _LINE)) // 4
    return buffer[offset : offset + rows * width].reshape(rows, width)


def random_table(rows: int, dim: int, random: np.random.Generator) -> Table:
    """(rows, width) with coordinates ~ U(-0.5/dim, 0.5/dim), and 0 beyond ``dim`` (F.3)."""
    table = empty_table(rows, dim)
    table[:, :dim] = (random.random((rows, dim), np.float32) - np.float32(0.5)) / np.float32(dim)
    return table


def word_noise(counts: npt.NDArray[np.int64]) -> AliasTable:
    """ψ_c ∝ count^¾ over the vocabulary."""
    return alias_table(counts.astype(np.float64) ** _FLATTENED)


def node_noise(targets: npt.NDArray[np.int32], nodes: int) -> AliasTable:
    """ψ_g ∝ (1 + c)^¾ over sentences, c = in how many neighbour lists a sentence stands."""
    lists = np.bincount(targets, minlength=nodes).astype(np.float64)
    return alias_table((1 + lists) ** _FLATTENED)


def keep_thresholds(counts: npt.NDArray[np.int64], subsampling: float) -> AliasTable:
    """(words,) of 2³²: a word is kept when a 32-bit draw is below min(1, (√(f/t) + 1)·t/f); all are where t = 0."""
    share = keep_probability(counts, subsampling)
    return np.asarray(np.rint(share * _WHOLE), np.uint64)


def keep_probability(counts: npt.NDArray[np.int64], subsampling: float) -> npt.NDArray[np.float64]:
    """(words,) probability that an occurrence is trained on; f is a word's relative frequency."""
    frequency = np.maximum(counts, 1) / max(int(counts.sum()), 1)
    if not subsampling:
        return np.ones(len(counts))
    ratio = subsampling / frequency
    return np.asarray(np.minimum(1.0, (np.sqrt(1 / ratio) + 1) * ratio))


def alias_table(weights: npt.NDArray[np.float64]) -> AliasTable:
    """The alias table of a distribution ∝ ``weights`` (items,); with no weight at all, the uniform one."""
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
    """(items,) the distribution that a table draws from, exact to 2⁻³²."""
    threshold = (table >> np.uint64(32)).astype(np.float64) / _WHOLE
    found = threshold.copy()
    np.add.at(found, (table & np.uint64(0xFFFFFFFF)).astype(np.int64), 1 - threshold)
    return found / len(table)
