"""From token ids to sentence vectors: chunks of similar length, masks while training, mixed precision."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor

from core.models.triplet_network.batching import Index, length_chunks, padded_ids
from core.models.triplet_network.losses import bounded
from core.models.triplet_network.network import BiLstmAttention, Masking
from core.text.word_vectors import TokenIds

_MIN_CHUNK = 1_024
_CHUNKS_PER_BATCH = 4


class Dropout:
    """Masks for the dropout sites, with a generator of their own: the step number alone decides them.

    Inverted scaling, so that nothing changes when the network is used. Each row has its own mask, hence so have the
    three sentences of a triplet; the sentence vector itself is masked only on request (algorithms B.3).
    """

    def __init__(self, rate: float, sites: tuple[str, ...], mask: str, device: torch.device) -> None:
        self._rate, self._sites, self._per_sequence = rate, sites if rate else (), mask == "per-sequence"
        self._generator = torch.Generator(device)

    def reseed(self, seed: int, step: int) -> None:
        """Begin the masks of one training step."""
        self._generator.manual_seed((seed * 1_000_003 + step) % 2**63)

    def at(self, site: str) -> Masking | None:
        """The masking for one site, or None where nothing is masked."""
        return self._apply if site in self._sites else None

    def _apply(self, x: Tensor) -> Tensor:
        shape = (x.shape[0], 1, x.shape[2]) if self._per_sequence and x.dim() == 3 else x.shape
        keep = torch.empty(shape, device=x.device, dtype=x.dtype)
        return x * keep.bernoulli_(1 - self._rate, generator=self._generator).div_(1 - self._rate)


class Encoder:
    """A network together with a table of words: encodes rows of tokenised sentences on one device."""

    def __init__(self, net: BiLstmAttention, tokens: TokenIds, precision: torch.dtype, norm_bound: float = 0.0) -> None:
        self.net, self._tokens, self._precision, self._bound = net, tokens, precision, norm_bound
        self.device = next(net.parameters()).device
        words = tokens.table if len(tokens.table) else np.zeros((1, net.dim), np.float32)  # padding needs a row
        self._table = torch.from_numpy(words).to(self.device)

    def encode(self, rows: Index, tick: Callable[[], None], drop: Dropout | None = None, cells: int = 0) -> Tensor:
        """(n, width) float32 vectors of ``rows``; ``tick`` is called between chunks of at most ``cells`` tokens."""
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
        ids, lengths = padded_ids(self._tokens, rows)
        on_device = torch.from_numpy(lengths).to(self.device)
        words = torch.nn.functional.embedding(torch.from_numpy(ids).to(self.device), self._table)
        with self._autocast():
            masked = _masked(words, drop, "input")
            vectors = bounded(self.net(masked, on_device, drop.at("states") if drop else None), self._bound)
            return _masked(vectors, drop, "output").float()

    def _autocast(self) -> AbstractContextManager[object]:
        if self._precision == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, self._precision)


def _masked(x: Tensor, drop: Dropout | None, site: str) -> Tensor:
    apply = drop.at(site) if drop else None
    return apply(x) if apply else x
