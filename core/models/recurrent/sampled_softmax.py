"""The softmax over a vocabulary by drawn words (Jean et al. 2015, Using Very Large Target Vocabulary, section 3)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from core.models.recurrent.word_rows import END, Index

_FLATTENED = 0.75  # power of a word's frequency that it is drawn by


def sampled_softmax(logits: Tensor, drawn_logits: Tensor, hits: Tensor) -> Tensor:
    """(n,) −log softmax of the (n,) true logits against (n, s) drawn ones; ``hits`` marks draws of the true word.

    Both are already less the log of how often their word is expected among the draws.
    """
    others = drawn_logits.masked_fill(hits, -torch.inf)
    return torch.logsumexp(torch.cat([logits.unsqueeze(1), others], dim=1), dim=1) - logits


class DrawnWords:
    """Words drawn by flattened frequency; which, follows from (seed, step) alone."""

    def __init__(self, counts: Index, negatives: int, seed: int, device: torch.device) -> None:
        share = counts.astype(np.float64) ** _FLATTENED
        share /= share.sum()
        self._seed, self._negatives, self._device = seed, negatives, device
        self._cumulated = np.cumsum(share)
        expected = np.log(np.maximum(share * negatives, 1e-30)).astype(np.float32)
        self._expected = torch.from_numpy(expected).to(device)

    def at(self, step: int) -> Tensor:
        """(negatives,) rows for one training step."""
        uniform = np.random.default_rng([self._seed, step, 1]).random(self._negatives)
        rows = np.minimum(np.searchsorted(self._cumulated, uniform), len(self._cumulated) - 1)
        return torch.from_numpy(rows).to(self._device)

    def loss(self, states: Tensor, wanted: Tensor, drawn: Tensor, output: torch.nn.Embedding, bias: Tensor) -> Tensor:
        """Sum of −log p of the (n,) ``wanted`` rows, given (n, dim) states and the ``drawn`` rows."""
        true = (states * output(wanted)).sum(dim=1) + bias[wanted] - self._expected[wanted]
        others = states @ output(drawn).T + bias[drawn] - self._expected[drawn]
        return sampled_softmax(true, others, wanted.unsqueeze(1) == drawn).sum()


def shifted(ids: Tensor, lengths: Tensor, table: torch.nn.Embedding) -> tuple[Tensor, Tensor, Tensor]:
    """What a decoder reads and predicts for (n, t) padded sentences, whose ends it predicts too.

    (n, t + 1, dim) words before each place (nothing before the first), (n, t + 1) rows wanted, and which are real.
    """
    before = torch.nn.functional.pad(table(ids), (0, 0, 1, 0))
    after = torch.nn.functional.pad(ids, (0, 1), value=END)
    real = torch.arange(after.shape[1], device=ids.device) <= lengths.unsqueeze(1)
    return before, after, real
