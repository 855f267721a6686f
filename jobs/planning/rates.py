"""Rates of this machine: short runs of the real jobs on the text of the demo, in a temporary store."""

from __future__ import annotations

import json
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.compute.machine import available_cores
from themescope.core.errors import DataError
from themescope.core.protocols import SILENT
from themescope.core.types import Shard
from themescope.db.records import ModelRecord
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.articles import ready_corpus
from themescope.jobs.common.job import JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.results import code_version
from themescope.jobs.common.vectors import BATCH_SENTENCES, embed_articles
from themescope.jobs.executors.base import ShardExecutor
from themescope.jobs.executors.local import LocalConfig, LocalExecutor
from themescope.jobs.kinds import check_job
from themescope.jobs.planning.probe import Probe, Times
from themescope.jobs.queue.execution import execute
from themescope.jobs.queue.runner import new_owner
from themescope.jobs.services.demo import demo_dump

FILE = "rates.json"
EMBEDDED_S = 15.0
"""Seconds after which the measurement of embedding ends."""
MAP_SENTENCES = 2_000
TRAINING = {"epochs": 1, "triplets_per_epoch": 2_000}
_CORPUS, _TRIPLETS, _BENCHMARK = "articles", "triplets", "sections"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Rate:
    """Seconds per unit of a step, on one core that nothing else uses (training and maps: on the whole machine)."""

    unit: str
    work_s: float
    """A worker's time per unit, or all time if the step is not cut into shards."""
    read_s: float = 0.0
    """Time per unit of the job's process to read."""
    write_s: float = 0.0
    """Time per unit of the job's process to store."""
    shard: int = 0
    """Units in a shard; 0: the step is not cut into shards."""
    spread: float = 0.0
    """Standard deviation of the time per unit over shards, divided by its mean."""
    start_s: float = 0.0
    """Time to load a model, per worker."""


@dataclass(frozen=True)
class Rates:
    """What was measured, where and when."""

    measured: str
    machine: str
    version: str
    asked: str
    """Name of the model as given."""
    model: str
    cores: int
    together: float
    """Speed of all cores in use, as a multiple of one core alone."""
    process_start_s: float
    """Seconds until a new process of the local executor computes."""
    memory_mb: float
    """Peak memory of the process that measured, with the model loaded."""
    steps: Mapping[str, Rate] = field(default_factory=dict)
    sentences_per_article: float = 0.0
    triplets_per_article: float = 0.0
    bytes_per_sentence: float = 0.0
    """Size of the store without vectors."""
    bytes_per_vector: float = 0.0
    """Size in the store of the vector of a sentence, of which each number has 16 bits."""
    bytes_per_triplet: float = 0.0

    def save(self, home: Path) -> None:
        """Write the rates to the data folder."""
        home.mkdir(parents=True, exist_ok=True)
        (home / FILE).write_text(json.dumps(asdict(self), indent=2), encoding="utf-8")

    @classmethod
    def stored(cls, home: Path, model: str) -> Rates | None:
        """Return the rates in a data folder; None if there are none of this model, this version and these cores."""
        try:
            values = json.loads((home / FILE).read_text(encoding="utf-8"))
            steps = {name: Rate(**rate) for name, rate in values.pop("steps").items()}
            found = cls(**values, steps=steps)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        now = cls.key(model)
        return found if (found.asked, found.version, found.cores) == now else None

    @staticmethod
    def key(model: str) -> tuple[str, str, int]:
        """Return what the rates depend on: model as given, version, cores."""
        return model, code_version(), available_cores()


def measure(model: str, say: Say) -> Rates:
    """Measure the rates of this machine with a model, which takes about two minutes.

    ``say`` receives a line per step. Raises ``MissingExtraError`` without the text of the demo, and
    ``UnknownNameError`` for an unknown model.
    """
    with tempfile.TemporaryDirectory(prefix="themescope-plan-") as folder:
        store = Store(Settings.in_folder(Path(folder)))
        store.migrate()
        try:
            return _Measurement(store, say).rates(model)
        finally:
            store.close()


class _Measurement:
    def __init__(self, store: Store, say: Say) -> None:
        self._store, self._say = store, say
        self._database = store.settings.home / "themescope.db"

    def rates(self, name: str) -> Rates:
        """Run every step once."""
        empty = self._size()
        steps = {"import": self._import()}
        text = self._size()
        corpus = ready_corpus(self._store, _CORPUS)
        model = find_model(self._store, name)
        steps["triplets"], triplets = self._triplets(corpus.articles)
        sampled = self._size()
        steps["training"] = self._training()
        with one_thread():
            steps["embedding"], dim = self._embedding(model, corpus.id)
        steps["clustering"] = self._clustering(model)
        steps["map"] = self._map(model)
        self._say("Measuring all cores together")
        together, start_s = cores_together()
        return Rates(
            measured=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=machine_name(),
            version=code_version(),
            asked=name,
            model=model.name,
            cores=available_cores(),
            together=together,
            process_start_s=start_s,
            memory_mb=peak_memory_mb(),
            steps=steps,
            sentences_per_article=corpus.sentences / corpus.articles,
            triplets_per_article=triplets / corpus.articles,
            bytes_per_sentence=(text - empty) / corpus.sentences,
            bytes_per_vector=2.0 * dim,
            bytes_per_triplet=(sampled - text) / max(triplets, 1),
        )

    def _import(self) -> Rate:
        self._say("Importing the articles of the demo")
        # Twice, because the sentences of a small file are split without workers.
        args = {"files": [str(demo_dump())] * 2, "corpus": _CORPUS}
        _, probe, seconds = self._run("import-corpus", args)
        corpus = ready_corpus(self._store, _CORPUS)
        return per_unit("sentence", probe.times, seconds, corpus.sentences / max(sum(probe.times.sizes), 1))

    def _triplets(self, articles: int) -> tuple[Rate, int]:
        self._say("Sampling triplets")
        args = {"corpus": _CORPUS, "name": _TRIPLETS, "rules": {"profile": "max-signal"}}
        result, _, seconds = self._run("build-triplets", args)
        return Rate("article", seconds / articles), result["counts"]["triplets"]["total"]

    def _training(self) -> Rate:
        self._say("Training a triplet network")
        args = {"method": "triplets-sen", "name": "network", "triplets": _TRIPLETS, "settings": TRAINING}
        result, _, _ = self._run("train", args)
        with self._store.reading() as r:
            points = [p for p in r.jobs.metrics(result["job"]) if p.name == "triplets/s"]
        if not points:
            raise DataError("The training of the measurement reported no speed. Measure again on an idle machine.")
        return Rate("triplet", 1.0 / points[-1].value)

    def _embedding(self, model: ModelRecord, corpus_id: int) -> tuple[Rate, int]:
        self._say(f"Embedding with {model.name}")
        with self._store.reading() as r:
            articles = r.corpora.articles(corpus_id, limit=1_000)
        probe = Probe()
        context = context_of(self._store, "embed", {"corpus": _CORPUS, "model": model.name}, probe)
        begun, done = time.perf_counter(), 0
        while done < len(articles) and (time.perf_counter() - begun < EMBEDDED_S or len(probe.times.sizes) < 3):
            embed_articles(context, model, articles[done : done + 4], SILENT)
            done += 4
        with self._store.reading() as r:
            (vectors,) = r.embeddings.get(model.id, [articles[0].id]).values()
        return replace(per_unit("sentence", probe.times, 0.0), shard=BATCH_SENTENCES), vectors.shape[1]

    def _clustering(self, model: ModelRecord) -> Rate:
        self._say("Clustering articles")
        args = {"corpus": _CORPUS, "name": _BENCHMARK, "splits": ["train"], "rules": {"max_articles": 48}}
        self._run("build-benchmark", args)
        _, probe, seconds = self._run("cluster", {"model": model.name, "benchmark": _BENCHMARK, "clusterer": "kmeans"})
        return per_unit("article", probe.times, seconds)

    def _map(self, model: ModelRecord) -> Rate:
        self._say("Projecting a map")
        args = {"corpus": _CORPUS, "model": model.name, "limit": MAP_SENTENCES}
        _, _, seconds = self._run("project", args)
        return Rate("sentence", seconds / MAP_SENTENCES)

    def _run(self, kind: str, args: Mapping[str, Any]) -> tuple[Mapping[str, Any], Probe, float]:
        """Run a job; return its result, the times of its shards, and its seconds."""
        probe = Probe()
        result, seconds = run_job(self._store, kind, args, probe)
        return result, probe, seconds

    def _size(self) -> int:
        """Return the bytes of the SQLite file."""
        with closing(sqlite3.connect(self._database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self._database.stat().st_size


def run_job(store: Store, kind: str, args: Mapping[str, Any], executor: ShardExecutor) -> tuple[dict[str, Any], float]:
    """Run a job with an executor in this process; return its result, and its seconds. Raises the error of the job."""
    context = context_of(store, kind, args, executor)
    with store.reading() as r:
        job = r.jobs.get(context.job_id)
    begun = time.perf_counter()
    outcome = execute(store, job, context)
    if outcome is None or outcome.cause is not None:
        raise (outcome and outcome.cause) or DataError("The measurement was interrupted. Start it again.")
    return {"job": job.id, **outcome.result}, time.perf_counter() - begun


def context_of(store: Store, kind: str, args: Mapping[str, Any], executor: ShardExecutor) -> JobContext:
    """Return the context of a new job that this process has claimed."""
    config, owner = check_job(kind, args), new_owner()
    with store.writing() as w:
        row = w.jobs.add(kind, config.title(), config.to_dict())
        job = w.jobs.claim(row.id, owner)
    assert job is not None
    return JobContext(store, job, owner, executor=executor)


def per_unit(unit: str, times: Times, seconds: float, factor: float = 1.0) -> Rate:
    """Return the rate of a step: the ``seconds`` of a whole job that no shard explains count as writing.

    A shard has ``factor`` units for each unit of its progress. The first shard also loads a model and packages, which
    is the time of a worker to start.
    """
    sizes, work = np.array(times.sizes) * factor, np.array(times.work)
    if len(sizes) < 3:
        raise DataError("The measurement had too few articles: at least three shards are needed.")
    units, read, written = float(sizes.sum()), sum(times.read), sum(times.write)
    rest = max(seconds - read - float(work.sum()) - written, 0.0)
    per_unit = work[1:] / sizes[1:]
    mean = float(work[1:].sum() / sizes[1:].sum())
    return Rate(
        unit,
        work_s=mean,
        read_s=read / units,
        write_s=(written + rest) / units,
        shard=max(round(float(sizes.mean())), 1),
        spread=float(per_unit.std() / per_unit.mean()),
        start_s=max(float(work[0] - mean * sizes[0]), 0.0),
    )


def cores_together(seconds: float = 0.5, rounds: int = 7) -> tuple[float, float]:
    """Return the speed of all cores in use as a multiple of one alone, and the seconds that a process needs to start.

    The work is sentence splitting. One core and all cores are measured in turn, because other programs may run; the
    result is the median of the rounds.
    """
    cores = available_cores()
    if cores == 1:
        return 1.0, 0.0
    alone, together = [Shard("one core", seconds)], [Shard(f"core {i}", seconds) for i in range(cores)]
    with LocalExecutor(LocalConfig(cores)) as executor:
        begun = time.perf_counter()
        list(executor.map(_counted, [Shard(f"start of {i}", 0.001) for i in range(cores)], report=SILENT))
        start_s = time.perf_counter() - begun
        ratios = []
        for _ in range(rounds):
            one = sum(executor.map(_counted, alone, report=SILENT))
            ratios.append(sum(executor.map(_counted, together, report=SILENT)) / one)
    return float(np.clip(np.median(ratios), 1.0, cores)), start_s


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch and BLAS use one thread, as in a worker that shares the machine with others."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


def _counted(seconds: float) -> int:
    """Return how often this process can do a piece of work in some seconds."""
    from themescope.core.text.splitting import SentenceSplitter

    splitter, text = SentenceSplitter("en"), "It rained, e.g. in May. Dr. Smith left. " * 50
    end, done = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        splitter.split(text)
        done += 1
    return max(done, 1)


def machine_name() -> str:
    """Return processor and cores of this machine."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {available_cores()} cores"


def peak_memory_mb() -> float:
    """Return the peak memory of this process in MB; 0 where the system does not tell."""
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1_000_000 if sys.platform == "darwin" else 1_000)
