"""What single methods compute, against the same computed by hand or by scikit-learn."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from core.errors import DataError
from core.models import REGISTRY
from core.protocols import SILENT
from core.text.word_vectors import load_word_vectors
from core.types import Corpus, Sentence, Split
from tests.core.models.networks.themes import theme_triplets

ARTICLES = [
    ["The river floods the plain", "A river runs to the sea", "The king ruled the plain and the king died"],
    ["The team won the cup", "The team lost the cup final", "Fans left the stadium"],
]


def article_sentences():
    return [Sentence(text, article_id=i) for i, article in enumerate(ARTICLES) for text in article]


def fitted(method, settings, corpus=None):
    embedder = REGISTRY.build(method, settings, seed=1)
    embedder.fit(corpus or Corpus(), SILENT)
    return embedder


def cosines(x):
    x = x.toarray() if hasattr(x, "toarray") else x
    return x @ x.T


@pytest.mark.parametrize("sublinear", [False, True])
def test_tfidf_within_the_article_is_scikit_learns_on_each_article(sublinear):
    ours = cosines(fitted("tfidf", {"sublinear": sublinear}).embed(article_sentences()))
    for i, article in enumerate(ARTICLES):
        theirs = cosines(TfidfVectorizer(sublinear_tf=sublinear).fit_transform(article))
        assert np.allclose(ours[3 * i : 3 * i + 3, 3 * i : 3 * i + 3], theirs, atol=1e-6)


def test_tfidf_over_the_corpus_is_scikit_learns_on_all_sentences():
    sentences = article_sentences()
    embedder = fitted("tfidf", {"scope": "corpus"}, Corpus(sentences=sentences))
    theirs = TfidfVectorizer().fit_transform([s.text for s in sentences])
    assert np.allclose(cosines(embedder.embed(sentences)), cosines(theirs), atol=1e-6)
    assert np.allclose(embedder.embed(sentences[:1]).toarray(), embedder.embed(sentences).toarray()[:1])


def test_loose_sentences_are_one_article():
    sentences = [Sentence(text) for text in ARTICLES[0]]
    assert np.allclose(
        fitted("tfidf", {}).embed(sentences).toarray(), fitted("tfidf", {}).embed(article_sentences()[:3]).toarray()
    )


def test_tfidf_over_a_corpus_needs_sentences():
    with pytest.raises(DataError, match="needs the sentences"):
        fitted("tfidf", {"scope": "corpus"})


def test_mean_vectors_is_the_mean_of_known_words():
    embedder = fitted("mean-vectors", {"vocabulary_limit": 2_000, "storage": "fp32"})
    table = load_word_vectors("glove-6b-50d", 2_000)
    known = [table.row(word) for word in ("the", "city", ",", "of", "the", "north")]
    vector = embedder.embed([Sentence("The city, qqxx of the north")])[0]
    assert np.allclose(vector, table.table[known].mean(axis=0), atol=1e-6)


def test_mean_vectors_does_not_care_how_many_come_at_once():
    embedder = fitted("mean-vectors", {"vocabulary_limit": 500})
    sentences = [Sentence(f"the {'city ' * (i % 7)} in") for i in range(9_000)]
    assert np.array_equal(embedder.embed(sentences)[8_999], embedder.embed(sentences[8_999:])[0])


@pytest.fixture(scope="module")
def net():
    settings = {"vocabulary_limit": 50, "hidden": 12, "attention": 6, "threads": 1, "device": "cpu", "epochs": 1}
    triplets = {Split.TRAIN: theme_triplets(), Split.VALIDATION: theme_triplets(10, seed=1)}
    return fitted("triplets-sen", settings, Corpus(triplets=triplets))


def test_the_network_tells_how_training_went(net):
    assert 0 < net.metrics["validation accuracy"] <= 1
    assert net.metrics["training triplets"] == 360
    assert [row["epoch"] for row in net.history] == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=0.35)


def test_validation_is_limited():
    settings = {"vocabulary_limit": 50, "hidden": 4, "attention": 4, "threads": 1, "epochs": 1, "validation_limit": 1}
    triplets = {Split.TRAIN: theme_triplets(2), Split.VALIDATION: theme_triplets(10, seed=1)}
    embedder = fitted("triplets-sen", settings, Corpus(triplets=triplets))
    assert embedder.metrics["validation accuracy"] in (0, 0.5, 1)


def test_long_and_short_sentences_together_give_the_same_vectors(net):
    sentences = [Sentence("theme1word1 " * n) for n in (1, 300, 0, 40, 2_000)]
    together = net.embed(sentences)
    alone = np.concatenate([net.embed([s]) for s in sentences])
    assert np.allclose(together, alone, atol=1e-5) and not together[2].any()
