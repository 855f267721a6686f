"""Training of Skip-Thought (Kiros et al. 2015, section 2; the small version of algorithms G.3). Exact resume.

As with the triplet network nothing random is carried from step to step: batches follow from (seed, epoch), the words
drawn for the softmax from (seed, step).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.config import digest_of
from core.errors import Cancelled, TrainingError
from core.networks.checkpoints import (
    Checkpoint,
    Progress,
    adam_tensors,
    drop_checkpoint,
    read_checkpoint,
    restore_adam,
    write_checkpoint,
)
from core.networks.device import pick_device, thread_count
from core.networks.gru import GruDecoder, GruEncoder
from core.networks.skip_config import SkipTrainingConfig
from core.networks.skip_data import END, SPECIAL, Index, SkipData
from core.protocols import Report

_POINTS = 40  # of the live curve, an epoch
_FLATTENED = 0.75  # power of a word's frequency that it is drawn by


@dataclass(frozen=True)
class TrainedSkip:
    """A trained encoder, its words, and how training went."""

    weights: dict[str, Tensor]
    table: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    """(words, word_dim) vectors of the learned words."""
    metrics: dict[str, float]


class SkipNet(nn.Module):
    """Encoder, the decoders of the sentence before and of the one after, and the words they share."""

    def __init__(self, config: SkipTrainingConfig, rows: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, config.word_dim)
        nn.init.normal_(self.table.weight, std=0.1)
        self.encoder = GruEncoder(config.word_dim, config.hidden)
        width = self.encoder.width
        self.decoders = nn.ModuleList([GruDecoder(config.word_dim, width, config.decoder) for _ in range(2)])
        self.output = nn.Embedding(rows, config.decoder)
        nn.init.normal_(self.output.weight, std=0.1)
        self.bias = nn.Parameter(torch.zeros(rows))


def sampled_softmax(logits: Tensor, drawn_logits: Tensor, hits: Tensor) -> Tensor:
    """(n,) −log softmax of the (n,) true logits against (n, s) drawn ones; ``hits`` marks draws of the true word.

    Both are already less the log of how often their word is expected among the draws (Jean et al. 2015, section 3).
    """
    others = drawn_logits.masked_fill(hits, -torch.inf)
    return torch.logsumexp(torch.cat([logits.unsqueeze(1), others], dim=1), dim=1) - logits


def train_skip(config: SkipTrainingConfig, seed: int, data: SkipData, report: Report) -> TrainedSkip:
    """Train on consecutive sentences; resumes from the report's checkpoint folder.

    Raises ``TrainingError`` when no sentence has a neighbour, or the loss is no longer finite.
    """
    if not len(data.usable):
        raise TrainingError("No two sentences follow each other in an article. Skip-Thought learns from running text.")
    with thread_count(config.threads):
        return _Training(config, seed, data, report).run()


class _Training:
    def __init__(self, config: SkipTrainingConfig, seed: int, data: SkipData, report: Report) -> None:
        self.config, self.seed, self.data, self.report = config, seed, data, report
        self.device = pick_device(config.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net = SkipNet(config, SPECIAL + len(data.words)).to(self.device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=config.learning_rate)
        share = data.counts.astype(np.float64) ** _FLATTENED
        self.share = share / share.sum()
        self.cumulated = np.cumsum(self.share)
        expected = np.log(np.maximum(self.share * config.negatives, 1e-30)).astype(np.float32)
        self.expected = torch.from_numpy(expected).to(self.device)
        self.at = Progress(rate=config.learning_rate)
        self.recent: list[float] = []
        settings = config.to_dict() | {"checkpoint_seconds": 0, "threads": 0}
        self.key = digest_of([settings, seed, len(data.words), data.ids[:10_000].tolist(), len(data.ids)])
        self.saved = self.clock = time.monotonic()

    def run(self) -> TrainedSkip:
        """The loop; what a crash must not lose is kept."""
        self._resume()
        self.saved = self.clock = time.monotonic()
        try:
            while self.at.epoch < self.config.epochs:
                batches = self._batches()
                while self.at.batch < len(batches):
                    self._step(batches[self.at.batch])
                    self._announce(len(batches))
                    if time.monotonic() - self.saved >= self.config.checkpoint_seconds:
                        self._save()
                self.at = self.at.advanced(epoch=self.at.epoch + 1, batch=0)
        except Cancelled:
            self._save()
            raise
        if folder := self.report.checkpoint_folder():
            drop_checkpoint(folder)
        weights = {name: t.detach().cpu().clone() for name, t in self.net.encoder.state_dict().items()}
        table = self.net.table.weight.detach().cpu().numpy()[SPECIAL:].copy()
        return TrainedSkip(weights, table, self._metrics())

    def _batches(self) -> list[Index]:
        config = self.config
        return self.data.batches(config.batch_size, config.sentences_per_epoch, self.seed, self.at.epoch)

    def _step(self, rows: Index) -> None:
        self._tick()
        self.optimizer.zero_grad(set_to_none=True)
        ids, lengths = self._tensors(rows)
        encoded = self.net.encoder(self.net.table(ids), lengths)
        drawn = self._draws()
        total, words = encoded.new_zeros(()), 0
        for side, decoder in enumerate(self.net.decoders):
            has = np.flatnonzero(self.data.neighbours[rows, side] >= 0)
            if len(has):
                self._tick()
                targets = self._tensors(self.data.neighbours[rows[has], side])
                total = total + self._decoded(decoder, encoded[torch.from_numpy(has).to(self.device)], targets, drawn)
                words += int(targets[1].sum()) + len(has)
        loss = total / words
        self._tick()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.config.gradient_clip)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(f"The loss is no longer finite after {self.at.step:,} steps. Lower the learning rate.")
        self.optimizer.step()
        self.recent.append(value)
        at = self.at
        self.at = at.advanced(
            step=at.step + 1, batch=at.batch + 1, triplets=at.triplets + len(rows),
            loss_sum=at.loss_sum + value, loss_count=at.loss_count + 1,
        )  # fmt: skip

    def _decoded(self, decoder: nn.Module, encoded: Tensor, targets: tuple[Tensor, Tensor], drawn: Tensor) -> Tensor:
        """Sum of −log p over the words of the neighbours and the ends of their sentences."""
        ids, lengths = targets
        before = functional.pad(self.net.table(ids), (0, 0, 1, 0))  # nothing is read before the first word
        after = functional.pad(ids, (0, 1), value=END)
        real = torch.arange(after.shape[1], device=self.device) <= lengths.unsqueeze(1)
        states, wanted = decoder(before, encoded)[real], after[real]
        net = self.net
        true = (states * net.output(wanted)).sum(dim=1) + net.bias[wanted] - self.expected[wanted]
        others = states @ net.output(drawn).T + net.bias[drawn] - self.expected[drawn]
        return sampled_softmax(true, others, wanted.unsqueeze(1) == drawn).sum()

    def _draws(self) -> Tensor:
        """(negatives,) rows, drawn by flattened frequency."""
        uniform = np.random.default_rng([self.seed, self.at.step, 1]).random(self.config.negatives)
        rows = np.minimum(np.searchsorted(self.cumulated, uniform), len(self.cumulated) - 1)
        return torch.from_numpy(rows).to(self.device)

    def _tensors(self, rows: Index) -> tuple[Tensor, Tensor]:
        ids, lengths = self.data.padded(rows)
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device)

    def _resume(self) -> None:
        folder = self.report.checkpoint_folder()
        found = read_checkpoint(folder, self.key) if folder else None
        if found is not None:
            self.at = found.progress
            self.net.load_state_dict(dict(found.model))
            restore_adam(self.optimizer, found.adam)

    def _save(self) -> None:
        if (folder := self.report.checkpoint_folder()) is not None:
            self.at = self.at.advanced(seconds=self._seconds())
            self.clock = time.monotonic()
            state = Checkpoint(self.at, self.net.state_dict(), {}, adam_tensors(self.optimizer))
            write_checkpoint(folder, self.key, state)
        self.saved = time.monotonic()

    def _seconds(self) -> float:
        return self.at.seconds + time.monotonic() - self.clock

    def _announce(self, batches: int) -> None:
        if self.at.batch % max(batches // _POINTS, 1) == 0:
            value, self.recent = float(np.mean(self.recent)), []
            self.report.metric("loss", self.at.epoch + self.at.batch / batches, value)
            self.at = self.at.advanced(loss_sum=value, loss_count=1)

    def _tick(self) -> None:
        per_epoch = min(self.config.sentences_per_epoch or len(self.data.usable), len(self.data.usable))
        message = f"epoch {self.at.epoch + 1} of {self.config.epochs}"
        self.report.progress(self.at.triplets, per_epoch * self.config.epochs, message)

    def _metrics(self) -> dict[str, float]:
        seconds = self._seconds()
        return {
            "loss": self.at.loss_sum / max(self.at.loss_count, 1),
            "steps": float(self.at.step),
            "training sentences": float(len(self.data.usable)),
            "training seconds": seconds,
            "sentences/s": self.at.triplets / max(seconds, 1e-9),
        }
