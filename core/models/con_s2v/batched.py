"""Training in batches for a GPU: the updates of a row from all words of a batch are summed.

A batch has at most one word of any sentence and at most 1 % of the words of the text, so that no row moves far by
gradients computed at its old position. On a processor this is several times slower than the compiled loop; it runs
there for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from themescope.core.models.con_s2v.config import SentVecConfig
from themescope.core.models.con_s2v.text import (
    BLOCK_WORDS,
    LEAST_RATE,
    AliasTable,
    Context,
    Losses,
    Noise,
    Span,
    Sums,
    Table,
    Tables,
    TextArrays,
)
from themescope.core.models.device import pick_device

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
        named = {"sentences": self._phi, "words": self._words, "nodes": self._nodes}
        return {name: table.cpu().numpy() for name, table in named.items() if len(table)}

    def restore(self, tables: Mapping[str, Table]) -> None:
        """Overwrite the tables."""
        named = {"sentences": self._phi, "words": self._words, "nodes": self._nodes}
        for name, table in tables.items():
            named[name].copy_(torch.from_numpy(table))

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
