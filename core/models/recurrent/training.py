"""Training loop of recurrent encoders that predict words: Adam and sampled softmax.

See :mod:`themescope.core.models.training_loop`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.models.device import pick_device, seeded, thread_count
from themescope.core.models.recurrent.config import RecurrentTrainingConfig
from themescope.core.models.recurrent.data import END, SPECIAL, Index, WordRows
from themescope.core.models.recurrent.gru import GruEncoder
from themescope.core.models.training_loop import TrainingLoop, Weights
from themescope.core.protocols import Report

_FLATTENED = 0.75  # words are sampled with probability ∝ frequency to this power


@dataclass(frozen=True)
class TrainedEncoder:
    """A trained encoder, its word vectors and training metrics."""

    weights: dict[str, Tensor]
    table: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    """(words, word_dim) vectors of the learned words."""
    metrics: dict[str, float]


class WordNet(nn.Module):
    """An encoder and its table of word vectors; subclasses add decoders."""

    def __init__(self, config: RecurrentTrainingConfig, rows: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, config.word_dim)
        nn.init.normal_(self.table.weight, std=0.1)
        self.encoder = GruEncoder(config.word_dim, config.hidden)


def sampled_softmax(logits: Tensor, drawn_logits: Tensor, hits: Tensor) -> Tensor:
    """Return (n,) −log softmax of (n,) true logits against (n, s) sampled ones (Jean et al. 2015, section 3).

    The logarithm of the expected number of samples of a word has been subtracted from each logit. ``hits`` (n, s) marks
    samples that are the true word.
    """
    others = drawn_logits.masked_fill(hits, -torch.inf)
    return torch.logsumexp(torch.cat([logits.unsqueeze(1), others], dim=1), dim=1) - logits


class SampledWords:
    """Words sampled in proportion to frequency^0.75; the sample depends only on (seed, step)."""

    def __init__(self, counts: Index, negatives: int, seed: int, device: torch.device) -> None:
        share = counts.astype(np.float64) ** _FLATTENED
        share /= share.sum()
        self._seed, self._negatives, self._device = seed, negatives, device
        self._cumulated = np.cumsum(share)
        expected = np.log(np.maximum(share * negatives, 1e-30)).astype(np.float32)
        self._expected = torch.from_numpy(expected).to(device)

    def at(self, step: int) -> Tensor:
        """Return (negatives,) rows for one training step."""
        uniform = np.random.default_rng([self._seed, step, 1]).random(self._negatives)
        rows = np.minimum(np.searchsorted(self._cumulated, uniform), len(self._cumulated) - 1)
        return torch.from_numpy(rows).to(self._device)

    def loss(self, states: Tensor, wanted: Tensor, drawn: Tensor, output: torch.nn.Embedding, bias: Tensor) -> Tensor:
        """Return the sum of −log p of (n,) ``wanted`` rows, given (n, dim) states and the sampled rows ``drawn``."""
        true = (states * output(wanted)).sum(dim=1) + bias[wanted] - self._expected[wanted]
        others = states @ output(drawn).T + bias[drawn] - self._expected[drawn]
        return sampled_softmax(true, others, wanted.unsqueeze(1) == drawn).sum()


def shifted(ids: Tensor, lengths: Tensor, table: torch.nn.Embedding) -> tuple[Tensor, Tensor, Tensor]:
    """Return input and targets of a decoder for (n, t) padded sentences, including their ends.

    These are (n, t + 1, dim) vectors of the preceding words (zeros before the first), (n, t + 1) target rows, and an
    (n, t + 1) mask of the targets that are not padding.
    """
    before = torch.nn.functional.pad(table(ids), (0, 0, 1, 0))
    after = torch.nn.functional.pad(ids, (0, 1), value=END)
    real = torch.arange(after.shape[1], device=ids.device) <= lengths.unsqueeze(1)
    return before, after, real


class WordTraining(TrainingLoop[Index]):
    """One training of an encoder; subclasses add its decoders."""

    points: ClassVar[int] = 40

    def __init__(self, config: RecurrentTrainingConfig, seed: int, data: WordRows, report: Report) -> None:
        digests = [len(data.words), data.ids[:10_000].tolist(), len(data.ids)]
        super().__init__(config, seed, digests, report, rate=config.learning_rate)
        self._config, self._rows = config, data
        self.device = pick_device(config.device)
        with seeded(seed):
            self._net = self.network(SPECIAL + len(data.words)).to(self.device)
        self.optimizer = torch.optim.Adam(self._net.parameters(), lr=config.learning_rate)
        self.drawn = SampledWords(data.counts, config.negatives, seed, self.device)

    @abstractmethod
    def network(self, rows: int) -> WordNet:
        """Return a fresh network for ``rows`` words; the random generator is already seeded."""

    @abstractmethod
    def loss(self, rows: Index) -> tuple[Tensor, int]:
        """Return the sum of −log p over the words to predict for the sentences ``rows``, and the number of words."""

    def run(self) -> TrainedEncoder:
        """Train to the end and return the encoder."""
        with thread_count(self._config.threads):
            self._run()
        weights = {name: t.detach().cpu().clone() for name, t in self._net.encoder.state_dict().items()}
        table = self._net.table.weight.detach().cpu().numpy()[SPECIAL:].copy()
        return TrainedEncoder(weights, table, self._metrics())

    def tensors(self, ids: Index, lengths: Index) -> tuple[Tensor, Tensor]:
        """Return padded ids and lengths on the device of the network."""
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device)

    def _batches_of(self, epoch: int) -> list[Index]:
        return self._rows.batches(self._config.batch_size, self._config.sentences_per_epoch, self.seed, epoch)

    def _step(self, batch: Index, batches: int) -> None:
        self._tick()
        total, words = self.loss(batch)
        self._tick()
        self._descend(total / words, self._net.parameters(), len(batch))

    def _point(self, loss: float, epoch: float) -> None:
        super()._point(loss, epoch)
        self.at = self.at.advanced(loss_sum=loss, loss_count=1)

    def _done(self) -> tuple[float, float]:
        usable, config = len(self._rows.usable), self._config
        return self.at.triplets, min(config.sentences_per_epoch or usable, usable) * config.epochs

    def _weights(self) -> tuple[Weights, Weights]:
        return self._net.state_dict(), {}

    def _restore(self, weights: Weights, best: Weights) -> None:
        self._net.load_state_dict(dict(weights))

    def _metrics(self) -> dict[str, float]:
        return {
            "loss": self.at.loss_sum / max(self.at.loss_count, 1),
            "steps": float(self.at.step),
            "training sentences": float(len(self._rows.usable)),
            "training seconds": self._seconds(),
            "sentences/s": self._speed(),
        }
