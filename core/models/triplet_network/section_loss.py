"""The log loss over all sentences that a batch of triplets ties together (algorithms I.3, K.4).

Positives join sentences into pieces of sections; a negative sets two pieces apart. Every pair of a piece is then
compared with every sentence of the pieces set apart from it, in both directions: the sentences are encoded anyway, so a
batch of neighbouring triplets yields several times the comparisons that it spells out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn import functional

Mask = npt.NDArray[np.bool_]


def relations(triplets: npt.NDArray[np.int64], sentences: int) -> tuple[Mask, Mask]:
    """(m, m) masks over ``sentences`` rows: which pairs share a piece of a section, and which are set apart.

    ``triplets`` is (n, 3) of rows below ``sentences``; a sentence is not paired with itself.
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
    """Mean over anchors of the mean over their pairs of −log(e^{−d⁺} / (e^{−d⁺} + Σ e^{−d⁻})).

    ``distances`` is (m, m), already over τ; the sum runs over the sentences set apart from the anchor's piece.
    (m,) ``weights`` give each anchor's share; an anchor without pairs or without others has none.
    """
    others = torch.logsumexp(-distances.masked_fill(~apart, torch.inf), dim=1, keepdim=True)
    usable = together & apart.any(dim=1, keepdim=True)
    losses = functional.softplus(torch.where(usable, others + distances, 0.0))
    pairs = usable.sum(dim=1)
    of_anchor = (losses * usable).sum(dim=1) / pairs.clamp(min=1)
    shares = weights * (pairs > 0)
    return (of_anchor * shares).sum() / shares.sum().clamp(min=1e-12)
