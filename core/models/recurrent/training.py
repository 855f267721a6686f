"""Training loop of recurrent encoders that predict words: Adam, sampled softmax, checkpoints and exact resume.

No random state is carried from step to step: batches depend on (seed, epoch), sampled words on (seed, step). A training
that resumes from a checkpoint therefore takes the same steps as one that was not interrupted.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from core.config import digest_of
from core.errors import Cancelled, TrainingError
from core.models.checkpoints import (
    Checkpoint,
    Progress,
    adam_tensors,
    drop_checkpoint,
    read_checkpoint,
    restore_adam,
    write_checkpoint,
)
from core.models.device import pick_device, thread_count
from core.models.recurrent.config import RecurrentTrainingConfig
from core.models.recurrent.data import END, SPECIAL, Index, WordRows
from core.models.recurrent.gru import GruEncoder
from core.protocols import Report

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


class WordTraining(ABC):
    """One training: network, optimizer, and counters in ``self.at``."""

    def __init__(self, config: RecurrentTrainingConfig, seed: int, data: WordRows, report: Report) -> None:
        self.seed, self.report = seed, report
        self._config, self._rows = config, data
        self.device = pick_device(config.device)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)  # of the processor only; the generator of a GPU is not changed
            self._net = self.network(SPECIAL + len(data.words)).to(self.device)
        self.optimizer = torch.optim.Adam(self._net.parameters(), lr=config.learning_rate)
        self.drawn = SampledWords(data.counts, config.negatives, seed, self.device)
        self.at = Progress(rate=config.learning_rate)
        self.recent: list[float] = []
        settings = config.to_dict() | {"checkpoint_seconds": 0, "threads": 0}
        self.key = digest_of([settings, seed, len(data.words), data.ids[:10_000].tolist(), len(data.ids)])
        self.saved = self.clock = time.monotonic()

    @abstractmethod
    def network(self, rows: int) -> WordNet:
        """Return a fresh network for ``rows`` words; the random generator is already seeded."""

    @abstractmethod
    def loss(self, rows: Index) -> tuple[Tensor, int]:
        """Return the sum of −log p over the words to predict for the sentences ``rows``, and the number of words."""

    def run(self) -> TrainedEncoder:
        """Train to the end, or write a checkpoint when cancelled."""
        with thread_count(self._config.threads):
            self._resume()
            self.saved = self.clock = time.monotonic()
            try:
                self._epochs()
            except Cancelled:
                self._save()
                raise
        if folder := self.report.checkpoint_folder():
            drop_checkpoint(folder)
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

    def _epochs(self) -> None:
        config = self._config
        while self.at.epoch < config.epochs:
            batches = self._rows.batches(config.batch_size, config.sentences_per_epoch, self.seed, self.at.epoch)
            while self.at.batch < len(batches):
                self._step(batches[self.at.batch])
                self._announce(len(batches))
                if time.monotonic() - self.saved >= config.checkpoint_seconds:
                    self._save()
            self.at = self.at.advanced(epoch=self.at.epoch + 1, batch=0)

    def _step(self, rows: Index) -> None:
        self.tick()
        self.optimizer.zero_grad(set_to_none=True)
        total, words = self.loss(rows)
        loss = total / words
        self.tick()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._net.parameters(), self._config.gradient_clip)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(f"The loss is not finite after {self.at.step:,} steps. Lower the learning rate.")
        self.optimizer.step()
        self.recent.append(value)
        at = self.at
        self.at = at.advanced(
            step=at.step + 1, batch=at.batch + 1, triplets=at.triplets + len(rows),
            loss_sum=at.loss_sum + value, loss_count=at.loss_count + 1,
        )  # fmt: skip

    def _resume(self) -> None:
        folder = self.report.checkpoint_folder()
        found = read_checkpoint(folder, self.key) if folder else None
        if found is not None:
            self.at = found.progress
            self._net.load_state_dict(dict(found.model))
            restore_adam(self.optimizer, found.adam)

    def _save(self) -> None:
        if (folder := self.report.checkpoint_folder()) is not None:
            self.at = self.at.advanced(seconds=self._seconds())
            self.clock = time.monotonic()
            state = Checkpoint(self.at, self._net.state_dict(), {}, adam_tensors(self.optimizer))
            write_checkpoint(folder, self.key, state)
        self.saved = time.monotonic()

    def _seconds(self) -> float:
        return self.at.seconds + time.monotonic() - self.clock

    def _announce(self, batches: int) -> None:
        if self.at.batch % max(batches // _POINTS, 1) == 0:
            value, self.recent = float(np.mean(self.recent)), []
            self.report.metric("loss", self.at.epoch + self.at.batch / batches, value)
            self.at = self.at.advanced(loss_sum=value, loss_count=1)

    def _metrics(self) -> dict[str, float]:
        seconds = self._seconds()
        return {
            "loss": self.at.loss_sum / max(self.at.loss_count, 1),
            "steps": float(self.at.step),
            "training sentences": float(len(self._rows.usable)),
            "training seconds": seconds,
            "sentences/s": self.at.triplets / max(seconds, 1e-9),
        }
