"""Context smoothing of other models: reduction of sparse models, concatenation and whitening."""

import numpy as np
import pytest

from tests.core.models.con_s2v.test_methods import SMALL, build
from tests.core.models.con_s2v.topics import accuracy, topic_sentences
from themescope.core.errors import DataError
from themescope.core.types import Corpus


@pytest.fixture(scope="module")
def corpus():
    sentences, topics = topic_sentences(documents=40)
    return Corpus(sentences=sentences), topics


@pytest.fixture(scope="module")
def content(corpus):
    return build("sen2vec", corpus, **SMALL, memory_rate=0.2)


@pytest.mark.parametrize("id", ["doc-mean", "neighbour-mean", "smoothed"])
def test_sparse_models_are_reduced_before_smoothing(corpus, id):
    words = build("tfidf", corpus, scope="corpus")
    control = build(id, corpus, (words,), lsa=12)
    mixed = control.embed(corpus[0].sentences)
    assert mixed.shape == (len(corpus[0].sentences), 12) and mixed.dtype == np.float32
    reduced = control._latent[0].project(control.submodels[0].embed(corpus[0].sentences))
    assert accuracy(mixed, corpus[1]) > accuracy(reduced, corpus[1])


def test_the_mean_of_a_document_can_be_concatenated_with_the_sentence(corpus, content):
    sentences = corpus[0].sentences[:16]
    both = build("doc-mean", corpus, (content,), keep_own=True).embed(sentences)
    own = content.embed(sentences)
    assert np.allclose(both[:, :20], own) and np.allclose(both[3, 20:], own[:8].mean(axis=0), atol=1e-6)


def test_several_models_are_smoothed_separately_and_concatenated(corpus, content, tmp_path):
    sentences, words = corpus[0].sentences, build("tfidf", corpus, scope="corpus")
    both = build("doc-mean", corpus, (words, content), lsa=12, unit=True, unit_mixed=True)
    found = both.embed(sentences)
    assert found.shape == (len(sentences), 12 + 20)
    assert np.allclose(np.linalg.norm(found[:, :12], axis=1), 1, atol=1e-5)
    alone = build("doc-mean", corpus, (content,), unit=True, unit_mixed=True).embed(sentences)
    assert np.allclose(found[:, 12:], alone, atol=1e-6)
    both.save(tmp_path)
    assert np.allclose(type(both).load(tmp_path).embed(sentences), found, atol=1e-6)


def test_whitened_axes_have_equal_variance(corpus, content, tmp_path):
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
