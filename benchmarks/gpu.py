"""Compare a GPU with the processor, measure its speed and memory, and train on it as published. At most eight minutes.

    python -m benchmarks.gpu [--record benchmarks/records/gpu.json] [--data FILE.npz] [--weights FILE.safetensors]
    python -m benchmarks.gpu --prepare HOME SET EVALUATED WORDS FILE.npz

Equal results: sentence vectors, gradient of a training step of the triplet network, tables after steps of CON-S2V, and
clusters by Iclust of the vectors of both. Speed: triplets and sentences per second of the triplet network (float32,
bfloat16), sentences per second of the default model and of the large one where they are installed, with the most memory
that each allocated. In the time left, ``triplets-sen`` is trained by the settings of ``reproduce ed18 --profile full``
on the arrays in FILE.npz, which ``--prepare`` writes on any machine from two triplet sets of the store in HOME. Without
a GPU nothing is measured. Exits with 1 if a result is not equal.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks._shared import about
from benchmarks.training import synthetic_data
from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import config_from_dict
from themescope.core.errors import ThemescopeError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.models.con_s2v.config import SentVecConfig
from themescope.core.models.con_s2v.text import (
    Context,
    Losses,
    Noise,
    Span,
    Tables,
    TextArrays,
    alias_table,
    keep_thresholds,
    random_table,
)
from themescope.core.models.con_s2v.training import BatchedLearner
from themescope.core.models.networks import native_bf16, pick_precision, seeded
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.network import (
    BiLstmAttention,
    NetworkEncoder,
    TripletData,
    epoch_batches,
    triplet_data,
)
from themescope.core.models.triplet_network.training import TripletLoss, train
from themescope.core.papers import paper
from themescope.core.sentence_model import load
from themescope.core.text.word_vectors import TokenIds, load_word_vectors, read_glove_package
from themescope.core.types import Index, NullReport, Split
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.articles import code_revision

CLOSE = 1e-3
"""Largest difference of equal results, as a share of their size; sums are added in another order on a GPU."""
MODELS = ("default", "thematic-wikipedia-large")
PAPER = TripletNetConfig()
"""300 units and attention of 200."""
CELLS = 65_536  # tokens encoded at once
_TURNS = 8  # parts of the time: six measurements of speed, and twice as much for the training


def main(arguments: Sequence[str] | None = None, device: str = "cuda") -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, default=Path("benchmarks/records/gpu.json"))
    parser.add_argument("--seconds", type=float, default=420.0)
    parser.add_argument("--data", type=Path, help="arrays to train on")
    parser.add_argument("--weights", type=Path, help="file for the trained weights")
    parser.add_argument("--prepare", nargs=5, metavar=("HOME", "SET", "EVALUATED", "WORDS", "FILE"))
    options = parser.parse_args(arguments)
    if options.prepare:
        prepare(*options.prepare)
        return
    if device == "cuda" and not torch.cuda.is_available():
        print("This machine has no CUDA GPU: nothing was measured.")
        return
    started = time.monotonic()
    record: dict[str, Any] = {
        **about("python -m benchmarks.gpu"),
        "revision": code_revision(),
        "gpu": torch.cuda.get_device_name() if device == "cuda" else device,
        "torch": torch.__version__,
        "equal": equalities(device),
    }
    part = (options.seconds - (time.monotonic() - started)) / _TURNS
    record["speed"] = dict(speeds(device, max(part, 0.1)))
    if options.data:
        left = options.seconds - (time.monotonic() - started)
        record["training"] = trained(options.data, device, left, options.weights)
    options.record.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))
    wrong = [name for name, found in record["equal"].items() if not found["equal"]]
    if wrong:
        sys.exit(f"Not equal on the GPU: {', '.join(wrong)}.")


class Step:
    """Training steps of a new triplet network on one device, without dropout, whose masks differ between devices."""

    def __init__(
        self, data: TripletData, device: str, precision: torch.dtype, config: TripletNetConfig = PAPER
    ) -> None:
        with seeded(0):
            self.net = BiLstmAttention(data.tokens.table.shape[1], config.hidden, config.attention).to(device)
        self.data, self.loss = data, TripletLoss("paper", "l1").to(device)
        self.encoder = NetworkEncoder(self.net, data.tokens, precision)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def gradient(self, batch: Index) -> torch.Tensor:
        """Compute the gradient of a batch and return it as one vector."""
        rows, inverse = np.unique(self.data.triplets[batch], return_inverse=True)
        self.optimizer.zero_grad()
        vectors = self.encoder.encode(rows, lambda: None, cells=CELLS)
        triplets = torch.from_numpy(inverse.reshape(-1, 3)).to(vectors.device)
        self.loss(vectors, triplets, torch.ones(len(batch), device=vectors.device)).backward()
        return torch.cat([p.grad.flatten() for p in self.net.parameters() if p.grad is not None])

    def take(self, batch: Index) -> None:
        """Change the weights by a batch."""
        self.gradient(batch)
        self.optimizer.step()

    def vectors(self, rows: Index) -> torch.Tensor:
        """Return the vectors of sentences."""
        with torch.inference_mode():
            return self.encoder.encode(rows, lambda: None, cells=CELLS)


def equalities(device: str) -> dict[str, dict[str, Any]]:
    """Return for each computation how far the device is from the processor, and whether that is close enough."""
    data = synthetic_data(20, 24)
    here, there = (Step(data, where, torch.float32) for where in ("cpu", device))
    rows, batch = np.arange(len(data.tokens)), np.arange(256)
    vectors = [step.vectors(rows).cpu() for step in (here, there)]
    found = {"encode": _apart(*vectors)}
    found["triplet training step"] = _apart(*(step.gradient(batch).cpu() for step in (here, there)))
    steps = zip(con_s2v_steps("cpu").values(), con_s2v_steps(device).values(), strict=True)
    found["CON-S2V step"] = max(_apart(*(torch.from_numpy(table) for table in tables)) for tables in steps)
    equal: dict[str, dict[str, Any]] = {
        name: {"difference": value, "equal": bool(value < CLOSE)} for name, value in found.items()
    }
    iclust, ami = CLUSTERERS.build("iclust"), METRICS.build("ami")
    articles = [rows[start : start + 48] for start in range(0, len(rows), 48)]
    labels = [[iclust.fit_predict(x[own].numpy(), 8, 0) for own in articles] for x in vectors]
    agreement = float(np.mean([ami.score(one, other) for one, other in zip(*labels, strict=True)]))
    equal["Iclust"] = {"AMI of both": agreement, "equal": agreement > 0.99}
    return equal


def _apart(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).norm() / one.norm().clamp(min=1e-12))


def con_s2v_steps(device: str) -> dict[str, Any]:
    """Return the tables after all three steps on every word, with one neighbour for each sentence and no noise.

    So nothing is drawn: the random numbers of a GPU are others than those of a processor.
    """
    random = np.random.default_rng(0)
    sentences, words, length = 400, 300, 12
    ids = random.integers(0, words, sentences * length).astype(np.int32)
    nodes = np.roll(np.arange(sentences, dtype=np.int32), -1)
    tables = Tables(*(random_table(n, 64, random) for n in (sentences, words, sentences, 0)))
    keep = keep_thresholds(np.bincount(ids, minlength=words), 0.0)
    text = TextArrays(ids, np.arange(sentences + 1) * length, keep)
    noise = Noise(alias_table(np.ones(words)), alias_table(np.ones(sentences)), 0)
    losses = Losses(content=True, neighbours=1.0, strength=1.0, implicit=False, window=0)
    config = config_from_dict(SentVecConfig, {"device": device, "batch": 40, "dim": 64})
    learner = BatchedLearner(tables, text, Context(nodes, np.arange(sentences + 1)), noise, losses, config)
    learner.run(Span(0, sentences, 0.1, 0, len(ids), 0))
    return dict(learner.tables())


def speeds(device: str, seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield items per second and the most memory of each model and precision, ``seconds`` for each of them."""
    data, where = synthetic_data(600, 96), torch.device(device)
    config = TripletNetConfig(batching="shuffled", batch_size=256)
    for name in ("fp32", "bf16"):
        if name == "bf16" and not native_bf16(where):
            continue
        step, batches = Step(data, device, pick_precision(name, where)), epoch_batches(data, config, 0, 0)
        yield f"BiLSTM, training, {name}", _measured(step.take, batches, device, seconds, "triplets")
        rows = np.array_split(np.arange(len(data.tokens)), 4)
        yield f"BiLSTM, encoding, {name}", _measured(step.vectors, rows, device, seconds, "sentences")
    words = read_glove_package(20_000).words
    texts = [" ".join(words[i] for i in data.tokens.ids[a:b]) for a, b in pairwise(data.tokens.starts.tolist())]
    for name in MODELS:
        try:
            model = load(name, device="cuda" if device == "cuda" else "cpu")
        except ThemescopeError as error:
            yield name, {"not measured": str(error)}
            continue
        parts = [texts[i : i + 2_048] for i in range(0, len(texts), 2_048)]
        yield name, _measured(model.encode, parts, device, seconds, "sentences")


def _measured(
    run: Callable[[Any], Any], parts: Sequence[Any], device: str, seconds: float, unit: str
) -> dict[str, Any]:
    """Run parts over and over until the time is up, the first one untimed; return the speed and the most memory."""
    gpu = device == "cuda"
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    run(parts[0])
    done, turn, started = 0, 0, time.perf_counter()
    while not done or time.perf_counter() - started < seconds:
        part = parts[turn % len(parts)]
        run(part)
        if gpu:
            torch.cuda.synchronize()
        done, turn = done + len(part), turn + 1
    found = {f"{unit} per second": round(done / (time.perf_counter() - started), 1)}
    return found | ({"MB": round(torch.cuda.max_memory_allocated() / 1e6)} if gpu else {})


class _Curve(NullReport):
    """Report that keeps the validation accuracy by passes."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[float, float]] = []

    def metric(self, name: str, step: float, value: float) -> None:
        """Keep the point."""
        if name == "validation accuracy":
            self.points.append((step, round(value, 4)))


def settings() -> dict[str, Any]:
    """Return the settings of ``triplets-sen`` in the profile full, without those of its word vectors."""
    declared = paper("ed18")
    model = declared.model("triplets-sen")
    return {**declared.profile("full").budgets[model.budget], **model.settings}


def trained(file: Path, device: str, seconds: float, weights: Path | None) -> dict[str, Any]:
    """Train as published for as many passes, at most those of the profile, as fit into the time; return the curve."""
    with np.load(file, allow_pickle=False) as arrays:
        parts = {split: _data(arrays, split.value) for split in Split}
    wanted = settings() | {"device": "cuda" if device == "cuda" else "cpu", "precision": "fp32"}
    config = config_from_dict(TripletNetConfig, wanted)
    step = Step(parts[Split.TRAIN], device, torch.float32, config)
    batches = epoch_batches(parts[Split.TRAIN], config, 0, 0)
    rate = _measured(step.take, batches, device, min(seconds / 20, 10), "triplets")["triplets per second"]
    passes = min(config.epochs, int(0.7 * seconds * rate / len(parts[Split.TRAIN])))
    if passes < 1:
        return {"not trained": f"{len(parts[Split.TRAIN]):,} triplets at {rate:,.0f} a second do not fit into the time"}
    curve, started = _Curve(), time.monotonic()
    config = config_from_dict(TripletNetConfig, wanted | {"epochs": passes})
    found = train(config, 0, parts[Split.TRAIN], parts[Split.VALIDATION], curve)
    took, test = time.monotonic() - started, parts[Split.TEST]
    judge = Step(test, device, torch.float32, config)
    judge.net.load_state_dict(found.weights)
    rows, inverse = np.unique(test.triplets, return_inverse=True)
    with torch.inference_mode():
        vectors = judge.vectors(rows)
        deltas = judge.loss.deltas(vectors, torch.from_numpy(inverse.reshape(-1, 3)).to(vectors.device))
    if weights:
        from safetensors.torch import save_file

        save_file({name: tensor.contiguous() for name, tensor in found.weights.items()}, weights)
    return {
        "settings": wanted, "passes": passes, "seconds": round(took, 1), "triplets": len(parts[Split.TRAIN]),
        "validation accuracy": curve.points,
        "test accuracy": float(((deltas < 0).double() + 0.5 * (deltas == 0).double()).mean()),
    }  # fmt: skip


def _data(arrays: Any, split: str) -> TripletData:
    tokens = TokenIds(arrays[f"{split} ids"], arrays[f"{split} starts"], arrays[f"{split} table"].astype(np.float32))
    return TripletData(tokens, arrays[f"{split} triplets"].astype(np.int64), arrays[f"{split} groups"])


def prepare(home: str, name: str, evaluated: str, words: str, file: str) -> None:
    """Write tokens, triplets and word vectors of all splits; validation and test are those of ``evaluated``."""
    vectors, limit = load_word_vectors(words), PAPER.validation_limit
    arrays: dict[str, Any] = {}
    with closing(Store(Settings.in_folder(Path(home)))) as store, store.reading() as r:
        for split in Split:
            found = r.triplets.by_name(name if split is Split.TRAIN else evaluated)
            texts = r.triplets.texts(found.id, split)
            data = triplet_data(texts, vectors, limit if split is Split.VALIDATION else 0)
            named: dict[str, Any] = {"ids": data.tokens.ids, "starts": data.tokens.starts, "groups": data.groups}
            named |= {"triplets": data.triplets.astype(np.int32), "table": data.tokens.table.astype(np.float16)}
            arrays.update({f"{split.value} {part}": array for part, array in named.items()})
    np.savez_compressed(file, allow_pickle=False, **arrays)
    print(f"{file}: {Path(file).stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
