"""The best validated model comes first, never merely the newest one; models that cannot read a text come last."""

import numpy as np
import pytest

from themescope.core.paths import default_models
from themescope.core.records.stored import CorpusRecord, ScoreRecord
from themescope.core.types import Article, BenchmarkItem, Paragraph, Section
from themescope.db.store import Store
from themescope.jobs.common.model_choice import LEAST_ARTICLES, best_first, validated

ENGLISH, GERMAN = {"en": 1.0}, {"de": 0.82, "en": 0.18}


@pytest.fixture
def corpus(store: Store) -> CorpusRecord:
    texts = ("A river.", "A sea.", "A town.", "A road.")
    articles = [Article(f"A{i}", (Section("", 1, (Paragraph(sentences=texts),)),)) for i in range(8)]
    with store.writing() as w:
        record = w.corpora.create("C", "en")
        w.corpora.add_articles(record.id, articles)
        for number, (name, method) in enumerate((("old", "tfidf"), ("good", "tfidf"), ("newest", "mean-vectors"))):
            w.models.add(name=name, method=method, config={}, seed=0, digest=f"m{number}", artifact=f"a{number}")
        return w.corpora.finish(record.id, {})


def evaluate(store: Store, corpus: CorpusRecord, name: str, articles: int, scores: dict[str, float]) -> None:
    """Add a benchmark of the first ``articles`` with a run for each model."""
    with store.writing() as w:
        items = [
            BenchmarkItem(a.id, np.array([s.id for s in w.corpora.sentences(a.id)]), np.array([0, 0, 1, 1], np.int32))
            for a in w.corpora.articles(corpus.id, limit=articles)
        ]
        made = w.benchmarks.add(corpus.id, name, {}, name, {"articles": {"taken": articles}}, items)
        for model, value in scores.items():
            w.runs.add(
                kind="clustering",
                digest=f"{name} {model}",
                model_id=w.models.by_name(model).id,
                benchmark_id=made.id,
                clusterer="iclust",
                scores=[ScoreRecord(0, None, "ami", value, None, None, articles)],
            )


def names(store: Store, shares: dict[str, float], corpus: CorpusRecord, across: bool = False) -> list[str]:
    return [model.name for model in best_first(store, shares, corpus.id, across=across)]


def test_without_a_validated_model_the_default_comes_before_the_newest(store: Store, corpus: CorpusRecord) -> None:
    found = names(store, ENGLISH, corpus)
    assert found[0] == default_models()[0]
    assert found.index("newest") < found.index("good") < found.index("old")


def test_the_best_validated_model_comes_first(store: Store, corpus: CorpusRecord) -> None:
    evaluate(store, corpus, "B", LEAST_ARTICLES, {"old": 0.2, "good": 0.4})
    assert names(store, ENGLISH, corpus)[:3] == ["good", "old", default_models()[0]]


def test_vectors_within_the_article_come_last_where_articles_are_compared(store: Store, corpus: CorpusRecord) -> None:
    evaluate(store, corpus, "B", LEAST_ARTICLES, {"good": 0.4, "newest": 0.3})
    found = names(store, ENGLISH, corpus, across=True)
    assert found[0] == "newest" and found.index("good") > found.index(default_models()[-1])


def test_few_articles_validate_nothing(store: Store, corpus: CorpusRecord) -> None:
    evaluate(store, corpus, "B", LEAST_ARTICLES - 1, {"newest": 0.9})
    assert validated(store, corpus.id) == {}
    assert names(store, ENGLISH, corpus)[0] == default_models()[0]


def test_scores_are_compared_on_one_benchmark(store: Store, corpus: CorpusRecord) -> None:
    evaluate(store, corpus, "small", LEAST_ARTICLES, {"old": 0.9})
    evaluate(store, corpus, "large", LEAST_ARTICLES + 1, {"good": 0.4, "newest": 0.3})
    with store.reading() as r:
        ids = {model.name: model.id for model in r.models.list()}
    assert validated(store, corpus.id) == {ids["good"]: 0.4, ids["newest"]: 0.3}


def test_models_for_english_come_last_for_another_language(store: Store, corpus: CorpusRecord) -> None:
    evaluate(store, corpus, "B", LEAST_ARTICLES, {"newest": 0.9})
    found = names(store, GERMAN, corpus)
    assert found[:2] == ["good", "old"] and found.index("newest") < found.index(default_models()[0])
