"""A small store with something of everything, written directly: no job runs, nothing is trained."""

import numpy as np

from themescope.core.records.answers import MetricPoint
from themescope.core.records.stored import JobStatus, LabellingRecord, ScoreRecord, Sharing
from themescope.core.types import Article, BenchmarkItem, Paragraph, Section, Split, TripletRows
from themescope.db.records import MapPoints, NewLabelling, VectorBlock
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts

CORPUS, SET, BENCHMARK, MODEL, MAP = "Rivers", "river triplets", "river sections", "mean *vectors*", "Rivers by vectors"
HOSTILE = "<img src=x onerror=alert(1)> *bold* [x](http://evil.example) :smile:"
METRICS = ("mi", "ami", "ami-arithmetic", "ri", "ari", "v")


def fill(store: Store) -> None:
    """Corpus → triplets → model → evaluation → benchmark → clusterings → map → jobs."""
    with store.writing() as w:
        corpus = w.corpora.create(CORPUS, "en")
        w.corpora.add_articles(corpus.id, [_article(t) for t in ("Danube", "Nile", HOSTILE)])
        w.corpora.finish(corpus.id, {"files": ["rivers.jsonl"], "skipped": {"redirect": 100}})
        articles = w.corpora.articles(corpus.id)
        sentences = {a.id: w.corpora.sentences(a.id) for a in articles}
        first = sentences[articles[0].id]
        triplets = w.triplets.create(corpus.id, SET, "sentences", {"profile": "all"}, 0, "t1")
        for split, start in ((Split.TRAIN, 0), (Split.TEST, 2)):
            columns = [np.array([s.id for s in first[i : i + 4]]) for i in (start, start + 1, start + 6)]
            w.triplets.add(triplets.id, split, TripletRows(np.zeros(4, int), np.full(4, first[0].article_id), *columns))
        w.triplets.finish(triplets.id, {"triplets": {"train": 4, "validation": 2, "test": 4}})
        model = w.models.add(
            name=MODEL, method="mean-vectors", config={}, seed=0, digest="m1", artifact="a1", metrics={"seconds": 1.0}
        )
        rows = w.triplets.rows(triplets.id, Split.TEST)
        w.runs.add(
            kind="triplets",
            digest="e1",
            model_id=model.id,
            triplet_set_id=triplets.id,
            config={"split": "test"},
            scores=[ScoreRecord(0, None, "triplet accuracy", 0.75, 0.6, 0.9, 3)],
            margins={Split.TEST: (rows.ids, np.array([0.5, -0.25, 0.0, 1.0], dtype=np.float32))},
        )
        truth = np.array([s.section for s in first], dtype=np.int32)
        item = BenchmarkItem(first[0].article_id, np.array([s.id for s in first]), truth)
        benchmark = w.benchmarks.add(corpus.id, BENCHMARK, {}, "b1", {"articles": {"taken": 1}}, [item])
        for digest, clusterer, owner, value in (("c1", "iclust", model.id, 0.4), ("c2", "random", None, 0.01)):
            w.runs.add(
                kind="clustering",
                digest=digest,
                model_id=owner,
                benchmark_id=benchmark.id,
                clusterer=clusterer,
                seconds=0.1,
                assignments={first[0].article_id: (truth % 3).astype(np.int32)},
                scores=[ScoreRecord(0, None, m, value, value - 0.005, value + 0.1, 1) for m in METRICS],
            )
        ids = np.array([s.id for found in sentences.values() for s in found])
        points = np.random.default_rng(0).normal(size=(len(ids), 2)).astype(np.float32)
        w.maps.add(
            corpus_id=corpus.id,
            model_id=model.id,
            name=MAP,
            config={},
            seed=3,
            digest="p1",
            faithfulness=0.5,
            sampled_from=500,
            points=MapPoints(ids, points),
        )
        _jobs(w)


def danube(store: Store, blind: bool = False) -> LabellingRecord:
    """A shared labelling of the Danube by its sections; all sentences have random vectors."""
    with store.writing() as w:
        corpus = w.corpora.list()[0]
        articles = w.corpora.articles(corpus.id)
        random = np.random.default_rng(0)
        blocks = [VectorBlock(a.id, random.normal(size=(a.sentences, 4)).astype(np.float32)) for a in articles]
        w.embeddings.add(w.models.by_name(MODEL).id, blocks)
    new = NewLabelling(corpus.id, "Danube", "", Sharing.SHARED, blind, articles[0].id)
    return starts.begin(store, new, starts.from_sections)


def _jobs(w: object) -> None:
    jobs = w.jobs  # type: ignore[attr-defined]
    done = jobs.add("import-corpus", "Import rivers", {"corpus": CORPUS})
    jobs.claim(done.id, "vm:1:a")
    jobs.add_metrics(done.id, [MetricPoint("training loss", 0.0, 1.0), MetricPoint("training loss", 1.0, 0.5)])
    jobs.finish(done.id, "vm:1:a", JobStatus.DONE, result={"articles": 3})
    failed = jobs.add("train", f"Train {HOSTILE}", {})
    jobs.claim(failed.id, "vm:1:a")
    jobs.finish(failed.id, "vm:1:a", JobStatus.FAILED, error="There is no *triplet set*.", traceback="Traceback …")


def _article(title: str) -> Article:
    headings = ("", "Course", "History", "Fauna", "Economy", "Bridges")
    return Article(
        title,
        tuple(
            Section(
                heading,
                1 if not heading else 2,
                tuple(
                    Paragraph(
                        "",
                        tuple(
                            f"{title} {heading or 'lead'} paragraph {p} sentence {i} has some words." for i in range(2)
                        ),
                    )
                    for p in range(2)
                ),
                (heading,) if heading else (),
            )
            for heading in headings
        ),
        url="https://example.org/x",
    )
