"""The encoder of Ein Dor et al. 2018: BiLSTM, then attention over its states (algorithms B.2).

For word vectors x₁…x_T: h_t = [→h_t ; ←h_t], u_t = tanh(W h_t + b), a = softmax(u·c), Net(x) = Σ_t a_t h_t.

A padded bidirectional LSTM would start its backward pass in the padding. Here two one-direction LSTMs run, the second
over each sentence reversed within its own length: equal to packed sequences, on the fused kernels that packing misses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor, nn

Masking: TypeAlias = Callable[[Tensor], Tensor]


class BiLstmAttention(nn.Module):
    """(n, t, dim) word vectors and (n,) lengths → (n, 2·hidden) sentence vectors."""

    def __init__(self, dim: int, hidden: int = 300, attention: int = 200) -> None:
        super().__init__()
        self.onward = nn.LSTM(dim, hidden, batch_first=True)
        self.backward_ = nn.LSTM(dim, hidden, batch_first=True)
        self.project = nn.Linear(2 * hidden, attention)
        self.context = nn.Linear(attention, 1, bias=False)
        for lstm in (self.onward, self.backward_):
            _open_forget_gate(lstm, hidden)

    @property
    def dim(self) -> int:
        """Coordinates of a word vector."""
        return int(self.onward.input_size)

    @property
    def width(self) -> int:
        """Coordinates of a sentence vector."""
        return 2 * int(self.onward.hidden_size)

    def forward(self, words: Tensor, lengths: Tensor, drop: Masking | None = None) -> Tensor:
        """Encode padded sentences; what stands in the padding has no influence, a sentence of length 0 gives zeros.

        ``drop`` masks the states before attention while training.
        """
        states = self.states(words, lengths)
        if drop is not None:
            states = drop(states)
        weights = self.attention(states, lengths).to(states.dtype)
        return torch.bmm(weights.unsqueeze(1), states).squeeze(1)

    def states(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(n, t, 2·hidden) states of both directions; those of padding are meaningless."""
        turn = reversal(lengths, words.shape[1]).unsqueeze(2)
        onward, _ = self.onward(words)
        backward, _ = self.backward_(words.gather(1, turn.expand_as(words)))
        return torch.cat([onward, backward.gather(1, turn.expand_as(backward))], dim=2)

    def attention(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(n, t) float32 weights: they sum to 1 over the real tokens and are 0 on padding."""
        scores = self.context(torch.tanh(self.project(states))).squeeze(2).float()
        real = torch.arange(states.shape[1], device=states.device) < lengths.unsqueeze(1)
        weights = torch.softmax(scores.masked_fill(~real, torch.finfo(torch.float32).min), dim=1)
        return weights * real


def reversal(lengths: Tensor, steps: int) -> Tensor:
    """(n, steps) positions that reverse each row within its length and leave the padding where it is."""
    steps_ = torch.arange(steps, device=lengths.device)
    turned = lengths.unsqueeze(1) - 1 - steps_
    return torch.where(turned >= 0, turned, steps_)


def _open_forget_gate(lstm: nn.LSTM, hidden: int) -> None:
    """Forget-gate bias 1 (+ 0 in torch's second bias), so that memory is kept at the start of training."""
    with torch.no_grad():
        for name, value in (("bias_ih_l0", 1.0), ("bias_hh_l0", 0.0)):
            bias = lstm.get_parameter(name)
            bias[hidden : 2 * hidden] = value
