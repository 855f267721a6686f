"""The only seams. Anything that keeps one of these protocols can be plugged in by a card (see ``core.registry``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from core.types import Article, Corpus, Labels, Matrix, Sentence, Vectors


class Report(Protocol):
    """How long work tells where it is, keeps what it must not lose, and learns that it should stop.

    Every method may raise :class:`core.errors.Cancelled`; call one of them at least every second or so.
    """

    def progress(self, done: float, total: float, message: str = "") -> None:
        """``done`` of ``total`` units (any unit; ``message`` names it). Raises ``Cancelled`` when asked to stop."""
        ...

    def metric(self, name: str, step: float, value: float) -> None:
        """One point of a live curve, such as ("validation accuracy", epoch 0.25, 0.61)."""
        ...

    def checkpoint_folder(self) -> Path | None:
        """A folder that survives a crash of this piece of work, or None where nothing is to be resumed."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns positioned sentences into vectors. Built as ``Cls(config, seed)``."""

    def __init__(self, config: Any, seed: int) -> None: ...

    def fit(self, corpus: Corpus, report: Report) -> None:
        """Learn from ``corpus``. Methods that learn nothing prepare their tables here."""
        ...

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, dim) float32, or a CSR array for methods tagged ``sparse``; row i is sentence i; n = 0 is allowed."""
        ...

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) distance of row i of ``a`` to row i of ``b``, in the distance this method is evaluated with."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything needed to embed elsewhere into ``folder``: safetensors and JSON, never pickle."""
        ...

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`. Raises :class:`core.errors.ArtifactError` on a damaged folder."""
        ...


@runtime_checkable
class Clusterer(Protocol):
    """Partitions the rows of a matrix. Built as ``Cls(config)``."""

    def __init__(self, config: Any) -> None: ...

    def cluster(self, x: Matrix, k: int | None, seed: int) -> Labels:
        """Return (n,) labels 0…k-1 in order of first appearance, or -1 for unassigned.

        ``k`` None: the method chooses the number of clusters, or raises ``ConfigError``.
        """
        ...


@runtime_checkable
class Reader(Protocol):
    """Streams articles out of a file; memory stays flat. Built as ``Cls(config)``."""

    def __init__(self, config: Any) -> None: ...

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield articles in file order. Raises :class:`core.errors.ReadError` with the position of the trouble."""
        ...

    @property
    def skipped(self) -> dict[str, int]:
        """What was passed over so far, by reason: {"redirect": 100, …}."""
        ...


@runtime_checkable
class Metric(Protocol):
    """Compares two partitions of the same items."""

    def score(self, truth: Labels, labels: Labels) -> float:
        """One number for (n,) ``truth`` and (n,) ``labels``."""
        ...


class Silent:
    """A report for work that nobody watches: library calls, tests."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Tell nobody."""

    def metric(self, name: str, step: float, value: float) -> None:
        """Tell nobody."""

    def checkpoint_folder(self) -> Path | None:
        """Name the folder given at the start, if any."""
        return self._folder


class Share:
    """A stage of some work as a report of its own: its 0…1 is ``low``…``high`` of the whole."""

    def __init__(self, report: Report, low: float, high: float) -> None:
        self._report, self._low, self._high = report, low, high
        self.metric, self.checkpoint_folder = report.metric, report.checkpoint_folder

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Scale the share."""
        self._report.progress(self._low + (self._high - self._low) * done / total, 1.0, message)
