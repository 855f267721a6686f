import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import themescope
from benchmarks.theme_counts import KnownList, brier_scores, fit_calibration
from tests.core.reports import Watched
from tests.places import ROOT
from themescope.core.clustering.inputs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.errors import Cancelled, DataError, UnknownNameError
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.tasks.density import FILE, copy_calibration, load_calibration, save_calibration
from themescope.core.tasks.scb import Item, cluster_items, score_labels
from themescope.core.tasks.waves import ThemeCentres, new_themes
from themescope.core.types import SILENT, Float32, Ids
from themescope.jobs.executors import LocalConfig, LocalExecutor


def items(n: int = 12, seed: int = 0) -> list[Item]:
    rng = np.random.default_rng(seed)
    found: list[Item] = []
    for i in range(n):
        truth = np.repeat(np.arange(3 + i % 3), 6).astype(np.int32)
        found.append((truth, (4 * np.eye(6)[truth] + rng.normal(size=(len(truth), 6))).astype(np.float32)))
    return found


def test_k_is_the_number_of_true_clusters_and_order_is_kept() -> None:
    labels = cluster_items(items(), "iclust", None, 0, None, SILENT)
    assert [len(set(found)) for found in labels] == [3 + i % 3 for i in range(12)]
    scores = score_labels([truth for truth, _ in items()], labels)
    assert set(scores) == set(METRICS.ids())
    values, estimate = scores["ami"]
    assert values.shape == (12,) and estimate.n == 12 and values.mean() > 0.9
    assert estimate.value == pytest.approx(values.mean())


def test_processes_give_the_same_labels() -> None:
    source = items(20)
    one = cluster_items(source, "kmeans", None, 5, None, SILENT)
    with LocalExecutor(LocalConfig(2)) as executor:
        two = cluster_items(iter(source), "kmeans", None, 5, executor, SILENT, total=20)
    np.testing.assert_equal(one, two)


def test_random_labels_need_no_vectors_and_sparse_ones_give_the_same() -> None:
    labels = cluster_items([(truth, None) for truth, _ in items()], "random", None, 0, None, SILENT)
    assert [len(found) for found in labels] == [len(truth) for truth, _ in items()]
    assert not np.array_equal(labels[0], labels[3])
    source = items()
    dense = cluster_items(source, "kmeans", None, 0, None, SILENT)
    csr = cluster_items([(t, sparse.csr_array(x)) for t, x in source], "kmeans", None, 0, None, SILENT)
    np.testing.assert_equal(dense, csr)


def test_progress_and_cancel() -> None:
    report = Watched()
    cluster_items(items(40), "kmeans", None, 0, None, report)
    assert report.calls == [(16, 40), (32, 40), (40, 40)]
    with pytest.raises(Cancelled):
        cluster_items(items(40), "kmeans", None, 0, None, Watched(at=1))


def test_errors_say_which_article() -> None:
    truth, vectors = items(1)[0]
    with pytest.raises(DataError, match="Article 2 of the benchmark has no vectors"):
        cluster_items([(truth, vectors), (truth, None)], "iclust", None, 0, None, SILENT)
    with pytest.raises(DataError, match="18 sentences but 17 vectors"):
        cluster_items([(truth, vectors[:17])], "iclust", None, 0, None, SILENT)
    with pytest.raises(UnknownNameError, match="iclust"):
        cluster_items([], "iclsut", None, 0, None, SILENT)
    with pytest.raises(DataError, match="1 true partitions but 0"):
        score_labels([truth], [])


def lists(seed: int, count: int = 12) -> list[KnownList]:
    random, found = np.random.default_rng(seed), []
    for _ in range(count):
        k = int(random.integers(3, 15))
        truth = np.repeat(np.arange(k), random.integers(6, 14, k))
        centres = np.linalg.qr(random.normal(size=(64, 64)))[0][:k]
        found.append(KnownList(centres[truth] + 0.14 * random.normal(size=(len(truth), 64)), truth))
    return found


def test_a_fitted_calibration_is_calibrated_on_other_lists() -> None:
    fitted, other = fit_calibration([lists(0)], 0), lists(1)
    quality = brier_scores(other, fitted, 0)
    assert quality.skill.value > 0.3 and quality.skill.low > 0
    assert quality.skill.value > brier_scores(other, DEFAULT_CALIBRATION, 0).skill.value
    np.testing.assert_allclose(quality.predicted, quality.observed, atol=0.12)
    assert list(quality.predicted) == sorted(quality.predicted)
    for kinds in ([], [[]]):
        with pytest.raises(DataError, match="at least one list"):
            fit_calibration(kinds, 0)


def test_a_calibration_survives_its_folder_and_is_copied_with_a_model(tmp_path: Path) -> None:
    assert load_calibration(tmp_path) == DEFAULT_CALIBRATION
    fitted = fit_calibration([lists(0, 4), lists(1, 4)], 0)
    save_calibration(tmp_path, fitted)
    assert (tmp_path / FILE).is_file() and load_calibration(tmp_path) == fitted
    assert 0 <= fitted.count_error < 0.5
    source, target, other = (tmp_path / name for name in ("source", "target", "other"))
    for folder in (source, target, other):
        folder.mkdir()
    save_calibration(source, PairCalibration(themes=-2.0))
    copy_calibration(source, target)
    assert load_calibration(target).themes == -2.0
    copy_calibration(other, target)
    assert load_calibration(target).themes == -2.0


def drawn(seed: int, sizes: tuple[int, ...]) -> tuple[Float32, Ids]:
    """Unit vectors around one centre per theme; the centres are the same for every seed."""
    centres = np.random.default_rng(0).normal(size=(len(sizes), 24))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    x = centres[labels] + np.random.default_rng(seed).normal(size=(len(labels), 24))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32), labels


def test_probabilities_are_those_of_being_right() -> None:
    x, labels = drawn(1, (100, 80, 60, 40, 20))
    new, truth = drawn(2, (100, 80, 60, 40, 20))
    found = ThemeCentres(x, labels).assign(new)
    right = found.labels == truth
    assert right.mean() > 0.9 and abs(found.probability.mean() - right.mean()) < 0.05
    assert abs(found.unusual.mean() - 0.1) < 0.06


@pytest.mark.parametrize("seed", range(3))
def test_a_new_theme_is_found_and_a_theme_that_grew_is_not(seed: int) -> None:
    x, labels = drawn(10 + seed, (100, 80, 60, 40, 20, 0))
    centres = ThemeCentres(x, labels)
    wave, truth = drawn(20 + seed, (10, 8, 6, 4, 2, 12))
    (found,) = new_themes(wave, x, centres.assign(wave).fit, seed, draws=49)
    assert (truth[found.rows] == 5).mean() > 0.8 and (truth[found.rows] == 5).sum() >= 9
    grown, _ = drawn(30 + seed, (10, 8, 6, 14, 2, 0))
    assert new_themes(grown, x, centres.assign(grown).fit, seed, draws=49) == []


def test_themes_that_were_found_are_not_much_surer_of_new_sentences_than_right() -> None:
    pages = ["accessibility", "backup", "columns", "estimates", "iclust", "languages", "maps", "teams", "triplets"]
    texts, page = [], []
    for number, name in enumerate(pages):
        lines = re.split(r"(?<=[.:]) +", (ROOT / "docs" / f"{name}.md").read_text("utf-8").replace("\n", " "))
        kept = [line for line in lines if 30 < len(line) < 300 and "|" not in line][:40]
        texts, page = texts + kept, page + [number] * len(kept)
    rows = np.random.default_rng(0).permutation(len(texts))
    old, new = np.split(rows, [len(rows) * 2 // 3])
    themes = themescope.find_themes([texts[row] for row in old], "static-wikipedia", k=len(pages))
    found, truth = themes.predict([texts[row] for row in new]), np.array(page)
    most = np.array([np.bincount(truth[old][themes.labels == theme]).argmax() for theme in range(len(pages))])
    right = (most[found.labels] == truth[new]).mean()
    vectors = themes.encoder.encode([texts[row] for row in new])  # type: ignore[union-attr]
    as_if_given = ThemeCentres(themes.vectors, themes.different_labels).assign(vectors)
    before, now = as_if_given.probability.mean() - right, found.probability.mean() - right
    assert right > 0.2 and before > 0.2 and abs(now) < before / 2, (right, before, now)


def test_a_text_without_any_word_of_the_list_fits_none() -> None:
    x, labels = drawn(1, (60, 60, 60))
    new, _ = drawn(2, (60, 60, 60))
    texts = [f"The {['bus', 'tram', 'train'][label]} was late today {i % 7}" for i, label in enumerate(labels)]
    centres = ThemeCentres(x, labels, texts)
    assert abs(centres.assign(new, texts).unusual.mean() - 0.1) < 0.08
    assert centres.assign(new, ["asdf qwer"] * len(new)).unusual.all()


def test_what_is_farther_than_everything_fits_none_and_two_themes_are_needed() -> None:
    x = np.eye(6, dtype=np.float32)[[0, 0, 1, 1]] + 0.1 * np.eye(6, dtype=np.float32)[[2, 3, 2, 3]]
    found = ThemeCentres(x, [0, 0, 1, 1]).assign(np.eye(6, dtype=np.float32)[[5, 0]])
    assert found.unusual.tolist() == [True, False]
    x, _ = drawn(1, (3, 3))
    with pytest.raises(DataError, match="two themes"):
        ThemeCentres(x, [0, 0, 0, -1, -1, 1])
