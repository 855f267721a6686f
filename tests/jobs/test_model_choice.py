"""The best validated model comes first, never merely the newest one; models that cannot read a text come last."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.paths import default_models
from themescope.core.records.stored import CorpusRecord, ScoreRecord
from themescope.core.types import Article, BenchmarkItem, Paragraph, Section
from themescope.db.store import Store
from themescope.jobs.common.models import LEAST_ARTICLES, best_first, language_note, languages_of, reads, validated

MANY = "universal-sentence-encoder"
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


def test_the_best_validated_model_comes_first_and_without_one_the_default(store: Store, corpus: CorpusRecord) -> None:
    evaluate(store, corpus, "few", LEAST_ARTICLES - 1, {"newest": 0.9})
    assert validated(store, corpus.id) == {}
    found = names(store, ENGLISH, corpus)
    assert found[0] == default_models()[0]
    assert found.index("newest") < found.index("good") < found.index("old")
    evaluate(store, corpus, "B", LEAST_ARTICLES, {"old": 0.2, "good": 0.4})
    assert names(store, ENGLISH, corpus)[:3] == ["good", "old", default_models()[0]]


def test_vectors_within_the_article_come_last_where_articles_are_compared(store: Store, corpus: CorpusRecord) -> None:
    evaluate(store, corpus, "B", LEAST_ARTICLES, {"good": 0.4, "newest": 0.3})
    found = names(store, ENGLISH, corpus, across=True)
    assert found[0] == "newest" and found.index("good") > found.index(default_models()[-1])


def test_scores_are_compared_on_one_benchmark(store: Store, corpus: CorpusRecord) -> None:
    evaluate(store, corpus, "small", LEAST_ARTICLES, {"old": 0.9})
    evaluate(store, corpus, "large", LEAST_ARTICLES + 1, {"good": 0.4, "newest": 0.3})
    with store.reading() as r:
        ids = {model.name: model.id for model in r.models.list()}
    assert validated(store, corpus.id) == {ids["good"]: 0.4, ids["newest"]: 0.3}


def test_english_models_come_last_elsewhere(
    store: Store, corpus: CorpusRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("themescope.jobs.common.models.lacks_packages", lambda name: False)
    evaluate(store, corpus, "B", LEAST_ARTICLES, {"newest": 0.9})
    found = names(store, GERMAN, corpus)
    assert found[:3] == [MANY, "good", "old"] and found.index("newest") < found.index(default_models()[0])
    with store.writing() as w:
        w.models.set_multilingual(w.models.by_name("old").id, True)
    assert names(store, GERMAN, corpus)[:3] == ["old", MANY, "good"]
    assert names(store, ENGLISH, corpus)[0] == "newest"
    finnish = names(store, {"fi": 1.0}, corpus)
    assert finnish[:2] == ["old", "good"] and finnish.index(MANY) > 1


def test_a_model_reads_what_its_parts_read(store: Store, corpus: CorpusRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.writing() as w:
        many = w.models.add(name=MANY, method=MANY, config={}, seed=0, digest="u", artifact="u")
        both = w.models.add(name="both", method="hybrid", config={}, seed=0, digest="h", artifact="h")
        english, words = (w.models.by_name(name) for name in ("newest", "good"))
    for parts, expected in (((many, words), languages_of(store, many)), ((many, english), {"en"}), ((words,), set())):
        monkeypatch.setattr("themescope.jobs.common.models.built_on", lambda *_, parts=parts: parts)
        assert languages_of(store, both) == expected
    note = language_note(store, many, {"fi": 1.0})
    assert "Arabic, Chinese" in note and "this text is Finnish" in note
    assert not language_note(store, many, {"de": 0.95, "fi": 0.05})
    assert language_note(store, many, {"de": 0.85, "fi": 0.1, "other": 0.05})


@given(shares=st.dictionaries(st.sampled_from(["en", "de", "fi", "other"]), st.floats(0.01, 1), min_size=1))
def test_a_model_for_more_languages_reads_no_less(shares: dict[str, float]) -> None:
    total = sum(shares.values())
    shares = {code: share / total for code, share in sorted(shares.items(), key=lambda item: -item[1])}
    assert reads(frozenset(), shares)
    assert reads(frozenset({"en", "de"}), shares) or not reads(frozenset({"en"}), shares)
