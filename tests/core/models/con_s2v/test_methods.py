import dataclasses

import numpy as np
import pytest

from tests.core.models.con_s2v.topics import SMALL, TOPICS, accuracy, build
from themescope.core.errors import DataError
from themescope.core.types import Corpus, Sentence


def test_a_learned_vector_is_found_by_id_or_text_and_others_are_inferred_from_their_words(corpus, content):
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
    words = [f"q{topic}x{i}z" for topic in range(TOPICS) for i in range(40)]
    new = [Sentence(" ".join(words[40 * t : 40 * t + 40])) for t in range(TOPICS)]
    inferred = content.embed(new)
    assert np.array_equal(content.embed(new[1:2])[0], inferred[1])
    known, topics = content.embed(corpus[0].sentences), corpus[1]
    unit = known / np.linalg.norm(known, axis=1, keepdims=True)
    similar = np.array([[(unit[topics == t] @ v).mean() for t in range(TOPICS)] for v in inferred])
    assert (similar.argmax(axis=1) == np.arange(TOPICS)).sum() >= TOPICS - 1
    assert not content.embed([Sentence("q0x1z q0x2z"), Sentence("nobody knows these words")]).any()


def test_context_separates_topics_better_than_content(corpus, content):
    # The vector of a document's neighbours says what half of a sentence's own words do not.
    scores = {id: accuracy(build(id, corpus, **SMALL).embed(corpus[0].sentences), corpus[1])
              for id in ("reg-dis", "con-s2v-dis")}  # fmt: skip
    plain = accuracy(build("sen2vec", corpus, **SMALL, parts="dbow").embed(corpus[0].sentences), corpus[1])
    assert plain < scores["con-s2v-dis"]
    assert plain < scores["reg-dis"]


def test_methods_use_a_base_model(corpus, content):
    sentences = corpus[0].sentences
    base = content.embed(sentences)
    for id in ("ret-dis", "ret-sim"):
        retrofitted = build(id, corpus, (content,), **SMALL).embed(sentences)
        lengths = np.linalg.norm(retrofitted, axis=1)
        assert retrofitted.shape == base.shape and (lengths <= 1.001).all()
    nowhere = build("ret-dis", corpus, (content,), **SMALL, rounds=0).embed(sentences)
    assert np.allclose(nowhere, base / np.linalg.norm(base, axis=1, keepdims=True), atol=1e-3)
    given, own = (build("con-s2v-sim", corpus, models, **SMALL) for models in ((content,), ()))
    assert given.metrics["neighbours per sentence"] > 0 and own.metrics["neighbours per sentence"] > 0


def test_a_base_model_of_another_method_is_refused(corpus):
    words = build("tfidf", corpus)
    for id in ("ret-dis", "con-s2v-sim"):
        with pytest.raises(DataError, match="one trained sen2vec"):
            build(id, corpus, (words,), **SMALL)
