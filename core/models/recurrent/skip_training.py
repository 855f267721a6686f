"""Training of Skip-Thought (Kiros et al. 2015, section 2; the small version of algorithms G.3). Exact resume."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import TrainingError
from core.models.recurrent.gru import GruDecoder
from core.models.recurrent.sampled_softmax import shifted
from core.models.recurrent.skip_data import SkipData
from core.models.recurrent.skip_training_config import SkipTrainingConfig
from core.models.recurrent.word_rows import Index
from core.models.recurrent.word_training import TrainedEncoder, WordNet, WordTraining
from core.protocols import Report


class SkipNet(WordNet):
    """Encoder, the decoders of the sentence before and of the one after, and the words they share."""

    def __init__(self, config: SkipTrainingConfig, rows: int) -> None:
        super().__init__(config, rows)
        width = self.encoder.width
        self.decoders = nn.ModuleList([GruDecoder(config.word_dim, width, config.decoder) for _ in range(2)])
        self.output = nn.Embedding(rows, config.decoder)
        nn.init.normal_(self.output.weight, std=0.1)
        self.bias = nn.Parameter(torch.zeros(rows))


def train_skip(config: SkipTrainingConfig, seed: int, data: SkipData, report: Report) -> TrainedEncoder:
    """Train on consecutive sentences; resumes from the report's checkpoint folder.

    Raises ``TrainingError`` when no sentence has a neighbour, or the loss is no longer finite.
    """
    if not len(data.usable):
        raise TrainingError("No two sentences follow each other in an article. Skip-Thought learns from running text.")
    return _Training(config, seed, data, report).run()


class _Training(WordTraining):
    def __init__(self, config: SkipTrainingConfig, seed: int, data: SkipData, report: Report) -> None:
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
