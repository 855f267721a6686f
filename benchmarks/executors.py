"""Compare local processes with Ray: results, repetition of lost shards, time.

    python benchmarks/executors.py [results] [kills] [speed] [--files a.jsonl b.jsonl.xz]

``results``: digests of import, triplets, vectors, clusterings and scores with 1 and 2 local processes and 1, 2 and 4
workers of Ray. ``kills``: a Ray worker, a Ray node and the process of the job itself are killed (SIGKILL) in an import,
three times each; which shards run again, and does the result stay? ``speed``: seconds of each step, local processes
beside Ray. The nodes of Ray are processes on this machine. Without ``--files``, the demo's text is read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from themescope.core.records.stored import JobStatus
from themescope.core.types import Split
from themescope.db.settings import Settings
from themescope.db.sql import batches
from themescope.db.store import Store
from themescope.jobs.common.models import find_model
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.installation import demo_dump

MODEL = "static-wikipedia"
STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "import": ("import-corpus", {"corpus": "C"}),
    "triplets": ("build-triplets", {"corpus": "C", "name": "T"}),
    "embedding": ("embed", {"corpus": "C", "model": MODEL, "index": False}),
    "benchmark": ("build-benchmark", {"corpus": "C", "name": "B", "splits": [split.value for split in Split]}),
    "clustering": ("cluster", {"model": MODEL, "clusterer": "kmeans", "benchmark": "B"}),
    "evaluation": ("evaluate-triplets", {"model": MODEL, "triplets": "T", "split": "train"}),
}
KILLS = 3
CONFIGURATIONS = ("local 1", "local 2", "ray 1", "ray 2", "ray 4")


def run_steps(files: list[str]) -> None:
    """Run the steps in a new store, and print their seconds and the digests of their results as JSON."""
    store = Store(Settings.from_environment())
    store.migrate()
    seconds: dict[str, float] = {}
    results: dict[str, str] = {}
    for step, (kind, args) in STEPS.items():
        begun = time.perf_counter()
        result = run_here(store, kind, args | ({"files": files} if step == "import" else {}), quiet=True)
        seconds[step] = time.perf_counter() - begun
        results[step] = digest(store, step, result)
    print(json.dumps({"seconds": seconds, "results": results}))


def digest(store: Store, step: str, result: dict[str, Any]) -> str:
    """Return the digest of everything that a step stored."""
    found = hashlib.blake2b(digest_size=8)
    with store.reading() as r:
        if step == "embedding":
            corpus = r.corpora.by_name("C")
            articles = [article.id for article in r.corpora.articles(corpus.id, limit=corpus.articles)]
            for ids in batches(articles, 100):
                blocks = r.embeddings.get(find_model(store, MODEL).id, ids)
                for id in ids:
                    found.update(np.ascontiguousarray(blocks[id]).tobytes())
        elif step == "clustering":
            for article, labels in sorted(r.runs.labels(result["run_id"]).items()):
                found.update(f"{article}{labels.tolist()}".encode())
        elif step == "evaluation":
            found.update(r.runs.margins(result["run_id"], Split.TRAIN)[1].tobytes())
    about = [result.get("digest") if step in ("import", "triplets", "benchmark") else "", result.get("scores")]
    found.update(json.dumps(about, sort_keys=True).encode())
    return found.hexdigest()


class Nodes:
    """Ray cluster on this machine: a head without CPUs, beside the process of the job, and nodes with one CPU each."""

    def __init__(self, nodes: int) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.nodes = [self.cluster.add_node(num_cpus=1) for _ in range(nodes)]

    @property
    def environment(self) -> dict[str, str]:
        """Settings of a process of Themescope that uses this cluster."""
        return {"EXECUTOR_URL": "ray://local", "RAY_ADDRESS": self.cluster.address}

    def resize(self, nodes: int) -> None:
        """Add or remove nodes."""
        while len(self.nodes) > nodes:
            self.cluster.remove_node(self.nodes.pop())
        while len(self.nodes) < nodes:
            self.nodes.append(self.cluster.add_node(num_cpus=1))
        self.cluster.wait_for_nodes()

    def kill_worker(self) -> str:
        """Kill one actor of the executor."""
        actors = [process for process in psutil.process_iter(["cmdline"]) if _is_actor(process)]
        os.kill(actors[0].pid, signal.SIGKILL)
        return f"actor {actors[0].pid}"

    def kill_node(self) -> str:
        """Kill a node with its workers."""
        self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)
        return "node"


def _is_actor(process: psutil.Process) -> bool:
    return any("_Worker" in part and part.startswith("ray::") for part in process.info["cmdline"] or ())


@contextmanager
def nodes(count: int) -> Iterator[Nodes]:
    """Start a cluster and end it."""
    started = Nodes(count)
    try:
        yield started
    finally:
        started.cluster.shutdown()


def environment(home: str, executor: dict[str, str]) -> dict[str, str]:
    """Return the environment of a process of Themescope."""
    return os.environ | {"THEMESCOPE_HOME": home, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"} | executor


def measured(files: list[str], executor: dict[str, str], one_core: bool = False) -> dict[str, Any]:
    """Run the steps in a process of their own, on one core if so wanted; return what it printed."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, __file__, "--in-this-process", "--files", *files]
        prefix = ["taskset", "-c", "0"] if one_core else []
        done = subprocess.run([*prefix, *command], env=environment(home, executor), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


def compare(files: list[str], configurations: Sequence[str]) -> None:
    """Print the digests of each configuration beside the first, and the seconds of each step."""
    found = {}
    with nodes(0) as cluster:
        for name in configurations:
            kind, _, workers = name.partition(" ")
            if kind == "ray":
                cluster.resize(int(workers))
            found[name] = measured(files, cluster.environment if kind == "ray" else {}, name == "local 1")
            print(f"{name}: {found[name]['seconds']}", file=sys.stderr, flush=True)
    first = found[configurations[0]]["results"]
    print(f"{'':12}" + "".join(f"{step:>12}" for step in first))
    for name, run in found.items():
        print(f"{name:12}" + "".join(f"{run['seconds'][step]:10.1f} s" for step in first))
    for name, run in found.items():
        same = [step for step in first if run["results"][step] == first[step]]
        print(f"{name:12}{len(same)} of {len(first)} digests are those of {configurations[0]}")
    print(f"digests: {first}")


class Jobs:
    """A store with a worker process, which is started again after it was killed."""

    def __init__(self, home: str, executor: dict[str, str]) -> None:
        self.env, self.log = environment(home, executor), Path(home, "worker.log")
        self.store = Store(Settings.from_environment(self.env))
        self.store.migrate()
        self.count = 0
        self.start()

    def start(self) -> None:
        """Start the worker."""
        command = [sys.executable, "-m", "themescope.jobs.cli", "worker"]
        with self.log.open("a") as stream:
            self.worker = subprocess.Popen(command, env=self.env, stdout=stream, stderr=stream)

    def kill(self) -> str:
        """Kill the worker, and start another one."""
        self.worker.kill()
        self.worker.wait()
        self.start()
        return "process of the job"

    def end(self) -> None:
        """End the worker."""
        self.worker.kill()
        self.worker.wait()

    def run(self, files: list[str], kill: Callable[[], str] | None = None, at: float = 0.0) -> str:
        """Import, and call ``kill`` when that share is done; return one line about it."""
        self.count += 1
        start = self.log.stat().st_size if self.log.exists() else 0
        begun = time.monotonic()
        job = enqueue(self.store, "import-corpus", {"files": files, "corpus": f"C{self.count}"})
        killed = ""
        while not job.status.ended and time.monotonic() - begun < 300:
            time.sleep(0.1)
            with self.store.reading() as r:
                job = r.jobs.get(job.id)
            if kill is not None and not killed and job.status is JobStatus.RUNNING and job.progress >= at:
                killed = f"{kill()} killed at {job.progress:.0%}, "
        log = self.log.read_bytes()[start:].decode(errors="replace")
        digest = job.result.get("digest", job.error)
        return f"{killed}{job.status.value} in {time.monotonic() - begun:.1f} s; {_counts(log)}; digest {digest}"


def _counts(log: str) -> str:
    stored = re.findall(r"(\d+) shards of the import are stored", log)
    computed = re.findall(r"(\d+) shards computed, \d+ taken from records, (\d+) repeated", log)
    parts = [f"{stored[-1]} shards kept"] if stored else []
    return ", ".join([*parts, *(f"{done} computed, {again} repeated" for done, again in computed)])


def kills(files: list[str]) -> None:
    """Kill actors, nodes and the worker process in imports, and print what ran again."""
    with tempfile.TemporaryDirectory() as home, nodes(2) as cluster:
        jobs = Jobs(home, cluster.environment)
        try:
            print(f"undisturbed: {jobs.run(files)}", flush=True)
            for kill in (cluster.kill_worker, cluster.kill_node, jobs.kill):
                for number in range(KILLS):
                    print(jobs.run(files, kill, 0.15 + 0.25 * number), flush=True)
                    cluster.resize(2)
        finally:
            jobs.end()
        with jobs.store.reading() as r:
            print(f"jobs still running: {len(r.jobs.list(limit=100, status=JobStatus.RUNNING))}")


def main() -> None:
    """Parse the command line and run the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["results", "kills", "speed"])
    parser.add_argument("--files", nargs="*", default=None, help="JSON lines (default: the dump of the demo)")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.in_this_process:
        run_steps(args.files)
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every process would compile all modules anew
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    logging.disable(logging.WARNING)
    files = args.files or [str(demo_dump())]
    for part in args.parts:
        print(f"-- {part}", flush=True)
        if part == "kills":
            kills(files)
        else:
            compare(files, CONFIGURATIONS if part == "results" else CONFIGURATIONS[:4])


if __name__ == "__main__":
    main()
