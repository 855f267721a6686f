"""Training loop around the compiled steps: blocks, threads, curves, cancellation, checkpoints and exact resume.

A pass processes the text in blocks of sentences. Random numbers of a block depend only on (seed, epoch, block, thread),
so that no random state is carried over; with one thread, a resumed training ends with the same vectors, bit for bit,
as one that was not interrupted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from themescope.core.errors import Cancelled, TrainingError
from themescope.core.models.checkpoints import read_arrays, write_arrays
from themescope.core.models.con_s2v.arrays import Span, Table, Tables
from themescope.core.models.con_s2v.config import EpochsConfig
from themescope.core.models.con_s2v.text import EncodedText, Index
from themescope.core.protocols import Report

BLOCK_WORDS = 40_000
"""Number of words that a thread processes between two reports."""
_POINTS = 400  # number of points of a curve
_ENDING = ".sentvec.safetensors"  # of a checkpoint, after the name of the stage
_WRITING = 20.0  # writing checkpoints may take 1/20 of the time

Sums = npt.NDArray[np.float64]  # content loss, content steps, neighbour loss, neighbour steps


@dataclass(frozen=True)
class EpochProgress:
    """State of a training. All random numbers follow from the seed and these counters."""

    epoch: int = 0
    block: int = 0
    """Number of blocks of this epoch that are done."""
    seconds: float = 0.0
    losses: tuple[float, ...] = (0.0, 0.0)
    """Mean content loss and mean neighbour loss at the last point of the curves."""

    def advanced(self, **changes: Any) -> EpochProgress:
        """Return a copy with some counters changed."""
        return replace(self, **changes)


def drop_checkpoints(folder: Path | None) -> None:
    """Remove the checkpoints of all stages of a finished training."""
    for path in folder.glob("*" + _ENDING) if folder else ():
        path.unlink(missing_ok=True)


class Learner(Protocol):
    """Implementation of the training steps of a span of sentences."""

    threads: int
    """Number of spans that may be processed at once."""
    block_words: int
    """Number of words between two reports."""

    def run(self, span: Span) -> Sums:
        """Train on a span."""
        ...

    def tables(self) -> Mapping[str, Table]:
        """Return the current tables by name."""
        ...

    def restore(self, tables: Mapping[str, Table]) -> None:
        """Overwrite the tables with those of a checkpoint."""
        ...


class CompiledLearner:
    """Compiled loop over numpy tables, which several threads share without locks."""

    def __init__(self, tables: Tables, step: Callable[[Tables, Span], Sums], threads: int) -> None:
        self._tables, self._step = tables, step
        self.threads = threads or os.cpu_count() or 1
        self.block_words = BLOCK_WORDS * self.threads

    def run(self, span: Span) -> Sums:
        """Train on a span."""
        return self._step(self._tables, span)

    def tables(self) -> Mapping[str, Table]:
        """Return the tables that are learned."""
        return {name: table for name, table in self._tables._asdict().items() if len(table)}

    def restore(self, tables: Mapping[str, Table]) -> None:
        """Overwrite the tables."""
        for name, table in tables.items():
            getattr(self._tables, name)[:] = table


@dataclass(frozen=True)
class Stage:
    """One of the trainings that a method consists of."""

    name: str
    """Name of the checkpoint and in messages."""
    text: EncodedText
    config: EpochsConfig
    rate: float
    seed: int
    key: str
    """Digest of everything that determines the result; a checkpoint of another key is ignored."""
    curves: tuple[str, str] = ("content loss", "neighbour loss")


def train(stage: Stage, learner: Learner, report: Report) -> dict[str, float]:
    """Train to the end; resumes from the checkpoint folder of ``report``, and leaves the finished stage there.

    Return training metrics: last losses, words, seconds, words/s. Raises ``TrainingError`` without training sentences,
    or when the loss is no longer finite.
    """
    if not stage.text.words:
        raise TrainingError(
            "No sentence has three known words, so there is nothing to learn from. Give the method more text."
        )
    return _Training(stage, learner, report).run()


class _Training:
    def __init__(self, stage: Stage, learner: Learner, report: Report) -> None:
        self.stage, self.learner, self.report = stage, learner, report
        self.words, self.epochs = stage.text.words, stage.config.epochs
        self.bounds = _blocks(stage.text.starts, learner.block_words)
        self.at = EpochProgress()
        self.sums, self.pending = np.zeros(4), 0
        self.saved = self.clock = time.monotonic()
        self.cost = 0.0

    def run(self) -> dict[str, float]:
        """Train to the end, or write a checkpoint when cancelled."""
        self._resume()
        self.saved = self.clock = time.monotonic()
        try:
            with ThreadPoolExecutor(self.learner.threads) as pool:
                while self.at.epoch < self.epochs:
                    self._block(pool)
        except Cancelled:
            self._save()
            raise
        self._save()
        return self._metrics()

    def _block(self, pool: ThreadPoolExecutor) -> None:
        epoch, block = self.at.epoch, self.at.block
        self.report.progress(
            self._done(), self.words * self.epochs, f"{self.stage.name}: epoch {epoch + 1} of {self.epochs}"
        )
        spans = self._spans(epoch, block)
        sums = sum(pool.map(self.learner.run, spans)) if len(spans) > 1 else self.learner.run(spans[0])
        self.sums += sums
        if not np.isfinite(self.sums).all():
            raise TrainingError(f"The loss of {self.stage.name} is not finite. Lower the learning rate.")
        self.pending += int(self.stage.text.starts[self.bounds[block + 1]] - self.stage.text.starts[self.bounds[block]])
        last = block + 2 == len(self.bounds)
        self.at = self.at.advanced(epoch=epoch + last, block=0 if last else block + 1)
        if self.pending * _POINTS >= self.words * self.epochs or (last and epoch + 1 == self.epochs):
            self._announce()
        if time.monotonic() - self.saved >= max(self.stage.config.checkpoint_seconds, _WRITING * self.cost):
            self._save()

    def _spans(self, epoch: int, block: int) -> list[Span]:
        """Divide the sentences of a block among the threads, by number of words."""
        low, high = int(self.bounds[block]), int(self.bounds[block + 1])
        starts, threads = self.stage.text.starts, self.learner.threads
        marks = np.linspace(starts[low], starts[high], threads + 1)[1:-1]
        cuts = [low, *(low + np.searchsorted(starts[low:high], marks)).tolist(), high]
        done, total = epoch * self.words, self.words * self.epochs
        return [
            Span(cuts[i], cuts[i + 1], self.stage.rate, done, total, _mixed(self.stage.seed, epoch, block, i))
            for i in range(threads)
        ]

    def _done(self) -> int:
        return self.at.epoch * self.words + int(self.stage.text.starts[self.bounds[self.at.block]])

    def _announce(self) -> None:
        losses = tuple(
            float(self.sums[2 * i] / self.sums[2 * i + 1]) if self.sums[2 * i + 1] else 0.0 for i in range(2)
        )
        for i, (curve, loss) in enumerate(zip(self.stage.curves, losses, strict=True)):
            if self.sums[2 * i + 1]:
                self.report.metric(curve, self._done() / self.words, loss)
        self.at = self.at.advanced(losses=losses)
        self.sums, self.pending = np.zeros(4), 0

    def _resume(self) -> None:
        folder = self.report.checkpoint_folder()
        found = read_arrays(folder / (self.stage.name + _ENDING), self._key()) if folder else None
        if found is not None:
            self.at = EpochProgress(**found[0] | {"losses": tuple(found[0]["losses"])})
            self.learner.restore(found[1])

    def _save(self) -> None:
        begun = time.monotonic()
        if (folder := self.report.checkpoint_folder()) is not None:
            self.at = self.at.advanced(seconds=self.at.seconds + begun - self.clock)
            self.clock = begun
            file = folder / (self.stage.name + _ENDING)
            write_arrays(file, self._key(), asdict(self.at), self.learner.tables())
        self.saved = time.monotonic()
        self.cost = self.saved - begun

    def _key(self) -> str:
        return f"{self.stage.key} {self.learner.threads}"

    def _metrics(self) -> dict[str, float]:
        seconds = self.at.seconds + time.monotonic() - self.clock
        losses = {curve: loss for curve, loss in zip(self.stage.curves, self.at.losses, strict=True) if loss}
        return losses | {
            "training sentences": float(len(self.stage.text)),
            "training words": float(self.words),
            "training seconds": seconds,
            "words/s": self.words * self.epochs / max(seconds, 1e-9),
        }


def _blocks(starts: Index, words: int) -> Index:
    """Return bounds of blocks of whole sentences with about ``words`` words; the first is 0, the last is n."""
    marks = np.arange(words, max(int(starts[-1]) - words // 2, 1), words)
    inner = np.searchsorted(starts, marks)
    return np.unique(np.concatenate([[0], inner, [len(starts) - 1]])).astype(np.int64)


def _mixed(*parts: int) -> int:
    """Return a 63-bit seed that depends on all ``parts``."""
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> np.uint64(1))
