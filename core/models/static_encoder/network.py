"""Network of the static encoder: x = Σ_t exp(w_t) · E_t over the words t of a sentence, scaled to length 1.

The weight of a word starts at a / (a + p), p being its share of the training text (Arora et al. 2017, A Simple but
Tough-to-Beat Baseline for Sentence Embeddings). The order of words does not matter.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.models.static_encoder.vocabulary import Floats, Index, Words


def bags(words: Words, sentences: Index) -> tuple[Tensor, Tensor]:
    """Return the (words,) rows of the words of some sentences, and the (m,) position of the first word of each."""
    counts = words.starts[sentences + 1] - words.starts[sentences]
    ends = np.cumsum(counts)
    places = np.arange(counts.sum()) + np.repeat(words.starts[sentences] - ends + counts, counts)
    return torch.from_numpy(words.ids[places].astype(np.int64)), torch.from_numpy(ends - counts)


class WordTable(nn.Module):
    """Vectors and weights of words."""

    def __init__(self, vectors: Floats, weights: Floats, dropout: float) -> None:
        """Start with (words, dim) vectors and (words,) weights above 0; ``dropout`` is the share of words left out."""
        super().__init__()
        self.vectors = nn.Parameter(torch.from_numpy(vectors))
        self.log_weights = nn.Parameter(torch.from_numpy(np.log(weights)))
        self._dropout = dropout

    def forward(self, ids: Tensor, starts: Tensor) -> Tensor:
        """Return (m, dim) vectors of length 1; zero for a sentence without words. Words are left out in training."""
        weights = self.log_weights.exp()[ids]
        if self.training and self._dropout:
            weights = weights * (torch.rand(len(ids)) >= self._dropout).to(weights.device)
        sums = functional.embedding_bag(ids, self.vectors, starts, mode="sum", per_sample_weights=weights)
        return functional.normalize(sums, dim=1)

    def weighted(self) -> Floats:
        """Return (words, dim) vectors times their weights: all that embedding needs."""
        return np.asarray((self.vectors * self.log_weights.exp().unsqueeze(1)).detach().cpu().numpy())
