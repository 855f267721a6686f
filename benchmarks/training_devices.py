"""Compare the training of one process with that of two on the same batches: speed, losses, accuracy.

    python -m benchmarks.training_devices [--files a.jsonl b.jsonl.xz] [--method triplets-sen] [--epochs 2] [--rounds 2]
        [--set NAME=VALUE]

Triplets are sampled from the articles of the files, or of the demo. Each configuration trains in a store of its own,
without dropout, so that the batches have the same losses. Prints for each one the triplets per second of the training
loop and the seconds of the whole job, which include the start of the processes (medians over rounds that alternate),
the accuracy on validation triplets, and how far its loss curve is from that of one process with one thread.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue.foreground import run_here
from themescope.jobs.services.demo import demo_dump

CONFIGURATIONS = {
    "1 process, 1 thread": {"devices": 1, "threads": 1},
    "1 process, 2 threads": {"devices": 1, "threads": 2},
    "2 processes, 1 thread each": {"devices": 2, "threads": 1},
}


def prepare(home: Path, files: list[str]) -> None:
    """Import the articles and sample triplets."""
    store = Store(Settings.in_folder(home))
    store.migrate()
    run_here(store, "import-corpus", {"files": files, "corpus": "C"}, quiet=True)
    result = run_here(store, "build-triplets", {"corpus": "C", "name": "T"}, quiet=True)
    print(json.dumps(result), flush=True)
    store.close()


def train(prepared: Path, method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Train in a copy of the store; return the metrics of the model, its loss curve, and the seconds of the job."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        shutil.copytree(prepared, home)
        store = Store(Settings.in_folder(home))
        begun = time.perf_counter()
        args = {"method": method, "name": "M", "triplets": "T", "corpus": "C", "settings": settings}
        result = run_here(store, "train", args, quiet=True)
        seconds = time.perf_counter() - begun
        with store.reading() as r:
            model = r.models.get(result["model_id"])
            curve = [p.value for p in r.jobs.metrics(result["job"]) if p.name == "loss"]
        store.close()
        return {"seconds": seconds, "loss": curve, **model.metrics}


def main() -> None:
    """Train with each configuration in turn and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="*", default=None)
    parser.add_argument("--method", default="triplets-sen")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    given = {name: json.loads(value) for name, _, value in (pair.partition("=") for pair in options.set)}
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder)
        prepare(prepared, options.files or [str(demo_dump())])
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in CONFIGURATIONS}
        for _ in range(options.rounds):
            for name, own in CONFIGURATIONS.items():
                settings = {"epochs": options.epochs, "device": "cpu", "dropout_rate": 0.0} | given | own
                found[name].append(train(prepared, options.method, settings))
    first = next(iter(found.values()))[0]
    for name, runs in found.items():
        speed, seconds = (median(run[key] for run in runs) for key in ("triplets/s", "seconds"))
        apart = float(np.abs(np.subtract(runs[0]["loss"], first["loss"])).max())
        accuracy = runs[0]["validation accuracy"]
        print(
            f"{name:28}{speed:9,.0f} triplets/s{seconds:9.1f} s   validation accuracy {accuracy:.4f}   "
            f"last loss {runs[0]['loss'][-1]:.5f}, at most {apart:.1e} from the first curve"
        )


if __name__ == "__main__":
    main()
