"""Fast inference on a processor gives the vectors of the network."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.errors import ConfigError
from themescope.core.models.triplet_network import model
from themescope.core.models.triplet_network.model import Inference
from themescope.core.models.triplet_network.network import BiLstmAttention
from themescope.core.text.word_vectors import TokenIds

torch.manual_seed(0)
NET = BiLstmAttention(6, hidden=20, attention=5).eval()


def tokens_of(lengths: list[int]) -> TokenIds:
    random = np.random.default_rng(len(lengths))
    ids = random.integers(0, 30, sum(lengths)).astype(np.int32)
    table = random.normal(size=(30, 6)).astype(np.float32)
    return TokenIds(ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), table)


def by_network(tokens: TokenIds) -> np.ndarray:
    ids, lengths = tokens.padded(np.arange(len(tokens)))
    with torch.inference_mode():
        return NET(torch.from_numpy(tokens.table[ids]), torch.from_numpy(lengths)).numpy()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_equal_to_the_network(lengths: list[int]) -> None:
    tokens = tokens_of(lengths)
    assert np.abs(Inference(NET).encode(tokens, lambda: None) - by_network(tokens)).max() < 2e-6


def test_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tokens_of([3, 0, 7, 1, 1, 9, 4])
    whole = Inference(NET).encode(tokens, lambda: None)
    monkeypatch.setattr(model, "BATCH", 2)
    calls: list[int] = []
    assert np.allclose(Inference(NET).encode(tokens, lambda: calls.append(1)), whole, atol=1e-6)
    assert len(calls) == 3


def test_int8_is_close_to_fp32() -> None:
    tokens = tokens_of([5, 9, 2, 30, 12] * 8)
    exact, rounded = (Inference(NET, p).encode(tokens, lambda: None) for p in model.PRECISIONS)
    cosines = (exact * rounded).sum(1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(rounded, axis=1)
    assert cosines.min() > 0.995 and (exact != rounded).any()


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ConfigError, match="fp32 or int8"):
        Inference(NET, "int4")  # type: ignore[arg-type]


def test_no_sentences() -> None:
    assert Inference(NET).encode(tokens_of([]), lambda: None).shape == (0, 40)
