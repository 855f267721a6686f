"""Compare the CPU inference speed of a trained triplet network with a loop over packed sequences.

    python -m benchmarks.inference [--model default] [--seconds 15] [--threads 1]
    python -m benchmarks.inference --installed [--record FILE]

Of a concatenated model, the first component is measured. The sentences are synthetic: words of the model's vocabulary,
lengths as in real articles. Prints medians of CPU time over rounds that alternate between all methods, so that load on
the machine affects them alike, and the smallest cosine between each method's vectors and those of packed sequences.

With ``--installed``, all models of the package embed texts, tokenisation included, beside the package
sentence-transformers with the same encoder in float32.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from benchmarks._shared import about, timed
from benchmarks.training import measure
from themescope.core.errors import ConfigError, MissingExtraError
from themescope.core.models.triplet_network.model import ConcatenatedModel, Inference, TripletNet
from themescope.core.models.triplet_network.network import BiLstmAttention
from themescope.core.sentence_model import load
from themescope.core.text.encoders import installed_encoder
from themescope.core.text.word_vectors import TokenIds, read_glove_package
from themescope.jobs.common.models import pretrained_models

SENTENCES, BATCH = 2_048, 64
_FEW = 64  # sentences of a round of a slow encoder
_ROUNDS = 5
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
                ids, lengths = (torch.from_numpy(a) for a in tokens.padded(np.arange(start, start + BATCH)))
                words = nn.utils.rnn.pack_padded_sequence(table[ids], lengths, batch_first=True, enforce_sorted=False)
                states, _ = nn.utils.rnn.pad_packed_sequence(lstm(words)[0], batch_first=True)
                parts.append(torch.bmm(net.attention(states, lengths).unsqueeze(1), states).squeeze(1))
        return np.asarray(torch.cat(parts).numpy())

    return run


def encoders(net: BiLstmAttention, tokens: TokenIds) -> dict[str, Callable[[], Floats]]:
    """Return the functions to compare, by title."""
    exact, rounded = Inference(net), Inference(net, "int8")
    return {
        "packed, b = 64": packed(net, tokens),
        "ours, fp32": lambda: exact.encode(tokens, lambda: None),
        "ours, int8": lambda: rounded.encode(tokens, lambda: None),
    }


def synthetic_texts(words: Sequence[str]) -> list[str]:
    """Return texts of Zipf-distributed ``words``, which are in the order of frequency, as long as real sentences."""
    random = np.random.default_rng(0)
    lengths = np.clip(random.lognormal(np.log(20.5), 0.42, SENTENCES), 5, 50).astype(np.int64)
    drawn = np.minimum(random.zipf(1.2, lengths.sum()), len(words)) - 1
    places = np.split(drawn, np.cumsum(lengths)[:-1])
    return [" ".join(words[i] for i in row.tolist()).capitalize() + "." for row in places]


def compare_texts(names: Sequence[str], seconds: float, record: Path | None) -> None:
    """Print the sentences per CPU second of models and of sentence-transformers, in alternating rounds.

    A round embeds 64 texts, and all of them with a model that needs less than a second for that.
    """
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(installed_encoder("This benchmark")), device="cpu").float()
    texts = synthetic_texts(read_glove_package(10_000).words)
    title = "sentence-transformers, fp32"
    encode: dict[str, Callable[[list[str]], object]] = {
        title: partial(reference.encode, batch_size=32, show_progress_bar=False)
    }
    for name in names:
        try:
            encode[name] = load(name).encode
        except MissingExtraError as error:
            print(f"Left out: {name}. {error}")
    runs: dict[str, Callable[[], object]] = {}
    sizes: dict[str, int] = {}
    for name, run in encode.items():
        run(texts[:_FEW])  # the first call compiles and fills caches
        sizes[name] = SENTENCES if _rate(partial(run, texts[:_FEW]), _FEW) > SENTENCES else _FEW
        runs[name] = partial(run, texts[: sizes[name]])
    rates = measure({name: partial(_rate, run, sizes[name]) for name, run in runs.items()}, seconds, _ROUNDS)
    medians = {name: float(np.median(found)) for name, found in rates.items()}
    print(speed_table(medians))
    if record is not None:
        found = about("python -m benchmarks.inference --installed") | {
            "threads": torch.get_num_threads(),
            "rounds": len(rates[title]),
            "sentences_per_cpu_second": medians,
        }
        record.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def speed_table(medians: Mapping[str, float]) -> str:
    """Return sentences per CPU second by model as Markdown, the first row being what the others are compared with."""
    baseline = next(iter(medians.values()))
    rows = [f"| {name} | {rate:,.0f} | {rate / baseline:,.2f} |" for name, rate in medians.items()]
    return "\n".join(("| model | sentences per CPU second | ratio |", "|---|---|---|", *rows))


def _rate(run: Callable[[], object], sentences: int) -> float:
    """Return the sentences per CPU second of at least a tenth of a second."""
    started, done = time.process_time(), 0
    while time.process_time() - started < 0.1:
        run()
        done += sentences
    return done / (time.process_time() - started)


def _cpu_seconds(run: Callable[[], object]) -> float:
    return timed(run)[2]


def main() -> None:
    """Print sentences per CPU second and the differences from packed sequences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="triplets-sen-titles-wikipedia")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--installed", action="store_true", help="texts, by all models of the package")
    parser.add_argument("--record", type=Path, help="file for the numbers of the texts (JSON)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.installed:
        return compare_texts([model.name for model in pretrained_models()], options.seconds, options.record)
    model = load(options.model)
    fitted = model.fitted
    network = fitted.components[0] if isinstance(fitted, ConcatenatedModel) else fitted
    if not isinstance(network, TripletNet):
        raise ConfigError(f"{model!r} is not a triplet network.")
    net, tokens = network.network, synthetic_sentences(network)
    runs = encoders(net, tokens)
    vectors_by_name = {name: run() for name, run in runs.items()}  # the first call compiles
    times = measure({name: partial(_cpu_seconds, run) for name, run in runs.items()}, options.seconds)
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
