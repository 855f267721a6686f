"""The relatedness regressor of Kiros et al. 2015, section 3.1, after Tai et al. 2015.

The features of a pair (u, v) are [|u − v| ; u⊙v]; a linear layer and a softmax give the probabilities of the scores
1 … 5, and the prediction is their expectation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from themescope.core.errors import DataError
from themescope.core.metrics.relatedness import pearson
from themescope.core.protocols import Report
from themescope.core.types import Floats

CLASSES = 5
PENALTIES = (0.0, 1e-4, 1e-3)
"""L2 penalties of the weights; the one with the best Pearson on trial is kept."""
_BLOCK_EPOCHS, _PATIENCE, _MOST_BLOCKS = 10, 3, 30
_BATCH, _RATE = 64, 1e-3


@dataclass(frozen=True)
class RelatednessData:
    """Vectors of pairs, (n, dim) dense or CSR, and their (n,) scores in 1 … 5."""

    first: Any
    second: Any
    scores: Floats


@dataclass(frozen=True)
class TrainedRegressor:
    """A trained regressor."""

    columns: npt.NDArray[np.int64] | None
    """Columns of sparse vectors that occurred in training; None for dense ones."""
    mean: npt.NDArray[np.float32]
    scale: npt.NDArray[np.float32]
    weights: Tensor
    """(features, 5)"""
    bias: Tensor
    penalty: float
    trial_pearson: float

    def predict(self, first: Any, second: Any) -> Floats:
        """Return the (n,) expected relatedness 1 … 5 of the rows of two (n, dim) matrices."""
        features = torch.from_numpy((pair_features(first, second, self.columns) - self.mean) / self.scale)
        return _expectation(features @ self.weights + self.bias)


def soft_targets(scores: Floats) -> npt.NDArray[np.float32]:
    """Return (n, 5) probabilities of the two whole scores around y, whose mean is y: 3.6 → (0, 0, .4, .6, 0)."""
    if len(scores) and not (scores.min() >= 1 and scores.max() <= CLASSES):
        raise DataError("Relatedness scores must be between 1 and 5.")
    floor = np.minimum(np.floor(scores), CLASSES - 1).astype(np.int64)
    targets = np.zeros((len(scores), CLASSES))
    rows = np.arange(len(scores))
    targets[rows, floor - 1] = floor + 1 - scores
    targets[rows, floor] = scores - floor
    return targets.astype(np.float32)


def pair_features(first: Any, second: Any, columns: npt.NDArray[np.int64] | None) -> npt.NDArray[np.float32]:
    """Return (n, 2·dim) float32 [|u − v| ; u⊙v]; of sparse vectors only ``columns``."""
    u, v = (x[:, columns].toarray() if sparse.issparse(x) else np.asarray(x) for x in (first, second))
    return np.concatenate([np.abs(u - v), u * v], axis=1).astype(np.float32)


def train_relatedness(training: RelatednessData, trial: RelatednessData, seed: int, report: Report) -> TrainedRegressor:
    """Train on ``training``, with early stopping and choice of the penalty by Pearson on ``trial``.

    Training takes blocks of 10 epochs and ends after three blocks without a gain. Features are standardised over the
    training pairs.
    """
    columns = _used_columns(training)
    raw = pair_features(training.first, training.second, columns)
    mean, scale = raw.mean(axis=0), raw.std(axis=0)
    scale[scale == 0] = 1
    features = torch.from_numpy((raw - mean) / scale)
    held_out = torch.from_numpy((pair_features(trial.first, trial.second, columns) - mean) / scale)
    fit = _Fit(features, torch.from_numpy(soft_targets(training.scores)), seed)
    fit.run(held_out, trial.scores, report)
    best = int(np.argmax(fit.best))
    return TrainedRegressor(
        columns, mean, scale, fit.weights[best], fit.bias[best], PENALTIES[best], float(fit.best[best])
    )


class _Fit:
    """One softmax regression for each penalty, trained together on the same batches."""

    def __init__(self, features: Tensor, targets: Tensor, seed: int) -> None:
        self.features, self.targets = features, targets
        self.now = (
            torch.zeros((len(PENALTIES), features.shape[1], CLASSES), requires_grad=True),
            torch.zeros((len(PENALTIES), 1, CLASSES), requires_grad=True),
        )
        self.penalties = torch.tensor(PENALTIES)[:, None, None]
        self.optimizer = torch.optim.Adam(self.now, lr=_RATE, fused=True)
        self.generator = torch.Generator().manual_seed(seed % 2**63)
        self.best = np.full(len(PENALTIES), -2.0)  # Pearson on trial
        self.weights, self.bias = (tensor.detach().clone() for tensor in self.now)

    def run(self, trial: Tensor, scores: Floats, report: Report) -> None:
        """Train until no penalty improves; the best parameters of each are kept."""
        without = np.zeros(len(PENALTIES), np.int64)
        for block in range(_MOST_BLOCKS):
            for _ in range(_BLOCK_EPOCHS):
                report.progress(block, _MOST_BLOCKS, "Training the relatedness regressor")
                self._epoch()
            with torch.inference_mode():
                found = [pearson(_expectation(logits), scores) for logits in self._logits(trial)]
            for row in np.flatnonzero((np.array(found) > self.best) & (without < _PATIENCE)).tolist():
                self.best[row], without[row] = found[row], -1
                self.weights[row], self.bias[row] = (tensor.detach()[row] for tensor in self.now)
            without += 1
            if (without >= _PATIENCE).all():
                break

    def _logits(self, features: Tensor) -> Tensor:
        """Return (penalties, n, 5) scores before the softmax."""
        return features @ self.now[0] + self.now[1]

    def _epoch(self) -> None:
        order = torch.randperm(len(self.features), generator=self.generator)
        for rows in order.split(_BATCH):
            likelihoods = torch.log_softmax(self._logits(self.features[rows]), dim=2) * self.targets[rows]
            loss = -likelihoods.sum() / len(rows) + (self.penalties * self.now[0].square()).sum()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()


def _expectation(logits: Tensor) -> Floats:
    steps = torch.arange(1, CLASSES + 1, dtype=torch.float64)
    return np.asarray((torch.softmax(logits.detach().double(), dim=1) @ steps).numpy(), np.float64)


def _used_columns(data: RelatednessData) -> npt.NDArray[np.int64] | None:
    if not sparse.issparse(data.first):
        return None
    return np.union1d(data.first.indices, data.second.indices).astype(np.int64)
