"""Measure the export of labelled sentences through the HTTP API: seconds, size, and memory of the web server.

    python benchmarks/api_export.py [--rows 100000] [--repeats 3]

A labelling with that many sentences of about 20 words, and one with a tenth of them, are exported by the Python client
from a web server of its own, which listens on this machine. Seconds are medians. Memory is the largest growth of the
server's resident memory during an export, sampled every 10 ms, so that a stream needs about the same for both sizes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import psutil

import themescope
from themescope.core.client.client import Client
from themescope.core.errors import RequestError
from themescope.core.types import Article, Paragraph, Section
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services.remote import labellings
from themescope.jobs.services.remote.labellings import LabellingChanges, Start
from themescope.webapp.start import free_port

_SENTENCES = 50
"""Number of sentences of an article, in five sections."""
_START_S = 60.0


def fill(store: Store, name: str, rows: int) -> int:
    """Store a corpus with ``rows`` sentences and a labelling of it by sections; return the id of the labelling."""
    words = np.array([f"word{i}" for i in range(5_000)])
    draws = np.random.default_rng(0)
    articles = [_article(f"{name} {i}", words, draws) for i in range(rows // _SENTENCES)]
    with store.writing() as w:
        corpus = w.corpora.create(name, "en")
        w.corpora.add_articles(corpus.id, articles)
        w.corpora.finish(corpus.id, {})
        actor = w.people.actor("")
    new = labellings.new_labelling(actor, corpus.id, name, None, shared=True)
    made = labellings.create(store, actor, new, Start.SECTIONS)
    first = labellings.labels(store, made.id, limit=1_000).items
    LabellingChanges(store, actor, made.id).assign([label.sentence.id for label in first], 1)
    return made.id


def _article(title: str, words: np.ndarray, draws: np.random.Generator) -> Article:
    sections = [f"Section {i}" for i in range(5)]
    texts = [" ".join(draws.choice(words, 20)) + "." for _ in range(_SENTENCES)]
    parts = [tuple(texts[i :: len(sections)]) for i in range(len(sections))]
    return Article(
        title, tuple(Section(s, 2, (Paragraph("", part),), (s,)) for s, part in zip(sections, parts, strict=True))
    )


@contextmanager
def serving(home: Path) -> Iterator[tuple[Client, psutil.Process]]:
    """Start a web server on the store; yield a client and its process."""
    port = free_port("127.0.0.1", 8701)
    flags = ["--server.address", "127.0.0.1", "--server.port", str(port), "--server.headless", "true"]
    environment = {**os.environ, "THEMESCOPE_HOME": str(home)}
    process = subprocess.Popen([sys.executable, "-m", "themescope.webapp.server", *flags], env=environment)
    try:
        with themescope.Client(f"http://127.0.0.1:{port}") as client:
            _wait(client)
            yield client, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _wait(client: Client) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        with suppress(RequestError):
            client.me()
            time.sleep(5.0)  # until the server has imported its pages
            return
        time.sleep(0.2)
    raise SystemExit("The web server does not answer.")


def measured(client: Client, server: psutil.Process, labelling: int, file: Path) -> tuple[float, float]:
    """Export a labelling; return the seconds, and the growth of the server's memory in megabytes."""
    peak, before, done = [0], server.memory_info().rss, threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], server.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    client.export_labels(labelling, file)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return seconds, (max(peak[0], before) - before) / 1e6


def main() -> None:
    """Fill a store, serve it, export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Settings.in_folder(Path(folder)))
        store.migrate()
        sizes = {rows: fill(store, f"{rows} rows", rows) for rows in (args.rows // 10, args.rows)}
        store.close()
        with serving(Path(folder)) as (client, server):
            print(f"{'rows':>9}{'format':>9}{'seconds':>9}{'MB':>8}{'server +MB':>12}   {args.repeats} repeats")
            for rows, labelling in sizes.items():
                for suffix in ("csv", "jsonl", "parquet"):
                    file = Path(folder) / f"labels.{suffix}"
                    runs = [measured(client, server, labelling, file) for _ in range(args.repeats)]
                    seconds, memory = np.median([one for one, _ in runs]), max(grown for _, grown in runs)
                    print(
                        f"{rows:9,}{suffix:>9}{seconds:9.2f}{file.stat().st_size / 1e6:8.1f}{memory:12.1f}", flush=True
                    )


if __name__ == "__main__":
    main()
