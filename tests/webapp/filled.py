"""A small store with something of everything, written directly: no job runs, nothing is trained."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.db.texts import add_texts
from themescope.core.records.answers import MetricPoint
from themescope.core.records.stored import JobStatus, LabellingRecord, ModelRecord, RunRecord, ScoreRecord, Sharing
from themescope.core.types import Article, BenchmarkItem, Ids, Paragraph, Section, Split, TripletRows
from themescope.db.records import MapPoints, NewLabelling, VectorBlock
from themescope.db.store import Store, Unit
from themescope.jobs.services.labelling import starts

CORPUS, SET, BENCHMARK, MODEL, MAP = "Rivers", "river triplets", "river sections", "mean *vectors*", "Rivers by vectors"
HOSTILE = "<img src=x onerror=alert(1)> *bold* [x](http://evil.example) :smile:"
SEVERAL = "several rivers"
METRICS = ("mi", "ami", "ami-arithmetic", "ri", "ari", "v")


def fill(store: Store) -> None:
    """Corpus → triplets → model → evaluation → benchmark → clusterings → map → jobs."""
    with store.writing() as w:
        texts = [_article(title) for title in ("Danube", "Nile", HOSTILE)]
        corpus, ids = add_texts(w, CORPUS, texts, files=["rivers.jsonl"], skipped={"redirect": 100})
        articles = w.corpora.articles(corpus)
        sentences = {a.id: w.corpora.sentences(a.id) for a in articles}
        first = sentences[articles[0].id]
        triplets = w.triplets.create(corpus, SET, "sentences", {"profile": "all"}, 0, "t1")
        for split, start in ((Split.TRAIN, 0), (Split.TEST, 2)):
            columns = [np.array([s.id for s in first[i : i + 4]]) for i in (start, start + 1, start + 6)]
            w.triplets.add(triplets.id, split, TripletRows(np.zeros(4, int), np.full(4, first[0].article_id), *columns))
        w.triplets.finish(triplets.id, {"triplets": {"train": 4, "validation": 2, "test": 4}})
        model = add_model(w, MODEL, metrics={"seconds": 1.0})
        rows = w.triplets.rows(triplets.id, Split.TEST)
        margins = {Split.TEST: (rows.ids, np.array([0.5, -0.25, 0.0, 1.0], dtype=np.float32))}
        scores = [ScoreRecord(0, None, "triplet accuracy", 0.75, 0.6, 0.9, 3)]
        about: dict[str, Any] = {"model_id": model.id, "triplet_set_id": triplets.id, "config": {"split": "test"}}
        w.runs.add(kind="triplets", digest="e1", scores=scores, margins=margins, **about)
        truth = np.array([s.section for s in first], dtype=np.int32)
        item = BenchmarkItem(first[0].article_id, np.array([s.id for s in first]), truth)
        benchmark = w.benchmarks.add(corpus, BENCHMARK, {}, "b1", {"articles": {"taken": 1}}, [item])
        for digest, clusterer, owner, value in (("c1", "iclust", model.id, 0.4), ("c2", "random", None, 0.01)):
            scores = [ScoreRecord(0, None, m, value, value - 0.005, value + 0.1, 1) for m in METRICS]
            about = {"model_id": owner, "benchmark_id": benchmark.id, "clusterer": clusterer, "seconds": 0.1}
            found = {first[0].article_id: (truth % 3).astype(np.int32)}
            w.runs.add(kind="clustering", digest=digest, assignments=found, scores=scores, **about)
        add_map(w, corpus, MAP, ids, sampled_from=500)
        done = end_job(w, "import-corpus", "Import rivers", {"corpus": CORPUS}, {"articles": 3})
        w.jobs.add_metrics(done, [MetricPoint("training loss", 0.0, 1.0), MetricPoint("training loss", 1.0, 0.5)])
        end_job(w, "train", f"Train {HOSTILE}", error="There is no *triplet set*.")


def add_model(w: Unit, name: str, method: str = "mean-vectors", **about: Any) -> ModelRecord:
    """A model without files."""
    of = {"method": method, "config": {}, "seed": 0, "digest": name, "artifact": name, "metrics": {}}
    return w.models.add(name=name, **of | about)


def add_map(w: Unit, corpus_id: int, name: str, ids: Ids, model_id: int = 1, sampled_from: int = 72) -> None:
    points = MapPoints(ids, np.random.default_rng(0).normal(size=(len(ids), 2)).astype(np.float32))
    about = {"corpus_id": corpus_id, "model_id": model_id, "sampled_from": sampled_from, "points": points}
    w.maps.add(name=name, config={}, seed=3, digest=name, faithfulness=0.5, **about)


def add_themes(
    w: Unit, corpus_id: int, digest: str, names: Sequence[str], labels: Sequence[int], margins: Any = None, **more: Any
) -> RunRecord:
    """A result with themes of the first sentences of a corpus, or of one article if ``more`` names it."""
    articles = [a for a in w.corpora.articles(corpus_id) if a.id == more.get("article", a.id)]
    ids = np.array([s.id for a in articles for s in w.corpora.sentences(a.id)])
    numbers = np.array(labels, np.int32)
    themes = [
        {"name": name, "words": [name], "size": int((numbers == n).sum()), "central": ids[numbers == n][:3].tolist()}
        for n, name in enumerate(names)
    ]
    curves = {"ks": [2], "silhouette": [0.1], "gain": [0.1], "stability": [0.1], "sentences": len(ids)}
    config = {"corpus_id": corpus_id, "settings": {}, "themes": themes, "curves": curves, "reason": "", "frequent": []}
    config |= {"sentences": len(ids), "compared": len(ids), "interval": [1, len(names)]}
    parts = np.split(numbers, np.cumsum([a.sentences for a in articles])[:-1])
    found = {a.id: part for a, part in zip(articles, parts, strict=True)}
    margins = np.ones(len(ids)) if margins is None else margins
    values = {Split.TEST: (ids, margins.astype(np.float32))}
    about: dict[str, Any] = {"model_id": 1, "corpus_id": corpus_id, "clusterer": "iclust", "seconds": 1.0}
    return w.runs.add(kind="themes", digest=digest, config=config | more, assignments=found, margins=values, **about)


def add_comparison(store: Store, corpus_name: str, model_name: str) -> None:
    """Three articles or more: a model with two seeds that is good, one that is not, and random labels."""
    rng = np.random.default_rng(0)
    with store.writing() as w:
        corpus = w.corpora.by_name(corpus_name)
        texts = {a.id: w.corpora.sentences(a.id) for a in w.corpora.articles(corpus.id)}
        items = [
            BenchmarkItem(i, np.array([s.id for s in t]), np.array([s.section for s in t], np.int32))
            for i, t in texts.items()
        ]
        benchmark = w.benchmarks.add(
            corpus.id, SEVERAL, {"min_sections": 5}, "b2", {"articles": {"taken": len(items)}}, items
        )
        nets = [add_model(w, f"net seed {s}", "triplets-sen", seed=s, corpus_id=corpus.id) for s in (1, 2)]
        owners = [(nets[0].id, 0.6), (nets[1].id, 0.7), (w.models.by_name(model_name).id, 0.3), (None, 0.0)]
        for place, (owner, level) in enumerate(owners):
            values = level + 0.01 * np.arange(len(items))
            of = [ScoreRecord(0, i, m, float(v)) for m in METRICS for i, v in zip(texts, values, strict=True)]
            mean = [ScoreRecord(0, None, m, float(values.mean()), 0.0, 1.0, len(items)) for m in METRICS]
            labels = {i: rng.integers(0, 3 + place, len(t)).astype(np.int32) for i, t in texts.items()}
            about = {"model_id": owner, "benchmark_id": benchmark.id, "clusterer": "iclust" if owner else "random"}
            w.runs.add(kind="clustering", digest=f"several{place}", assignments=labels, scores=[*of, *mean], **about)


def of_sections(
    store: Store, name: str = "Mine", owner: str = "", kind: Sharing = Sharing.OWN, article: int | None = None
) -> LabellingRecord:
    """A coding by sections of all articles or of one; the Danube is the first."""
    return starts.begin(store, NewLabelling(1, name, owner, kind, False, article), starts.from_sections)


def danube(store: Store) -> LabellingRecord:
    """A shared coding of the Danube by its sections; all sentences have random vectors."""
    with store.writing() as w:
        random = np.random.default_rng(0)
        articles = w.corpora.articles(1)
        blocks = [VectorBlock(a.id, random.normal(size=(a.sentences, 4)).astype(np.float32)) for a in articles]
        w.embeddings.add(w.models.by_name(MODEL).id, blocks)
    return of_sections(store, "Danube", "", Sharing.SHARED, 1)


def end_job(w: Unit, kind: str, title: str = "", args: Any = None, result: Any = None, error: str = "") -> int:
    """A job that has gone well, or failed with an error; its id."""
    job = w.jobs.add(kind, title or f"Work of {kind}", args or {})
    w.jobs.claim(job.id, "vm:1:a")
    status = JobStatus.FAILED if error else JobStatus.DONE
    w.jobs.finish(job.id, "vm:1:a", status, result=result or {}, error=error, traceback="Traceback …" if error else "")
    return job.id


def _article(title: str) -> Article:
    sections = []
    for heading in ("", "Course", "History", "Fauna", "Economy", "Bridges"):
        of = [f"{title} {heading or 'lead'} paragraph {p} sentence" for p in range(2)]
        paragraphs = [Paragraph("", (f"{one} 0 has some words.", f"{one} 1 has some words.")) for one in of]
        sections.append(Section(heading, 2 if heading else 1, tuple(paragraphs), (heading,) if heading else ()))
    return Article(title, tuple(sections), url="https://example.org/x")
