"""Compare the predictions of the simulation of `themescope plan` with real runs on 1, 2 and 4 local workers.

    python benchmarks/simulation.py [--copies 8] [--articles 2000] [--rounds 3]

The time of each shard, of reading and of storing is measured in one process, and the time of workers to start with a
small job; all other times are predictions. Steps:
import of the text of the demo, several times, and clustering of random vectors by annealed Iclust.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from themescope.core.compute.machine import available_cores
from themescope.core.protocols import SILENT
from themescope.core.tasks.clustering import cluster_items
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.executors.base import ShardExecutor
from themescope.jobs.executors.local import LocalConfig, LocalExecutor
from themescope.jobs.planning.probe import Probe
from themescope.jobs.planning.rates import cores_together, machine_name, run_job
from themescope.jobs.planning.simulation import Machine, Stage, simulate
from themescope.jobs.services.demo import demo_dump

WORKERS = (1, 2, 4)
Step = Callable[[ShardExecutor], None]


def importing(copies: int) -> Step:
    """Return the step that imports the text of the demo several times into a new store."""

    def run(executor: ShardExecutor) -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Settings.in_folder(Path(folder)))
            store.migrate()
            run_job(store, "import-corpus", {"files": [str(demo_dump())] * copies, "corpus": "articles"}, executor)
            store.close()

    return run


def clustering(articles: int, sentences: int = 90, dim: int = 300) -> Step:
    """Return the step that clusters articles of random vectors with annealed Iclust."""
    rng = np.random.default_rng(0)
    sizes = rng.poisson(sentences, articles) + 10
    items = [(rng.integers(0, 7, n), rng.standard_normal((n, dim)).astype(np.float32)) for n in sizes]

    def run(executor: ShardExecutor) -> None:
        cluster_items(items, "iclust-annealed", None, 0, executor, SILENT, len(items))

    return run


def stage(probe: Probe, seconds: float, start_s: float) -> Stage:
    """Return the stage that the times of a run in one process describe; work that no shard explains is storing."""
    times = probe.times
    work = np.array(times.work)
    rest = seconds - sum(times.read) - float(work.sum())
    return Stage(
        shards=len(work),
        work_s=float(work.mean()),
        read_s=sum(times.read) / len(work),
        write_s=max(rest, 0.0) / len(work),
        spread=float(work.std() / work.mean()),
        start_s=start_s,
    )


def seconds(step: Step, executor: ShardExecutor) -> float:
    """Return the wall-clock seconds of a step."""
    begun = time.perf_counter()
    step(executor)
    return time.perf_counter() - begun


def start_of(small: Step, together: float) -> float:
    """Return the seconds that two workers need to start, which is what the simulation of a small job lacks."""
    probe = Probe()
    measured = stage(probe, seconds(small, probe), 0.0)
    with LocalExecutor(LocalConfig(2)) as executor:
        return max(seconds(small, executor) - simulate(measured, [machine(2, together)]).seconds, 0.0)


def machine(workers: int, together: float) -> Machine:
    """Return this machine; a single worker is the process of the job itself."""
    return Machine(0 if workers == 1 else workers, available_cores(), together)


def compare(name: str, step: Step, small: Step, rounds: int) -> None:
    """Print predicted and real seconds: medians over rounds, each of which measures, predicts and runs."""
    small(Probe())  # imports and caches are not measured
    predicted: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    real: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    for _round in range(rounds):
        # In every round, because the speed of a shared machine changes from minute to minute.
        together, _ = cores_together(rounds=3)
        start_s = start_of(small, together)
        probe = Probe()
        measured = stage(probe, seconds(step, probe), start_s)
        for workers in WORKERS:
            predicted[workers].append(simulate(measured, [machine(workers, together)]).seconds)
            with LocalExecutor(LocalConfig(workers)) as executor:
                real[workers].append(seconds(step, executor))
    for workers in WORKERS:
        differences = [p / r - 1 for p, r in zip(predicted[workers], real[workers], strict=True)]
        print(
            f"{name:12} {measured.shards:4} shards  {workers} workers  predicted {median(predicted[workers]):6.1f} s  "
            f"real {median(real[workers]):6.1f} s  difference {median(differences):+.0%} "
            f"({min(differences):+.0%} to {max(differences):+.0%})",
            flush=True,
        )


def main() -> None:
    """Compare both steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=8, help="how often the text of the demo is imported")
    parser.add_argument("--articles", type=int, default=2_000, help="articles to cluster")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(machine_name())
    # Fewer than three copies are imported in one process.
    compare("import", importing(given.copies), importing(3), given.rounds)
    compare("clustering", clustering(given.articles), clustering(64), given.rounds)


if __name__ == "__main__":
    main()
