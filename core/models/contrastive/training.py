"""Training loop of the contrastive methods: AdamW and early stopping (:mod:`themescope.core.models.training_loop`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.errors import TrainingError
from themescope.core.models.contrastive.distillation import Teacher, drop_teacher, teacher_of
from themescope.core.models.contrastive.loss import Mean, average_precision, contrastive_loss, section_masks
from themescope.core.models.contrastive.sampling import (
    Batch,
    ContrastiveConfig,
    DistillationConfig,
    EpochBatches,
    SectionedArticles,
    validation_batches,
)
from themescope.core.models.device import seeded, thread_count
from themescope.core.models.training_loop import Trained, ValidatedLoop, Weights
from themescope.core.protocols import Report, SubReport
from themescope.core.types import Corpus, Sentence

_VALIDATION_SENTENCES = 200  # per article
VALIDATION = "validation precision"
"""Name of the measure that decides when training stops: mean average precision, averaged over articles."""


@dataclass(frozen=True)
class Examples:
    """Articles of one split and what the network says about a batch of them."""

    articles: SectionedArticles
    similarities: Callable[[Batch], Tensor]
    """Return the (m, m) float32 similarities of the sentences of a batch, by the network in its current mode.

    Those of sentences of different articles are ignored. The function computes on the device of the network.
    """
    fingerprint: str
    """Digest of the data, which a checkpoint belongs to."""
    teacher: Teacher | None = None
    """What a fitted model says about the same articles; None without distillation."""


def train(
    config: ContrastiveConfig,
    seed: int,
    network: nn.Module,
    training: Examples,
    validation: Examples,
    report: Report,
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
    with thread_count(config.threads):
        return _Training(config, seed, network, training, validation, report).run()


def train_with_teacher(
    config: DistillationConfig,
    seed: int,
    network: nn.Module,
    training: Examples,
    validation: Examples,
    teaching: tuple[Corpus, Sequence[Sentence]],
    report: Report,
) -> Trained:
    """Train as :func:`train` does; the model of a corpus, if it has one, is the teacher.

    ``teaching`` are the corpus and the sentences that the articles of ``training`` refer to.
    """
    teacher = teacher_of(*teaching, training.articles, config, seed, SubReport(report, 0.0, 0.5))
    stage = SubReport(report, 0.5, 1.0) if teacher else report
    trained = train(config, seed, network, replace(training, teacher=teacher), validation, stage)
    drop_teacher(report)
    return trained


class _Training(ValidatedLoop[Batch]):
    """One training of a network."""

    measure: ClassVar[str] = VALIDATION
    curves: ClassVar[tuple[str, ...]] = (VALIDATION, "validation loss")

    def __init__(
        self,
        config: ContrastiveConfig,
        seed: int,
        network: nn.Module,
        training: Examples,
        validation: Examples,
        report: Report,
    ) -> None:
        taught = [training.teacher.fingerprint] if training.teacher else []
        super().__init__(config, seed, [training.fingerprint, validation.fingerprint, *taught], report, rate=0.0)
        self.config, self.network = config, network
        self.training, self.validation = training, validation
        self.named = {name: p for name, p in network.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(_groups(self.named, config.weight_decay), lr=config.learning_rate)
        self.best = self._state()

    def run(self) -> Trained:
        """Train to the end, and give the network its best weights."""
        articles = self.training.articles
        counts = {"training articles": len(articles), "training sentences": len(articles.sentences)}
        trained = self._trained({name: float(count) for name, count in counts.items()})
        trained.metrics["sentences/s"] = self._speed()
        _take(self.network, self.best)
        return trained

    def _batches_of(self, epoch: int) -> EpochBatches:
        config = self.config
        return EpochBatches(self.training.articles, config.sample_size(), config.articles_per_batch, self.seed, epoch)

    def _step(self, batch: Batch, batches: int) -> None:
        total = batches * self.config.epochs  # the rate rises linearly, then falls linearly to 0 at the last step
        rising = math.ceil(self.config.warmup * total)
        step = self.at.step
        share = (step + 1) / (rising + 1) if step < rising else (total - step) / max(total - rising, 1)
        self._set_rate(self.config.learning_rate * share)
        self.network.train()
        with seeded((self.seed * 1_000_003 + self.at.step) % 2**63, next(self.network.parameters()).device):
            self._tick()
            loss, similarities, candidates = self._loss(self.training, batch)
            means, teacher = [loss], self.training.teacher
            if teacher is not None and teacher.knows(batch):
                means = teacher.mixed(loss, similarities, candidates, batch)
            self._descend(torch.stack([mean.value for mean in means]).sum(), self.named.values(), len(batch))

    def _loss(self, source: Examples, batch: Batch) -> tuple[Mean, Tensor, Tensor]:
        """Return the contrastive loss of a batch, the (m, m) similarities of its sentences, and their candidates."""
        similarities = source.similarities(batch)
        labels = (torch.from_numpy(x).to(similarities.device) for x in (batch.articles, batch.sections))
        candidates, positives = section_masks(*labels)
        loss = contrastive_loss(similarities / self.config.temperature, candidates, positives)
        return loss, similarities, candidates

    def _measured(self) -> dict[str, float]:
        """Return the mean precision and the mean loss over the validation articles in which they are defined."""
        self.network.eval()
        articles = self.validation.articles
        found = np.zeros((len(articles), 2))
        batches = validation_batches(articles, np.arange(len(articles)), _VALIDATION_SENTENCES, self.seed)
        with torch.inference_mode():
            for row, batch in enumerate(batches):
                self._tick()
                loss, similarities, _ = self._loss(self.validation, batch)
                precision = average_precision(similarities.float().cpu().numpy(), batch.sections)
                found[row] = precision, float(loss.value)
        precision, loss_of_all = np.nanmean(found, axis=0).tolist()
        return {VALIDATION: precision, "validation loss": loss_of_all}

    def _done(self) -> tuple[float, float]:
        return self.at.step, len(self._batches()) * self.config.epochs

    def _weights(self) -> tuple[Weights, Weights]:
        return self._state(), self.best

    def _restore(self, weights: Weights, best: Weights) -> None:
        _take(self.network, weights)
        self.best = dict(best)

    def _state(self) -> dict[str, Tensor]:
        return {name: p.detach().cpu().clone() for name, p in self.named.items()}


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
