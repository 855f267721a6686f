"""The protocols of the library: what a model, a clusterer, a reader, a metric, an executor and a report implement.

An implementation is registered by a card (see :mod:`themescope.core.registry`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from themescope.core.types import Article, Corpus, FittedModel, Labels, Matrix, Shard


class Report(Protocol):
    """Progress report of a long computation: receives progress and metrics, provides checkpoints and cancellation.

    Every method may raise :class:`themescope.core.errors.Cancelled`. A long computation calls one of them about once a
    second.
    """

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Report that ``done`` of ``total`` units are done, in any unit. Raises ``Cancelled`` after a cancellation."""
        ...

    def metric(self, name: str, step: float, value: float) -> None:
        """Add one point to a live curve, such as ("validation accuracy", epoch 0.25, 0.61)."""
        ...

    def checkpoint_folder(self) -> Path | None:
        """Return a folder for checkpoints that survives a crash, or None if the computation is never resumed."""
        ...


class NullReport:
    """A report that discards everything; ``folder`` is its checkpoint folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Do nothing."""

    def metric(self, name: str, step: float, value: float) -> None:
        """Do nothing."""

    def checkpoint_folder(self) -> Path | None:
        """Return the folder given to the constructor."""
        return self._folder


SILENT = NullReport()
"""Default of every ``report`` parameter: reports nothing, keeps no checkpoints."""


class SubReport:
    """Progress report of one stage: its progress 0…1 becomes the range ``low``…``high`` of ``report``.

    ``message`` is the prefix of every message of the stage.
    """

    def __init__(self, report: Report, low: float, high: float, message: str = "") -> None:
        self._report, self._low, self._high, self._message = report, low, high, message

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Report the progress of the stage as part of the whole."""
        share = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
        text = ": ".join(filter(None, (self._message, message)))
        self._report.progress(self._low + (self._high - self._low) * share, 1.0, text)

    def metric(self, name: str, step: float, value: float) -> None:
        """Add the point to the curve of the whole."""
        self._report.metric(name, step, value)

    def checkpoint_folder(self) -> Path | None:
        """Return the checkpoint folder of the whole."""
        return self._report.checkpoint_folder()


@runtime_checkable
class Model(FittedModel, Protocol):
    """A model that turns positioned sentences into vectors. Built as ``Cls(config, seed)``."""

    def __init__(self, config: Any, seed: int) -> None: ...

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn from ``corpus`` and return self. Methods that learn nothing load their tables or models here."""
        ...

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that ``save`` wrote. Raises ``ArtifactError`` for a damaged folder."""
        ...


@runtime_checkable
class Clusterer(Protocol):
    """A clusterer, which partitions the rows of a matrix. Built as ``Cls(config)``."""

    def __init__(self, config: Any) -> None: ...

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1 in order of first appearance, or -1 for unassigned.

        If ``k`` is None, the method chooses the number of clusters or raises ``ConfigError``.
        """
        ...


@runtime_checkable
class Reader(Protocol):
    """A reader, which yields the articles of a file in constant memory. Built as ``Cls(config)``."""

    def __init__(self, config: Any) -> None: ...

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield articles in file order. Raises ``ReadError`` with the position of the error."""
        ...

    @property
    def skipped(self) -> dict[str, int]:
        """Number of entries skipped so far, by reason: {"redirect": 100, …}."""
        ...


@runtime_checkable
class PiecewiseReader(Reader, Protocol):
    """A reader that cuts files into pieces quickly, so that several processes can parse them."""

    def pieces(self, path: Path, report: Report) -> Iterator[tuple[Any, int]]:
        """Yield one piece per article or skipped entry, in file order, and its size in characters.

        Pieces can be pickled. Raises :class:`themescope.core.errors.ReadError`.
        """
        ...

    def parse(self, path: Path, piece: Any) -> Article | str:
        """Return the article of a piece, or the reason to skip it; raises :class:`themescope.core.errors.ReadError`."""
        ...


@runtime_checkable
class TypedReader(Reader, Protocol):
    """A reader of files that declare the types of their columns."""

    @property
    def types(self) -> Mapping[str, str]:
        """Column → type that the files read so far declare, see :data:`themescope.core.columns.DECLARED`."""
        ...


@runtime_checkable
class Metric(Protocol):
    """A metric, which compares two partitions of the same items. Built as ``Cls(config)``."""

    def score(self, truth: Labels, labels: Labels) -> float:
        """Return one number for (n,) ``truth`` and (n,) ``labels``."""
        ...


class Records(Protocol):
    """Completion records: the results of finished shards by the name of the shard. A ``dict`` is one, in memory."""

    def __contains__(self, name: str, /) -> bool: ...

    def __getitem__(self, name: str, /) -> Any: ...

    def __setitem__(self, name: str, result: Any, /) -> None: ...


class Executor(Protocol):
    """Workers that compute the shards of a computation. Which workers there are does not change the results."""

    @property
    def remote(self) -> bool:
        """Whether the workers may be on other machines, so that each of them loads its own copy of a model."""
        ...

    def map(
        self,
        fn: Callable[[Any], Any],
        shards: Iterable[Shard],
        *,
        report: Report,
        total: int = 0,
        unit: str = "",
        records: Records | None = None,
    ) -> Iterator[Any]:
        """Yield ``fn(shard.data)`` of every shard, in the order of ``shards``, which are read a few ahead.

        ``fn`` must be picklable. Each worker has one copy of it, which may keep what it loads for the next shard.
        ``report`` receives about once a second how many of ``total`` units are done. A shard with an entry in
        ``records`` is not computed again; the result of every other one is entered as soon as it is finished.

        Raises what ``fn`` raises, with a note that names the shard, what ``report`` raises, and
        :class:`themescope.core.errors.ExecutorError` for workers that died repeatedly or cannot be reached.
        """
        ...
