"""Triplet losses: that of Ein Dor et al. (2018, section 3.1), a log loss, a section loss and the FaceNet loss.

With Δ = d(x, x⁺) − d(x, x⁻), the paper's |p⁺| + |1 − p⁻| over softmax(d⁺, d⁻) equals L = 2σ(Δ): a smooth 0–1 loss in
(0, 2), 1 at chance, whose gradient 2p(1 − p) vanishes on both sides. A temperature τ divides Δ, because distances grow
with the norms of the vectors, and with them the share of triplets with almost no gradient.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor, nn
from torch.nn import functional

from themescope.core.models.training_loop import LEAST_WEIGHT

_THETA_LIMIT = 3.0
Mask = npt.NDArray[np.bool_]


def triplet_losses(delta: Tensor, loss: str) -> Tensor:
    """Return (n,) losses of (n,) Δ/τ: "paper" is 2σ(Δ/τ), "log" is softplus(Δ/τ) = −log σ(−Δ/τ).

    Neither exponentiates a distance. "log" keeps a gradient on triplets far on the wrong side.
    """
    if loss == "log":
        return functional.softplus(delta)
    return 2 * torch.sigmoid(delta)


def gradient_share(delta: Tensor) -> Tensor:
    """Return (n,) 4p(1 − p): gradient of the paper's loss relative to its maximum at Δ = 0."""
    p = torch.sigmoid(delta)
    return 4 * p * (1 - p)


def facenet_losses(delta: Tensor, margin: float) -> Tensor:
    """Return (n,) max(0, ‖f−f⁺‖² − ‖f−f⁻‖² + m) of unit vectors f, from (n,) differences Δ of 1 − cosine.

    Since ‖f−g‖² = 2(1 − cos), the difference of squared distances is 2Δ (Schroff et al. 2015, equation 3).
    """
    return functional.relu(2 * delta + margin)


def bounded(vectors: Tensor, bound: float) -> Tensor:
    """Return (n, dim) rows, those longer than ``bound`` scaled to that length; a bound of 0 changes nothing."""
    if not bound:
        return vectors
    norms = torch.linalg.vector_norm(vectors.float(), dim=1, keepdim=True)
    scales: Tensor = bound / norms.clamp(min=bound)
    return vectors * scales.to(vectors.dtype)


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
    ones = np.ones(len(triplets), np.int8)
    _, piece = connected_components(
        coo_array((ones, (pivots, positives)), shape=(sentences, sentences)), directed=False
    )
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


def _sentence_weights(triplets: Tensor, weights: Tensor, sentences: int) -> Tensor:
    rows = triplets.reshape(-1)
    zeros = torch.zeros(sentences, device=weights.device)
    sums = zeros.index_add(0, rows, weights.repeat_interleave(3))
    return sums / zeros.index_add(0, rows, torch.ones_like(rows, dtype=zeros.dtype)).clamp(min=1)


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

    def set_temperature(self, tau: float) -> None:
        """Set τ₀."""
        self.tau.fill_(tau)

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
            return section_loss(scaled, together, apart, _sentence_weights(triplets, weights, len(vectors)))
        deltas = self.deltas(vectors, triplets)
        if self.loss == "facenet":
            losses = facenet_losses(deltas, self.margin)
        else:
            losses = triplet_losses(deltas / self.temperature, self.loss)
        return (losses * weights).sum() / weights.sum().clamp(min=LEAST_WEIGHT)
