from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from tests.core.reports import Watched
from themescope.core.errors import Cancelled, DataError
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.tasks.topics import (
    SCORES,
    MaxEntSettings,
    _scores,
    classify,
    cluster_topics,
    scores_with_intervals,
    tuned,
)


def blobs(n=240, k=4, dim=12, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n).astype(np.int32)
    return (rng.normal(size=(k, dim))[y] * 2 + rng.normal(size=(n, dim)) * spread).astype(np.float32), y


# A text is drawn at once, a list number by number.
LABELS = st.text("01234", min_size=30, max_size=30).map(lambda drawn: np.array([*drawn], np.int32))


@given(LABELS, LABELS)
def test_scores_are_those_of_scikit_learn(truth, predicted):
    accuracy, macro, weighted, kappa = _scores(truth, predicted)
    assert accuracy == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert macro == pytest.approx(metrics.f1_score(truth, predicted, average="macro"))
    assert weighted == pytest.approx(metrics.f1_score(truth, predicted, average="weighted"))
    if len({*truth, *predicted}) > 1:
        assert kappa == pytest.approx(metrics.cohen_kappa_score(truth, predicted))


def test_intervals_resample_documents():
    x, y = blobs(spread=3.0)
    scores = classify(x[:120], y[:120], x[120:], y[120:])
    alone = scores_with_intervals(y[120:], scores, np.arange(120))
    doubled = replace(scores, predicted=np.repeat(scores.predicted, 2), correct=np.repeat(scores.correct, 2))
    pairs = scores_with_intervals(np.repeat(y[120:], 2), doubled, np.repeat(np.arange(120), 2))
    assert list(alone) == list(SCORES) and alone == pairs
    for name, estimate in alone.items():
        assert estimate.low < estimate.value < estimate.high and estimate.n == 120, name
    expected = bootstrap_mean(scores.correct, n_resamples=2_000)
    assert alone["accuracy"].low == pytest.approx(expected.low, abs=0.02)


@pytest.mark.parametrize("scaling", ["raw", "unit", "standard"])
@pytest.mark.parametrize("multinomial", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_learns_what_can_be_learned(kind, multinomial, scaling):
    x, y = blobs()
    settings = MaxEntSettings(multinomial=multinomial, scaling=scaling)
    scores = classify(kind(x[:160]), y[:160], kind(x[160:]), y[160:], settings)
    assert scores.converged and scores.accuracy > 0.9 and scores.kappa > 0.85
    assert scores.accuracy == scores.correct.mean() == (scores.predicted == y[160:]).mean()


def test_one_against_the_rest_is_the_optimum_of_each_problem():
    x, y = blobs(spread=3.0)
    train, test = slice(0, 160), slice(160, None)
    exact = [LogisticRegression(tol=1e-10).fit(x[train].astype(float), y[train] == topic) for topic in range(4)]
    decisions = [model.decision_function(x[test]) for model in exact]
    ours = classify(x[train], y[train], x[test], y[test])
    assert (ours.predicted == np.argmax(decisions, axis=0)).mean() > 0.98


def test_c_is_tuned_on_validation():
    x, y = blobs(spread=4.0)
    settings, parts = MaxEntSettings(scaling="standard"), (x[:80], y[:80], x[80:160], y[80:160])
    found = tuned(*parts, settings, (0.001, 1.0, 100.0))
    score = {c: classify(*parts, replace(settings, c=c)).weighted_f1 for c in (0.001, 1.0, 100.0)}
    assert score[found.c] == max(score.values()) and found.scaling == "standard"


def test_an_optimiser_that_is_stopped_says_so_and_missing_topics_are_never_told():
    x, y = blobs()
    known = y[:160] != 3
    scores = classify(x[:160][known], y[:160][known], x[160:], y[160:])
    assert 3 not in scores.predicted and scores.accuracy < 0.9
    x, y = blobs(spread=3.0)
    assert not classify(x[:160], y[:160], x[160:], y[160:], MaxEntSettings(iterations=2)).converged


def test_what_cannot_be_learned_is_refused_and_classifying_can_be_cancelled():
    x, y = blobs()
    with pytest.raises(DataError, match="two topics"):
        classify(x, np.zeros_like(y), x, y)
    with pytest.raises(DataError, match="numbers of vectors and topics differ"):
        classify(x[:5], y, x, y)
    with pytest.raises(DataError, match="not finite"):
        classify(x * np.inf, y, x, y)
    with pytest.raises(DataError, match="8 clusters"):
        cluster_topics(x[:5], y[:5], 8, 0)
    with pytest.raises(Cancelled):
        classify(x, y, x, y, report=Watched(at=1))


def test_clusters_have_the_scores_of_scikit_learn_and_separate_topics_are_found():
    x, y = blobs(spread=0.05)
    assert cluster_topics(x, y, 4, seed=0) == pytest.approx((1.0, 1.0, 1.0))
    assert cluster_topics(sparse.csr_array(x), y, 4, seed=0, unit=True).ami_max == pytest.approx(1.0)
    x, y = blobs(spread=3.0)
    found = cluster_topics(x, y, 8, seed=3)
    labels = KMeans(8, n_init=10, random_state=3).fit_predict(x)
    assert found.v == pytest.approx(metrics.v_measure_score(y, labels))
    assert found.ami_max == pytest.approx(metrics.adjusted_mutual_info_score(y, labels, average_method="max"))
    assert found.ami_arithmetic == pytest.approx(metrics.adjusted_mutual_info_score(y, labels))
    assert found.ami_max <= found.ami_arithmetic
