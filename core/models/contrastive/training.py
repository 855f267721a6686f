"""Training loop of the contrastive methods: AdamW, early stopping, checkpoints and exact resume.

No random state is carried from step to step: batches depend on (seed, epoch), dropout on (seed, step). A training that
resumes from a checkpoint therefore takes the same steps as one that was not interrupted, and on a processor with one
thread ends with the same weights.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import TrainingError
from core.models.contrastive.config import ContrastiveConfig
from core.models.contrastive.distillation import Teacher
from core.models.contrastive.loss import average_precision, contrastive_loss, section_masks
from core.models.contrastive.sampling import Batch, EpochBatches, SectionedArticles, validation_batches
from core.models.device import thread_count
from core.models.training_loop import TrainingLoop, Weights
from core.protocols import Report

_VALIDATION_SENTENCES = 200  # per article
VALIDATION = "validation precision"
"""Name of the measure that decides when training stops: mean average precision, averaged over articles."""


@dataclass(frozen=True)
class Source:
    """Articles of one split and what the network says about a batch of them."""

    articles: SectionedArticles
    similarities: Callable[[Batch], Tensor]
    """Return the (m, m) float32 similarities of the sentences of a batch, by the network in its current mode.

    Those of sentences of different articles are ignored.
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
    ``TrainingError`` without articles, or when the loss is no longer finite.
    """
    for name, source in (("training", training), ("validation", validation)):
        if not len(source.articles):
            raise TrainingError(
                f"There are no {name} articles with two sections and two sentences in one of them. Use more articles, "
                "or less strict rules for sections."
            )
    with thread_count(config.threads), _own_random_numbers(network):
        return _Training(config, seed, network, training, validation, report).run()


@contextmanager
def _own_random_numbers(network: nn.Module) -> Iterator[None]:
    """Restore the random state of torch after the block."""
    device = next(network.parameters()).device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


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

    def run(self) -> Trained:
        """Train to the end, and give the network its best weights."""
        self._run()
        self._take(self.best)
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
        torch.manual_seed((self.seed * 1_000_003 + self.at.step) % 2**63)
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._loss(self.training, batch)[0]
        loss.backward()
        self._update(loss, self.named.values(), len(batch))
        self._announce(batches)
        self._tick()

    def _loss(self, source: Source, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss of a batch and the (m, m) similarities of its sentences."""
        similarities = source.similarities(batch)
        labels = (torch.from_numpy(x).to(similarities.device) for x in (batch.articles, batch.sections))
        candidates, positives = section_masks(*labels)
        loss = contrastive_loss(similarities / self.config.temperature, candidates, positives)
        if source.teacher is not None:
            loss = source.teacher.mixed(loss, similarities, candidates, batch)
        return loss, similarities

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
        """Return the mean precision and the mean loss over the validation articles."""
        self.network.eval()
        found = []
        with torch.inference_mode():
            for batch in validation_batches(self.validation.articles, _VALIDATION_SENTENCES, self.seed):
                self._tick()
                loss, similarities = self._loss(self.validation, batch)
                found.append((average_precision(similarities.float().cpu().numpy(), batch.sections), float(loss)))
        precision, loss_mean = np.nanmean(np.array(found), axis=0).tolist()
        return precision, loss_mean

    def _tick(self) -> None:
        best = f", best validation precision {self.at.best:.3f}" if self.at.best >= 0 else ""
        total = len(self._batches()) * self.config.epochs
        message = f"epoch {self.at.epoch + 1} of at most {self.config.epochs}{best}"
        self.report.progress(self.at.step, total, message)

    def _weights(self) -> tuple[Weights, Weights]:
        return self._state(), self.best

    def _restore(self, weights: Weights, best: Weights) -> None:
        self._take(weights)
        self.best = dict(best)

    def _state(self) -> dict[str, Tensor]:
        return {name: p.detach().cpu().clone() for name, p in self.named.items()}

    def _take(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self.named.items():
                parameter.copy_(weights[name])

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


def _groups(named: Mapping[str, nn.Parameter], decay: float) -> list[dict[str, object]]:
    """Return the parameter groups of AdamW: matrices decay, vectors and numbers do not."""
    matrices = [p for p in named.values() if p.dim() > 1]
    others = [p for p in named.values() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
