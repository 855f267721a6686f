"""Compare the CPU inference speed of a trained triplet network with a loop over packed sequences.

    python -m benchmarks.inference [--model default] [--seconds 15] [--threads 1]

Of a concatenated model, the first component is measured. The sentences are synthetic: words of the model's vocabulary,
lengths as in real articles. Prints medians of CPU time over rounds that alternate between all methods, so that load on
the machine affects them alike, and the smallest cosine between each method's vectors and those of packed sequences.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from core.api import load
from core.errors import ConfigError
from core.models.composite.concatenated import ConcatenatedModel
from core.models.triplet_network.batching import padded_ids
from core.models.triplet_network.inference import Inference
from core.models.triplet_network.model import TripletNet
from core.models.triplet_network.network import BiLstmAttention, Encoder
from core.text.word_vectors import TokenIds

SENTENCES, BATCH = 2_048, 64
Floats = npt.NDArray[np.float32]


def synthetic_sentences(net: TripletNet) -> TokenIds:
    """Return sentences of Zipf-distributed words with log-normal lengths: mean 22, 5 to 50 as in the paper's filter."""
    random = np.random.default_rng(0)
    lengths = np.clip(random.lognormal(np.log(20.5), 0.42, SENTENCES), 5, 50).astype(np.int64)
    drawn = np.minimum(random.zipf(1.2, lengths.sum()), len(net.words)) - 1
    used, ids = np.unique(drawn, return_inverse=True)
    table, _ = net.words.of_words([net.words.words[i] for i in used.tolist()])
    return TokenIds(ids.astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]), table)


def packed(net: BiLstmAttention, tokens: TokenIds) -> Callable[[], Floats]:
    """Return a baseline: one bidirectional LSTM over packed sequences in batches of 64 sentences."""
    lstm = nn.LSTM(net.dim, net.width // 2, batch_first=True, bidirectional=True)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    weights = {n: net.onward.get_parameter(n) for n in names}
    lstm.load_state_dict(weights | {f"{n}_reverse": net.backward_.get_parameter(n) for n in names})
    table = torch.from_numpy(tokens.table)

    def run() -> Floats:
        parts = []
        with torch.inference_mode():
            for start in range(0, len(tokens), BATCH):
                ids, lengths = (torch.from_numpy(a) for a in padded_ids(tokens, np.arange(start, start + BATCH)))
                words = nn.utils.rnn.pack_padded_sequence(table[ids], lengths, batch_first=True, enforce_sorted=False)
                states, _ = nn.utils.rnn.pad_packed_sequence(lstm(words)[0], batch_first=True)
                parts.append(torch.bmm(net.attention(states, lengths).unsqueeze(1), states).squeeze(1))
        return np.asarray(torch.cat(parts).numpy())

    return run


def encoders(net: BiLstmAttention, tokens: TokenIds) -> dict[str, Callable[[], Floats]]:
    """Return the functions to compare, by title."""
    encoder, exact, rounded = Encoder(net, tokens, torch.float32), Inference(net), Inference(net, "int8")

    def padded() -> Floats:
        with torch.inference_mode():
            vectors = encoder.encode(np.arange(len(tokens)), lambda: None, cells=4_096)
            return np.asarray(vectors.numpy())

    return {
        "packed, b = 64": packed(net, tokens),
        "padded, sorted (training)": padded,
        "ours, fp32": lambda: exact.encode(tokens, lambda: None),
        "ours, int8": lambda: rounded.encode(tokens, lambda: None),
    }


def main() -> None:
    """Print sentences per CPU second and the differences from packed sequences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="default")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = load(options.model)
    fitted = model.fitted
    network = fitted.components[0] if isinstance(fitted, ConcatenatedModel) else fitted
    if not isinstance(network, TripletNet):
        raise ConfigError(f"{model!r} is not a triplet network.")
    net, tokens = network.network, synthetic_sentences(network)
    runs = encoders(net, tokens)
    vectors_by_name = {name: run() for name, run in runs.items()}  # the first call compiles
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.monotonic() + options.seconds
    while time.monotonic() < end or len(times["ours, int8"]) < 3:
        for name, run in runs.items():
            started = time.process_time()
            run()
            times[name].append(time.process_time() - started)
    baseline, reference = float(np.median(times["packed, b = 64"])), vectors_by_name["packed, b = 64"]
    print(f"{model!r}, {options.threads} threads, {len(tokens):,} sentences, {len(tokens.ids):,} tokens")
    for name, seconds in times.items():
        median, vectors = float(np.median(seconds)), vectors_by_name[name]
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(reference, axis=1)
        smallest = float(((vectors * reference).sum(1) / lengths).min())
        print(
            f"{name:28s} {len(tokens) / median:8,.0f} sentences/CPU s  {baseline / median:5.2f}×  "
            f"smallest cosine {smallest:.6f}  largest difference {np.abs(vectors - reference).max():.1e}"
        )


if __name__ == "__main__":
    main()
