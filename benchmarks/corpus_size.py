"""Measure imports and page queries at two sizes of a corpus.

    python -m benchmarks.variants ARTICLES.jsonl.xz ... --out FOLDER
    python -m benchmarks.corpus_size FOLDER/*.jsonl --home FOLDER [--postgres postgresql://user@host/postgres]

The first file is imported into one store and all files into another, in one process; then triplets are sampled, a
benchmark is built, a labelling of one article is begun, and random positions are stored as a map of all sentences.
Prints the seconds of each step, the peak memory of its process, the size of the database, and the time of the SQL
statements of each page at both sizes. ``--postgres`` also measures new databases of that server.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from themescope.db.label_records import NewLabelling, Sharing
from themescope.db.records import MapPoints
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store
from themescope.jobs.queue.foreground import run_here
from themescope.jobs.services.labelling.starts import begin, from_sections

CORPUS, TRIPLETS, BENCHMARK, MAP, LABELLING = "articles", "triplets", "benchmark", "map", "labelling"
PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "Home": ("home", {}),
    "Corpora": ("corpora", {"corpus": CORPUS}),
    "Corpora: search titles": ("corpora", {"corpus": CORPUS, "search": "history"}),
    "Corpora: an article": ("corpora", {"corpus": CORPUS, "article": "Glacier"}),
    "Triplets": ("triplets", {"set": TRIPLETS}),
    "Train": ("train", {}),
    "Compare": ("compare", {"benchmark": BENCHMARK}),
    "Paper tables": ("paper_tables", {}),
    "Map, all sentences": ("map", {"corpus": CORPUS, "map": MAP}),
    "Themes": ("themes", {}),
    "Summaries": ("summaries", {"corpus": CORPUS}),
    "Summaries: an article": ("summaries", {"corpus": CORPUS, "article": "Glacier"}),
    "Relabel": ("relabel", {"labelling": LABELLING}),
    "Agreement": ("agreement", {}),
    "People": ("people", {}),
    "Jobs": ("jobs", {}),
}


# --- steps, each in a process of its own ------------------------------------------------------------------------------


def add_map(store: Store) -> None:
    """Store random positions as a map of all sentences."""
    with store.writing() as w:
        corpus = w.corpora.by_name(CORPUS)
        model = w.models.add(
            name="any", method="mean-vectors", config={}, seed=0, digest="any", artifact="-", metrics={}
        )
        ids = w.corpora.sentence_ids(corpus.id)
        points = np.random.default_rng(0).normal(size=(len(ids), 2)).astype(np.float32)
        w.maps.add(corpus_id=corpus.id, model_id=model.id, name=MAP, config={}, seed=0, digest=MAP,
                   faithfulness=0.3, sampled_from=len(ids), points=MapPoints(ids, points))  # fmt: skip


def begin_labelling(store: Store) -> None:
    """Begin a labelling of one article by its sections."""
    with store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
        (article,) = r.corpora.articles(corpus.id, limit=1)
    begin(store, NewLabelling(corpus.id, LABELLING, "admin", Sharing.SHARED, article_id=article.id), from_sections)


def count_statements(repeat: int) -> dict[str, Any]:
    """Return the measurements of all pages with empty and with filled caches."""
    import streamlit as st

    from benchmarks.queries import Statements, measure
    from benchmarks.queries import run as run_page

    logging.disable(logging.CRITICAL)
    st.config.set_option("server.address", "127.0.0.1")  # so that no sign-in is required
    statements = Statements()
    run_page(statements, "home", {})  # imports are not part of the measurement
    return {name: measure(statements, page, query, repeat) for name, (page, query) in PAGES.items()}


STEPS: dict[str, Callable[[Store, list[str]], Any]] = {
    "import": lambda store, files: run_here(
        store, "import-corpus", {"files": files, "corpus": CORPUS, "workers": 1}, quiet=True
    ),
    "sample triplets": lambda store, _: run_here(
        store, "build-triplets", {"corpus": CORPUS, "name": TRIPLETS}, quiet=True
    ),
    "build a benchmark": lambda store, _: run_here(
        store, "build-benchmark", {"corpus": CORPUS, "name": BENCHMARK, "splits": ["test"]}, quiet=True
    ),
    "store a map": lambda store, _: add_map(store),
    "begin a labelling": lambda store, _: begin_labelling(store),
    "open all pages": lambda _, repeat: count_statements(int(repeat[0])),
}


# --- the measurement --------------------------------------------------------------------------------------------------


def measured(env: dict[str, str], step: str, arguments: Sequence[str]) -> tuple[float, float, Any]:
    """Run a step in a new process; return its seconds, the peak of its resident memory in MB, and its result."""
    begun, peak = time.perf_counter(), 0
    options = ["--step", step, "--home", env["THEMESCOPE_HOME"]]
    command = [sys.executable, "-m", "benchmarks.corpus_size", *options, *arguments]
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(command, env=env, stdout=printed)
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            with suppress(psutil.NoSuchProcess):
                processes = [watched, *watched.children(recursive=True)]
                peak = max(peak, sum(p.memory_info().rss for p in processes))
            time.sleep(0.1)
        seconds = time.perf_counter() - begun
        printed.seek(0)
        lines = printed.read().splitlines()
    if process.returncode:
        raise SystemExit(f"The step “{step}” failed.")
    print(f"    {step:24}{seconds:9.1f} s{peak / 1e6:9,.0f} MB", flush=True)
    return seconds, peak / 1e6, json.loads(lines[-1])


def megabytes(store: Store) -> float:
    """Return the size of the database in MB."""
    url = store.settings.database_url
    if sqlite_path(url):
        return sum(file.stat().st_size for file in store.settings.home.glob("themescope.db*")) / 1e6
    import psycopg

    with psycopg.connect(url) as connection:
        (found,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
        return float(found) / 1e6


def fill_and_open(home: Path, url: str, files: list[str], repeat: int) -> dict[str, Any]:
    """Fill a store; return seconds, memory and size of its import, and the measurements of its pages."""
    home.mkdir(parents=True, exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "QUEUE_URL")}
    env = inherited | {"THEMESCOPE_HOME": str(home)} | ({"DATABASE_URL": url} if url else {})
    store = Store(Settings.from_environment(env))
    store.migrate()
    seconds, memory, _ = measured(env, "import", files)
    with store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
    imported = megabytes(store)
    print(f"    {corpus.articles:,} articles, {corpus.sentences:,} sentences, {imported:,.0f} MB", flush=True)
    for step in list(STEPS)[1:-1]:
        measured(env, step, [])
    print(f"    database with all of it: {megabytes(store):,.0f} MB", flush=True)
    store.close()
    _, _, pages = measured(env, "open all pages", [str(repeat)])
    return {"seconds": seconds, "MB of memory": memory, "MB of the database": imported, "pages": pages}


def new_database(server: str, name: str) -> str:
    """Create a database on a PostgreSQL server and return its URL."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}"')
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{server.rpartition('/')[0]}/{name}"


def compare(small: dict[str, Any], large: dict[str, Any]) -> None:
    """Print both sizes beside each other."""
    for name in ("seconds", "MB of memory", "MB of the database"):
        print(f"{name:28}{small[name]:12,.1f}{large[name]:12,.1f}{large[name] / small[name]:9.2f} x")
    print(f"{'milliseconds of SQL':28}{'empty caches':>24}{'filled caches':>33}")
    for page, (first, later) in small["pages"].items():
        print(f"{page:28}", end="")
        for (_, before, _), (_, after, _) in zip((first, later), large["pages"][page], strict=True):
            print(f"{before:12.1f}{after:12.1f}{after / max(before, 0.1):9.2f}", end="")
        print(flush=True)


def main() -> None:
    """Measure each database at both sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--home", type=Path, required=True, help="folder for the stores")
    parser.add_argument("--postgres", default="", help="URL of a database of a PostgreSQL server")
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        print(json.dumps(STEPS[args.step](Store(Settings.from_environment()), args.files)))
        return
    for database in ("sqlite", *(["postgresql"] if args.postgres else [])):
        if args.only not in (None, database):
            continue
        found = []
        for name, files in (("one", args.files[:1]), ("all", args.files)):
            print(f"{database}, {name}", flush=True)
            home = args.home / f"{database}-{name}"
            if home.exists():
                raise SystemExit(f"{home} exists. Choose another folder.")
            url = new_database(args.postgres, f"size_{name}") if database == "postgresql" else ""
            found.append(fill_and_open(home, url, files, args.repeat))
        compare(*found)


if __name__ == "__main__":
    main()
