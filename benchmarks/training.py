"""Compare the training speed of the triplet network with a loop over packed sequences.

    python -m benchmarks.training [--triplets-per-article 24] [--seconds 20] [--threads 2]

The text is synthetic (words by Zipf's law) with sentence lengths as in real articles; each article has 24 sentences,
and each triplet uses three sentences of one article. Prints medians over rounds that alternate between all methods, so
that load on the machine affects them alike.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.network import (
    BiLstmAttention,
    Dropout,
    NetworkEncoder,
    TripletData,
    epoch_batches,
)
from themescope.core.models.triplet_network.training import TripletLoss
from themescope.core.text.word_vectors import TokenIds
from themescope.core.types import Index

DIM, WORDS, SENTENCES = 100, 20_000, 24


class Packed(nn.Module):
    """Baseline network: one bidirectional LSTM over packed sequences, then the same attention."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = BiLstmAttention(DIM)
        self.lstm = nn.LSTM(DIM, 300, batch_first=True, bidirectional=True)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return (n, 600) vectors of (n, t, dim) padded words."""
        packed = nn.utils.rnn.pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return torch.bmm(self.attend.attention(states, lengths).unsqueeze(1), states).squeeze(1)


def synthetic_data(articles: int, triplets_per_article: int) -> TripletData:
    """Return triplets of sentences with log-normal lengths: mean 22 tokens, 5 to 50 as in the paper's filter."""
    random = np.random.default_rng(0)
    lengths = np.clip(random.lognormal(np.log(20.5), 0.42, articles * SENTENCES), 5, 50).astype(np.int64)
    ids = np.minimum(random.zipf(1.2, lengths.sum()), WORDS) - 1
    table = random.normal(0, 0.5, (WORDS, DIM)).astype(np.float32)
    tokens = TokenIds(ids.astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]), table)
    groups = np.repeat(np.arange(articles), triplets_per_article)
    positions = np.linspace(0, SENTENCES - 1, triplets_per_article).astype(int)
    near = (positions[None, :, None] + random.integers(-4, 5, (articles, triplets_per_article, 3))) % SENTENCES
    triplets = (near + np.arange(articles)[:, None, None] * SENTENCES).reshape(-1, 3)
    return TripletData(tokens, triplets, groups)


def packed_step(net: Packed, data: TripletData, table: Tensor) -> Callable[[Index], None]:
    """Return a training step that encodes all three sentences of each triplet as packed sequences."""
    optimizer, loss = torch.optim.Adam(net.parameters()), TripletLoss("paper", "l1")

    def step(batch: Index) -> None:
        ids, lengths = data.tokens.padded(data.triplets[batch].ravel())
        words = nn.functional.dropout(table[torch.from_numpy(ids)], 0.2)
        optimizer.zero_grad()
        vectors = net(words, torch.from_numpy(lengths))
        loss(vectors, torch.arange(len(ids)).reshape(-1, 3), torch.ones(len(batch))).backward()
        optimizer.step()

    return step


def bucketed_step(net: BiLstmAttention, data: TripletData) -> Callable[[Index], None]:
    """Return the step of ``triplet_network.training``: distinct sentences in chunks of similar length."""
    optimizer, loss = torch.optim.Adam(net.parameters()), TripletLoss("paper", "l1")
    encoder, drop = NetworkEncoder(net, data.tokens, torch.float32), Dropout(0.2, ("input",), "per-token")

    def step(batch: Index) -> None:
        rows, inverse = np.unique(data.triplets[batch], return_inverse=True)
        optimizer.zero_grad()
        vectors = encoder.encode(rows, lambda: None, drop)
        loss(vectors, torch.from_numpy(inverse.reshape(-1, 3)), torch.ones(len(batch))).backward()
        optimizer.step()

    return step


def speed(step: Callable[[Index], None], batches: list[Index]) -> float:
    """Return the items per second over some batches."""
    started = time.perf_counter()
    for batch in batches:
        step(batch)
    return sum(map(len, batches)) / (time.perf_counter() - started)


def measure(methods: dict[str, Callable[[], float]], seconds: float, fewest: int = 3) -> dict[str, list[float]]:
    """Return the results of rounds that alternate between all methods until the time is up, after an untimed round."""
    rounds: dict[str, list[float]] = {name: [] for name in methods}
    for run in methods.values():
        run()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(rounds.values()))) < fewest:
        for name, run in methods.items():
            rounds[name].append(run())
    return rounds


def print_medians(unit: str, rounds: dict[str, list[float]]) -> None:
    """Print the median speed of each method, and its median ratio to the first method within a round."""
    base = np.array(next(iter(rounds.values())))
    for name, values in rounds.items():
        ratio = np.median(np.array(values) / base)
        print(f"  {name:44s} {np.median(values):9,.0f} {unit}   × {ratio:.2f}   ({len(values)} rounds)")


def training(data: TripletData, seconds: float) -> None:
    """Print the speed of each training loop."""
    packed, table = Packed(), torch.from_numpy(data.tokens.table)
    plain = packed_step(packed, data, table)
    shuffled = TripletNetConfig(batching="shuffled", batch_size=128)
    by_article = TripletNetConfig(batching="by-article", batch_size=128)
    lists = {c: itertools.cycle(epoch_batches(data, c, 0, 0)) for c in (shuffled, by_article)}
    order = np.random.default_rng(0)
    ours_shuffled, ours_by_article = (bucketed_step(BiLstmAttention(DIM), data) for _ in range(2))
    methods = {
        "packed, shuffled, b = 32": lambda: speed(plain, [order.choice(len(data), 32) for _ in range(2)]),
        "packed, shuffled, b = 128": lambda: speed(plain, [order.choice(len(data), 128)]),
        "ours, shuffled and bucketed, b = 128": lambda: speed(ours_shuffled, [next(lists[shuffled])]),
        "ours, by article, b = 128": lambda: speed(ours_by_article, [next(lists[by_article]) for _ in range(2)]),
    }
    print("training, fp32, forward + backward + Adam")
    print_medians("triplets/s", measure(methods, seconds))


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triplets-per-article", type=int, default=96)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    data = synthetic_data(600, options.triplets_per_article)
    print(f"{torch.get_num_threads()} threads, {len(data):,} triplets over {len(data.tokens):,} distinct sentences")
    training(data, options.seconds)


if __name__ == "__main__":
    main()
