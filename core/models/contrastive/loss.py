"""Supervised contrastive loss within articles (Khosla et al. 2020, equation 2), and the measure of validation.

For anchor i with the other sentences K(i) of its article and those of them in its section, P(i):

    L_i = −1/|P(i)| Σ_{p ∈ P(i)} log( exp(s_ip/τ) / Σ_{k ∈ K(i)} exp(s_ik/τ) )

Distillation compares the same softmax over K(i) with that of a teacher (Hinton et al. 2015).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from themescope.core.models.training_loop import LEAST_WEIGHT
from themescope.core.types import Float32


class Mean(NamedTuple):
    """A weighted mean of losses over the items of a batch."""

    total: Tensor
    """() sum of the weighted losses, with their gradient."""
    weight: Tensor
    """() sum of the weights, a constant."""

    @property
    def value(self) -> Tensor:
        """The mean; 0 without items."""
        return self.total / self.weight.clamp(min=LEAST_WEIGHT)

    def times(self, factor: float) -> Mean:
        """Return ``factor`` times the mean."""
        return Mean(factor * self.total, self.weight)


def section_masks(articles: Tensor, sections: Tensor) -> tuple[Tensor, Tensor]:
    """Return two (m, m) masks: the candidates K and the positives P of each anchor, from (m,) labels."""
    others = ~torch.eye(len(articles), dtype=torch.bool, device=articles.device)
    candidates = (articles.unsqueeze(1) == articles) & others
    return candidates, candidates & (sections.unsqueeze(1) == sections)


def contrastive_loss(logits: Tensor, candidates: Tensor, positives: Tensor) -> Mean:
    """Return the mean of L_i over the anchors that have positives.

    ``logits`` are (m, m) similarities divided by τ, in which row i belongs to anchor i.
    """
    logits = logits.float().masked_fill(~candidates, -torch.inf)
    counts = positives.sum(dim=1)
    anchors = counts > 0
    if not anchors.any():
        return Mean(0.0 * torch.where(candidates, logits, 0.0).sum(), logits.new_zeros(()))
    chosen, kept = logits[anchors], positives[anchors]
    logs = chosen - torch.logsumexp(chosen, dim=1, keepdim=True)
    of_anchor = torch.where(kept, logs, 0.0).sum(dim=1) / counts[anchors]
    return Mean(-of_anchor.sum(), logits.new_tensor(len(of_anchor)))


def distillation_loss(logits: Tensor, teacher: Tensor, candidates: Tensor) -> Mean:
    """Return the mean over the anchors i with candidates of KL(softmax_K(i)(teacher_i) ‖ softmax_K(i)(logits_i)).

    ``logits`` and ``teacher`` are (m, m) similarities divided by a temperature, in which row i belongs to anchor i. The
    minimum is 0, where both give the same probabilities.
    """
    anchors = candidates.any(dim=1)
    kept = candidates[anchors]
    # A finite number in place of −∞, because 0 · ∞ would make the gradient not a number.
    ours, theirs = (
        x.float()[anchors].masked_fill(~kept, torch.finfo(torch.float32).min).log_softmax(dim=1)
        for x in (logits, teacher)
    )
    divergence = torch.where(kept, theirs.exp() * (theirs - ours), 0.0).sum(dim=1)
    return Mean(divergence.sum(), divergence.new_tensor(len(divergence)))


def average_precision(similarities: Float32, sections: npt.NDArray[np.int64]) -> float:
    """Return the mean average precision of ranking the other sentences of an article, or nan without usable anchors.

    An anchor's relevant sentences are those of its section; an anchor without relevant or without other sentences is
    left out. ``similarities`` is (n, n), ``sections`` (n,). Ties are ranked in the order of rows.
    """
    same = sections[:, None] == sections
    np.fill_diagonal(same, False)
    counts = same.sum(axis=1)
    anchors = np.flatnonzero((counts > 0) & (counts < len(sections) - 1))
    if not len(anchors):
        return float("nan")
    scores = similarities[anchors].astype(np.float64)
    scores[np.arange(len(anchors)), anchors] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(same[anchors], order, axis=1)
    precision = np.cumsum(hits, axis=1) / np.arange(1, len(sections) + 1)
    return float(((precision * hits).sum(axis=1) / counts[anchors]).mean())
