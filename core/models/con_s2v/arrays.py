"""What the compiled loops work on: named tuples of arrays, which numba takes apart without cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float32]  # (rows, width), contiguous
LEAST_RATE = 1e-4
"""The rate never falls below this share of the first one."""
_LINE = 16  # float32 in a cache line


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
