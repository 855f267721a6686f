"""Seconds until the state of a job is true again after a fault, for each kind of job and fault.

    python benchmarks/faults.py [kill stop lock full flush] [--kinds embed train] [--runs 3] [--redis redis://…]

``kill``: SIGKILL of the worker; ``stop``: SIGTERM; a second worker starts at once. ``lock``: another process keeps the
write lock of SQLite for 20 s. ``full``: the worker cannot enlarge files for 5 s (RLIMIT_FSIZE, Linux). ``flush``: Redis
loses every message (needs ``--redis``). Jobs run in a real worker that pauses after every report and transaction, so
that the fault hits the middle of the job. ``tests/faults`` has the other faults, and PostgreSQL.

Seconds count from the end of the fault to the end of the job. ``rows`` tells whether every table has as many rows as
without a fault if the job is done, and as before the job if it failed. Kinds that need topics of documents, labellings
or the data of a paper are left out. “missed”: the job had ended before the fault. Cases run side by side
(``--parallel``), since most of their time is waiting.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.types import Split
from db.records import JobRecord, JobStatus, Verdict
from db.settings import Settings
from db.store import Store, Unit
from db.tables import metadata
from jobs.common.job import JobContext
from jobs.queue.control import enqueue
from jobs.queue.foreground import run_here
from jobs.queue.huey_queue import JobQueue

FAULTS = ("kill", "stop", "lock", "full", "flush")
PAUSE_S = 1.0
LOCK_S, FAULT_S, LIMIT_S = 20.0, 5.0, 120.0
NET = {"hidden": 16, "attention": 8, "epochs": 2, "batch_size": 16, "threads": 1, "device": "cpu", "precision": "fp32"}
KINDS: dict[str, dict[str, Any]] = {
    "import-corpus": {"files": ["{folder}/new.txt"], "corpus": "N", "workers": 1},
    "import-list": {"file": "{folder}/list.csv", "corpus": "N", "column": "text"},
    "build-triplets": {"corpus": "C", "name": "N"},
    "build-benchmark": {"corpus": "C", "name": "N"},
    "train": {"method": "triplets-sen", "name": "N", "triplets": "T", "settings": NET},
    "add-model": {"folder": "{folder}/model", "name": "N"},
    "embed": {"corpus": "C", "model": "M"},
    "clean-triplets": {"triplets": "T", "name": "N"},
    "evaluate-relatedness": {"model": "M", "sick": "{folder}/sick", "regressor": False},
    "evaluate-summaries": {"documents": "{folder}/documents.jsonl", "summarizer": "lexrank-tfidf", "words": 20},
    "back-up": {},
    "evaluate-triplets": {"model": "M", "triplets": "T"},
    "cluster": {"model": "M", "clusterer": "kmeans", "benchmark": "B"},
    "evaluate-speed": {"model": "M", "benchmark": "B"},
    "project": {"corpus": "C", "model": "M"},
    "find-themes": {"corpus": "C", "model": "M"},
    "export-bundle": {"corpus": "C"},
    "import-bundle": {"file": "{folder}/bundle.zip", "corpus": "N"},
}
NOT_COUNTED = ("job", "job_metric", "worker", "alembic_version")


def paced_worker() -> None:
    """Run ``themescope worker`` with a pause after every report and transaction of a job."""
    from jobs.cli.main import main

    progress, writing = JobContext.progress, JobContext.writing

    def slow_progress(self: JobContext, done: float, total: float, message: str = "") -> None:
        progress(self, done, total, message)
        time.sleep(PAUSE_S)

    @contextmanager
    def slow_writing(self: JobContext) -> Iterator[Unit]:
        with writing(self) as w:
            yield w
        time.sleep(PAUSE_S)

    JobContext.progress = slow_progress  # type: ignore[method-assign]
    JobContext.writing = slow_writing  # type: ignore[method-assign]
    main(["worker", "--no-warm-up"])


def text(first: int, articles: int) -> str:
    """Return articles with sections, in the format of the demo."""
    words = ("river", "stone", "window", "garden", "music", "market", "harbour", "winter")
    lines = []
    for number in range(first, first + articles):
        lines += [f"= Article {number} =", "", "A lead of one sentence.", ""]
        for section, word in enumerate(words[:5]):
            lines += [f"== Part {section} ==", ""]
            lines += [f"The {word} of {number} was seen near the {word} in year {year}.\n" for year in range(6)]
    return "\n".join(lines)


def write_evaluations(folder: Path) -> None:
    """Write pairs of sentences in the format of SICK, and documents with summaries."""
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    pairs = "".join(f"{n}\tA river was seen.\tA stone of {n} was seen.\t{1 + n % 5}\tNEUTRAL\n" for n in range(50))
    (folder / "sick").mkdir()
    for part in ("train", "trial", "test_annotated"):
        (folder / "sick" / f"SICK_{part}.txt").write_text(header + pairs, encoding="utf-8")
    sentences = ["The town is old.", "It lies by the sea and trades.", "It rained on Monday.", "Ships bring stones."]
    documents = [
        {"id": f"d{n}", "title": "Town", "sections": [{"sentences": sentences * 5}], "summary": sentences[n % 4]}
        for n in range(20)
    ]
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    (folder / "documents.jsonl").write_text(lines, encoding="utf-8")


def prepare(folder: Path) -> Path:
    """Fill a store with a corpus, triplets, a model and a benchmark; return its folder."""
    (folder / "old.txt").write_text(text(0, 12), encoding="utf-8")
    (folder / "new.txt").write_text(text(100, 120), encoding="utf-8")
    write_evaluations(folder)
    rows = "\n".join(f'"Sentence {n} of a list about stones and rivers."' for n in range(300))
    (folder / "list.csv").write_text(f"text\n{rows}\n", encoding="utf-8")
    store = Store(Settings.in_folder(folder / "home"))
    store.migrate()
    splits = ["train", "validation", "test"]
    run_here(store, "import-corpus", {"files": [str(folder / "old.txt")], "corpus": "C"}, quiet=True)
    run_here(store, "build-triplets", {"corpus": "C", "name": "T"}, quiet=True)
    run_here(store, "build-benchmark", {"corpus": "C", "name": "B", "splits": splits}, quiet=True)
    run_here(store, "train", {"method": "tfidf", "name": "M", "corpus": "C"}, quiet=True)
    run_here(store, "train", {"method": "tfidf", "name": "O", "corpus": "C", "seed": 1}, quiet=True)
    run_here(store, "export-bundle", {"corpus": "C", "file": str(folder / "bundle.zip")}, quiet=True)
    with store.writing() as w:
        triplets = w.triplets.by_name("T")
        w.reviews.add(triplets.id, int(w.triplets.ids(triplets.id, Split.TRAIN)[0]), "Ada", Verdict.BAD)
        other = w.models.by_name("O")
        shutil.copytree(store.artifacts.path(other.artifact), folder / "model")
        w.models.delete(other.id)
    store.close()
    return folder / "home"


def rows(store: Store) -> dict[str, int]:
    """Return the number of rows of every table that holds results."""
    with store.reading() as r:
        count = r.jobs.connection.execute
        return {
            name: count(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
            if name not in NOT_COUNTED
        }


class Case:
    """One job in a store of its own, with the worker that runs it."""

    def __init__(self, home: Path, kind: str, folder: Path, queue_url: str) -> None:
        settings = Settings.in_folder(home)
        self.home, self.store = home, Store(replace(settings, queue_url=queue_url) if queue_url else settings)
        self.env = os.environ | {"THEMESCOPE_HOME": str(home), "OMP_NUM_THREADS": "1"}
        self.env |= {"QUEUE_URL": queue_url} if queue_url else {}
        self.env |= {"THEMESCOPE_BACKUP_FOLDER": str(home.parent / "backups")} if kind == "back-up" else {}
        args = json.loads(json.dumps(KINDS[kind]).replace("{folder}", str(folder)))
        self.before = rows(self.store)
        self.worker: subprocess.Popen[bytes] | None = None
        self.job = enqueue(self.store, kind, args)

    def start(self) -> subprocess.Popen[bytes]:
        """Start a worker and return its process."""
        words = [sys.executable, __file__, "paced-worker"]
        log = (self.home / "worker.log").open("ab")
        with log:
            self.worker = subprocess.Popen(words, env=self.env, stdout=log, stderr=log)
        return self.worker

    def row(self) -> JobRecord:
        """Return the row of the job."""
        with self.store.reading() as r:
            return r.jobs.get(self.job.id)

    def wait(self, condition: Callable[[JobRecord], bool]) -> JobRecord:
        """Return the row once it meets ``condition``; raise ``TimeoutError`` after two minutes."""
        end = time.monotonic() + LIMIT_S
        while not condition(row := self.row()):
            if time.monotonic() > end:
                raise TimeoutError(f"still {row.status.value}: {row.message}")
            time.sleep(0.05)
        return row

    def close(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.kill()
            self.worker.wait()
        self.store.close()


def ended(row: JobRecord) -> bool:
    """Return whether the job has ended."""
    return row.status.ended


def running(row: JobRecord) -> bool:
    """Return whether the job is running, or was so short that it has ended."""
    return row.status is not JobStatus.QUEUED


def inflict(fault: str, case: Case) -> None:
    """Start a worker, and cause the fault while it runs the job; return at the end of the fault."""
    if fault == "flush":
        queue = JobQueue(case.store.settings.queue_url)
        queue.huey.flush()
        queue.close()
        case.start()
        return
    worker = case.start()
    case.wait(running)
    time.sleep(PAUSE_S / 4)
    if ended(case.row()):
        raise TimeoutError("missed")
    if fault in ("kill", "stop"):
        worker.send_signal(signal.SIGKILL if fault == "kill" else signal.SIGTERM)
        worker.wait()
        case.start()
    elif fault == "lock":
        with closing(sqlite3.connect(case.home / "themescope.db", isolation_level=None, timeout=60)) as db:
            db.execute("BEGIN IMMEDIATE")
            time.sleep(LOCK_S)
            db.execute("ROLLBACK")
    else:
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        time.sleep(FAULT_S)
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def run(fault: str, kind: str, base: Path, calm: Future[dict[str, int]], args: argparse.Namespace) -> dict[str, Any]:
    """Run a job with a fault; return seconds to its end, status, attempts, error, and whether the rows are right."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
        home = Path(own) / "home"
        shutil.copytree(base, home)
        case = Case(home, kind, base.parent, args.redis if fault == "flush" else "")
        try:
            inflict(fault, case)
            begun = time.monotonic()
            row = case.wait(ended)
            seconds = time.monotonic() - begun
            wanted = calm.result() if row.status is JobStatus.DONE else case.before
            found = rows(case.store)
            wrong = {name: (wanted[name], n) for name, n in found.items() if n != wanted[name]}
        except TimeoutError as error:
            return {"seconds": LIMIT_S, "status": str(error), "attempt": 0, "error": "", "wrong": {}}
        finally:
            case.close()
    return {"seconds": seconds, "status": row.status.value, "attempt": row.attempt, "error": row.error, "wrong": wrong}


def undisturbed(kind: str, base: Path) -> dict[str, int]:
    """Return the rows after the job without a fault."""
    with tempfile.TemporaryDirectory() as own:
        home = Path(own) / "home"
        shutil.copytree(base, home)
        case = Case(home, kind, base.parent, "")
        try:
            case.start()
            row = case.wait(ended)
            if row.status is not JobStatus.DONE:
                raise RuntimeError(f"{kind} fails without a fault: {row.error}")
            return rows(case.store)
        finally:
            case.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", choices=[*FAULTS, []], default=["kill", "stop", "lock", "full"])
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=1, help="cases at a time; with --redis only 1")
    parser.add_argument("--redis", default="", help="URL of a Redis database that may be emptied")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = prepare(Path(folder))
        with ThreadPoolExecutor(args.parallel) as pool:
            calm = {kind: pool.submit(undisturbed, kind, base) for kind in args.kinds}
            cells = [(kind, fault) for kind in args.kinds for fault in args.faults]
            runs = {
                (kind, fault): [pool.submit(run, fault, kind, base, calm[kind], args) for _ in range(args.runs)]
                for kind, fault in cells
            }
            for kind, fault in cells:
                show(kind, fault, [each.result() for each in runs[kind, fault]])


def show(kind: str, fault: str, found: list[dict[str, Any]]) -> None:
    """Print one cell of the table."""
    seconds = statistics.median(each["seconds"] for each in found)
    status = ", ".join(f"{each['status']} ({each['attempt']})" for each in found)
    right = "right" if all(not each["wrong"] for each in found) else "WRONG"
    print(f"{kind:20} {fault:6} {seconds:6.1f} s  rows {right}  {status}", flush=True)
    for each in found:
        if each["error"] or each["wrong"]:
            print(f"{'':28}{each['error']} {each['wrong'] or ''}", flush=True)


if __name__ == "__main__":
    paced_worker() if sys.argv[1:] == ["paced-worker"] else main()
