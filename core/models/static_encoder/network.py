"""Network of the static encoder: x = (Σ_t exp(w_t) · E_t) M over the words t of a sentence, scaled to length 1.

The linear map M is shared by all words, so that it is learned also for words that are rare in the training text. The
weight of a word starts at a / (a + p), p being its share of the training text (Arora, Liang
and Ma 2017, smooth inverse frequency). The order of words does not matter.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from themescope.core.text.word_vectors import NumberedTexts
from themescope.core.types import Float32, Index


def bags(words: NumberedTexts, sentences: Index) -> tuple[Tensor, Tensor]:
    """Return the (words,) rows of the words of some sentences, and the (m,) position of the first word of each."""
    counts = words.starts[sentences + 1] - words.starts[sentences]
    ends = np.cumsum(counts)
    places = np.arange(counts.sum()) + np.repeat(words.starts[sentences] - ends + counts, counts)
    return torch.from_numpy(words.ids[places].astype(np.int64)), torch.from_numpy(ends - counts)


_WEIGHT_RATE = 10.0  # log weights learn this many times as fast as vectors, whose coordinates are much smaller


class WordTable(nn.Module):
    """Vectors and weights of words, and a linear map."""

    def __init__(self, vectors: Float32, weights: Float32, dim: int, dropout: float, *, train_vectors: bool) -> None:
        """Start with (words, width) vectors and (words,) weights above 0, mapped to at most ``dim`` dimensions.

        ``dropout`` is the share of words left out in training.
        """
        super().__init__()
        self.vectors = nn.Parameter(torch.from_numpy(vectors), requires_grad=train_vectors)
        self.log_weights = nn.Parameter(torch.from_numpy(np.log(weights) / _WEIGHT_RATE))
        self.map = nn.Parameter(torch.from_numpy(principal_directions(vectors, weights, dim)))
        self._dropout = dropout

    def forward(self, ids: Tensor, starts: Tensor) -> Tensor:
        """Return (m, dim) vectors of length 1; zero for a sentence without words. Words are left out in training."""
        weights = self._weights()[ids]
        if self.training and self._dropout:
            weights = weights * (torch.rand(len(ids)) >= self._dropout).to(weights.device)
        sums = functional.embedding_bag(ids, self.vectors, starts, mode="sum", per_sample_weights=weights)
        return functional.normalize(sums @ self.map, dim=1)

    def weighted(self) -> Float32:
        """Return (words, dim) mapped vectors times their weights: all that embedding needs."""
        return np.asarray(((self.vectors * self._weights().unsqueeze(1)) @ self.map).detach().cpu().numpy())

    def _weights(self) -> Tensor:
        return (_WEIGHT_RATE * self.log_weights).exp()


def principal_directions(vectors: Float32, weights: Float32, dim: int) -> Float32:
    """Return (width, at most dim) orthogonal directions in which the weighted vectors differ most."""
    if vectors.shape[1] <= dim:
        return np.eye(vectors.shape[1], dtype=np.float32)
    _, directions = np.linalg.eigh((vectors.T @ (vectors * weights[:, None])).astype(np.float64))  # in rising order
    return np.ascontiguousarray(directions[:, : -dim - 1 : -1], np.float32)
