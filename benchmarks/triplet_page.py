"""What stands behind the page Triplets in a store with many triplets: statements and seconds of every step.

    python -m benchmarks.triplet_page --triplets 400000 [--export]

The text is synthetic: articles of eight sections with two sentences each, two models with random margins, a thousand
reviews. A step to another triplet must not depend on where in the set it leads, nor on the filter. Processor seconds
beside wall-clock seconds, because a busy machine stretches the latter. ``--export`` also writes every triplet as CSV
and JSON lines and tells the peak of the memory that this took.
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
from typing import TypeVar

import numpy as np
import sqlalchemy as sa

import benchmarks._runtime  # noqa: F401, before all of ours
from core.metrics.triplet_analysis import CorrectnessFilter
from core.types import Article, Paragraph, Section, Split, TripletRows
from db.records import TripletSetRecord, Verdict
from db.settings import Settings
from db.store import Store

T = TypeVar("T")
_SENTENCES = 16
_SHARES = {Split.TRAIN: 0.8, Split.VALIDATION: 0.1, Split.TEST: 0.1}


def article(number: int) -> Article:
    """Eight sections of two sentences of twenty words."""
    words = " ".join(f"word{(number * 7 + i) % 5_000}" for i in range(18))
    sections = tuple(
        Section(
            f"Theme {s % 40}", 2, (Paragraph("", (f"First {words} {s}.", f"Second {words} {s}.")),), (f"Theme {s}",)
        )
        for s in range(number, number + _SENTENCES // 2)
    )
    return Article(f"Article {number}", sections)


def fill(store: Store, triplets: int) -> TripletSetRecord:
    """A corpus, a set of that many triplets, two evaluated models and a thousand reviews."""
    random = np.random.default_rng(0)
    with store.writing() as w:
        corpus = w.corpora.create("synthetic", "en")
        w.corpora.add_articles(corpus.id, [article(n) for n in range(max(10, triplets // 60))])
        w.corpora.finish(corpus.id, {})
        made = w.triplets.create(corpus.id, "synthetic", "sentences", {}, 0, "synthetic")
        sentences = np.array([s.id for _, _, listed in w.corpora.iterate(corpus.id) for s in listed])
        articles = np.array([a.id for a, _, _ in w.corpora.iterate(corpus.id)])
        for split, share in _SHARES.items():
            place = np.sort(random.integers(len(articles), size=int(triplets * share)))
            parts = [sentences[place * _SENTENCES + random.integers(_SENTENCES, size=len(place))] for _ in range(3)]
            w.triplets.add(made.id, split, TripletRows(np.zeros(len(place), int), articles[place], *parts))
        made = w.triplets.finish(made.id, {})
        for name in ("first", "second"):
            model = w.models.add(name=name, method="tfidf", config={}, seed=0, digest=name, artifact="", metrics={})
            for split in Split:
                ids = w.triplets.ids(made.id, split)
                margins = {split: (ids, random.normal(0.2, 1, len(ids)).astype(np.float32))}
                w.runs.add(kind="triplets", digest=f"{name} {split}", model_id=model.id, triplet_set_id=made.id,
                           config={"split": split.value}, margins=margins)  # fmt: skip
        for triplet in random.choice(w.triplets.ids(made.id), 1_000, replace=False).tolist():
            w.reviews.add(made.id, triplet, "Ada", Verdict.BAD)
    return made


class Counted:
    """Prints what a piece of work asked of the store, and how long it took."""

    def __init__(self, store: Store) -> None:
        self._said: list[str] = []
        sa.event.listen(store._engine, "before_cursor_execute", lambda *a: self._said.append(a[2]))

    def __call__(self, what: str, work: Callable[[], T]) -> T:
        """Do it."""
        self._said.clear()
        wall, processor = time.perf_counter(), time.process_time()
        result = work()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        asked = sum(said.startswith("SELECT") for said in self._said)
        print(f"{what:62} {asked:3} statements {processor * 1000:8.1f} ms processor {wall * 1000:8.1f} ms")
        return result


def main() -> None:
    """Fill a store in a temporary folder and walk through it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triplets", type=int, default=400_000)
    parser.add_argument("--export", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # Streamlit's spinners say that no page is open
    with tempfile.TemporaryDirectory() as folder:
        os.environ["THEMESCOPE_HOME"] = folder
        os.environ.pop("DATABASE_URL", None)
        store = Store(Settings.in_folder(Path(folder)))
        store.migrate()
        chosen = fill(store, args.triplets)
        store.close()
        walk(chosen)
        if args.export:
            export(chosen)


def walk(chosen: TripletSetRecord) -> None:
    """Open the set, narrow it, and step through it."""
    from webapp.features.triplets import queries as page_queries
    from webapp.features.triplets import selection
    from webapp.features.triplets.selection import ReviewFilter, TripletFilter
    from webapp.shared import queries, triplet_queries

    counted = Counted(queries.store())
    models = page_queries.evaluated_models(triplet_queries.evaluations(chosen))
    ids = counted("open the set", lambda: selection.ids(chosen, TripletFilter(), models))
    print(f"{len(ids):,} triplets")
    for at in (0, len(ids) // 2, len(ids) - 1):
        for place in (at, at // 50 * 50):  # the second time its page is known
            counted(f"triplet {at + 1:,} with its page of 50", lambda place=place: step(chosen, models, ids, place))
    one_correct = TripletFilter(correct=CorrectnessFilter.AGAINST, correct_model="first", wrong_model="second")
    asked = {
        "one correct where the other is wrong": one_correct,
        "the same again": one_correct,
        "margins from -1 to 0, lowest first": TripletFilter(margin_model="first", low=-1.0, high=0.0, order="wrong"),
        "section titles": TripletFilter(section="theme 3", other="theme 4"),
        "a word in a sentence": TripletFilter(words="word123"),
    }
    for what, wanted in asked.items():
        found = counted(what, lambda wanted=wanted: selection.ids(chosen, wanted, models))
        counted(f"   step in these {len(found):,}", lambda found=found: step(chosen, models, found, len(found) // 2))
    counted("store a verdict", lambda: page_queries.review(chosen.id, int(ids[7]), "Ada", Verdict.GOOD, ""))
    reviews = counted("reviews after it", lambda: page_queries.reviews(chosen))
    counted("not yet reviewed", lambda: selection.with_reviews(ids, reviews, ReviewFilter("unreviewed")))


def step(chosen: TripletSetRecord, models: list, ids: np.ndarray, at: int) -> None:
    """What the page asks for when it shows the triplet in that place."""
    from webapp.features.triplets import queries as page_queries

    page = ids[at // 50 * 50 : at // 50 * 50 + 50]
    page_queries.reviews(chosen)
    page_queries.cards(chosen, page)
    for model in models:
        page_queries.margins_at(model, page)


def export(chosen: TripletSetRecord) -> None:
    """Write every triplet as a file."""
    from webapp.features.triplets import queries as page_queries
    from webapp.features.triplets.export import Export
    from webapp.shared import triplet_queries

    models = page_queries.evaluated_models(triplet_queries.evaluations(chosen))
    made = Export(chosen, models, None, triplet_queries.ids(chosen, None))
    page_queries.sections(chosen, None)
    for name, make in (("CSV", made.csv), ("JSONL", made.jsonl)):
        tracemalloc.start()
        begun = time.process_time()
        size = len(make())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        seconds = time.process_time() - begun
        print(f"{name}: {size / 1e6:.0f} MB packed, peak {peak / 1e6:.0f} MB, {seconds:.1f} s processor while traced")


if __name__ == "__main__":
    main()
