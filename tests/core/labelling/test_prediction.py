import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from themescope.core.errors import DataError
from themescope.core.labelling.prediction import PredictionReport, _Regression, learn, next_sentences
from themescope.core.types import Ids, Matrix

WORDS = ("bus train tram ferry", "pasta soup bread cheese", "nurse doctor ward clinic")


def drawn(n: int, seed: int = 0, noise: float = 1.0) -> tuple[Matrix, list[str], Ids]:
    """Sentences of three subjects: vectors around three directions, and words that tell the subject."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    x = rng.normal(0, noise, (n, 12)) + 2 * np.eye(3, 12)[codes]
    texts = [f"The {rng.choice(WORDS[code].split())} number {rng.integers(90)}" for code in codes.tolist()]
    return x.astype(np.float32), texts, codes + 5


def learned(m: int, n: int = 400, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, Ids, PredictionReport]:
    x, texts, codes = drawn(m + n, seed, noise)
    classifier, report = learn(x[:m], texts[:m], codes[:m], np.arange(m), x[m:], texts[m:], seed)
    assert classifier.codes.tolist() == [5, 6, 7]
    return classifier.probabilities(x[m:], texts[m:]), codes[m:] - 5, report


def test_what_is_reported_on_held_out_labels_holds_for_the_rest() -> None:
    probabilities, truth, report = learned(120)
    right = probabilities.argmax(1) == truth
    assert np.allclose(probabilities.sum(1), 1, atol=1e-5) and right.mean() > 0.85
    assert abs(right.mean() - report.accuracy.value) < 0.1 and report.accuracy.low <= report.accuracy.value
    assert abs(probabilities.max(1).mean() - right.mean()) < 0.07 and report.calibration_error < 0.15
    assert report.confusion.sum() == 120 and [row.labels for row in report.codes] == report.confusion.sum(1).tolist()
    assert report.right[report.confidence >= np.median(report.confidence)].mean() >= report.accuracy.value
    assert [size for size, _ in report.curve] == [30, 60, 90, 120] and 0 <= report.gain(50) < 0.2


def test_no_mistake_on_held_out_labels_is_no_proof_of_none() -> None:
    _, _, report = learned(40, noise=0.01)
    assert report.accuracy.value == 1
    assert report.accuracy.low == pytest.approx(40 / (40 + 1.96**2), abs=1e-3) and report.accuracy.high == 1
    for code in report.codes:
        assert code.recall.low == pytest.approx(code.labels / (code.labels + 1.96**2), abs=1e-3)
        assert code.precision.low < code.precision.value == 1 > code.f1.low


def test_few_labels_are_enough_for_few_or_many_codes() -> None:
    probabilities, truth, _ = learned(15, noise=0.5)
    assert (probabilities.argmax(1) == truth).mean() > 0.9
    x, texts, _ = drawn(60)
    classifier, _ = learn(x[:12], texts[:12], np.arange(12) // 2 * 2, np.arange(12), x[12:], texts[12:])
    assert classifier.probabilities(x[12:], texts[12:]).shape == (48, 6)


def test_texts_and_vectors_without_information_are_not_sure() -> None:
    empty = sparse.csr_array((6, 1_000))
    found = _Regression(empty, np.array([0, 0, 0, 0, 1, 1]), 1.0)(empty[:2], 2)
    assert np.allclose(found, [2 / 3, 1 / 3], atol=0.01)
    x, _, codes = drawn(200)
    nothing = np.random.default_rng(1).normal(size=x.shape).astype(np.float32)
    classifier, report = learn(nothing[:80], ["x"] * 80, codes[:80], np.arange(80), nothing[80:], ["x"] * 120)
    assert report.accuracy.value < 0.6 and classifier.probabilities(nothing[80:], ["x"] * 120).max(1).mean() < 0.6


def test_documents_are_held_out_whole() -> None:
    """Labels that are copied within a document, and random between them, cannot be predicted for another document."""
    rng = np.random.default_rng(3)
    documents = np.repeat(np.arange(40), 5)
    x = np.repeat(rng.normal(size=(40, 12)), 5, axis=0) + rng.normal(0, 0.01, (200, 12))
    codes = rng.integers(2, size=40)[documents]
    texts = ["x"] * 200
    apart = learn(x, texts, codes, documents, x[:50], texts[:50])[1].accuracy.value
    together = learn(x, texts, codes, np.arange(200), x[:50], texts[:50])[1].accuracy.value
    assert together > 0.95 and apart < 0.7


def test_combinations_are_predicted_whole_and_measured_by_code() -> None:
    """Class 2 is the codes 0 and 1 together: its quality counts for both, and no row of its own is reported."""
    x, texts, codes = drawn(300)
    codes = codes % 3
    documents = np.arange(300)
    classifier, report = learn(x[:150], texts[:150], codes[:150], documents[:150], x[150:], texts[150:], 0, {2: (0, 1)})
    assert [row.code for row in report.codes] == [0, 1] and classifier.codes.tolist() == [0, 1, 2]
    assert [row.labels for row in report.codes] == [int((codes[:150] != other).sum()) for other in (1, 0)]
    said = classifier.held_out.argmax(1)
    hits = ((said != 1) & (codes[:150] != 1)).sum()
    assert report.codes[0].recall.value == pytest.approx(hits / (codes[:150] != 1).sum())
    assert report.accuracy.value == pytest.approx((said == codes[:150]).mean(), abs=1e-9)


def test_too_few_labels_and_a_single_code_are_refused() -> None:
    x, texts, codes = drawn(40)
    with pytest.raises(DataError, match=r"9 labels of 3 codes\. Label at least 10 sentences"):
        learn(x[:9], texts[:9], codes[:9], np.arange(9), x[9:], texts[9:])
    with pytest.raises(DataError, match="20 labels of 1 code"):
        learn(x[:20], texts[:20], np.zeros(20, np.int64), np.arange(20), x[20:], texts[20:])


@given(n=st.integers(1, 60), wanted=st.integers(1, 40), share=st.floats(0, 1), seed=st.integers(0, 9))
def test_the_next_sentences_are_unsure_ones_and_a_random_share(n: int, wanted: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet([1, 1, 1], n).astype(np.float32)
    unsure, sampled = next_sentences(probabilities, rng.normal(size=(n, 4)), wanted, share, seed)
    both = [*unsure.tolist(), *sampled.tolist()]
    assert len(both) == len(set(both)) == min(wanted, n) and len(sampled) == min(round(wanted * share), n)
