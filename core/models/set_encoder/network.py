"""The transformer of the set encoder (after Lee et al. 2019, Set Transformer, without positions).

For the unit vectors X of the sentences of an article, centred in the article, and their tf-idf similarities S:

    H = A √d X,  H ← H + Attention(norm H; 5 β_h S)  and  H ← H + MLP(norm H) in each block,  Y = unit(X + B norm H)

β_h is learned for each head of each block and added to its attention logits, unless ``word_bias`` is off. The factor
√d gives the coordinates of X variance 1, so that the first block does not drown a sentence in the mean of its article.
B starts at zero, so that training starts from the vectors of the base model. The similarity of two sentences is
y·y′ + λ S with a learned λ.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

_BIAS_SCALE = 5.0
_SHORTEST = 1e-4  # centred vectors below this length are rounding noise


class SetTransformer(nn.Module):
    """(a, n, dim) centred unit vectors of a sets of n sentences → (a, n, dim) unit vectors."""

    def __init__(
        self,
        dim: int,
        width: int = 256,
        layers: int = 3,
        heads: int = 4,
        dropout: float = 0.1,
        words: float = 0.5,
        word_bias: bool = True,
    ) -> None:
        super().__init__()
        self.bias_scale = _BIAS_SCALE if word_bias else 0.0
        self.inward = nn.Linear(dim, width)
        self.blocks = nn.ModuleList(_Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.outward = nn.Linear(width, dim, bias=False)
        nn.init.zeros_(self.outward.weight)
        self.dropout = nn.Dropout(dropout)
        self.mix = nn.Parameter(torch.tensor(float(words)))

    @property
    def words(self) -> Tensor:
        """The weight λ ≥ 0 of the tf-idf similarity, against 1 for the cosine."""
        return self.mix.clamp(min=0)

    def forward(self, x: Tensor, similarity: Tensor, real: Tensor) -> Tensor:
        """Return the vectors of padded sets; padding has no influence and is zero.

        ``similarity`` is (a, n, n) by tf-idf, ``real`` (a, n) whether a row is a sentence and not padding.
        """
        padding = torch.zeros(real.shape, device=x.device).masked_fill(~real, torch.finfo(torch.float32).min)
        h = self.inward(self.dropout(x) * math.sqrt(x.shape[2]))
        for block in self.blocks:
            h = block(h, self.bias_scale * similarity, padding)
        moved: Tensor = functional.normalize(x + self.outward(self.norm(h)), dim=2)
        return moved * real.unsqueeze(2)


class _Block(nn.Module):
    """A pre-norm transformer block whose attention logits are biased by a similarity."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.rate = heads, dropout
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.beta = nn.Parameter(torch.ones(heads))
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, bias: Tensor, padding: Tensor) -> Tensor:
        """Return (a, n, width) states. ``bias`` is (a, n, n); ``padding`` (a, n), very low where there is no row."""
        h = h + self.dropout(self._attention(self.first(h), bias, padding))
        moved: Tensor = self.dropout(self.narrow(functional.gelu(self.wide(self.second(h)))))
        return h + moved

    def _attention(self, h: Tensor, bias: Tensor, padding: Tensor) -> Tensor:
        a, n, width = h.shape
        parts = self.queries_keys_values(h).view(a, n, 3, self.heads, width // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        logits = self.beta.view(1, -1, 1, 1) * bias.unsqueeze(1) + padding.view(a, 1, 1, n)
        rate = self.rate if self.training else 0.0
        found = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=logits, dropout_p=rate)
        joined: Tensor = self.joined(found.transpose(1, 2).reshape(a, n, width))
        return joined


def centred(x: Tensor, real: Tensor) -> Tensor:
    """Return (a, n, dim) unit vectors of the rows of ``x`` minus the mean over the ``real`` (a, n) rows of their set.

    ``x`` has unit rows. A row equal to the mean, such as that of the only sentence of a set, is not centred.
    """
    shares = real.unsqueeze(2) / real.sum(dim=1).clamp(min=1).view(-1, 1, 1)
    moved = x - (x * shares).sum(dim=1, keepdim=True)
    usable = torch.linalg.vector_norm(moved, dim=2, keepdim=True) > _SHORTEST
    return functional.normalize(torch.where(usable, moved, x), dim=2) * real.unsqueeze(2)
