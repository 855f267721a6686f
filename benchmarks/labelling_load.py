"""Load test: several users edit one shared labelling while a worker writes vectors and the web process is killed.

    python -m benchmarks.labelling_load --people 20 --seconds 300 --kills 10
    python -m benchmarks.labelling_load --database-url postgresql://user:password@localhost/empty
    python -m benchmarks.labelling_load --backups 5
    python -m benchmarks.labelling_load --proxy --database-url postgresql://… --queue-url redis://…

Each user is a thread of the "web" process with a labelling session of its own. Every acknowledged edit is logged
outside the store, in a file that is synced to disk after each edit. The main process repeatedly kills the web process
with SIGKILL and restarts it. At the end, every logged edit must be in the history, and replaying the history must give
the current state. With ``--backups``, the store is backed up meanwhile, and the last backup is restored elsewhere and
compared with the logged edits, see :mod:`benchmarks._backups_in_load`. With ``--proxy``, people use pages of two web
servers behind nginx, see :mod:`benchmarks._behind_proxy`. Prints one JSON object with counts and latencies; exits 1 if
an edit was lost.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _backups_in_load
from themescope.core.errors import ThemescopeError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, ClusterChange, EntryChange, StaleChangeError
from themescope.core.labelling.entries import Entry, EntryKind
from themescope.core.labelling.history import replay, rewind
from themescope.core.labelling.partition import Cluster, Partition, start
from themescope.core.types import Article, Paragraph, Section
from themescope.db.label_records import NewLabelling, Sharing
from themescope.db.records import VectorBlock
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services.labelling.session import LabellingSession

_SENTENCES, _ARTICLES, _DIM, _CLUSTERS = 2_000, 200, 600, 8


def prepare(store: Store) -> int:
    """Create a corpus, a model without an artifact, and a shared labelling; return the id of the labelling."""
    with store.writing() as w:
        corpus = w.corpora.create("load", "en")
        for first in range(0, _ARTICLES, 50):
            w.corpora.add_articles(corpus.id, [_article(i) for i in range(first, first + 50)])
        w.corpora.finish(corpus.id, {})
        w.models.add(name="load", method="mean-vectors", config={}, seed=0, digest="load", artifact="-", metrics={})
        articles = w.corpora.articles(corpus.id, limit=_ARTICLES)
        ids = np.array([s.id for a in articles for s in w.corpora.sentences(a.id)][:_SENTENCES])
        clusters = [Cluster(n, f"cluster {n}", n) for n in range(1, _CLUSTERS + 1)]
        first_state = start(ids, 1 + np.arange(len(ids)) % _CLUSTERS, clusters)
        new = NewLabelling(corpus.id, "load", "admin", Sharing.SHARED, origin={"from": "nothing"})
        return w.labellings.create(new, first_state).id


def _article(number: int) -> Article:
    text = tuple(f"Sentence {i} of article {number} has a few words in it." for i in range(20))
    return Article(f"Article {number}", (Section("", 1, (Paragraph("", text),)),))


def embed(store: Store, stop: Any) -> None:
    """Write blocks of vectors until ``stop`` is set, about 2,000 rows per transaction."""
    values = np.random.default_rng(0).normal(size=(20, _DIM)).astype(np.float32)
    with store.reading() as r:
        (model,) = r.models.list()
        articles = [a.id for a in r.corpora.articles(r.corpora.list()[0].id, limit=_ARTICLES)]
    position = 0
    while not stop.is_set():
        blocks = [VectorBlock(articles[(position + i) % len(articles)], values) for i in range(100)]
        with store.writing() as w:
            w.embeddings.add(model.id, blocks)
        position += 100
        time.sleep(0.2)


def web(store: Store, labelling: int, people: int, stop: Any, ready: Any, logs: Path) -> None:
    """Run one labelling thread per user until ``stop`` is set; set ``ready`` when everything is imported."""
    LabellingSession(store, labelling, "admin")
    ready.set()
    threads = [
        threading.Thread(target=label, args=(store, labelling, f"user {n}", stop, logs / f"{n}.jsonl"))
        for n in range(people)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def label(store: Store, labelling: int, user: str, stop: Any, logs: Path) -> None:
    """Make about one edit per second and log each result; drop the edit on a conflict."""
    rng = random.Random(f"{user} {time.time_ns()}")
    time.sleep(rng.random())
    session = LabellingSession(store, labelling, user)
    with logs.open("a", encoding="utf-8") as out:
        while not stop.is_set():
            started = time.perf_counter()
            _log(out, _edit(session, rng, started))
            time.sleep(max(0.0, 1.0 - (time.perf_counter() - started)))


def _assignment(partition: Partition, rng: random.Random) -> op.Operation:
    chosen = np.array(rng.sample(partition.ids.tolist(), rng.choice([1, 1, 1, 5])))
    return op.assign(partition, chosen, rng.randint(1, _CLUSTERS))


def _answer(partition: Partition, rng: random.Random) -> op.Operation:
    """Answer a question about two sentences, and move the second to the cluster of the first, in one step."""
    first, second = rng.sample(partition.ids.tolist(), 2)
    moved = op.assign(partition, np.array([second]), int(partition.numbers[partition.rows([first])[0]]))
    answer = EntryChange(
        EntryKind.ANSWER, f"{rng.getrandbits(64):016x}", None, Entry({"value": "yes"}, (first, second))
    )
    return op.Operation(op.OperationKind.ACCEPT, "answer", ChangeSet((*moved.change_set, answer)))


def _codebook_text(partition: Partition, rng: random.Random) -> op.Operation:
    """Change the codebook entry of a cluster, which other users change too."""
    number = rng.randint(1, _CLUSTERS)
    old = partition.entries.get((EntryKind.CODE, str(number)))
    new = Entry({"definition": f"definition {rng.random()}"}, (rng.choice(partition.ids.tolist()),), (number,))
    return op.entries(op.OperationKind.NOTE, "codebook", [EntryChange(EntryKind.CODE, str(number), old, new)])


def _level(partition: Partition, rng: random.Random) -> op.Operation:
    """Make one of the last clusters a sub-theme of one of the first, or a theme again."""
    cluster = partition.cluster(rng.randint(_CLUSTERS // 2 + 1, _CLUSTERS))
    new = replace(cluster, parent=rng.choice([None, *range(1, _CLUSTERS // 2 + 1)]))
    change_set = ChangeSet((ClusterChange(cluster, new),) if new != cluster else ())
    return op.Operation(op.OperationKind.RECOLOUR, "level", change_set)


_EDITS = (*[_assignment] * 4, *[_answer] * 3, _codebook_text, _level)
"""Edits of a user, drawn at random; :func:`_assignment` is the kind that version 0.1 had."""


def _edit(session: LabellingSession, rng: random.Random, started: float) -> dict[str, Any]:
    operation = rng.choice(_EDITS)(session.partition, rng)
    try:
        step = session.do(operation)
    except StaleChangeError as error:
        session.conflict(operation, error)
        return {"conflict": True}
    except ThemescopeError as error:
        return {"error": str(error)}
    return {"step": step.id if step else None, "seconds": time.perf_counter() - started, "at": time.time()}


def _log(out: Any, entry: dict[str, Any]) -> None:
    out.write(json.dumps(entry) + "\n")
    out.flush()
    os.fsync(out.fileno())


def run(
    store: Store, people: int, seconds: float, kills: int, logs: Path, backups: int = 0, restore_url: str = ""
) -> dict[str, Any]:
    """Run the test, killing the web process ``kills`` times, and return the results."""
    labelling = prepare(store)
    with store.reading() as r:
        first = r.labellings.snapshot(labelling).partition
    store.close()
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    worker = context.Process(target=embed, args=(store, stop))
    worker.start()
    saving = _backups_in_load.Backups(store, logs.parent, logs, backups, seconds)
    thread = saving.start()
    for run_number in range(kills + 1):
        ready = context.Event()
        process = context.Process(target=web, args=(store, labelling, people, stop, ready, logs))
        process.start()
        ready.wait(300)
        time.sleep(seconds / (kills + 1))
        if run_number < kills:
            process.kill()
            process.join()
    stop.set()
    process.join(60)
    worker.join(60)
    thread.join()
    result = {"people": people, "seconds": seconds, "kills": kills, **_results(store, labelling, first, logs)}
    return result | (saving.results(labelling, first, restore_url) if backups else {})


def _results(store: Store, labelling: int, first: Any, logs: Path) -> dict[str, Any]:
    """Compare the acknowledged edits with the history in the store."""
    entries = _backups_in_load.entries(logs)
    saved = [entry for entry in entries if entry.get("step") is not None]
    with store.reading() as r:
        log = r.label_steps.since(labelling, 0)
        current = r.labellings.snapshot(labelling).partition
    stored = {step.id for step, _ in log}
    change_sets = [change_set for _, change_set in log]
    times = np.array([entry["seconds"] for entry in saved] or [0.0]) * 1000
    return {
        "saved": len(saved),
        "steps": len(log),
        "lost": sum(entry["step"] not in stored for entry in saved),
        "conflicts": sum("conflict" in entry for entry in entries),
        "errors": [entry["error"] for entry in entries if "error" in entry],
        "replayed": replay(first, change_sets).to_bytes() == current.to_bytes(),
        "undone": rewind(current, change_sets).to_bytes() == first.to_bytes(),
        "p50_ms": round(float(np.percentile(times, 50)), 1),
        "p95_ms": round(float(np.percentile(times, 95)), 1),
        "max_ms": round(float(times.max()), 1),
    }


def main() -> None:
    """Run the load test and print its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=20, help="number of users")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--database-url", default="", help="URL of an empty PostgreSQL database (default: SQLite)")
    parser.add_argument("--backups", type=int, default=0, help="number of backups meanwhile")
    parser.add_argument("--restore-url", default="", help="URL of another empty PostgreSQL database, for --backups")
    parser.add_argument("--proxy", action="store_true", help="two web servers behind nginx, and two workers")
    parser.add_argument("--queue-url", default="", help="URL of an empty Redis or PostgreSQL queue, for --proxy")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between two edits of a user, for --proxy")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Settings.in_folder(Path(folder) / "home", args.database_url, args.queue_url))
        store.migrate()
        logs = Path(folder) / "logs"
        logs.mkdir()
        if args.proxy:
            from benchmarks import _behind_proxy

            given = (args.people, args.seconds, args.kills, args.pause)
            result = _behind_proxy.run(store, prepare(store), *given, logs)
        else:
            result = run(store, args.people, args.seconds, args.kills, logs, args.backups, args.restore_url)
        store.close()
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    conditions = ("replayed", "undone", "imports_complete", "backup_is_prefix", "backup_replayed", "labels_kept")
    passed = (
        not result["lost"]
        and not result.get("missing_in_backup")
        and not any(result.get(name, [0, 0])[1] for name in ("rows_with_name", "bytes_with_name"))
        and not result["errors"]
        and all(result.get(name, True) for name in conditions)
    )
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
