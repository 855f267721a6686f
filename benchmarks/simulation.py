"""Compare a simulation of workers with real runs on 1, 2 and 4 local workers, and predict larger corpora.

    python -m benchmarks.simulation [--copies 8] [--articles 2000] [--rounds 3] [--times 1000] [--workers 1,2,8,64]

The time of each shard, of reading and of storing is measured in one process, and the time of workers to start with a
small job; all other times are predictions. Steps: import of the text of the demo, several times, and clustering of
random vectors by Iclust. With ``--times``, the same step with so many times as many shards is predicted on
machines like this one.

The simulation follows ``themescope.jobs.executors.base.ShardExecutor``: the process of the job reads a few shards ahead
and stores the results in order; the processes of a machine share its cores; shards differ (log-normal times).
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from themescope.core.tasks.scb import cluster_items
from themescope.core.text.splitting import SentenceSplitter
from themescope.core.types import SILENT, Shard
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext
from themescope.jobs.executors.base import WINDOW, LocalConfig, LocalExecutor, Pool, ShardExecutor, available_cores
from themescope.jobs.queue.control import execute
from themescope.jobs.services.installation.demo import demo_dump

WORKERS = (1, 2, 4)
MOST_SHARDS = 4_000  # simulated; the time of more follows from the second half of them, which is a steady state
Step = Callable[[ShardExecutor], None]


@dataclass(frozen=True)
class Stage:
    """One step of a job. Times are those of one core that nothing else uses, in seconds per shard.

    ``spread`` is their standard deviation divided by their mean, ``start_s`` the time of a worker to start.
    """

    shards: int
    work_s: float
    read_s: float
    write_s: float
    spread: float
    start_s: float = 0.0


def simulate(stage: Stage, workers: int, cores: int, together: float, machines: int = 1) -> float:
    """Return the seconds of a stage on machines with ``cores``, which together are ``together`` times as fast as one.

    The process of the job runs on the first machine. A single worker is that process.
    """
    shards = min(stage.shards, MOST_SHARDS)
    variance = np.log1p(stage.spread**2)
    times = stage.work_s * np.random.default_rng(0).lognormal(-variance / 2, np.sqrt(variance), shards)
    if workers == 1:
        return float(times.mean() + stage.read_s + stage.write_s) * stage.shards
    left: list[dict[int, float]] = [{} for _ in range(machines)]  # seconds of work of each process that runs
    for worker in range(workers):
        left[worker % machines][worker] = stage.start_s
    job, queued, computed = -1, deque[int](), set[int]()
    idle, shard_of, stored_at = deque[int](), dict[int, int](), list[float]()
    now, read, storing = 0.0, 0, False
    while len(stored_at) < shards:
        if job not in left[0]:
            ready = len(stored_at) in computed
            if read < shards and read - len(stored_at) < workers * WINDOW and not (storing and ready):
                left[0][job], storing = stage.read_s, False
            elif ready:
                left[0][job], storing = stage.write_s, True
        while queued and idle:
            worker = idle.popleft()
            shard_of[worker] = queued.popleft()
            left[worker % machines][worker] = float(times[shard_of[worker]])
        speeds = [
            (1 + (together - 1) * (min(len(running), cores) - 1) / max(cores - 1, 1)) / max(len(running), 1)
            for running in left
        ]
        passed = min(min(r.values()) / speed for r, speed in zip(left, speeds, strict=True) if r)
        now += passed
        ended = _advance(left, speeds, passed)
        for process in ended:
            if process != job:
                computed.update({shard_of[process]} if process in shard_of else ())
                idle.append(process)
            elif storing:
                stored_at.append(now)
            else:
                queued.append(read)
                read += 1
    half = stored_at[shards // 2 - 1] if shards > 1 else 0.0
    return now + (stage.shards - shards) * (now - half) / (shards - shards // 2)


def _advance(left: list[dict[int, float]], speeds: list[float], passed: float) -> list[int]:
    """Let all processes work for some seconds; remove and return those that are done."""
    ended = []
    for running, speed in zip(left, speeds, strict=True):
        for process in list(running):
            running[process] -= passed * speed
            if running[process] <= 1e-9:
                del running[process]
                ended.append(process)
    return ended


class Probe(ShardExecutor):
    """Executor that computes all shards in this process, packed as if they were sent, and notes the times."""

    remote = True  # so that everything that a cluster would compute is computed here

    def __init__(self) -> None:
        super().__init__()
        self.read: list[float] = []
        self.work: list[float] = []

    def workers(self) -> int:
        """Return 1."""
        return 1

    def open_pool(self, gpus: bool) -> Pool:
        """Raise ``NotImplementedError``; there are no workers."""
        raise NotImplementedError

    def map(self, fn: Callable[[Any], Any], shards: Iterable[Shard], **_: Any) -> Iterator[Any]:
        """Yield the result of every shard."""
        coming, clock = iter(shards), time.perf_counter
        while True:
            begun = clock()
            if (shard := next(coming, None)) is None:
                return
            sent = pickle.dumps(shard.data)
            read = clock()
            received = pickle.dumps(fn(pickle.loads(sent)))
            self.read.append(read - begun)
            self.work.append(clock() - read)
            yield pickle.loads(received)


def measured(step: Step) -> Stage:
    """Return the stage that the times of a run in one process describe; time that no shard explains is storing."""
    probe = Probe()
    rest, work = seconds(step, probe) - sum(probe.read), np.array(probe.work)
    read_s, write_s = sum(probe.read) / len(work), max(rest - float(work.sum()), 0.0) / len(work)
    return Stage(len(work), float(work.mean()), read_s, write_s, float(work.std() / work.mean()))


def importing(copies: int) -> Step:
    """Return the step that imports the text of the demo several times into a new store."""

    def run(executor: ShardExecutor) -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Settings.in_folder(Path(folder)))
            store.migrate()
            with store.writing() as w:
                args = {"files": [str(demo_dump())] * copies, "corpus": "articles"}
                job = w.jobs.claim(w.jobs.add("import-corpus", "", args).id, "benchmark")
            assert job is not None
            outcome = execute(store, job, JobContext(store, job, "benchmark", executor=executor))
            assert outcome is not None and outcome.cause is None, outcome
            store.close()

    return run


def clustering(articles: int, sentences: int = 90, dim: int = 300) -> Step:
    """Return the step that clusters articles of random vectors with Iclust."""
    rng = np.random.default_rng(0)
    sizes = rng.poisson(sentences, articles) + 10
    items = [(rng.integers(0, 7, n), rng.standard_normal((n, dim)).astype(np.float32)) for n in sizes]

    def run(executor: ShardExecutor) -> None:
        cluster_items(items, "iclust", None, 0, executor, SILENT, len(items))

    return run


def seconds(step: Step, executor: ShardExecutor) -> float:
    """Return the wall-clock seconds of a step."""
    begun = time.perf_counter()
    step(executor)
    return time.perf_counter() - begun


def split_for(seconds: float) -> int:
    """Return how often this process can split a text into sentences in some seconds."""
    splitter, text = SentenceSplitter("en"), "It rained, e.g. in May. Dr. Smith left. " * 50
    end, done = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        splitter.split(text)
        done += 1
    return max(done, 1)


def cores_together() -> float:
    """Return the speed of all cores in use as a multiple of one alone: the median of three rounds."""
    cores, ratios = available_cores(), []
    shards = [Shard(f"core {i}", 0.5) for i in range(cores)]
    with LocalExecutor(LocalConfig(cores)) as executor:
        list(executor.map(split_for, shards, report=SILENT))  # starts the processes
        for _ in range(3):
            one = sum(executor.map(split_for, shards[:1], report=SILENT))
            ratios.append(sum(executor.map(split_for, shards, report=SILENT)) / one)
    return float(np.clip(median(ratios), 1.0, cores))


def compare(name: str, step: Step, small: Step, given: argparse.Namespace) -> None:
    """Print predicted and real seconds: medians over rounds, each of which measures, predicts and runs."""
    small(Probe())  # imports and caches are not measured
    cores = available_cores()
    rounds = []
    for _ in range(given.rounds):  # in each, because the speed of a shared machine changes from minute to minute
        together, little = cores_together(), measured(small)
        with LocalExecutor(LocalConfig(2)) as executor:
            start_s = max(seconds(small, executor) - simulate(little, 2, cores, together), 0.0)
        stage, row = replace(measured(step), start_s=start_s), []
        for workers in WORKERS:
            with LocalExecutor(LocalConfig(workers)) as executor:
                row.append((simulate(stage, workers, cores, together), seconds(step, executor)))
        rounds.append(row)
    for workers, runs in zip(WORKERS, zip(*rounds, strict=True), strict=True):
        off = [predicted / real - 1 for predicted, real in runs]
        predicted, real = (median(values) for values in zip(*runs, strict=True))
        print(f"{name:12}{workers:3} workers  predicted {predicted:6.1f} s  real {real:6.1f} s  difference "
              f"{median(off):+.0%} ({min(off):+.0%} to {max(off):+.0%})", flush=True)  # fmt: skip
    if given.times > 1:
        larger = replace(stage, shards=stage.shards * given.times)
        for workers in map(int, given.workers.split(",")):
            hours = simulate(larger, workers, cores, together, machines=-(-workers // cores)) / 3600
            print(f"{name:12}{workers:3} workers  {given.times:,} times as much: {hours:.2f} h", flush=True)


def main() -> None:
    """Compare both steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=8, help="how often the text of the demo is imported")
    parser.add_argument("--articles", type=int, default=2_000, help="articles to cluster")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=1, help="also predict a step with so many times as many shards")
    parser.add_argument("--workers", default="1,2,4,8,16,64", help="numbers of workers for --times")
    given = parser.parse_args()
    # Fewer than three copies are imported in one process.
    compare("import", importing(given.copies), importing(3), given)
    compare("clustering", clustering(given.articles), clustering(64), given)


if __name__ == "__main__":
    main()
