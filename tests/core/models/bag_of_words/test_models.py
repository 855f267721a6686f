import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from themescope.core.errors import DataError
from themescope.core.models import REGISTRY
from themescope.core.text.word_vectors import load_word_vectors
from themescope.core.types import Corpus, Sentence

ARTICLES = [
    ["The river floods the plain", "A river runs to the sea", "The king ruled the plain and the king died"],
    ["The team won the cup", "The team lost the cup final", "Fans left the stadium"],
]


def article_sentences():
    return [Sentence(text, article_id=i) for i, article in enumerate(ARTICLES) for text in article]


def fitted(method, settings, corpus=None):
    return REGISTRY.build(method, settings, seed=1).fit(corpus or Corpus())


def cosines(x):
    x = x.toarray() if hasattr(x, "toarray") else x
    return x @ x.T


@pytest.mark.parametrize("sublinear", [False, True])
def test_tfidf_within_the_article_equals_scikit_learn_on_each_article(sublinear):
    ours = cosines(fitted("tfidf", {"sublinear": sublinear}).embed(article_sentences()))
    for i, article in enumerate(ARTICLES):
        theirs = cosines(TfidfVectorizer(sublinear_tf=sublinear).fit_transform(article))
        assert np.allclose(ours[3 * i : 3 * i + 3, 3 * i : 3 * i + 3], theirs, atol=1e-6)


def test_tfidf_over_the_corpus_equals_scikit_learn_and_without_articles_it_is_one_article():
    sentences = article_sentences()
    model = fitted("tfidf", {"scope": "corpus"}, Corpus(sentences=sentences))
    theirs = TfidfVectorizer().fit_transform([s.text for s in sentences])
    assert np.allclose(cosines(model.embed(sentences)), cosines(theirs), atol=1e-6)
    assert np.allclose(model.embed(sentences[:1]).toarray(), model.embed(sentences).toarray()[:1])
    with pytest.raises(DataError, match="needs the sentences"):
        fitted("tfidf", {"scope": "corpus"})
    loose = [Sentence(text) for text in ARTICLES[0]]
    assert np.allclose(
        fitted("tfidf", {}).embed(loose).toarray(), fitted("tfidf", {}).embed(article_sentences()[:3]).toarray()
    )


def test_mean_vectors_are_means_of_known_words_whatever_the_number_of_sentences():
    model = fitted("mean-vectors", {"vocabulary_limit": 2_000, "storage": "fp32"})
    table = load_word_vectors("glove-6b-50d", 2_000)
    known = [table.row(word) for word in ("the", "city", ",", "of", "the", "north")]
    vector = model.embed([Sentence("The city, qqxx of the north")])[0]
    assert np.allclose(vector, table.table[known].mean(axis=0), atol=1e-6)
    model = fitted("mean-vectors", {"vocabulary_limit": 500})
    sentences = [Sentence(f"the {'city ' * (i % 7)} in") for i in range(9_000)]
    assert np.array_equal(model.embed(sentences)[8_999], model.embed(sentences[8_999:])[0])
