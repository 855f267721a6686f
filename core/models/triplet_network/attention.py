"""The attention weights of a trained network, read out word by word."""

from __future__ import annotations

import numpy as np
import torch

from core.models.triplet_network.batching import length_chunks, padded_ids
from core.models.triplet_network.network import BiLstmAttention
from core.text.word_vectors import Float32, TokenIds

_CELLS = 4_096  # tokens encoded at once


def attention_weights(net: BiLstmAttention, tokens: TokenIds) -> list[Float32]:
    """The weights a_t of algorithms B.2 for each sentence: (its tokens,) float32 that sum to 1; (0,) without tokens."""
    weights = [np.empty(0, np.float32)] * len(tokens)
    device = next(net.parameters()).device
    table = torch.from_numpy(tokens.table).to(device)
    chunks = length_chunks(tokens.lengths, _CELLS) if len(tokens.table) else []
    with torch.inference_mode():
        for rows in chunks:
            ids, lengths = padded_ids(tokens, rows)
            on_device = torch.from_numpy(lengths).to(device)
            words = torch.nn.functional.embedding(torch.from_numpy(ids).to(device), table)
            found = net.attention(net.states(words, on_device), on_device).cpu().numpy()
            for row, length, values in zip(rows.tolist(), lengths.tolist(), found, strict=True):
                weights[row] = values[:length].copy()
    return weights
