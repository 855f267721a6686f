"""Networks and losses of the sequential autoencoders and of Skip-Thought.

Autoencoders (Hill, Cho and Korhonen 2016, section 2): the encoder reads the sentence with noise N(S | p_o, p_x), the
decoder reconstructs the sentence; the loss is −Σ_t log p(w_t | w_<t, enc(N(S))). Encoder, decoder and softmax share
one table of word vectors (tied embeddings). Noise depends only on (seed, step), so that training can be resumed.

Skip-Thought (Kiros et al. 2015, section 2): one decoder predicts the previous sentence, another the next one.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.errors import TrainingError
from themescope.core.models.recurrent.config import RecurrentTrainingConfig, SaeConfig
from themescope.core.models.recurrent.data import END, Index, SkipData, WordRows
from themescope.core.models.recurrent.gru import GruDecoder
from themescope.core.models.recurrent.training import TrainedEncoder, WordNet, WordTraining, shifted
from themescope.core.models.triplet_network.network import Dropout
from themescope.core.protocols import Report

_SITE = "words"
_NOISE = 2  # seeded with (seed, step, 2), so that noise and sampled words are independent


class AutoencoderNet(WordNet):
    """Encoder and one decoder, whose states are projected to the dimensions of the shared word vectors."""

    def __init__(self, config: SaeConfig, rows: int) -> None:
        super().__init__(config, rows)
        self.decoder = GruDecoder(config.word_dim, self.encoder.width, config.decoder)
        self.project = nn.Linear(config.decoder, config.word_dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(rows))


def corrupted(
    ids: Index, lengths: Index, deleted: float, swapped: float, random: np.random.Generator
) -> tuple[Index, Index]:
    """Return (n, t) padded ids and (n,) lengths after adding noise N(S | p_o, p_x).

    Each word is deleted with probability ``deleted``; then each of the remaining pairs (1st, 2nd), (3rd, 4th), … is
    swapped with probability ``swapped``. Padding is END.
    """
    n, steps = ids.shape
    places = np.arange(steps)
    kept = (places < lengths[:, None]) & (random.random((n, steps)) >= deleted)
    order = np.argsort(~kept, axis=1, kind="stable")  # kept words move to the front, in their order
    left = kept.sum(axis=1)
    first = places[: steps // 2 * 2 : 2]
    turned = (random.random((n, len(first))) < swapped) & (first + 1 < left[:, None])
    seen = np.tile(places, (n, 1))
    seen[:, first] += turned
    seen[:, first + 1] -= turned
    moved = np.take_along_axis(np.take_along_axis(ids, order, axis=1), seen, axis=1)
    return np.where(places < left[:, None], moved, END), left


def train_autoencoder(config: SaeConfig, seed: int, data: WordRows, report: Report) -> TrainedEncoder:
    """Train an autoencoder on single sentences; resumes from the checkpoint folder of ``report``.

    Raises ``TrainingError`` when no sentence is long enough, or the loss is no longer finite.
    """
    if not len(data.usable):
        raise TrainingError(
            f"No sentence has {config.min_tokens} words or more. Give the method more text, or lower min_tokens."
        )
    return _AutoencoderTraining(config, seed, data, report).run()


class _AutoencoderTraining(WordTraining):
    def __init__(self, config: SaeConfig, seed: int, data: WordRows, report: Report) -> None:
        self.config, self.data = config, data
        super().__init__(config, seed, data, report)
        self.drop = Dropout(config.dropout_rate, (_SITE,), "per-token")

    def network(self, rows: int) -> AutoencoderNet:
        """Return a fresh encoder and decoder."""
        self.net = AutoencoderNet(self.config, rows)
        return self.net

    def loss(self, rows: Index) -> tuple[Tensor, int]:
        """Return the loss over the words and the ends of the sentences."""
        net, step = self.net, self.at.step
        self.drop.reseed(self.seed, step)
        clean, lengths = self.data.padded(rows)
        random = np.random.default_rng([self.seed, step, _NOISE])
        seen, left = self.tensors(*corrupted(clean, lengths, *self.config.noise, random))
        encoded = net.encoder(self._masked(net.table(seen)), left)
        self._tick()
        before, after, real = shifted(*self.tensors(clean, lengths), net.table)
        states = net.project(net.decoder(self._masked(before), encoded)[real])
        total = self.drawn.loss(states, after[real], self.drawn.at(step), net.table, net.bias)
        return total, int(lengths.sum()) + len(rows)

    def _masked(self, words: Tensor) -> Tensor:
        mask = self.drop.at(_SITE)
        return words if mask is None else mask(words)


class SkipNet(WordNet):
    """Encoder, decoders of the previous and of the next sentence, and their common softmax."""

    def __init__(self, config: RecurrentTrainingConfig, rows: int) -> None:
        super().__init__(config, rows)
        width = self.encoder.width
        self.decoders = nn.ModuleList([GruDecoder(config.word_dim, width, config.decoder) for _ in range(2)])
        self.output = nn.Embedding(rows, config.decoder)
        nn.init.normal_(self.output.weight, std=0.1)
        self.bias = nn.Parameter(torch.zeros(rows))


def train_skip(config: RecurrentTrainingConfig, seed: int, data: SkipData, report: Report) -> TrainedEncoder:
    """Train Skip-Thought on consecutive sentences; resumes from the checkpoint folder of ``report``.

    Raises ``TrainingError`` when no sentence has a neighbour, or the loss is no longer finite.
    """
    if not len(data.usable):
        raise TrainingError("No article has two consecutive sentences. Skip-Thought needs running text.")
    return _SkipTraining(config, seed, data, report).run()


class _SkipTraining(WordTraining):
    def __init__(self, config: RecurrentTrainingConfig, seed: int, data: SkipData, report: Report) -> None:
        self.config, self.data = config, data
        super().__init__(config, seed, data, report)

    def network(self, rows: int) -> SkipNet:
        """Return a fresh encoder and two decoders."""
        self.net = SkipNet(self.config, rows)
        return self.net

    def loss(self, rows: Index) -> tuple[Tensor, int]:
        """Return the loss over the words and the ends of the neighbouring sentences."""
        ids, lengths = self.tensors(*self.data.padded(rows))
        encoded = self.net.encoder(self.net.table(ids), lengths)
        drawn = self.drawn.at(self.at.step)
        total, words = encoded.new_zeros(()), 0
        for side, decoder in enumerate(self.net.decoders):
            has = np.flatnonzero(self.data.neighbours[rows, side] >= 0)
            if len(has):
                self._tick()
                targets = self.tensors(*self.data.padded(self.data.neighbours[rows[has], side]))
                total = total + self._decoded(decoder, encoded[torch.from_numpy(has).to(self.device)], targets, drawn)
                words += int(targets[1].sum()) + len(has)
        return total, words

    def _decoded(self, decoder: nn.Module, encoded: Tensor, targets: tuple[Tensor, Tensor], drawn: Tensor) -> Tensor:
        before, after, real = shifted(*targets, self.net.table)
        states = decoder(before, encoded)[real]
        return self.drawn.loss(states, after[real], drawn, self.net.output, self.net.bias)
