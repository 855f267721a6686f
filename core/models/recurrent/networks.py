"""Sequential (denoising) autoencoders, SAE and SDAE (Hill, Cho and Korhonen 2016, section 2; algorithms G.1).

The encoder reads the sentence under noise N(S | p_o, p_x), the decoder says the sentence as it was: the loss is
−Σ_t log p(w_t | w_<t, enc(N(S))). Small version: a GRU in each direction, and one table of words for encoder, decoder
and softmax (tied embeddings). Noise follows from (seed, step), so that a resumed training sees the same.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import TrainingError
from core.models.recurrent.config import RecurrentTrainingConfig, SaeConfig
from core.models.recurrent.data import END, Index, SkipData, WordRows
from core.models.recurrent.gru import GruDecoder
from core.models.recurrent.training import TrainedEncoder, WordNet, WordTraining, shifted
from core.models.triplet_network.network import Dropout
from core.protocols import Report

_SITE = "words"
_NOISE = 2  # beside (seed, step), so that noise and drawn words are independent


class AutoencoderNet(WordNet):
    """Encoder and one decoder; states are projected onto the words of the shared table."""

    def __init__(self, config: SaeConfig, rows: int) -> None:
        super().__init__(config, rows)
        self.decoder = GruDecoder(config.word_dim, self.encoder.width, config.decoder)
        self.project = nn.Linear(config.decoder, config.word_dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(rows))


def corrupted(
    ids: Index, lengths: Index, deleted: float, swapped: float, random: np.random.Generator
) -> tuple[Index, Index]:
    """Noise N(S | p_o, p_x): (n, t) padded ids and (n,) lengths, before and after.

    Each word is deleted with probability ``deleted``; then each of the adjacent pairs (1st, 2nd), (3rd, 4th), … of what
    is left, which do not overlap, is turned round with probability ``swapped``. Padding is END.
    """
    n, steps = ids.shape
    places = np.arange(steps)
    kept = (places < lengths[:, None]) & (random.random((n, steps)) >= deleted)
    order = np.argsort(~kept, axis=1, kind="stable")  # what is kept moves to the front, in its order
    left = kept.sum(axis=1)
    first = places[: steps // 2 * 2 : 2]
    turned = (random.random((n, len(first))) < swapped) & (first + 1 < left[:, None])
    seen = np.tile(places, (n, 1))
    seen[:, first] += turned
    seen[:, first + 1] -= turned
    moved = np.take_along_axis(np.take_along_axis(ids, order, axis=1), seen, axis=1)
    return np.where(places < left[:, None], moved, END), left


def train_autoencoder(config: SaeConfig, seed: int, data: WordRows, report: Report) -> TrainedEncoder:
    """Train on sentences one by one; resumes from the report's checkpoint folder.

    Raises ``TrainingError`` when no sentence is long enough, or the loss is no longer finite.
    """
    if not len(data.usable):
        raise TrainingError(f"No sentence has {config.min_tokens} words. Autoencoders learn from sentences.")
    return _AutoencoderTraining(config, seed, data, report).run()


class _AutoencoderTraining(WordTraining):
    def __init__(self, config: SaeConfig, seed: int, data: WordRows, report: Report) -> None:
        self.config, self.data = config, data
        super().__init__(config, seed, data, report)
        self.drop = Dropout(config.dropout_rate, (_SITE,), "per-token", self.device)

    def network(self, rows: int) -> AutoencoderNet:
        """Encoder and decoder."""
        self.net = AutoencoderNet(self.config, rows)
        return self.net

    def loss(self, rows: Index) -> tuple[Tensor, int]:
        """Over the words of the sentences and their ends."""
        net, step = self.net, self.at.step
        self.drop.reseed(self.seed, step)
        clean, lengths = self.data.padded(rows)
        random = np.random.default_rng([self.seed, step, _NOISE])
        seen, left = self.tensors(*corrupted(clean, lengths, *self.config.noise, random))
        encoded = net.encoder(self._masked(net.table(seen)), left)
        self.tick()
        before, after, real = shifted(*self.tensors(clean, lengths), net.table)
        states = net.project(net.decoder(self._masked(before), encoded)[real])
        total = self.drawn.loss(states, after[real], self.drawn.at(step), net.table, net.bias)
        return total, int(lengths.sum()) + len(rows)

    def _masked(self, words: Tensor) -> Tensor:
        mask = self.drop.at(_SITE)
        return words if mask is None else mask(words)


class SkipNet(WordNet):
    """Encoder, the decoders of the sentence before and of the one after, and the words they share."""

    def __init__(self, config: RecurrentTrainingConfig, rows: int) -> None:
        super().__init__(config, rows)
        width = self.encoder.width
        self.decoders = nn.ModuleList([GruDecoder(config.word_dim, width, config.decoder) for _ in range(2)])
        self.output = nn.Embedding(rows, config.decoder)
        nn.init.normal_(self.output.weight, std=0.1)
        self.bias = nn.Parameter(torch.zeros(rows))


def train_skip(config: RecurrentTrainingConfig, seed: int, data: SkipData, report: Report) -> TrainedEncoder:
    """Train on consecutive sentences; resumes from the report's checkpoint folder.

    Raises ``TrainingError`` when no sentence has a neighbour, or the loss is no longer finite.
    """
    if not len(data.usable):
        raise TrainingError("No two sentences follow each other in an article. Skip-Thought learns from running text.")
    return _SkipTraining(config, seed, data, report).run()


class _SkipTraining(WordTraining):
    def __init__(self, config: RecurrentTrainingConfig, seed: int, data: SkipData, report: Report) -> None:
        self.config, self.data = config, data
        super().__init__(config, seed, data, report)

    def network(self, rows: int) -> SkipNet:
        """Encoder and two decoders."""
        self.net = SkipNet(self.config, rows)
        return self.net

    def loss(self, rows: Index) -> tuple[Tensor, int]:
        """Over the words of the neighbours and the ends of their sentences."""
        ids, lengths = self.tensors(*self.data.padded(rows))
        encoded = self.net.encoder(self.net.table(ids), lengths)
        drawn = self.drawn.at(self.at.step)
        total, words = encoded.new_zeros(()), 0
        for side, decoder in enumerate(self.net.decoders):
            has = np.flatnonzero(self.data.neighbours[rows, side] >= 0)
            if len(has):
                self.tick()
                targets = self.tensors(*self.data.padded(self.data.neighbours[rows[has], side]))
                total = total + self._decoded(decoder, encoded[torch.from_numpy(has).to(self.device)], targets, drawn)
                words += int(targets[1].sum()) + len(has)
        return total, words

    def _decoded(self, decoder: nn.Module, encoded: Tensor, targets: tuple[Tensor, Tensor], drawn: Tensor) -> Tensor:
        before, after, real = shifted(*targets, self.net.table)
        states = decoder(before, encoded)[real]
        return self.drawn.loss(states, after[real], drawn, self.net.output, self.net.bias)
