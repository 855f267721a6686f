import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, rankdata, spearmanr

from themescope.core.errors import DataError, ReadError
from themescope.core.metrics.statistics import agreement_with_scores, pearson, spearman
from themescope.core.metrics.triplets import triplet_accuracy
from themescope.core.models import REGISTRY
from themescope.core.tasks.relatedness import (
    PairSet,
    RelatednessOrder,
    SickPairs,
    evaluate_sick,
    fit_relatedness,
    read_sick,
    soft_targets,
)
from themescope.core.types import SILENT, Corpus, TripletTexts

HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
WORDS = ["river", "city", "team", "cup", "king", "plain", "sea", "port", "council", "hall", "game", "final"]


def pair_set(n, seed):
    """Pairs whose relatedness is the share of common words."""
    random = np.random.default_rng(seed)
    first, second, scores = [], [], []
    for _ in range(n):
        common = int(random.integers(0, 5))
        words = random.permutation(WORDS)
        first.append(" ".join(words[:4]))
        second.append(" ".join([*words[:common], *words[4 : 8 - common]]))
        scores.append(1.0 + common)
    return PairSet(tuple(first), tuple(second), np.array(scores))


@pytest.fixture(scope="module")
def pairs():
    return SickPairs(pair_set(128, 0), pair_set(40, 1), pair_set(100, 2))


def model(method="mean-vectors"):
    settings = {"vocabulary_limit": 3_000} if method == "mean-vectors" else {}
    return REGISTRY.build(method, settings, seed=0).fit(Corpus())


def test_targets_of_the_oracle():
    found = soft_targets(np.array([3.6, 5.0, 1.0, 4.0]))
    assert np.allclose(found, [[0, 0, 0.4, 0.6, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0]], atol=1e-6)
    with pytest.raises(DataError, match="between 1 and 5"):
        soft_targets(np.array([0.5]))


@given(st.lists(st.floats(1, 5), min_size=1, max_size=20))
def test_a_target_is_a_distribution_whose_expectation_is_the_score(scores):
    targets = soft_targets(np.array(scores))
    assert np.allclose(targets.sum(axis=1), 1, atol=1e-6) and (targets >= 0).all()
    assert np.allclose(targets @ np.arange(1, 6), scores, atol=1e-5)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=30))
def test_correlations_are_scipys(rows):
    a, b = np.array(rows, np.float64).T
    if a.std() == 0 or b.std() == 0:
        assert pearson(a, b) == spearman(a, b) == 0
        return
    assert pearson(a, b) == pytest.approx(pearsonr(a, b).statistic, abs=1e-9)
    assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-9)


def test_intervals_are_those_of_plain_resampling():
    random = np.random.default_rng(0)
    given_ = np.round(random.uniform(1, 5, 80), 1)
    series = np.round(given_ + random.normal(size=80), 1)
    found = agreement_with_scores(series, series, given_, 0)
    draws = random.integers(80, size=(1_000, 80))
    plain = {
        "pearson": [pearson(series[d], given_[d]) for d in draws],
        "spearman": [
            pearson(*ranks) for ranks in zip(*(rankdata(x[draws], axis=1) for x in (series, given_)), strict=True)
        ],
        "mse": [((series[d] - given_[d]) ** 2).mean() for d in draws],
    }
    for name, values in plain.items():
        low, high = np.quantile(values, [0.025, 0.975])
        assert found[name].low == pytest.approx(low, abs=0.04)
        assert found[name].high == pytest.approx(high, abs=0.04)
        assert found[name].low < found[name].value < found[name].high and found[name].n == 80
    for wrong, said in (([1.0, np.nan], "finite"), ([1.0], "differ in number")):
        with pytest.raises(DataError, match=said):
            agreement_with_scores(wrong, [1.0, 2.0], np.array([1.0, 2.0]), 0)


@pytest.mark.parametrize("method", ["mean-vectors", "tfidf"])
def test_the_regressor_learns_what_the_cosine_shows(method, pairs):
    net = model(method)
    by_cosine = evaluate_sick(net, pairs, regressor=False, seed=0, report=SILENT)
    learned = evaluate_sick(net, pairs, regressor=True, seed=0, report=SILENT)
    assert by_cosine.keys() == learned.keys() == {"pearson", "spearman", "mse"}
    assert by_cosine["pearson"].value > 0.6 and learned["pearson"].value > 0.6
    assert learned["mse"].value < pairs.test.scores.var()
    again = evaluate_sick(model(method), pairs, regressor=True, seed=0, report=SILENT)
    assert again == learned


def test_every_sentence_is_a_document_of_its_own(pairs):
    """Tf-idf within the article must not see the captions beside a caption."""
    test = pairs.test
    backwards = PairSet(test.first[::-1], test.second[::-1], test.scores[::-1])
    turned = SickPairs(pairs.train, pairs.trial, backwards)
    one, other = (evaluate_sick(model("tfidf"), p, regressor=False, seed=0, report=SILENT) for p in (pairs, turned))
    assert one["pearson"].value == pytest.approx(other["pearson"].value, abs=1e-9)


def test_predicted_relatedness_orders_triplets(pairs):
    net = model()
    order = RelatednessOrder(net, fit_relatedness(net, pairs, seed=0, report=SILENT))
    said = "river city team cup", "river city team king", "sea port council hall"
    texts = TripletTexts(*([text] * 2 for text in said), np.array([0, 1]))
    found = triplet_accuracy(order, texts, SILENT)
    assert found.estimate.value == 1.0 and (np.abs(found.margins) <= 4).all()


def write(folder, name, rows, header=HEADER):
    (folder / name).write_text(header + "".join(rows), encoding="utf-8")


def test_a_folder_and_the_one_file_of_the_full_release_are_the_same(tmp_path):
    parts = {"SICK_train.txt": "TRAIN", "SICK_trial.txt": "TRIAL", "SICK_test_annotated.txt": "TEST"}
    folder, whole = tmp_path / "three", tmp_path / "one"
    folder.mkdir(), whole.mkdir()
    rows = []
    for i, (name, part) in enumerate(parts.items()):
        row = f'{i}\tA "man" {part}\tA dog\t{i + 1.5}\tNEUTRAL'
        write(folder, name, [row + "\n"])
        rows.append(f"{row}\t{part}\n")
    write(whole, "SICK.txt", rows, HEADER.strip() + "\tSemEval_set\n")
    read = [read_sick(path) for path in (folder, whole, whole / "SICK.txt")]
    assert read[0].test.first == ('A "man" TEST',) and read[0].trial.scores.tolist() == [2.5]
    assert all(r.test.first == read[0].test.first and r.train.scores == read[0].train.scores for r in read)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEADER, "no pairs"),
        ("a\tb\n1\t2\n", "column sentence_a is missing"),
        (HEADER + "1\tA\tB\t6.0\tX\n", "line 2: A pair needs two sentences"),
        (HEADER + "1\tA\tB\t2\tX\n2\tA\n", "line 3"),
        (HEADER + "1\tA\tB\t2\tX\n", "No pair is marked TRAIN"),
    ],
)
def test_damage_is_reported_with_its_line(tmp_path, text, said):
    (tmp_path / "SICK.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ReadError, match=said):
        read_sick(tmp_path)
    with pytest.raises(ReadError, match="cannot be read"):
        read_sick(tmp_path / "nowhere.txt")


def test_the_real_files_give_the_noted_figures(shared_data):
    # The sanity figures that came with the vectors; a fifth of the test pairs is not in this file.
    pairs = read_sick(shared_data / "sick")
    assert [len(part) for part in pairs.sets()[:2]] == [4_500, 500]
    source = str(shared_data / "vectors" / "glove.840B.300d.sick.safetensors")
    net = REGISTRY.build("mean-vectors", {"word_vectors": source, "storage": "fp32"}, seed=0).fit(Corpus())
    found = evaluate_sick(net, pairs, regressor=False, seed=0, report=SILENT)
    assert found["pearson"].value == pytest.approx(0.644, abs=0.01)
    assert found["spearman"].value == pytest.approx(0.549, abs=0.01)
