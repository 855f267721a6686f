"""The network of Ein Dor et al. (2018, section 4): BiLSTM with attention, dropout, and encoding in batches.

For word vectors x₁…x_T: h_t = [→h_t ; ←h_t], u_t = tanh(W h_t + b), a = softmax(u·c), Net(x) = Σ_t a_t h_t.

A bidirectional LSTM over padded sentences would start its backward pass in the padding. Here two LSTMs run in one
direction each, the second over each sentence reversed within its length: this gives the same result as packed
sequences, with the faster fused kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from themescope.core.models.networks import autocast
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.text.word_vectors import TokenIds, WordVectors, token_ids
from themescope.core.types import Ids, Index, TripletTexts

Masking: TypeAlias = Callable[[Tensor], Tensor]
_MIN_CHUNK = 1_024
_CHUNKS_PER_BATCH = 4


class BiLstmAttention(nn.Module):
    """(n, t, dim) word vectors and (n,) lengths → (n, 2·hidden) sentence vectors."""

    def __init__(self, dim: int, hidden: int = 300, attention: int = 200) -> None:
        super().__init__()
        self.onward = nn.LSTM(dim, hidden, batch_first=True)
        self.backward_ = nn.LSTM(dim, hidden, batch_first=True)
        self.project = nn.Linear(2 * hidden, attention)
        self.context = nn.Linear(attention, 1, bias=False)
        with torch.no_grad():  # the bias of the forget gate is 1, so that memory is kept at the start of training
            for lstm in (self.onward, self.backward_):
                lstm.get_parameter("bias_ih_l0")[hidden : 2 * hidden] = 1.0
                lstm.get_parameter("bias_hh_l0")[hidden : 2 * hidden] = 0.0

    @property
    def dim(self) -> int:
        """Dimensions of a word vector."""
        return int(self.onward.input_size)

    @property
    def width(self) -> int:
        """Dimensions of a sentence vector."""
        return 2 * int(self.onward.hidden_size)

    def forward(self, words: Tensor, lengths: Tensor, drop: Masking | None = None) -> Tensor:
        """Return the vectors of padded sentences; padding has no influence, a sentence of length 0 gives zeros.

        ``drop`` masks the states before attention in training.
        """
        states = self.states(words, lengths)
        if drop is not None:
            states = drop(states)
        return torch.bmm(self.attention(states, lengths).to(states.dtype).unsqueeze(1), states).squeeze(1)

    def states(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return (n, t, 2·hidden) states of both directions; those of padding are undefined."""
        turn = reversal(lengths, words.shape[1]).unsqueeze(2)
        onward, _ = self.onward(words)
        backward, _ = self.backward_(words.gather(1, turn.expand_as(words)))
        return torch.cat([onward, backward.gather(1, turn.expand_as(backward))], dim=2)

    def attention(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return (n, t) float32 weights, which sum to 1 over the tokens and are 0 on padding."""
        scores = self.context(torch.tanh(self.project(states))).squeeze(2).float()
        real = torch.arange(states.shape[1], device=states.device) < lengths.unsqueeze(1)
        weights = torch.softmax(scores.masked_fill(~real, torch.finfo(torch.float32).min), dim=1)
        return weights * real


def reversal(lengths: Tensor, steps: int) -> Tensor:
    """Return (n, steps) positions that reverse each row within its length and keep the padding in place."""
    steps_ = torch.arange(steps, device=lengths.device)
    turned = lengths.unsqueeze(1) - 1 - steps_
    return torch.where(turned >= 0, turned, steps_)


def bounded(vectors: Tensor, bound: float) -> Tensor:
    """Return (n, dim) rows, those longer than ``bound`` scaled to that length; a bound of 0 changes nothing."""
    if not bound:
        return vectors
    norms = torch.linalg.vector_norm(vectors.float(), dim=1, keepdim=True)
    scales: Tensor = bound / norms.clamp(min=bound)
    return vectors * scales.to(vectors.dtype)


class Dropout:
    """Dropout masks with their own random generator, so that they depend only on seed and step.

    Masks use inverted scaling. Each row has its own mask, so the three sentences of a triplet have different masks.
    """

    def __init__(self, rate: float, sites: tuple[str, ...], mask: str) -> None:
        self._rate, self._sites, self._per_sequence = rate, sites if rate else (), mask == "per-sequence"
        self._seed = 0
        self._generator: torch.Generator | None = None

    def reseed(self, seed: int, step: int) -> None:
        """Start the masks of one training step."""
        self._seed, self._generator = (seed * 1_000_003 + step) % 2**63, None

    def at(self, site: str) -> Masking | None:
        """Return the function that masks a tensor at ``site``, or None where nothing is masked."""
        return self._apply if site in self._sites else None

    def _apply(self, x: Tensor) -> Tensor:
        shape = (x.shape[0], 1, x.shape[2]) if self._per_sequence and x.dim() == 3 else x.shape
        keep = torch.empty(shape, device=x.device, dtype=x.dtype)
        if self._generator is None:
            self._generator = torch.Generator(x.device).manual_seed(self._seed)
        return x * keep.bernoulli_(1 - self._rate, generator=self._generator).div_(1 - self._rate)


class NetworkEncoder:
    """A network with a table of word vectors: encodes tokenised sentences on one device, in mixed precision."""

    def __init__(self, net: BiLstmAttention, tokens: TokenIds, precision: torch.dtype, norm_bound: float = 0.0) -> None:
        self.net, self._tokens, self._precision, self._bound = net, tokens, precision, norm_bound

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.net.context.weight.device

    @cached_property
    def _table(self) -> Tensor:
        """(words, dim) word vectors on the device of the network; every process makes its own from the tokens."""
        words = self._tokens.table if len(self._tokens.table) else np.zeros((1, self.net.dim), np.float32)
        return torch.from_numpy(words).to(self.device)  # at least one row, because padding needs one

    def encode(self, rows: Index, tick: Callable[[], None], drop: Dropout | None = None, cells: int = 0) -> Tensor:
        """Return (n, width) float32 vectors of ``rows``; ``tick`` is called between chunks of ``cells`` tokens."""
        lengths = self._tokens.lengths[rows]
        cells = cells or max(_MIN_CHUNK, int(lengths.sum()) // _CHUNKS_PER_BATCH)
        chunks = length_chunks(lengths, cells)
        vectors = []
        for chunk in chunks:
            tick()
            vectors.append(self._chunk(rows[chunk], drop))
        if not vectors:
            return torch.zeros((0, self.net.width), device=self.device)
        back = np.argsort(np.concatenate(chunks), kind="stable")
        return torch.cat(vectors)[torch.from_numpy(back).to(self.device)]

    def _chunk(self, rows: Index, drop: Dropout | None) -> Tensor:
        ids, lengths = self._tokens.padded(rows)
        on_device = torch.from_numpy(lengths).to(self.device)
        words = torch.nn.functional.embedding(torch.from_numpy(ids).to(self.device), self._table)
        with autocast(self.device, self._precision):
            masked = _masked(words, drop, "input")
            vectors = bounded(self.net(masked, on_device, drop.at("states") if drop else None), self._bound)
            return _masked(vectors, drop, "output").float()


def _masked(x: Tensor, drop: Dropout | None, site: str) -> Tensor:
    apply = drop.at(site) if drop else None
    return apply(x) if apply else x


# Tokenised triplets and their batches

_POOL = 32  # number of batches whose items are sorted by length together


@dataclass(frozen=True)
class TripletData:
    """Distinct tokenised sentences, and triplets as rows into them."""

    tokens: TokenIds
    triplets: Index
    """(n, 3) rows of pivot, positive, negative."""
    groups: Ids
    """(n,) article of each triplet."""

    def __len__(self) -> int:
        return len(self.triplets)

    @property
    def lengths(self) -> Index:
        """(n,) number of tokens of the longest sentence of each triplet."""
        return np.asarray(self.tokens.lengths[self.triplets].max(axis=1), np.int64)

    def weights(self, balance: float) -> npt.NDArray[np.float32]:
        """Return (n,) weights with mean 1: (number of triplets of the article) to the power -``balance``."""
        if not len(self):
            return np.ones(0, np.float32)
        _, inverse, counts = np.unique(self.groups, return_inverse=True, return_counts=True)
        weights = counts[inverse].astype(np.float64) ** -balance
        return np.asarray(weights / weights.mean(), np.float32)


def triplet_data(
    texts: TripletTexts, vectors: WordVectors, limit: int = 0, seed: int = 0, tick: Callable[[], None] = lambda: None
) -> TripletData:
    """Tokenise each distinct sentence once. ``limit`` keeps that many triplets, sampled with ``seed``; 0 keeps all.

    ``tick`` is called every thousand sentences and may raise ``Cancelled``.
    """
    chosen: Sequence[int] = range(len(texts))
    if limit and limit < len(texts):
        chosen = np.sort(np.random.default_rng(seed).choice(len(texts), limit, replace=False)).tolist()
    rows: dict[str, int] = {}
    columns = (texts.pivots, texts.positives, texts.negatives)
    triplets = [[rows.setdefault(column[i], len(rows)) for column in columns] for i in chosen]
    groups = np.asarray(texts.groups)[list(chosen)].astype(np.int64)
    return TripletData(token_ids(rows, vectors, tick=tick), np.array(triplets, np.int64).reshape(-1, 3), groups)


def epoch_batches(data: TripletData, config: TripletNetConfig, seed: int, epoch: int) -> list[Index]:
    """Return the batches of an epoch as indices of triplets; they depend only on data, ``seed`` and ``epoch``."""
    random = np.random.default_rng([seed, epoch])
    known = articles_within(data.groups, config.training_limit, seed)
    wanted = min(config.triplets_per_epoch or len(known), len(known))
    if config.batching == "by-article":
        order = known[_runs(data.groups[known], config.run_length, random)][:wanted]
        batches = [order[i : i + config.batch_size] for i in range(0, wanted, config.batch_size)]
    else:
        order = known[random.permutation(len(known))][:wanted]
        batches = list(length_batches(order, data.lengths, config.batch_size))
    return [batches[i] for i in random.permutation(len(batches))]


def articles_within(groups: Ids, limit: int, seed: int) -> Index:
    """Return rows of at most ``limit`` triplets of whole articles in random order, at least one; 0 keeps all."""
    if not 0 < limit < len(groups):
        return np.arange(len(groups))
    _, article, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(counts))
    kept = order[: max(int(np.searchsorted(np.cumsum(counts[order]), limit, side="right")), 1)]
    return np.flatnonzero(np.isin(article, kept))


def _runs(groups: Ids, length: int, random: np.random.Generator) -> Index:
    """Return triplets in shuffled runs of neighbours of one article; the bounds of runs change with every epoch."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[:1]] - 1))
    sizes = np.diff(starts, append=len(order))
    offsets = random.integers(0, length, len(starts))
    place = np.arange(len(order)) - np.repeat(starts, sizes) + np.repeat(offsets, sizes)
    run = np.repeat(np.cumsum(np.append(0, (sizes + offsets) // length + 1))[:-1], sizes) + place // length
    _, run = np.unique(run, return_inverse=True)
    return np.asarray(order[np.argsort(random.permutation(int(run.max()) + 1)[run], kind="stable")], np.int64)


def length_batches(order: Index, lengths: Index, size: int) -> Iterator[Index]:
    """Yield batches of items of similar length: pools of the ``order``, each sorted by length and cut."""
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        yield from (pool[i : i + size] for i in range(0, len(pool), size))


def length_chunks(lengths: Index, tokens: int) -> list[Index]:
    """Return rows by falling length, cut into chunks with at most about ``tokens`` cells after padding."""
    order = np.argsort(-lengths, kind="stable")
    chunks, start = [], 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        count = max(tokens // longest, 1)
        chunks.append(order[start : start + count])
        start += count
    return chunks
