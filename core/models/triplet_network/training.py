"""Training loop of the triplet network: Adam, early stopping, checkpoints and exact resume.

No random state is carried from step to step: the order of batches depends on (seed, epoch), dropout masks on (seed,
step, process). A training that resumes from a checkpoint therefore takes the same steps as one that was not
interrupted, and on a processor with one thread ends with the same weights. With several processes and without dropout,
the losses are those of one process up to rounding; with dropout, they differ as those of two seeds of the masks do.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from themescope.core.errors import TrainingError
from themescope.core.models.device import pick_device, pick_precision, seeded, thread_count
from themescope.core.models.launch import run_processes
from themescope.core.models.parts import triplet_parts
from themescope.core.models.processes import Mean, current, nothing
from themescope.core.models.training_loop import TrainingLoop, Weights
from themescope.core.models.triplet_network.batching import Index, TripletData, epoch_batches
from themescope.core.models.triplet_network.config import TrainingConfig
from themescope.core.models.triplet_network.losses import TripletLoss, gradient_share
from themescope.core.models.triplet_network.network import BiLstmAttention, Dropout, Encoder
from themescope.core.protocols import Report

_SPREAD_SAMPLE = 2_000  # number of triplets that the automatic temperature is measured on
_CELLS = 4_096  # tokens encoded at once where no gradient is kept
_RATE_FLOOR = 1e-6


@dataclass(frozen=True)
class Trained:
    """The best network of a training, its history and its metrics."""

    weights: dict[str, Tensor]
    history: list[dict[str, float]]
    """One row for each validation: epoch, validation accuracy, training loss, spread (standard deviation of Δ/τ),
    gradient share (mean of 4p(1 − p)), learning rate, weight norm, temperature, triplets/s."""
    metrics: dict[str, float]


def train(
    config: TrainingConfig,
    seed: int,
    training: TripletData,
    validation: TripletData,
    report: Report,
    start: Weights | None = None,
) -> Trained:
    """Train a network on ``training`` and return the one with the best accuracy on ``validation``.

    Training starts from the weights ``start`` (fine-tuning) or from random ones. The initial network is a candidate as
    well, so that fine-tuning never lowers the accuracy on ``validation``. Resumes from the checkpoint folder of
    ``report`` if it has a checkpoint of the same settings, seed, data and initial weights. Raises ``TrainingError``
    without data, or when the loss is no longer finite. With several devices, as many processes train together
    (:func:`themescope.core.models.launch.run_processes`).
    """
    for name, data in (("training", training), ("validation", validation)):
        if not len(data):
            raise TrainingError(
                f"There are no {name} triplets. Build a set from more articles, or with less strict rules."
            )
    if config.devices > 1 and current().size == 1:
        task = partial(train, config, seed, training, validation, start=start)
        return run_processes(task, config.devices, pick_device(config.device), report)
    with thread_count(config.threads):
        return _Training(config, seed, training, validation, report, start).run()


class _Training(TrainingLoop):
    """One training of a network."""

    advice = "Lower the learning rate, or leave the temperature empty."

    def __init__(
        self,
        config: TrainingConfig,
        seed: int,
        training: TripletData,
        validation: TripletData,
        report: Report,
        start: Weights | None,
    ) -> None:
        super().__init__(config, seed, [_fingerprint(training, start)], report, rate=config.learning_rate)
        self.config, self.seed, self.data, self.validation = config, seed, training, validation
        device = pick_device(config.device)
        precision = pick_precision(config.precision, device)
        with seeded(seed):
            self.net = BiLstmAttention(training.tokens.table.shape[1], config.hidden, config.attention).to(device)
        if start is not None:
            self.net.load_state_dict(dict(start))
        self.loss = TripletLoss(
            config.loss, config.distance, learned_scale=config.learned_scale, margin=config.margin
        ).to(device)
        self.parameters = [*self.net.parameters(), *(p for p in self.loss.parameters() if p.requires_grad)]
        self.optimizer = torch.optim.Adam(self.parameters, lr=config.learning_rate)
        self.encoder = Encoder(self.net, training.tokens, precision, config.norm_bound)
        self.judge = Encoder(self.net, validation.tokens, precision, config.norm_bound)
        self.drop = Dropout(config.dropout_rate, config.dropout_sites, config.mask)
        self.weights = torch.from_numpy(training.weights(config.article_balance)).to(device)
        self.best = self._state()
        self._batch_loss = self.processes.replicate([self.net, self.loss], self._part_loss)
        self._order: tuple[int, list[Index]] = (-1, [])

    def run(self) -> Trained:
        """Train to the end and return the best weights."""
        self._run()
        return Trained(self.best, self.at.history, self._metrics())

    def _going(self) -> bool:
        """Validate if it is due, then take a step; return whether training goes on."""
        batches = self._batches()
        if self._validation_due(len(batches)):
            self._validate(len(batches))
        if self.at.without_gain >= self.config.patience_stop:
            return False
        if self.at.batch == len(batches):
            self.at = self.at.advanced(epoch=self.at.epoch + 1, batch=0)
            return self.at.epoch < self.config.epochs
        if self.config.schedule == "linear":
            self._decay(len(batches))
        self._step(batches[self.at.batch])
        self._announce(len(batches))
        return True

    def _batches(self) -> list[Index]:
        """Return the batches of the present epoch, which are computed once."""
        if self._order[0] != self.at.epoch:
            self._order = self.at.epoch, epoch_batches(self.data, self.config, self.seed, self.at.epoch)
        return self._order[1]

    def _step(self, batch: Index) -> None:
        """Update the weights by the triplets ``batch``."""
        self.drop.reseed(self.processes.seed(self.seed), self.at.step)
        self._descend(self._batch_loss, self._part(batch), self.parameters, len(batch))

    def _part(self, batch: Index) -> Index:
        """Return the triplets of a batch that this process encodes."""
        if self.processes.size == 1:
            return batch
        connected = self.config.loss == "section"  # its terms relate the sentences of several triplets
        triplets, lengths = self.data.triplets[batch], self.data.tokens.lengths
        return batch[self.processes.part(triplet_parts(triplets, lengths, self.processes.size, connected=connected))]

    def _part_loss(self, batch: Index) -> list[Mean]:
        """Return the mean loss of triplets; a sentence that several of them share is encoded once."""
        if not len(batch):
            return [nothing(self.weights.device)]
        rows, inverse = np.unique(self.data.triplets[batch], return_inverse=True)
        vectors = self.encoder.encode(rows, self._tick, self.drop)
        triplets = torch.from_numpy(inverse.reshape(-1, 3)).to(vectors.device)
        return [self.loss(vectors, triplets, self.weights[torch.from_numpy(batch).to(vectors.device)])]

    def _decay(self, batches: int) -> None:
        """Set the learning rate of the linear schedule."""
        done = (self.at.epoch + self.at.batch / batches) / self.config.epochs
        self._set_rate(max(self.config.learning_rate * (1 - done), _RATE_FLOOR))

    def _validation_due(self, batches: int) -> bool:
        parts = self.config.evaluations_per_epoch
        quarters = {math.ceil(batches * part / parts) for part in range(1, parts + 1)}
        due = self.at.batch in quarters or self.at.step == 0
        return due and self.at.evaluated != self.at.step

    def _validate(self, batches: int) -> None:
        """Measure accuracy, keep the best weights, and halve the learning rate after validations without a gain."""
        epoch = self.at.epoch + self.at.batch / max(batches, 1)
        started = time.monotonic()
        delta = self._deltas(self.judge, self.validation.triplets)
        scaled = delta / self.loss.temperature.detach()
        accuracy = float(((delta < 0).double() + 0.5 * (delta == 0).double()).mean())
        self.clock += time.monotonic() - started  # validation does not count as training time
        gained = accuracy > self.at.best
        row = {
            "epoch": epoch,
            "validation accuracy": accuracy,
            "training loss": self.at.loss_sum / self.at.loss_count if self.at.loss_count else math.nan,
            "spread": float(scaled.std(correction=0)),
            "gradient share": float(gradient_share(scaled).mean()),
            "learning rate": self.at.rate,
            "weight norm": math.sqrt(sum(float(p.detach().square().sum()) for p in self.net.parameters())),
            "temperature": float(self.loss.temperature.detach()),
            "triplets/s": self.at.triplets / max(self._seconds(), 1e-9),
        }
        row = {name: value for name, value in row.items() if math.isfinite(value)}
        without = 0 if gained else self.at.without_gain + 1
        rate = self.at.rate
        if self.config.schedule == "plateau" and without and without % self.config.patience_rate == 0:
            rate = max(rate / 2, _RATE_FLOOR)
        if gained:
            self.best = self._state()
            self.at = self.at.advanced(best=accuracy, best_step=self.at.step)
        history = [*self.at.history, row]
        self.at = self.at.advanced(
            evaluated=self.at.step, without_gain=without, history=history, loss_sum=0.0, loss_count=0
        )
        self._set_rate(rate)
        for name, value in row.items():
            if name != "epoch":
                self.report.metric(name, epoch, value)

    def _deltas(self, encoder: Encoder, triplets: Index) -> Tensor:
        """Return (n,) Δ of triplets without dropout and gradient; each distinct sentence is encoded once.

        The triplets are divided among the processes, and all of them get all values.
        """
        own = self.processes.part(np.array_split(np.arange(len(triplets)), self.processes.size))
        found = self.processes.agree(lambda: self._own_deltas(encoder, triplets[own]))
        return self.processes.gathered(own, found, len(triplets))

    def _own_deltas(self, encoder: Encoder, triplets: Index) -> Tensor:
        rows, inverse = np.unique(triplets, return_inverse=True)
        with torch.inference_mode():
            vectors = encoder.encode(rows, self._tick, cells=_CELLS)
            return self.loss.deltas(vectors, torch.from_numpy(inverse.reshape(-1, 3)).to(vectors.device))

    def _resume(self) -> bool:
        resumed = super()._resume()
        if resumed:
            self._set_rate(self.at.rate)
        else:
            self._measure_temperature()
        return resumed

    def _measure_temperature(self) -> None:
        """Set τ as configured, or to the standard deviation of Δ before training, where the gradient is largest."""
        tau = self.config.temperature
        if tau is None:
            random = np.random.default_rng([self.seed, _SPREAD_SAMPLE])
            sample = random.permutation(len(self.data))[:_SPREAD_SAMPLE]
            spread = float(self._deltas(self.encoder, self.data.triplets[sample]).std(correction=0))
            tau = spread if spread > 0 else 1.0
        self.loss.set_temperature(tau)

    def _weights(self) -> tuple[Weights, Weights]:
        return {**self.net.state_dict(), **{f"loss.{n}": t for n, t in self.loss.state_dict().items()}}, self.best

    def _restore(self, weights: Weights, best: Weights) -> None:
        self.net.load_state_dict({n: t for n, t in weights.items() if not n.startswith("loss.")})
        self.loss.load_state_dict({n.removeprefix("loss."): t for n, t in weights.items() if n.startswith("loss.")})
        self.best = dict(best)

    def _state(self) -> dict[str, Tensor]:
        return {name: tensor.detach().cpu().clone() for name, tensor in self.net.state_dict().items()}

    def _tick(self) -> None:
        best = f", best validation accuracy {self.at.best:.3f}" if self.at.best >= 0 else ""
        per_epoch = min(self.config.triplets_per_epoch or len(self.data), len(self.data))
        message = f"epoch {self.at.epoch + 1} of at most {self.config.epochs}{best}"
        self.report.progress(self.at.triplets, per_epoch * self.config.epochs, message)

    def _metrics(self) -> dict[str, float]:
        seconds = self._seconds()
        return {
            "validation accuracy": self.at.best,
            "best step": float(self.at.best_step),
            "steps": float(self.at.step),
            "training triplets": float(len(self.data)),
            "training seconds": seconds,
            "triplets/s": self.at.triplets / max(seconds, 1e-9),
            "temperature": float(self.loss.temperature.detach()),
        }


def _fingerprint(data: TripletData, start: Weights | None) -> str:
    """Return a digest of the data and the initial weights that a checkpoint belongs to."""
    digest = hashlib.blake2b(digest_size=8)
    for array in (data.triplets, data.groups, data.tokens.ids, data.tokens.starts, data.tokens.table):
        digest.update(np.ascontiguousarray(array).tobytes())
    for _, tensor in sorted((start or {}).items()):
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
