"""The three trainings, of sentence vectors, distributed memory and FastSent, with exact resume.

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
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from themescope.core.config import digest_of
from themescope.core.errors import Cancelled, TrainingError
from themescope.core.models.con_s2v import kernels
from themescope.core.models.con_s2v.config import EpochsConfig, FastSentConfig, MemoryConfig, SentVecConfig
from themescope.core.models.con_s2v.text import (
    BLOCK_WORDS,
    LEAST_RATE,
    AliasTable,
    Context,
    EncodedText,
    Graph,
    Losses,
    Noise,
    Span,
    Sums,
    Table,
    Tables,
    TextArrays,
    empty_table,
    keep_thresholds,
    no_graph,
    node_noise,
    random_table,
    word_noise,
)
from themescope.core.models.networks import pick_device, read_arrays, write_arrays
from themescope.core.types import Report

_POINTS = 400  # number of points of a curve
_ENDING = ".sentvec.safetensors"  # of a checkpoint, after the name of the stage
_WRITING = 20.0  # writing checkpoints may take 1/20 of the time

_NO_EFFECT = {"threads": 0, "checkpoint_seconds": 0, "storage": ""}


@dataclass(frozen=True)
class EpochProgress:
    """State of a training. All random numbers follow from the seed and these counters."""

    epoch: int = 0
    block: int = 0
    """Number of blocks of this epoch that are done."""
    seconds: float = 0.0
    losses: tuple[float, ...] = (0.0, 0.0)
    """Mean content loss and mean neighbour loss at the last point of the curves."""


def drop_checkpoints(folder: Path | None) -> None:
    """Remove the checkpoints of all stages of a finished training."""
    for path in folder.glob("*" + _ENDING) if folder else ():
        path.unlink(missing_ok=True)


class CompiledLearner:
    """Compiled loop over numpy tables, which several threads share without locks."""

    def __init__(self, tables: Tables, step: Callable[[Span], Sums], threads: int) -> None:
        self._tables = tables
        self.run = step
        """Train on a span."""
        self.threads = threads or os.cpu_count() or 1
        """Number of spans that may be processed at once."""
        self.block_words = BLOCK_WORDS * self.threads
        """Number of words between two reports."""

    def tables(self) -> Mapping[str, Table]:
        """Return the tables that are learned by name."""
        return {name: table for name, table in self._tables._asdict().items() if len(table)}

    def restore(self, tables: Mapping[str, Table]) -> None:
        """Overwrite the tables with those of a checkpoint."""
        for name, table in tables.items():
            getattr(self._tables, name)[:] = table


Learner: TypeAlias = "CompiledLearner | BatchedLearner"


class _Training:
    """One of the trainings that a method consists of: ``name`` is that of its checkpoint and in messages.

    Raises ``TrainingError`` without training sentences, or when the loss is no longer finite.
    """

    def __init__(
        self,
        name: str,
        curves: tuple[str, str],
        config: Any,
        text: EncodedText,
        graph: Graph,
        seed: int,
        learner: Learner,
        report: Report,
    ) -> None:
        if not text.words:
            raise TrainingError(
                "No sentence has three known words, so there is nothing to learn from. Give the method more text."
            )
        self.name, self.curves, self.text, self.config, self.seed = name, curves, text, config, seed
        near, ids = graph.targets, text.ids
        data = [len(text), text.words, len(text.vocabulary), ids[:10_000].tolist(), len(near), near[:10_000].tolist()]
        # All that determines the result; a checkpoint of another key is ignored.
        self.key = f"{digest_of([config.to_dict() | _NO_EFFECT, seed, data])} {learner.threads}"
        self.learner, self.report = learner, report
        self.words, self.epochs = text.words, config.epochs
        # The bounds of blocks of whole sentences with about as many words; the first is 0, the last is n.
        marks = np.arange(learner.block_words, max(self.words - learner.block_words // 2, 1), learner.block_words)
        inner = np.searchsorted(text.starts, marks)
        self.bounds = np.unique(np.concatenate([[0], inner, [len(text)]])).astype(np.int64)
        self.at = EpochProgress()
        self.sums, self.pending = np.zeros(4), 0
        self.saved = self.clock = time.monotonic()
        self.cost = 0.0

    def run(self) -> Learned:
        """Train to the end, or write a checkpoint when cancelled; a finished training leaves its checkpoint, too."""
        folder = self.report.checkpoint_folder()
        found = read_arrays(folder / (self.name + _ENDING), self.key) if folder else None
        if found is not None:
            self.at = EpochProgress(**found[0] | {"losses": tuple(found[0]["losses"])})
            self.learner.restore(found[1])
        self.saved = self.clock = time.monotonic()
        try:
            with ThreadPoolExecutor(self.learner.threads) as pool:
                while self.at.epoch < self.epochs:
                    self._block(pool)
        except Cancelled:
            self._save()
            raise
        self._save()
        seconds = self.at.seconds + time.monotonic() - self.clock
        metrics = {curve: loss for curve, loss in zip(self.curves, self.at.losses, strict=True) if loss} | {
            "training sentences": float(len(self.text)),
            "training words": float(self.words),
            "training seconds": seconds,
            "words/s": self.words * self.epochs / max(seconds, 1e-9),
        }
        dim, nothing = self.config.dim, np.zeros((0, self.config.dim), np.float32)
        tables = {name: np.ascontiguousarray(table[:, :dim]) for name, table in self.learner.tables().items()}
        sentences, words, inputs = (tables.get(name, nothing) for name in ("sentences", "words", "inputs"))
        return Learned(sentences, words, inputs, metrics)

    def _block(self, pool: ThreadPoolExecutor) -> None:
        epoch, block = self.at.epoch, self.at.block
        self.report.progress(self._done(), self.words * self.epochs, f"{self.name}: epoch {epoch + 1} of {self.epochs}")
        spans = self._spans(epoch, block)
        self.sums += sum(pool.map(self.learner.run, spans)) if len(spans) > 1 else self.learner.run(spans[0])
        if not np.isfinite(self.sums).all():
            raise TrainingError(f"The loss of {self.name} is not finite. Lower the learning rate.")
        self.pending += int(self.text.starts[self.bounds[block + 1]] - self.text.starts[self.bounds[block]])
        last = block + 2 == len(self.bounds)
        self.at = replace(self.at, epoch=epoch + last, block=0 if last else block + 1)
        if self.pending * _POINTS >= self.words * self.epochs or (last and epoch + 1 == self.epochs):
            self._announce()
        if time.monotonic() - self.saved >= max(self.config.checkpoint_seconds, _WRITING * self.cost):
            self._save()

    def _spans(self, epoch: int, block: int) -> list[Span]:
        """Divide the sentences of a block among the threads, by number of words."""
        low, high = int(self.bounds[block]), int(self.bounds[block + 1])
        starts, threads = self.text.starts, self.learner.threads
        marks = np.linspace(starts[low], starts[high], threads + 1)[1:-1]
        cuts = [low, *(low + np.searchsorted(starts[low:high], marks)).tolist(), high]
        done, total = epoch * self.words, self.words * self.epochs
        rate, spans = self.config.learning_rate, list[Span]()
        for thread, (first, end) in enumerate(pairwise(cuts)):
            state = np.random.SeedSequence((self.seed, epoch, block, thread)).generate_state(1, np.uint64)
            spans.append(Span(first, end, rate, done, total, int(state[0] >> np.uint64(1))))  # a seed of 63 bits
        return spans

    def _done(self) -> int:
        return self.at.epoch * self.words + int(self.text.starts[self.bounds[self.at.block]])

    def _announce(self) -> None:
        totals, steps = self.sums[::2], self.sums[1::2]
        losses = np.divide(totals, steps, out=np.zeros(2), where=steps > 0).tolist()
        for curve, loss, count in zip(self.curves, losses, steps, strict=True):
            if count:
                self.report.metric(curve, self._done() / self.words, loss)
        self.at = replace(self.at, losses=tuple(losses))
        self.sums, self.pending = np.zeros(4), 0

    def _save(self) -> None:
        begun = time.monotonic()
        if (folder := self.report.checkpoint_folder()) is not None:
            self.at = replace(self.at, seconds=self.at.seconds + begun - self.clock)
            self.clock = begun
            write_arrays(folder / (self.name + _ENDING), self.key, asdict(self.at), self.learner.tables())
        self.saved = time.monotonic()
        self.cost = self.saved - begun


@dataclass(frozen=True)
class Learned:
    """Learned tables without the padding of their rows, and training metrics."""

    sentences: Table
    """(n, dim) vectors of sentences φ, or no rows."""
    words: Table
    """(words, dim) output vectors of words w."""
    inputs: Table
    """(words, dim) input vectors of words, or no rows."""
    metrics: dict[str, float]


def learn_sentences(
    config: SentVecConfig, text: EncodedText, graph: Graph, seed: int, report: Report, name: str = "sentences"
) -> Learned:
    """Train content, neighbour prediction and proximity, as ``config`` switches them, on ``graph``."""
    reference = config.mode == "reference"
    alone = not (config.content or config.neighbours)  # only word vectors are learned
    tables = _tables(config.dim, text, seed, sentences=not alone, inputs=reference, nodes=config.neighbours)
    context, noise, words = Context(graph.targets, graph.starts), _noise(text, graph, config), _text(text, config)
    strength, window = config.strength if config.proximity else 0.0, config.window if reference else 0
    share = config.neighbour_share if config.neighbours else 0.0
    steps = Losses(config.content, share, strength, config.proximity_step == "implicit", window)
    if config.batch:
        learner: Learner = BatchedLearner(tables, words, context, noise, steps, config)
    else:
        step = partial(kernels.train_sentences, tables, words, context, noise, steps)
        learner = CompiledLearner(tables, step, config.threads)
    return _Training(name, ("content loss", "neighbour loss"), config, text, graph, seed, learner, report).run()


def learn_memory(config: MemoryConfig, text: EncodedText, seed: int, report: Report) -> Learned:
    """Train distributed memory, the DM part of Sen2Vec."""
    graph, tables = no_graph(len(text)), _tables(config.dim, text, seed, inputs=True)
    step = partial(kernels.train_memory, tables, _text(text, config), _noise(text, graph, config), config.window)
    learner = CompiledLearner(tables, step, config.threads)
    return _Training("DM", ("DM loss", ""), config, text, graph, seed, learner, report).run()


def learn_bags(config: FastSentConfig, text: EncodedText, graph: Graph, seed: int, report: Report) -> Learned:
    """Train FastSent on the neighbours of ``graph``; only word vectors are learned."""
    tables = _tables(config.dim, text, seed, sentences=False, inputs=True)
    context, noise = Context(graph.targets, graph.starts), _noise(text, graph, config)
    step = partial(kernels.train_bags, tables, _text(text, config), context, noise, config.own_words)
    learner = CompiledLearner(tables, step, config.threads)
    return _Training("bags", ("loss", ""), config, text, graph, seed, learner, report).run()


def _tables(
    dim: int, text: EncodedText, seed: int, *, sentences: bool = True, inputs: bool = False, nodes: bool = False
) -> Tables:
    """Return tables with random φ and word inputs and zero outputs; tables that are not trained have no rows."""
    random, words = np.random.default_rng(seed), len(text.vocabulary)
    return Tables(
        random_table(len(text) if sentences else 0, dim, random),
        empty_table(words, dim),
        empty_table(len(text) if nodes else 0, dim),
        random_table(words if inputs else 0, dim, random),
    )


def _noise(text: EncodedText, graph: Graph, config: EpochsConfig) -> Noise:
    return Noise(word_noise(text.vocabulary.counts), node_noise(graph.targets, len(text)), config.negatives)


def _text(text: EncodedText, config: EpochsConfig) -> TextArrays:
    return TextArrays(text.ids, text.starts, keep_thresholds(text.vocabulary.counts, config.subsampling))


# Training in batches for a GPU: the updates of a row from all words of a batch are summed

_EDGE = 6.0
_LARGEST_SHARE = 100  # a batch has at most one word in so many
_USUAL_LENGTH = 25  # typical number of words of a sentence


class BatchedLearner:
    """Mode paper on torch tensors. Shapes: b words of a batch, s + 1 targets (the item, then noise), d width."""

    threads = 1

    def __init__(
        self, tables: Tables, text: TextArrays, context: Context, noise: Noise, steps: Losses, config: SentVecConfig
    ) -> None:
        self._device = pick_device(config.device)
        self._phi, self._words, self._nodes = (self._moved(t) for t in (tables.sentences, tables.words, tables.nodes))
        self._tables = {"sentences": self._phi, "words": self._words, "nodes": self._nodes}
        self._ids, self._starts = self._moved(text.ids.astype(np.int64)), text.starts
        self._keep = self._moved(text.keep.astype(np.float64) / 2**32)
        self._near, self._near_starts = self._moved(context.targets.astype(np.int64)), self._moved(context.starts)
        self._word_noise, self._node_noise = (_Alias(t, self._device) for t in (noise.words, noise.nodes))
        self._drawn, self._steps = noise.drawn, steps
        self._batch = max(1, min(config.batch, len(text.ids) // _LARGEST_SHARE))
        self.block_words = max(BLOCK_WORDS, 2 * _USUAL_LENGTH * self._batch)

    def run(self, span: Span) -> Sums:
        """Train on a span of sentences: the first word of each sentence, then the second, and so on."""
        random = torch.Generator(self._device).manual_seed(span.seed)
        owners, words, rates, sizes = self._kept(span, random)
        sums = torch.zeros(4, dtype=torch.float64, device=self._device)
        start = 0
        for size in sizes:
            for low in range(start, start + size, self._batch):
                part = slice(low, min(low + self._batch, start + size))
                self._train(owners[part], words[part], rates[part], random, sums)
            start += size
        return np.asarray(sums.cpu().numpy())

    def tables(self) -> Mapping[str, Table]:
        """Return the learned tables as arrays."""
        return {name: table.cpu().numpy() for name, table in self._tables.items() if len(table)}

    def restore(self, tables: Mapping[str, Table]) -> None:
        """Overwrite the tables."""
        for name, table in tables.items():
            self._tables[name].copy_(torch.from_numpy(table))

    def _moved(self, array: Table) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _kept(self, span: Span, random: torch.Generator) -> tuple[Tensor, Tensor, Tensor, list[int]]:
        """Return (k,) sentence, word and rate of each kept word, by rank in its sentence, and the size of each rank."""
        low, high = int(self._starts[span.low]), int(self._starts[span.high])
        words = self._ids[low:high]
        lengths = np.diff(self._starts[span.low : span.high + 1])
        progress = np.repeat((span.done + self._starts[span.low : span.high]) / span.total, lengths)
        rates = self._moved((span.rate * np.maximum(LEAST_RATE, 1 - progress)).astype(np.float32))
        owners = self._moved(np.repeat(np.arange(span.low, span.high), lengths))
        kept = torch.rand(len(words), generator=random, device=self._device, dtype=torch.float64) < self._keep[words]
        owners, words, rates = owners[kept], words[kept], rates[kept]
        _, counts = torch.unique_consecutive(owners, return_counts=True)
        firsts = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
        ranks = torch.arange(len(owners), device=self._device) - firsts
        order = torch.argsort(ranks, stable=True)
        return owners[order], words[order], rates[order], torch.bincount(ranks).tolist()

    def _train(self, owners: Tensor, words: Tensor, rates: Tensor, random: torch.Generator, sums: Tensor) -> None:
        """Take the steps of content, neighbour prediction and proximity for (b,) words of different sentences."""
        if self._steps.content:
            targets = self._word_noise.draw(self._drawn, words, random)
            sums[0] += self._predict(self._words, targets, owners, rates)
            sums[1] += len(words)
        low = self._near_starts[owners]
        near = self._near_starts[owners + 1] - low
        has = near > 0
        owners, low, near, rates = owners[has], low[has], near[has], rates[has]
        if self._steps.neighbours > 0 and len(owners):
            uniform = torch.rand(len(owners), generator=random, device=self._device, dtype=torch.float64)
            others = self._near[low + (uniform * near).long()]
            targets = self._node_noise.draw(self._drawn, others, random)
            sums[2] += self._predict(self._nodes, targets, owners, rates * self._steps.neighbours)
            sums[3] += len(owners)
        if self._steps.strength > 0 and len(owners):
            # Move rows ``owners`` (b,) of φ towards the mean of their neighbours' rows.
            share = rates * self._steps.strength
            if self._steps.implicit:
                share = share / (1 + share)
            ends = torch.repeat_interleave(torch.arange(len(owners), device=self._device), near)
            firsts = torch.repeat_interleave(near.cumsum(0) - near, near)
            offsets = torch.arange(len(ends), device=self._device) - firsts
            others = self._near[torch.repeat_interleave(low, near) + offsets]
            phi = self._phi[owners]
            mean = torch.zeros_like(phi).index_add_(0, ends, self._phi[others]) / near.unsqueeze(1)
            self._phi[owners] = phi + share.unsqueeze(1) * (mean - phi)

    def _predict(self, table: Tensor, targets: Tensor, owners: Tensor, rates: Tensor) -> Tensor:
        """Predict the first of (b, s + 1) ``targets`` in ``table`` from rows ``owners`` (b,) of φ; return the loss.

        Both tables are updated; the updates of a row of ``table`` are summed.
        """
        wanted = torch.zeros_like(targets, dtype=torch.float32)
        wanted[:, 0] = 1
        real = targets != targets[:, :1]  # noise equal to the item is skipped
        real[:, 0] = True
        phi, rows = self._phi[owners], table[targets]  # (b, d), (b, s + 1, d)
        chance = torch.sigmoid(torch.einsum("bd,bsd->bs", phi, rows).clamp(-_EDGE, _EDGE))
        step = rates.unsqueeze(1) * (wanted - chance) * real
        self._phi[owners] = phi + torch.einsum("bs,bsd->bd", step, rows)
        table.index_add_(0, targets.flatten(), (step.unsqueeze(2) * phi.unsqueeze(1)).flatten(0, 1))
        return -(torch.log(torch.where(wanted > 0, chance, 1 - chance)) * real).sum()


class _Alias:
    """An alias table (see ``themescope.core.models.con_s2v.text``) on a device."""

    def __init__(self, table: AliasTable, device: torch.device) -> None:
        self._threshold = torch.from_numpy((table >> np.uint64(32)).astype(np.float64) / 2**32).to(device)
        self._alias = torch.from_numpy((table & np.uint64(0xFFFFFFFF)).astype(np.int64)).to(device)

    def draw(self, count: int, items: Tensor, random: torch.Generator) -> Tensor:
        """Return (b, count + 1) targets: each of the (b,) ``items``, then noise."""
        shape, device = (len(items), count), self._alias.device
        place = torch.randint(len(self._alias), shape, generator=random, device=device)
        uniform = torch.rand(shape, generator=random, device=device, dtype=torch.float64)
        noise = torch.where(uniform < self._threshold[place], place, self._alias[place])
        return torch.cat([items.unsqueeze(1), noise], dim=1)
