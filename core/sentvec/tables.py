"""What the compiled loops work on: named tuples of arrays, which numba takes apart without cost."""

from __future__ import annotations

from typing import Any, NamedTuple


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
    """Alias tables of noise words and noise sentences, see ``core.sentvec.noise``; how many are drawn a step."""

    words: Any
    nodes: Any
    drawn: int


class Steps(NamedTuple):
    """Which losses are trained (F.3)."""

    content: bool
    neighbours: bool
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
