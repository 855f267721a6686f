"""Learned sentence vectors: whose vector a sentence gets, and what methods make of each other."""

import dataclasses

import numpy as np
import pytest

from core.errors import DataError
from core.models import REGISTRY
from core.protocols import SILENT
from core.types import Corpus, Sentence
from tests.core.models.con_s2v.topics import TOPICS, accuracy, topic_sentences

SMALL = {"dim": 10, "epochs": 15, "learning_rate": 0.2, "subsampling": 0.01, "threads": 1}


@pytest.fixture(scope="module")
def corpus():
    sentences, topics = topic_sentences(documents=40)
    return Corpus(sentences=sentences), topics


def build(id, corpus, models=(), seed=0, **settings):
    model = REGISTRY.build(id, settings, seed=seed)
    model.fit(dataclasses.replace(corpus[0], models=models), SILENT)
    return model


@pytest.fixture(scope="module")
def content(corpus):
    return build("sen2vec", corpus, **SMALL, memory_rate=0.2)


def test_a_sentence_is_known_by_its_id_or_by_its_text(corpus, content):
    sentences = corpus[0].sentences
    vectors = content.embed(sentences)
    assert vectors.shape == (len(sentences), 20)
    third = sentences[3]
    elsewhere = [dataclasses.replace(third, id=-1, article_id=99), dataclasses.replace(third, id=sentences[5].id)]
    assert np.array_equal(content.embed(elsewhere), vectors[[3, 3]])
    twin = [dataclasses.replace(third, id=1_000), dataclasses.replace(third, id=1_001)]
    twins = build("con-s2v-dis", (Corpus(sentences=[*sentences, *twin]), None), **SMALL)
    first, second = twins.embed(twin)
    assert not np.array_equal(first, second)
    assert np.array_equal(twins.embed([third])[0], twins.embed(sentences)[3])


def test_another_text_is_inferred_from_its_words_alone(corpus, content):
    words = [f"q{topic}x{i}z" for topic in range(TOPICS) for i in range(40)]
    new = [Sentence(" ".join(words[40 * t : 40 * t + 40])) for t in range(TOPICS)]
    vectors = content.embed(new)
    assert np.array_equal(content.embed(new[1:2])[0], vectors[1])
    known, topics = content.embed(corpus[0].sentences), corpus[1]
    unit = known / np.linalg.norm(known, axis=1, keepdims=True)
    similar = np.array([[(unit[topics == t] @ v).mean() for t in range(TOPICS)] for v in vectors])
    assert (similar.argmax(axis=1) == np.arange(TOPICS)).sum() >= TOPICS - 1
    assert not content.embed([Sentence("q0x1z q0x2z"), Sentence("nobody knows these words")]).any()


def test_context_tells_topics_apart_better_than_content(corpus, content):
    # The vector of a document's neighbours says what half of a sentence's own words do not.
    scores = {id: accuracy(build(id, corpus, **SMALL).embed(corpus[0].sentences), corpus[1])
              for id in ("reg-dis", "con-s2v-dis")}  # fmt: skip
    plain = accuracy(build("sen2vec", corpus, **SMALL, parts="dbow").embed(corpus[0].sentences), corpus[1])
    assert plain < scores["con-s2v-dis"]
    assert plain < scores["reg-dis"]


def test_methods_build_on_a_trained_model(corpus, content):
    sentences = corpus[0].sentences
    base = content.embed(sentences)
    for id in ("ret-dis", "ret-sim"):
        retrofitted = build(id, corpus, (content,), **SMALL).embed(sentences)
        lengths = np.linalg.norm(retrofitted, axis=1)
        assert retrofitted.shape == base.shape and (lengths <= 1.001).all()
    nowhere = build("ret-dis", corpus, (content,), **SMALL, rounds=0).embed(sentences)
    assert np.allclose(nowhere, base / np.linalg.norm(base, axis=1, keepdims=True), atol=1e-3)
    given, own = (build("con-s2v-sim", corpus, models, **SMALL) for models in ((content,), ()))
    assert given.metrics["neighbours a sentence"] > 0 and own.metrics["neighbours a sentence"] > 0


def test_a_model_of_another_kind_is_refused(corpus):
    words = build("tfidf", corpus)
    for id in ("ret-dis", "con-s2v-sim"):
        with pytest.raises(DataError, match="one trained sen2vec"):
            build(id, corpus, (words,), **SMALL)
    with pytest.raises(DataError, match="fitted models"):
        build("doc-mean", corpus, ())


@pytest.mark.parametrize("id", ["doc-mean", "neighbour-mean", "smoothed"])
def test_controls_mix_sparse_models_after_reducing_them(corpus, id):
    words = build("tfidf", corpus, scope="corpus")
    control = build(id, corpus, (words,), lsa=12)
    mixed = control.embed(corpus[0].sentences)
    assert mixed.shape == (len(corpus[0].sentences), 12) and mixed.dtype == np.float32
    reduced = control._submodels[0].embed(corpus[0].sentences)
    assert accuracy(mixed, corpus[1]) > accuracy(reduced, corpus[1])


def test_the_mean_of_a_document_may_stand_beside_the_sentence(corpus, content):
    sentences = corpus[0].sentences[:16]
    both = build("doc-mean", corpus, (content,), keep_own=True).embed(sentences)
    own = content.embed(sentences)
    assert np.allclose(both[:, :20], own) and np.allclose(both[3, 20:], own[:8].mean(axis=0), atol=1e-6)


def test_several_models_are_mixed_side_by_side(corpus, content, tmp_path):
    sentences, words = corpus[0].sentences, build("tfidf", corpus, scope="corpus")
    both = build("doc-mean", corpus, (words, content), lsa=12, unit=True, unit_mixed=True)
    found = both.embed(sentences)
    assert found.shape == (len(sentences), 12 + 20)
    assert np.allclose(np.linalg.norm(found[:, :12], axis=1), 1, atol=1e-5)
    alone = build("doc-mean", corpus, (content,), unit=True, unit_mixed=True).embed(sentences)
    assert np.allclose(found[:, 12:], alone, atol=1e-6)
    both.save(tmp_path)
    assert np.allclose(type(both).load(tmp_path).embed(sentences), found, atol=1e-6)


def test_a_whitened_result_has_axes_of_equal_spread(corpus, content, tmp_path):
    sentences, words = corpus[0].sentences, build("tfidf", corpus, scope="corpus")
    white = build("neighbour-mean", corpus, (words, content), lsa=12, axes=6)
    found = white.embed(sentences)
    assert found.shape == (len(sentences), 6)
    used = found[found.any(axis=1)]
    assert np.allclose(np.cov(used.T, bias=True), np.eye(6), atol=1e-3) and np.allclose(used.mean(axis=0), 0, atol=1e-3)
    white.save(tmp_path)
    assert np.allclose(type(white).load(tmp_path).embed(sentences), found, atol=1e-5)
    turned = build("neighbour-mean", corpus, (words, content), lsa=12, axes=6, evenness=0.0).embed(sentences)
    plain = build("neighbour-mean", corpus, (words, content), lsa=12).embed(sentences)
    centred = (plain - plain.mean(axis=0))[:40]
    assert np.linalg.norm(turned[:40] @ turned[:40].T) <= np.linalg.norm(centred @ centred.T) * 1.01
    with pytest.raises(DataError, match="Whitening is fitted"):
        build("doc-mean", (Corpus(), None), (content,), axes=3)
