"""What the training loops of networks share: counters, updates of the weights, checkpoints and exact resume.

Several processes may run the same loop, each on a part of every batch (:mod:`themescope.core.models.processes`). All of
them count the same steps and have the same weights; the first writes the checkpoints, which any number of processes can
read.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.config import Config, digest_of
from themescope.core.errors import Cancelled, TrainingError
from themescope.core.models.checkpoints import (
    Checkpoint,
    Progress,
    adam_tensors,
    drop_checkpoint,
    read_checkpoint,
    restore_adam,
    write_checkpoint,
)
from themescope.core.models.processes import Mean, current
from themescope.core.protocols import Report

T = TypeVar("T")
Weights: TypeAlias = Mapping[str, Tensor]


class TrainingLoop(ABC):
    """One training: an optimizer, and counters in ``self.at``; subclasses add the network and its steps.

    Their settings have the fields gradient_clip, checkpoint_seconds and threads. A checkpoint belongs to the settings,
    the seed and the digests ``data``; the interval of checkpoints and the numbers of threads and devices may change.
    """

    optimizer: torch.optim.Optimizer
    advice: ClassVar[str] = "Lower the learning rate."
    """What the error of a loss that is not finite recommends."""

    def __init__(self, config: Config, seed: int, data: Iterable[Any], report: Report, rate: float) -> None:
        self.report = report
        self._settings: Any = config
        self.at = Progress(rate=rate)
        self.recent: list[float] = []
        """Losses since the last point of the live curve."""
        self.processes = current()
        self.key = digest_of([config.result_settings() | {"checkpoint_seconds": 0, "threads": 0}, seed, *data])
        self.saved = self.clock = time.monotonic()

    @abstractmethod
    def _going(self) -> bool:
        """Take at most one step; return whether training goes on."""

    @abstractmethod
    def _weights(self) -> tuple[Weights, Weights]:
        """Return the present and the best weights, which a checkpoint contains."""

    @abstractmethod
    def _restore(self, weights: Weights, best: Weights) -> None:
        """Take the weights of a checkpoint."""

    def _run(self) -> None:
        """Resume from a checkpoint if there is one, and train to the end, or write a checkpoint when cancelled."""
        self._resume()
        self.saved = self.clock = time.monotonic()
        try:
            while self._going():
                if time.monotonic() - self.saved >= self._settings.checkpoint_seconds:
                    self._save()
        except Cancelled:
            self._save()
            raise
        if (folder := self.report.checkpoint_folder()) and self.processes.first:
            drop_checkpoint(folder)

    def _descend(
        self, part_loss: Callable[[T], Sequence[Mean]], part: T, parameters: Iterable[nn.Parameter], items: int
    ) -> None:
        """Take a step down the gradient of the loss of a batch of ``items``, of which this process has ``part``.

        ``part_loss`` is that of :meth:`themescope.core.models.processes.Processes.replicate`.
        """
        self.optimizer.zero_grad(set_to_none=True)
        means = self.processes.agree(lambda: part_loss(part))
        differentiable, loss = self.processes.loss(means)
        differentiable.backward()
        self._update(loss, parameters, items)

    def _update(self, loss: Tensor, parameters: Iterable[nn.Parameter], items: int) -> None:
        """Change the parameters by their gradients, and count the ``items`` of the batch, which has this ``loss``.

        Raises ``TrainingError`` for a loss that is not finite.
        """
        torch.nn.utils.clip_grad_norm_(parameters, self._settings.gradient_clip)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(f"The loss is not finite after {self.at.step:,} steps. {self.advice}")
        self.optimizer.step()
        self.recent.append(value)
        at = self.at
        self.at = at.advanced(
            step=at.step + 1,
            batch=at.batch + 1,
            triplets=at.triplets + items,
            loss_sum=at.loss_sum + value,
            loss_count=at.loss_count + 1,
        )

    def _announce(self, batches: int, points: int = 20) -> float | None:
        """Add a point to the live curve where it is due, and return its loss; an epoch has about ``points`` points."""
        if self.at.batch % max(batches // points, 1):
            return None
        value, self.recent = float(np.mean(self.recent)), []
        self.report.metric("loss", self.at.epoch + self.at.batch / batches, value)
        return value

    def _resume(self) -> bool:
        """Continue from the checkpoint of the same settings, seed and data; return whether there is one."""
        folder = self.report.checkpoint_folder()
        found = read_checkpoint(folder, self.key) if folder else None
        if found is None:
            return False
        self.at = found.progress
        self._restore(found.model, found.best)
        restore_adam(self.optimizer, found.adam)
        return True

    def _save(self) -> None:
        folder = self.report.checkpoint_folder()
        if folder is not None and self.processes.first:
            self.at = self.at.advanced(seconds=self._seconds())
            self.clock = time.monotonic()
            write_checkpoint(folder, self.key, Checkpoint(self.at, *self._weights(), adam_tensors(self.optimizer)))
        self.saved = time.monotonic()

    def _seconds(self) -> float:
        """Return the seconds of training so far, those before an interruption included."""
        return self.at.seconds + time.monotonic() - self.clock

    def _set_rate(self, rate: float) -> None:
        self.at = self.at.advanced(rate=rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
