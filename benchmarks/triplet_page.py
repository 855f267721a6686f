"""Measure the SQL statements and the time of each step on the Triplets page with many triplets.

    python -m benchmarks.triplet_page --triplets 400000 [--export]

The text is synthetic: articles of eight sections with two sentences each, two models with random margins, a thousand
reviews. The time of a step to another triplet must depend neither on its position nor on the filter. CPU time is
printed too, because load on the machine increases the wall-clock time only. ``--export`` also exports every triplet as
CSV and JSON Lines and prints the peak memory.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import event
from sqlalchemy.engine import Engine

import benchmarks._runtime  # noqa: F401, must be imported before webapp
from themescope.core.metrics.triplet_analysis import CorrectnessFilter
from themescope.core.types import Article, Paragraph, Section, Split, TripletRows
from themescope.db.records import TripletSetRecord, Verdict
from themescope.db.settings import Settings
from themescope.db.store import Store

T = TypeVar("T")
_SENTENCES = 16
_SHARES = {Split.TRAIN: 0.8, Split.VALIDATION: 0.1, Split.TEST: 0.1}


def article(number: int) -> Article:
    """Return an article with eight sections of two sentences of 20 words."""
    words = " ".join(f"word{(number * 7 + i) % 5_000}" for i in range(18))
    sections = tuple(
        Section(
            f"Theme {s % 40}", 2, (Paragraph("", (f"First {words} {s}.", f"Second {words} {s}.")),), (f"Theme {s}",)
        )
        for s in range(number, number + _SENTENCES // 2)
    )
    return Article(f"Article {number}", sections)


def fill(store: Store, triplets: int) -> TripletSetRecord:
    """Add a corpus, a triplet set, two evaluated models and 1,000 reviews; return the triplet set."""
    random = np.random.default_rng(0)
    with store.writing() as w:
        corpus = w.corpora.create("synthetic", "en")
        w.corpora.add_articles(corpus.id, [article(n) for n in range(max(10, triplets // 60))])
        w.corpora.finish(corpus.id, {})
        triplet_set = w.triplets.create(corpus.id, "synthetic", "sentences", {}, 0, "synthetic")
        sentences = np.array([s.id for _, _, listed in w.corpora.iterate(corpus.id) for s in listed])
        articles = np.array([a.id for a, _, _ in w.corpora.iterate(corpus.id)])
        for split, share in _SHARES.items():
            indices = np.sort(random.integers(len(articles), size=int(triplets * share)))
            parts = [sentences[indices * _SENTENCES + random.integers(_SENTENCES, size=len(indices))] for _ in range(3)]
            w.triplets.add(triplet_set.id, split, TripletRows(np.zeros(len(indices), int), articles[indices], *parts))
        triplet_set = w.triplets.finish(triplet_set.id, {})
        for name in ("first", "second"):
            model = w.models.add(name=name, method="tfidf", config={}, seed=0, digest=name, artifact="", metrics={})
            for split in Split:
                ids = w.triplets.ids(triplet_set.id, split)
                margins = {split: (ids, random.normal(0.2, 1, len(ids)).astype(np.float32))}
                w.runs.add(kind="triplets", digest=f"{name} {split}", model_id=model.id, triplet_set_id=triplet_set.id,
                           config={"split": split.value}, margins=margins)  # fmt: skip
        for triplet in random.choice(w.triplets.ids(triplet_set.id), 1_000, replace=False).tolist():
            w.reviews.add(triplet_set.id, triplet, "Ada", Verdict.BAD)
    return triplet_set


class StatementCounter:
    """Counter of SELECT statements that prints the number and the time of each step."""

    def __init__(self) -> None:
        self._statements: list[str] = []
        event.listen(Engine, "before_cursor_execute", self._before)

    def _before(self, connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool) -> None:
        self._statements.append(statement)

    def __call__(self, title: str, work: Callable[[], T]) -> T:
        """Run ``work``, print its statements and time, and return its result."""
        self._statements.clear()
        wall, processor = time.perf_counter(), time.process_time()
        result = work()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        count = sum(statement.startswith("SELECT") for statement in self._statements)
        print(f"{title:62} {count:3} statements {processor * 1000:8.1f} ms CPU {wall * 1000:8.1f} ms wall clock")
        return result


def main() -> None:
    """Fill a store in a temporary folder and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triplets", type=int, default=400_000)
    parser.add_argument("--export", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # Streamlit's spinners warn that no page is open
    with tempfile.TemporaryDirectory() as folder:
        os.environ["THEMESCOPE_HOME"] = folder
        os.environ.pop("DATABASE_URL", None)
        store = Store(Settings.in_folder(Path(folder)))
        store.migrate()
        triplet_set = fill(store, args.triplets)
        store.close()
        measure_page(triplet_set)
        if args.export:
            export(triplet_set)


def measure_page(triplet_set: TripletSetRecord) -> None:
    """Measure opening the set, filters, steps between triplets, and reviews."""
    from themescope.webapp.features.triplets import queries as page_queries
    from themescope.webapp.features.triplets import selection
    from themescope.webapp.features.triplets.selection import ReviewFilter, TripletFilter
    from themescope.webapp.shared import triplet_queries

    run = StatementCounter()
    models = page_queries.evaluated_models(triplet_queries.evaluations(triplet_set))
    ids = run("open the set", lambda: selection.ids(triplet_set, TripletFilter(), models))
    print(f"{len(ids):,} triplets")
    for at in (0, len(ids) // 2, len(ids) - 1):
        for i in (at, at // 50 * 50):  # the second step is within a loaded page
            run(f"triplet {at + 1:,} with its page of 50", lambda i=i: step(triplet_set, models, ids, i))
    one_correct = TripletFilter(correct=CorrectnessFilter.AGAINST, correct_model="first", wrong_model="second")
    filters = {
        "correct for one model, wrong for the other": one_correct,
        "the same filter again": one_correct,
        "margins from -1 to 0, lowest first": TripletFilter(margin_model="first", low=-1.0, high=0.0, order="wrong"),
        "section titles": TripletFilter(section="theme 3", other="theme 4"),
        "a word in a sentence": TripletFilter(words="word123"),
    }
    for title, selected in filters.items():
        found = run(title, lambda selected=selected: selection.ids(triplet_set, selected, models))
        run(f"   step in these {len(found):,}", lambda found=found: step(triplet_set, models, found, len(found) // 2))
    run("store a verdict", lambda: page_queries.review(triplet_set.id, int(ids[7]), "Ada", Verdict.GOOD, ""))
    reviews = run("reviews after a new verdict", lambda: page_queries.reviews(triplet_set))
    run("not yet reviewed", lambda: selection.with_reviews(ids, reviews, ReviewFilter("unreviewed")))


def step(triplet_set: TripletSetRecord, models: list, ids: np.ndarray, at: int) -> None:
    """Run the queries of the page for the triplet at a position."""
    from themescope.webapp.features.triplets import queries as page_queries

    page = ids[at // 50 * 50 : at // 50 * 50 + 50]
    page_queries.reviews(triplet_set)
    page_queries.cards(triplet_set, page)
    for model in models:
        page_queries.margins_at(model, page)


def export(triplet_set: TripletSetRecord) -> None:
    """Print size, peak memory and CPU time of the export of every triplet."""
    from themescope.webapp.features.triplets import queries as page_queries
    from themescope.webapp.features.triplets.export import Export
    from themescope.webapp.shared import triplet_queries

    models = page_queries.evaluated_models(triplet_queries.evaluations(triplet_set))
    exported = Export(triplet_set, models, None, triplet_queries.ids(triplet_set, None))
    page_queries.sections(triplet_set, None)
    for name, make in (("CSV", exported.csv), ("JSONL", exported.jsonl)):
        tracemalloc.start()
        started = time.process_time()
        size = len(make())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        seconds = time.process_time() - started
        print(f"{name}: {size / 1e6:.0f} MB compressed, peak {peak / 1e6:.0f} MB, {seconds:.1f} s CPU with tracing")


if __name__ == "__main__":
    main()
