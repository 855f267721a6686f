"""Training loop of the triplet network: Adam and early stopping (:mod:`themescope.core.models.training_loop`)."""

from __future__ import annotations

import hashlib
import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from themescope.core.errors import TrainingError
from themescope.core.models.device import pick_device, pick_precision, seeded, thread_count
from themescope.core.models.training_loop import Trained, ValidatedLoop, Weights
from themescope.core.models.triplet_network.batching import Index, TripletData, epoch_batches
from themescope.core.models.triplet_network.config import TrainingConfig
from themescope.core.models.triplet_network.losses import TripletLoss, gradient_share
from themescope.core.models.triplet_network.network import BiLstmAttention, Dropout, NetworkEncoder
from themescope.core.protocols import Report

_SPREAD_SAMPLE = 2_000  # number of triplets that the automatic temperature is measured on
_CELLS = 4_096  # tokens encoded at once where no gradient is kept
_RATE_FLOOR = 1e-6


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
    without data, or when the loss is no longer finite.
    """
    for name, data in (("training", training), ("validation", validation)):
        if not len(data):
            raise TrainingError(
                f"There are no {name} triplets. Build a set from more articles, or with less strict rules."
            )
    with thread_count(config.threads):
        return _Training(config, seed, training, validation, report, start).run()


class _Training(ValidatedLoop[Index]):
    """One training of a network."""

    measure: ClassVar[str] = "validation accuracy"
    curves: ClassVar[tuple[str, ...]] = (
        measure, "training loss", "spread", "gradient share", "learning rate", "weight norm", "temperature",
        "triplets/s",
    )  # fmt: skip
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
        self.config, self.data, self.validation = config, training, validation
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
        self.encoder = NetworkEncoder(self.net, training.tokens, precision, config.norm_bound)
        self.judge = NetworkEncoder(self.net, validation.tokens, precision, config.norm_bound)
        self.drop = Dropout(config.dropout_rate, config.dropout_sites, config.mask)
        self.weights = torch.from_numpy(training.weights(config.article_balance)).to(device)
        self.best = self._state()

    def run(self) -> Trained:
        """Train to the end and return the best weights."""
        trained = self._trained({"training triplets": float(len(self.data))})
        trained.metrics.update({"triplets/s": self._speed(), "temperature": float(self.loss.temperature.detach())})
        return trained

    def _batches_of(self, epoch: int) -> list[Index]:
        return epoch_batches(self.data, self.config, self.seed, epoch)

    def _step(self, batch: Index, batches: int) -> None:
        """Update the weights by the triplets ``batch``; a sentence that several of them share is encoded once."""
        if self.config.schedule == "linear":
            done = (self.at.epoch + self.at.batch / batches) / self.config.epochs
            self._set_rate(max(self.config.learning_rate * (1 - done), _RATE_FLOOR))
        self.drop.reseed(self.seed, self.at.step)
        rows, inverse = np.unique(self.data.triplets[batch], return_inverse=True)
        vectors = self.encoder.encode(rows, self._tick, self.drop)
        triplets = torch.from_numpy(inverse.reshape(-1, 3)).to(vectors.device)
        loss = self.loss(vectors, triplets, self.weights[torch.from_numpy(batch).to(vectors.device)])
        self._descend(loss, self.parameters, len(batch))

    def _measured(self) -> dict[str, float]:
        """Return the accuracy, spread (standard deviation of Δ/τ), gradient share (mean of 4p(1 − p)) and others."""
        speed = self._speed()  # without the time of this validation
        delta = self._deltas(self.judge, self.validation.triplets)
        temperature = self.loss.temperature.detach()
        scaled = delta / temperature
        return {
            self.measure: float(((delta < 0).double() + 0.5 * (delta == 0).double()).mean()),
            "spread": float(scaled.std(correction=0)),
            "gradient share": float(gradient_share(scaled).mean()),
            "weight norm": math.sqrt(sum(float(p.detach().square().sum()) for p in self.net.parameters())),
            "temperature": float(temperature),
            "triplets/s": speed,
        }

    def _adapt(self) -> None:
        """Halve the learning rate of the schedule "plateau" after validations without a gain."""
        without = self.at.without_gain
        if self.config.schedule == "plateau" and without and without % self.config.patience_rate == 0:
            self._set_rate(max(self.at.rate / 2, _RATE_FLOOR))

    def _deltas(self, encoder: NetworkEncoder, triplets: Index) -> Tensor:
        """Return (n,) Δ of triplets without dropout and gradient; each distinct sentence is encoded once."""
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

    def _done(self) -> tuple[float, float]:
        per_epoch = min(self.config.triplets_per_epoch or len(self.data), len(self.data))
        return self.at.triplets, per_epoch * self.config.epochs


def _fingerprint(data: TripletData, start: Weights | None) -> str:
    """Return a digest of the data and the initial weights that a checkpoint belongs to."""
    digest = hashlib.blake2b(digest_size=8)
    for array in (data.triplets, data.groups, data.tokens.ids, data.tokens.starts, data.tokens.table):
        digest.update(np.ascontiguousarray(array).tobytes())
    for _, tensor in sorted((start or {}).items()):
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
