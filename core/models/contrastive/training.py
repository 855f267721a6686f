"""Training loop of the contrastive methods: AdamW, early stopping, checkpoints and exact resume.

No random state is carried from step to step: batches depend on (seed, epoch), dropout on (seed, step, process). A
training that resumes from a checkpoint therefore takes the same steps as one that was not interrupted, and on a
processor with one thread ends with the same weights. Several processes divide the articles of a batch, each of which
stays whole; without dropout, the losses are those of one process up to rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.errors import TrainingError
from themescope.core.models.contrastive.config import ContrastiveConfig
from themescope.core.models.contrastive.distillation import Teacher
from themescope.core.models.contrastive.loss import average_precision, contrastive_loss, section_masks
from themescope.core.models.contrastive.sampling import (
    Batch,
    EpochBatches,
    Index,
    SectionedArticles,
    validation_batches,
)
from themescope.core.models.device import seeded, thread_count
from themescope.core.models.launch import run_processes
from themescope.core.models.processes import Mean, current, nothing
from themescope.core.models.training_loop import TrainingLoop, Weights
from themescope.core.protocols import Report

_VALIDATION_SENTENCES = 200  # per article
VALIDATION = "validation precision"
"""Name of the measure that decides when training stops: mean average precision, averaged over articles."""


@dataclass(frozen=True)
class Source:
    """Articles of one split and what the network says about a batch of them."""

    articles: SectionedArticles
    similarities: Callable[[Batch], Tensor]
    """Return the (m, m) float32 similarities of the sentences of a batch, by the network in its current mode.

    Those of sentences of different articles are ignored. The function computes on the device of the network, and can be
    pickled if the training uses several devices.
    """
    fingerprint: str
    """Digest of the data, which a checkpoint belongs to."""
    teacher: Teacher | None = None
    """What a fitted model says about the same articles; None without distillation."""


@dataclass(frozen=True)
class Trained:
    """The best weights of a training, its history and its metrics."""

    weights: dict[str, Tensor]
    """The parameters that were trained, by name."""
    history: list[dict[str, float]]
    """One row for each validation: epoch, validation precision, validation loss, training loss, learning rate."""
    metrics: dict[str, float]


def train(
    config: ContrastiveConfig, seed: int, network: nn.Module, training: Source, validation: Source, report: Report
) -> Trained:
    """Train ``network`` in place and return the weights with the best precision on ``validation``.

    The initial network is a candidate as well. Parameters that need no gradient are neither changed nor returned.
    Resumes from the checkpoint folder of ``report`` if it has a checkpoint of the same settings, seed and data. Raises
    ``TrainingError`` without articles, or when the loss is no longer finite. With several devices, as many processes
    train copies of ``network`` together (:func:`themescope.core.models.launch.run_processes`), which the sources refer
    to.
    """
    for name, source in (("training", training), ("validation", validation)):
        if not len(source.articles):
            raise TrainingError(
                f"There are no {name} articles with two sections and two sentences in one of them. Use more articles, "
                "or less strict rules for sections."
            )
    device = next(network.parameters()).device
    if config.devices > 1 and current().size == 1:
        task = partial(train, config, seed, network.cpu(), training, validation)
        trained = run_processes(task, config.devices, device, report)
        _take(network.to(device), trained.weights)
        return trained
    if current().size > 1:
        network.to(current().device)
    with thread_count(config.threads):
        return _Training(config, seed, network, training, validation, report).run()


class _Training(TrainingLoop):
    """One training of a network."""

    def __init__(
        self,
        config: ContrastiveConfig,
        seed: int,
        network: nn.Module,
        training: Source,
        validation: Source,
        report: Report,
    ) -> None:
        taught = [training.teacher.fingerprint] if training.teacher else []
        super().__init__(config, seed, [training.fingerprint, validation.fingerprint, *taught], report, rate=0.0)
        self.config, self.seed, self.network = config, seed, network
        self.training, self.validation = training, validation
        self.named = {name: p for name, p in network.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(_groups(self.named, config.weight_decay), lr=config.learning_rate)
        self.best = self._state()
        self._batch_loss = self.processes.replicate([network], self._part_loss)

    def run(self) -> Trained:
        """Train to the end, and give the network its best weights."""
        self._run()
        _take(self.network, self.best)
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
        self._step(batches[self.at.batch], len(batches))
        return True

    def _batches(self) -> EpochBatches:
        config = self.config
        return EpochBatches(
            self.training.articles, config.sample_size(), config.articles_per_batch, self.seed, self.at.epoch
        )

    def _step(self, batch: Batch, batches: int) -> None:
        self._set_rate(self._scheduled_rate(batches))
        self.network.train()
        teacher = self.training.teacher
        taught = teacher is not None and teacher.knows(batch)
        part = batch if self.processes.size == 1 else self.processes.part(batch.parts(self.processes.size))
        seed = (self.processes.seed(self.seed) * 1_000_003 + self.at.step) % 2**63
        with seeded(seed, next(self.network.parameters()).device):
            self._descend(self._batch_loss, (part, taught), self.named.values(), len(batch))
        self._announce(batches)

    def _part_loss(self, given: tuple[Batch, bool]) -> list[Mean]:
        """Return the means of a part of a batch, and whether the teacher has read a sentence of the batch."""
        part, taught = given
        self._tick()
        if not len(part):
            return [nothing(next(iter(self.named.values())).device)] * (2 if taught else 1)
        loss, similarities, candidates = self._loss(self.training, part)
        if not taught or self.training.teacher is None:
            return [loss]
        return self.training.teacher.mixed(loss, similarities, candidates, part)

    def _loss(self, source: Source, batch: Batch) -> tuple[Mean, Tensor, Tensor]:
        """Return the contrastive loss of a batch, the (m, m) similarities of its sentences, and their candidates."""
        similarities = source.similarities(batch)
        labels = (torch.from_numpy(x).to(similarities.device) for x in (batch.articles, batch.sections))
        candidates, positives = section_masks(*labels)
        loss = contrastive_loss(similarities / self.config.temperature, candidates, positives)
        return loss, similarities, candidates

    def _scheduled_rate(self, batches: int) -> float:
        """Return the learning rate of the next step: a linear rise, then a linear decrease to 0 at the last step."""
        total = batches * self.config.epochs
        rising = math.ceil(self.config.warmup * total)
        step = self.at.step
        share = (step + 1) / (rising + 1) if step < rising else (total - step) / max(total - rising, 1)
        return self.config.learning_rate * share

    def _validation_due(self, batches: int) -> bool:
        parts = self.config.evaluations_per_epoch
        places = {math.ceil(batches * part / parts) for part in range(1, parts + 1)}
        return (self.at.batch in places or self.at.step == 0) and self.at.evaluated != self.at.step

    def _validate(self, batches: int) -> None:
        """Measure the network on the validation articles and keep the best weights."""
        started = time.monotonic()
        precision, loss = self._measured()
        self.clock += time.monotonic() - started  # validation does not count as training time
        gained = precision > self.at.best
        row = {
            "epoch": self.at.epoch + self.at.batch / batches,
            VALIDATION: precision,
            "validation loss": loss,
            "training loss": self.at.loss_sum / self.at.loss_count if self.at.loss_count else math.nan,
            "learning rate": self.at.rate,
        }
        row = {name: value for name, value in row.items() if math.isfinite(value)}
        if gained:
            self.best = self._state()
            self.at = self.at.advanced(best=precision, best_step=self.at.step)
        self.at = self.at.advanced(
            without_gain=0 if gained else self.at.without_gain + 1,
            evaluated=self.at.step,
            history=[*self.at.history, row],
            loss_sum=0.0,
            loss_count=0,
        )
        for name in (VALIDATION, "validation loss"):
            if name in row:
                self.report.metric(name, row["epoch"], row[name])

    def _measured(self) -> tuple[float, float]:
        """Return the mean precision and the mean loss over the validation articles, divided among the processes."""
        self.network.eval()
        count = len(self.validation.articles)
        own = np.arange(self.processes.rank, count, self.processes.size)
        found = self.processes.agree(lambda: self._measures(own))
        precision, loss = np.nanmean(self.processes.gathered(own, found, count).numpy(), axis=0).tolist()
        return precision, loss

    def _measures(self, articles: Index) -> Tensor:
        """Return (n, 2) float64 precision and loss of some validation articles; nan where one is not defined."""
        batches = validation_batches(self.validation.articles, articles, _VALIDATION_SENTENCES, self.seed)
        found = torch.zeros((len(articles), 2), dtype=torch.float64)
        with torch.inference_mode():
            for row, batch in enumerate(batches):
                self._tick()
                loss, similarities, _ = self._loss(self.validation, batch)
                precision = average_precision(similarities.float().cpu().numpy(), batch.sections)
                found[row] = torch.tensor([precision, float(loss.value)], dtype=torch.float64)
        return found

    def _tick(self) -> None:
        best = f", best validation precision {self.at.best:.3f}" if self.at.best >= 0 else ""
        total = len(self._batches()) * self.config.epochs
        message = f"epoch {self.at.epoch + 1} of at most {self.config.epochs}{best}"
        self.report.progress(self.at.step, total, message)

    def _weights(self) -> tuple[Weights, Weights]:
        return self._state(), self.best

    def _restore(self, weights: Weights, best: Weights) -> None:
        _take(self.network, weights)
        self.best = dict(best)

    def _state(self) -> dict[str, Tensor]:
        return {name: p.detach().cpu().clone() for name, p in self.named.items()}

    def _metrics(self) -> dict[str, float]:
        seconds = self._seconds()
        return {
            VALIDATION: self.at.best,
            "best step": float(self.at.best_step),
            "steps": float(self.at.step),
            "training articles": float(len(self.training.articles)),
            "training sentences": float(len(self.training.articles.sentences)),
            "training seconds": seconds,
            "sentences/s": self.at.triplets / max(seconds, 1e-9),
        }


def _take(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give the parameters that are trained these weights, by name."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(weights[name])


def _groups(named: Mapping[str, nn.Parameter], decay: float) -> list[dict[str, object]]:
    """Return the parameter groups of AdamW: matrices decay, vectors and numbers do not."""
    matrices = [p for p in named.values() if p.dim() > 1]
    others = [p for p in named.values() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
