import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import themescope
from themescope.core.errors import ConfigError, DataError

RIVERS = ["the river floods", "a river runs", "rivers and floods", "floods of the river"]
MUSIC = ["the violin plays", "a violin and an opera", "opera and violins", "the opera plays"]
SENTENCES = [sentence for pair in zip(RIVERS, MUSIC, strict=True) for sentence in pair]


class LetterEncoder:
    """An encoder of another library: two dimensions, one for each subject."""

    def encode(self, sentences):
        wet = np.array(["river" in sentence or "flood" in sentence for sentence in sentences], float)
        length = np.array([len(sentence) for sentence in sentences]) / 1_000
        return np.stack([wet + length, 1 - wet + length], axis=1)


@pytest.fixture
def clusterer():
    return themescope.SentenceClusterer(LetterEncoder(), k=2)


def test_fit_returns_self_and_new_sentences_are_placed_in_the_nearest_cluster(clusterer):
    assert clusterer.fit(SENTENCES) is clusterer
    assert clusterer.labels_.tolist() == [0, 1] * 4
    assert (clusterer.n_clusters_, clusterer.reason_) == (2, "")
    assert (clusterer.fit_predict(SENTENCES) == clusterer.labels_).all()
    clusterer.fit(SENTENCES)
    assert clusterer.cluster_centers_.shape == (2, 2)
    assert clusterer.predict(["floods again", "an opera"]).tolist() == [0, 1]
    with pytest.raises(NotFittedError):
        themescope.SentenceClusterer().predict(SENTENCES)
    assert clusterer.fit(SENTENCES).n_features_in_ == 2
    with pytest.raises(DataError, match="X has 3 features, but SentenceClusterer is expecting 2"):
        clusterer.predict(np.ones((1, 3)))
    with pytest.raises(DataError, match="NaN"):
        themescope.SentenceClusterer(k=2).fit(np.full((4, 2), np.nan))


def test_identical_sentences_count_once_and_share_a_cluster(clusterer):
    centers = clusterer.fit(SENTENCES).cluster_centers_
    repeated = ["Opera plays!", "opera plays", *SENTENCES, *["opera plays"] * 9]
    labels = clusterer.fit(repeated).labels_
    assert labels.tolist() == [0, 0, *[1, 0] * 4, *[0] * 9]
    np.testing.assert_allclose(clusterer.cluster_centers_[1], centers[0])
    backwards = clusterer.fit(repeated[::-1]).labels_[::-1]
    assert (backwards == labels).all()
    with pytest.raises(DataError, match="1 sentence cannot"):
        clusterer.fit(["Same", "same."] * 3)


def test_vectors_may_be_given_and_text_is_placed_among_those_of_the_same_model_only():
    vectors = LetterEncoder().encode(SENTENCES)
    dense = themescope.SentenceClusterer(k=2).fit_predict(vectors)
    assert dense.tolist() == [0, 1] * 4
    assert (themescope.SentenceClusterer(k=2).fit_predict(sparse.csr_array(vectors)) == dense).all()
    placed = themescope.SentenceClusterer(LetterEncoder(), k=2).fit(vectors).predict(["floods", "an opera"])
    assert placed.tolist() == [0, 1]
    with pytest.raises(DataError, match="2 dimensions, those of sentences by 'default' 384"):
        themescope.SentenceClusterer(k=2).fit(vectors).predict(["floods"])
    named = themescope.SentenceClusterer(n_clusters=np.int64(2), random_state=7)
    assert named.fit_predict(vectors).tolist() == [0, 1] * 4 and named.get_params()["random_state"] == 7
    table = themescope.SentenceVectorizer(LetterEncoder()).set_output(transform="pandas").fit_transform(SENTENCES)
    assert list(table.columns) == ["sentencevectorizer0", "sentencevectorizer1"]


def test_the_number_of_clusters_is_chosen_and_explained():
    rng = np.random.default_rng(0)
    centres = np.eye(3, 6) * 5
    vectors = np.vstack([centre + rng.normal(scale=0.2, size=(20, 6)) for centre in centres])
    clusterer = themescope.SentenceClusterer(k="auto").fit(vectors)
    assert clusterer.n_clusters_ == 3 and "3" in clusterer.reason_
    alone = themescope.SentenceClusterer().fit(vectors[:1])
    assert alone.labels_.tolist() == [0] and "too few" in alone.reason_


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *(({"k": k}, "k must be a whole number or 'auto'") for k in ("many", 2.5, True, None)),
        *(({"random_state": seed}, "seed must be a whole number") for seed in (-1, 0.5, True, "a")),
        ({"random_state": np.random.RandomState(0)}, "seed must be a whole number"),
        ({"model": 7}, "encode method"),
        ({"settings": {"restart": 1}}, "restarts"),
        ({"k": 9}, "8 sentences"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises((ConfigError, DataError), match=said):
        themescope.SentenceClusterer(**({"model": LetterEncoder(), "k": 2} | options)).fit(SENTENCES)
    if "random_state" in options:
        with pytest.raises(ConfigError, match=said):
            themescope.find_themes(SENTENCES, LetterEncoder(), seed=options["random_state"])


def test_both_are_steps_of_pipelines_of_scikit_learn():
    pipeline = make_pipeline(themescope.SentenceVectorizer(LetterEncoder()), KMeans(2, n_init=3, random_state=0))
    labels = pipeline.fit_predict(SENTENCES)
    assert len({*labels[::2]}) == len({*labels[1::2]}) == 1 and labels[0] != labels[1]
    pipeline = make_pipeline(themescope.SentenceVectorizer(LetterEncoder()), themescope.SentenceClusterer(k=2))
    assert pipeline.fit_predict(SENTENCES).tolist() == [0, 1] * 4
    with pytest.raises(NotFittedError):
        themescope.SentenceVectorizer(LetterEncoder()).transform(SENTENCES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", ["auto", 2])
def test_the_checks_of_scikit_learn_pass(k):
    """One is skipped without the environment variable SCIPY_ARRAY_API, all others pass."""
    found = check_estimator(themescope.SentenceClusterer(k=k), on_skip=None, on_fail=None)
    assert len(found) > 40
    assert {(one["check_name"], one["status"]) for one in found if one["status"] != "passed"} <= {
        ("check_array_api_input", "skipped")
    }


@pytest.mark.filterwarnings("ignore")
def test_the_vectorizer_is_checked_as_an_estimator_of_texts():
    """Checks on matrices do not apply to it, as to the vectorizers of scikit-learn."""
    found = check_estimator(themescope.SentenceVectorizer(LetterEncoder()), on_skip=None, on_fail=None)
    assert {one["status"] for one in found} == {"passed"}
