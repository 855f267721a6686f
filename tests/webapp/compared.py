"""A benchmark that several methods have clustered, written directly."""

import numpy as np

from tests.webapp.filled import METRICS, add_model
from themescope.core.records.stored import ScoreRecord
from themescope.core.types import BenchmarkItem
from themescope.db.store import Store

SEVERAL = "several rivers"


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
