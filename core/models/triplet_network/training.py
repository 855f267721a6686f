"""Losses and training of the triplet network: Adam and early stopping (:mod:`themescope.core.models.networks`).

The losses are that of Ein Dor et al. (2018, section 4), a log loss, a section loss and the FaceNet loss. With
Δ = d(x, x⁺) − d(x, x⁻), the paper's |p⁺| + |1 − p⁻| over softmax(d⁺, d⁻) equals L = 2σ(Δ): a smooth 0–1 loss in (0, 2),
1 at chance, whose gradient 2p(1 − p) vanishes on both sides. A temperature τ divides Δ, because distances grow with the
norms of the vectors, and with them the share of triplets with almost no gradient.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor, nn
from torch.nn import functional

from themescope.core.errors import TrainingError
from themescope.core.models.networks import (
    LEAST_WEIGHT,
    Trained,
    ValidatedLoop,
    Weights,
    digest_of_arrays,
    pick_device,
    pick_precision,
    seeded,
    thread_count,
)
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.network import (
    BiLstmAttention,
    Dropout,
    NetworkEncoder,
    TripletData,
    epoch_batches,
)
from themescope.core.types import Index, Report

_THETA_LIMIT = 3.0
Mask = npt.NDArray[np.bool_]


def triplet_losses(delta: Tensor, loss: str) -> Tensor:
    """Return (n,) losses of (n,) Δ/τ: "paper" is 2σ(Δ/τ), "log" is softplus(Δ/τ) = −log σ(−Δ/τ).

    Neither exponentiates a distance. "log" keeps a gradient on triplets far on the wrong side.
    """
    return functional.softplus(delta) if loss == "log" else 2 * torch.sigmoid(delta)


def distances(a: Tensor, b: Tensor, kind: str) -> Tensor:
    """Return (n,) distances of the rows of two (n, dim) tensors, in float32 also under mixed precision.

    "mean-l1" divides by dim and makes the loss almost constant unless the temperature is measured or learned.
    """
    a, b = a.float(), b.float()
    if kind == "cosine":
        return 1 - functional.cosine_similarity(a, b, dim=1, eps=1e-8)
    if kind == "l2":
        return torch.sqrt((a - b).square().sum(dim=1) + 1e-8)
    total = (a - b).abs().sum(dim=1)
    return total / a.shape[1] if kind == "mean-l1" else total


def all_distances(x: Tensor, kind: str) -> Tensor:
    """Return (m, m) distances between all rows of (m, dim) ``x``, in float32."""
    x = x.float()
    if kind == "cosine":
        unit = functional.normalize(x, dim=1)
        return 1 - unit @ unit.T
    if kind == "l2":
        return torch.cdist(x, x, p=2, compute_mode="donot_use_mm_for_euclid_dist")
    total = torch.cdist(x, x, p=1)
    return total / x.shape[1] if kind == "mean-l1" else total


def relations(triplets: npt.NDArray[np.int64], sentences: int) -> tuple[Mask, Mask]:
    """Return two (m, m) masks over m = ``sentences`` rows: pairs in the same component, and pairs to keep apart.

    Positive pairs connect sentences to components, which are parts of sections; a negative keeps two components apart.
    ``triplets`` is (n, 3) of rows below m; a sentence is not paired with itself.
    """
    pivots, positives, negatives = triplets.T
    graph = coo_array((np.ones(len(triplets), np.int8), (pivots, positives)), shape=(sentences, sentences))
    _, piece = connected_components(graph, directed=False)
    apart = np.zeros((piece.max(initial=-1) + 1,) * 2, bool)
    apart[piece[pivots], piece[negatives]] = apart[piece[negatives], piece[pivots]] = True
    np.fill_diagonal(apart, False)
    together = piece[:, None] == piece
    np.fill_diagonal(together, False)
    return together, apart[piece][:, piece]


def section_loss(distances: Tensor, together: Tensor, apart: Tensor, weights: Tensor) -> Tensor:
    """Return the mean over anchors of the mean over their pairs of −log(e^{−d⁺} / (e^{−d⁺} + Σ e^{−d⁻})).

    The log loss over all related sentences of a batch: every pair of a component is compared with every sentence of
    the components kept apart from it. Those are encoded anyway, so that a batch of neighbouring triplets yields several
    times as many comparisons as it has triplets. ``distances`` is (m, m), divided by τ; the sum runs over the sentences
    kept apart from the anchor. ``weights`` (m,) weigh the anchors; an anchor without pairs or negatives counts nothing.
    """
    others = torch.logsumexp(-distances.masked_fill(~apart, torch.inf), dim=1, keepdim=True)
    usable = together & apart.any(dim=1, keepdim=True)
    losses = functional.softplus(torch.where(usable, others + distances, 0.0))
    pairs = usable.sum(dim=1)
    of_anchor = (losses * usable).sum(dim=1) / pairs.clamp(min=1)
    shares = weights * (pairs > 0)
    total: Tensor = (of_anchor * shares).sum()
    return total / shares.sum().clamp(min=LEAST_WEIGHT)


class TripletLoss(nn.Module):
    """Weighted mean loss over triplets of encoded sentences, with its temperature.

    With a learned scale τ = τ₀·exp(−θ), θ clipped to [−3, 3]; otherwise τ = τ₀.
    """

    def __init__(self, loss: str, distance: str, *, learned_scale: bool = False, margin: float = 0.2) -> None:
        super().__init__()
        self.loss, self.distance, self.margin = loss, "cosine" if loss == "facenet" else distance, margin
        self.tau: Tensor
        self.register_buffer("tau", torch.ones(()))
        self.theta = nn.Parameter(torch.zeros(()), requires_grad=learned_scale)

    @property
    def temperature(self) -> Tensor:
        """The current temperature τ."""
        return self.tau * torch.exp(-self.theta.clamp(-_THETA_LIMIT, _THETA_LIMIT))

    def deltas(self, vectors: Tensor, triplets: Tensor) -> Tensor:
        """Return (n,) Δ of (n, 3) rows (pivot, positive, negative) into ``vectors``."""
        pivot = vectors[triplets[:, 0]]
        near = distances(pivot, vectors[triplets[:, 1]], self.distance)
        return near - distances(pivot, vectors[triplets[:, 2]], self.distance)

    def forward(self, vectors: Tensor, triplets: Tensor, weights: Tensor) -> Tensor:
        """Return the mean loss over triplets, weighted by (n,) ``weights``.

        "section" weighs each sentence with the mean weight of its triplets. "facenet" averages over all triplets,
        including those beyond the margin, and uses no temperature.
        """
        if self.loss == "section":
            masks = relations(triplets.cpu().numpy(), len(vectors))
            together, apart = (torch.from_numpy(mask).to(vectors.device) for mask in masks)
            scaled = all_distances(vectors, self.distance) / self.temperature
            rows, zeros = triplets.reshape(-1), torch.zeros(len(vectors), device=weights.device)
            sums = zeros.index_add(0, rows, weights.repeat_interleave(3))
            counts = zeros.index_add(0, rows, torch.ones_like(rows, dtype=zeros.dtype))
            return section_loss(scaled, together, apart, sums / counts.clamp(min=1))
        deltas = self.deltas(vectors, triplets)
        if self.loss == "facenet":
            # ‖f−g‖² = 2(1 − cos) of unit vectors (Schroff et al. 2015, equation 3)
            losses = functional.relu(2 * deltas + self.margin)
        else:
            losses = triplet_losses(deltas / self.temperature, self.loss)
        return (losses * weights).sum() / weights.sum().clamp(min=LEAST_WEIGHT)


_SPREAD_SAMPLE = 2_000  # number of triplets that the automatic temperature is measured on
_CELLS = 4_096  # tokens encoded at once where no gradient is kept
_RATE_FLOOR = 1e-6


def train(
    config: TripletNetConfig,
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
            advice = "Build a set from more articles, or with less strict rules."
            raise TrainingError(f"There are no {name} triplets. {advice}")
    with thread_count(config.threads):
        return _Training(config, seed, (training, validation), report, start or {}).run()


class _Training(ValidatedLoop[Index]):
    measure: ClassVar[str] = "validation accuracy"
    curves: ClassVar[tuple[str, ...]] = (
        measure,
        "training loss",
        "spread",
        "gradient share",
        "learning rate",
        "weight norm",
        "temperature",
        "triplets/s",
    )
    advice = "Lower the learning rate, or leave the temperature empty."

    def __init__(
        self, config: TripletNetConfig, seed: int, data: tuple[TripletData, TripletData], report: Report, start: Weights
    ) -> None:
        training, validation = data
        tokens, initial = training.tokens, sorted(start.items())
        arrays: list[npt.NDArray[Any]] = [training.triplets, training.groups, tokens.ids, tokens.starts, tokens.table]
        digest = digest_of_arrays(*arrays, *(tensor.detach().cpu().numpy() for _, tensor in initial))
        super().__init__(config, seed, [digest], report, rate=config.learning_rate)
        self.config, self.data, self.validation = config, training, validation
        device = pick_device(config.device)
        precision = pick_precision(config.precision, device)
        with seeded(seed):
            self.net = BiLstmAttention(training.tokens.table.shape[1], config.hidden, config.attention).to(device)
        if start:
            self.net.load_state_dict(dict(start))
        loss = TripletLoss(config.loss, config.distance, learned_scale=config.learned_scale, margin=config.margin)
        self.loss = loss.to(device)
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
        """Return the accuracy, the spread (standard deviation of Δ/τ) and others.

        The gradient share is the mean gradient 4p(1 − p) of the paper's loss, relative to its maximum at Δ = 0.
        """
        speed = self._speed()  # without the time of this validation
        delta = self._deltas(self.judge, self.validation.triplets)
        temperature = self.loss.temperature.detach()
        scaled = delta / temperature
        p = torch.sigmoid(scaled)
        return {
            self.measure: float(((delta < 0).double() + 0.5 * (delta == 0).double()).mean()),
            "spread": float(scaled.std(correction=0)),
            "gradient share": float((4 * p * (1 - p)).mean()),
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
            # Set τ as configured, or to the standard deviation of Δ before training, where the gradient is largest.
            tau = self.config.temperature
            if tau is None:
                sample = np.random.default_rng([self.seed, _SPREAD_SAMPLE]).permutation(len(self.data))[:_SPREAD_SAMPLE]
                spread = float(self._deltas(self.encoder, self.data.triplets[sample]).std(correction=0))
                tau = spread if spread > 0 else 1.0
            self.loss.tau.fill_(tau)
        return resumed

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
