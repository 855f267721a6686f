"""Measure search by meaning in a large corpus: through the index and exact, with recall, times and sizes.

    python benchmarks/search.py --home FOLDER --corpus NAME [--model static-wikipedia] [--queries 200]

The corpus in the store FOLDER must have more than 200,000 sentences. It is embedded and indexed unless it was before.
Queries are random sentences of the corpus, each without itself among the results. Results through the index include
reading the candidates' vectors from the store and their exact cosines; exact results are computed from float16 vectors
in memory, and for ten queries from the store.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from themescope.core.compute import cosines, nearest_neighbours
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import keys_of, stored_keys
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import search

T = TypeVar("T")
TOP = 10


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the milliseconds of a call, and its result."""
    start = time.perf_counter()
    result = work()
    return 1e3 * (time.perf_counter() - start), result


def line(name: str, times: list[float], recall: float) -> None:
    """Print the median, the 95th percentile and the recall of a way to search."""
    p50, p95 = np.percentile(times, [50, 95])
    print(f"{name:32}{p50:9.1f}{p95:9.1f} ms   recall@{TOP} {recall:.4f}   n = {len(times)}", flush=True)


def main() -> None:
    """Embed, index, search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--model", default="static-wikipedia")
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    store = Store(Settings.in_folder(args.home))
    store.migrate()
    model = find_model(store, args.model)
    for step in ("embed and index", "again, all stored"):
        milliseconds, result = timed(
            lambda: run_here(store, "embed", {"corpus": args.corpus, "model": args.model}, quiet=True)
        )
        print(f"{step}: {milliseconds / 1e3:.1f} s, {result}", flush=True)
    with store.reading() as r:
        corpus = r.corpora.by_name(args.corpus)
        articles = [a.id for a in r.corpora.articles(corpus.id, limit=corpus.articles) if a.sentences]
    index = search.index_of(store, model.id, corpus.id)
    assert index is not None, "the corpus is too small for an index"
    print(f"index: {index.vectors:,} vectors, {index.size / 1e6:,.0f} MB, recall@10 {index.recall:.4f} when built")
    keys, rows = zip(*stored_keys(store, model.id, articles), strict=True)
    names, vectors = np.concatenate(keys), np.concatenate([part.astype(np.float16) for part in rows])
    chosen = np.random.default_rng(1).choice(len(names), args.queries, replace=False)
    exact, true = [], []
    for row in chosen:
        milliseconds, similarity = timed(lambda row=row: cosines(vectors[row : row + 1], vectors))
        exact.append(milliseconds)
        similarity[row] = -np.inf
        true.append(similarity)
        true[-1] = names[np.argpartition(-similarity, TOP - 1)[:TOP]]
    line("exact, vectors in memory", exact, 1.0)
    milliseconds, _ = timed(lambda: search.near(store, model, index, vectors[:1], TOP))
    print(f"opening the index: {milliseconds:,.0f} ms")
    for count in (100, 500):
        times, hits = [], 0
        for row, wanted in zip(chosen, true, strict=True):
            milliseconds, near = timed(
                lambda row=row, count=count: search.near(store, model, index, vectors[row : row + 1], count)
            )
            times.append(milliseconds)
            found = keys_of(near.articles, near.positions)
            hits += int(np.isin(found[found != names[row]][:TOP], wanted).sum())
        line(f"through the index, {count} candidates", times, hits / (TOP * len(chosen)))
    stored = [
        timed(lambda row=row: nearest_neighbours(vectors[row : row + 1], stored_keys(store, model.id, articles), TOP))[
            0
        ]
        for row in chosen[:10]
    ]
    line("exact, vectors in the store", stored, 1.0)


if __name__ == "__main__":
    main()
