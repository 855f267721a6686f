"""Training loop of recurrent encoders that predict words: Adam, sampled softmax, checkpoints and exact resume.

No random state is carried from step to step: batches depend on (seed, epoch), sampled words on (seed, step). A training
that resumes from a checkpoint therefore takes the same steps as one that was not interrupted.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.models.device import pick_device, seeded, thread_count
from themescope.core.models.recurrent.config import RecurrentTrainingConfig
from themescope.core.models.recurrent.data import END, SPECIAL, Index, WordRows
from themescope.core.models.recurrent.gru import GruEncoder
from themescope.core.models.training_loop import TrainingLoop, Weights
from themescope.core.protocols import Report

_POINTS = 40  # number of points of the live curve in an epoch
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


class WordTraining(TrainingLoop):
    """One training of an encoder; subclasses add its decoders."""

    def __init__(self, config: RecurrentTrainingConfig, seed: int, data: WordRows, report: Report) -> None:
        digests = [len(data.words), data.ids[:10_000].tolist(), len(data.ids)]
        super().__init__(config, seed, digests, report, rate=config.learning_rate)
        self.seed = seed
        self._config, self._rows = config, data
        self.device = pick_device(config.device)
        with seeded(seed):
            self._net = self.network(SPECIAL + len(data.words)).to(self.device)
        self.optimizer = torch.optim.Adam(self._net.parameters(), lr=config.learning_rate)
        self.drawn = SampledWords(data.counts, config.negatives, seed, self.device)
        self._order: tuple[int, list[Index]] = (-1, [])

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

    def tick(self) -> None:
        """Report progress; may raise ``Cancelled``."""
        usable, config = len(self._rows.usable), self._config
        per_epoch = min(config.sentences_per_epoch or usable, usable)
        message = f"epoch {self.at.epoch + 1} of {config.epochs}"
        self.report.progress(self.at.triplets, per_epoch * config.epochs, message)

    def tensors(self, ids: Index, lengths: Index) -> tuple[Tensor, Tensor]:
        """Return padded ids and lengths on the device of the network."""
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device)

    def _going(self) -> bool:
        """Take a step, or begin the next epoch; return whether training goes on."""
        batches = self._batches()
        if self.at.batch == len(batches):
            self.at = self.at.advanced(epoch=self.at.epoch + 1, batch=0)
            return self.at.epoch < self._config.epochs
        self._step(batches[self.at.batch])
        if (value := self._announce(len(batches), _POINTS)) is not None:
            self.at = self.at.advanced(loss_sum=value, loss_count=1)
        return True

    def _batches(self) -> list[Index]:
        """Return the batches of the present epoch, which are computed once."""
        if self._order[0] != self.at.epoch:
            config = self._config
            batches = self._rows.batches(config.batch_size, config.sentences_per_epoch, self.seed, self.at.epoch)
            self._order = self.at.epoch, batches
        return self._order[1]

    def _step(self, rows: Index) -> None:
        self.tick()
        self.optimizer.zero_grad(set_to_none=True)
        total, words = self.loss(rows)
        loss = total / words
        self.tick()
        loss.backward()
        self._update(loss, self._net.parameters(), len(rows))

    def _weights(self) -> tuple[Weights, Weights]:
        return self._net.state_dict(), {}

    def _restore(self, weights: Weights, best: Weights) -> None:
        self._net.load_state_dict(dict(weights))

    def _metrics(self) -> dict[str, float]:
        seconds = self._seconds()
        return {
            "loss": self.at.loss_sum / max(self.at.loss_count, 1),
            "steps": float(self.at.step),
            "training sentences": float(len(self._rows.usable)),
            "training seconds": seconds,
            "sentences/s": self.at.triplets / max(seconds, 1e-9),
        }
