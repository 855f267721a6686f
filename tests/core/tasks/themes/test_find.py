from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import silhouette_score

from tests.core.clustering.test_correlation import planted as planted_clusters
from tests.core.reports import Watched
from themescope.core.clustering.inputs import PairCalibration
from themescope.core.errors import Cancelled, ConfigError, DataError
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig
from themescope.core.tasks.density import candidates, mean_cosines, measure, silhouette, suggest
from themescope.core.tasks.themes import FoundThemes, ThemesConfig, _central, find_themes
from themescope.core.types import SILENT

EXACT = PairCalibration(count_intercept=0.0, count_slope=1.0)
"""Without noise, the number of themes of equal size."""
WORDS = ("river stone water", "violin music opera", "market price tax", "cell protein gene")


def planted(sizes: tuple[int, ...] = (24, 22, 20, 18), noise: float = 0.3) -> tuple[list[str], np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centres = np.eye(len(sizes), 12)
    vectors = (centres[truth] + noise * random.normal(size=(len(truth), 12)) / np.sqrt(12)).astype(np.float32)
    names = [f"{one}{other}" for one in "abcdefghijk" for other in "klmnopqrst"]
    pairs = [" ".join(random.permutation(WORDS[t].split())[:2]) for t in truth]
    texts = [f"{name}: the {pair} of these" for name, pair in zip(names, pairs, strict=False)]
    return texts, vectors, truth


def found(**settings: object) -> tuple[FoundThemes, np.ndarray, list[str]]:
    texts, vectors, truth = planted()
    config = ThemesConfig(most=8, subsamples=2, **settings)  # type: ignore[arg-type]
    return find_themes(texts, vectors, config, 0, SILENT, EXACT), truth, texts


def test_planted_themes_are_counted_found_and_named_also_by_sparse_vectors() -> None:
    themes, truth, _ = found()
    assert len(themes.themes) == 4
    assert (themes.labels == truth).all()  # the sizes fall, so the numbers agree as well
    assert "About 4 themes" in themes.reason and themes.interval[0] <= 4 <= themes.interval[1]
    for theme, words in zip(themes.themes, WORDS, strict=True):
        assert set(" ".join(theme.words).split()) <= set(words.split())
        assert all(truth[row] == truth[theme.central[0]] for row in theme.central)
    assert (themes.margins > 0).all()
    texts, vectors, truth = planted()
    thin = find_themes(texts, sparse.csr_array(vectors), ThemesConfig(most=6, subsamples=1), 0, SILENT, EXACT)
    assert (thin.labels == truth).all()


def test_the_order_of_a_running_text_helps_and_a_shuffled_one_changes_nothing() -> None:
    """Sections of a text are contiguous; where sentences stand at random, the result is that without an order."""
    texts, vectors, truth = planted((30, 28, 26, 24), noise=2.2)
    config, k = ThemesConfig(k=4, most=4, subsamples=1, shared=0.0), np.arange(len(texts))
    without = find_themes(texts, vectors, config, 0, SILENT)
    with_order = find_themes(texts, vectors, config, 0, SILENT, positions=k)
    shuffled = find_themes(texts, vectors, config, 0, SILENT, positions=np.random.default_rng(0).permutation(k))
    ari = AdjustedRandIndex(MetricConfig())
    assert with_order.order == 0.4 and ari.score(truth, with_order.labels) > ari.score(truth, without.labels) + 0.2
    assert shuffled.order == 0.0 and np.array_equal(shuffled.labels, without.labels)
    assert find_themes(texts, vectors, replace(config, order=0.0), 0, SILENT, positions=k).order == 0.0


def test_a_given_number_is_kept_and_needs_no_reason() -> None:
    themes, _, _ = found(k=3)
    assert len(themes.themes) == 3 and themes.reason == ""
    assert [t.size for t in themes.themes] == sorted((t.size for t in themes.themes), reverse=True)
    assert sum(t.size for t in themes.themes) == 84


def test_shared_words_tell_themes_apart_where_the_model_cannot_with_its_weight_or_a_given_one() -> None:
    texts, _, truth = planted()
    blind = np.random.default_rng(0).normal(size=(len(truth), 12)).astype(np.float32)
    with_words, without = (
        find_themes(texts, blind, ThemesConfig(k=4, most=3, subsamples=1, shared=shared), 0, SILENT).labels
        for shared in (50.0, 0.0)
    )
    assert (with_words == truth).all()
    assert (without != truth).any()
    config, own = ThemesConfig(k=4, most=3, subsamples=1), PairCalibration(shared=50.0)
    of_the_model = find_themes(texts, blind, config, 0, SILENT, own)
    given = find_themes(texts, blind, replace(config, shared=50.0), 0, SILENT)
    assert (of_the_model.labels == given.labels).all() and of_the_model.shared == given.shared == 50.0
    assert find_themes(texts, blind, replace(config, shared=0.0), 0, SILENT, own).shared == 0.0
    assert find_themes(texts, sparse.csr_array(blind), config, 0, SILENT, own).shared == 0.0


def test_what_is_not_compared_joins_the_nearest_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.core.tasks.themes.COMPARED", 40)
    themes, truth, _ = found(k=4)
    assert themes.compared == 40 and (themes.labels == truth).all()


@pytest.mark.parametrize(("n", "k"), [(3, 0), (5, 6)])
def test_too_few_sentences(n: int, k: int) -> None:
    with pytest.raises(DataError, match="too few"):
        find_themes(["a"] * n, np.ones((n, 2), np.float32), ThemesConfig(k=k), 0, SILENT)


def test_settings_that_make_no_sense_are_refused_and_it_can_be_cancelled() -> None:
    for settings in ({"k": 1}, {"clusterer": "random"}):
        with pytest.raises(ConfigError):
            ThemesConfig(**settings)  # type: ignore[arg-type]
    texts, vectors, _ = planted()
    with pytest.raises(Cancelled):
        find_themes(texts, vectors, ThemesConfig(), 0, Watched(at=1))


@given(st.integers(4, 25), st.integers(2, 6), st.integers(0, 10**6))
def test_every_theme_is_filled_and_every_margin_is_bounded(n: int, k: int, seed: int) -> None:
    k = min(k, n)
    vectors = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    vectors[0] = 0
    config = ThemesConfig(k=k, most=3, subsamples=1)
    themes = find_themes([f"word{i} here" for i in range(n)], vectors, config, seed, SILENT)
    assert np.bincount(themes.labels, minlength=k).tolist() == [t.size for t in themes.themes]
    assert min(t.size for t in themes.themes) >= 1
    assert len({t.name for t in themes.themes}) == k
    assert np.abs(themes.margins).max() <= 2 + 1e-5
    assert all(-1 <= s <= 1 for s in themes.curves.silhouette)
    assert all(-1 <= s <= 1 for s in themes.curves.stability)


def test_silhouette_and_fits_are_means_over_pairs() -> None:
    _, vectors, truth = planted(noise=1.5)
    labels = truth.astype(np.int32)
    assert silhouette(vectors, labels, 4) == pytest.approx(silhouette_score(vectors, truth, metric="cosine"), abs=1e-6)
    _, vectors, truth = planted()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    own, other = mean_cosines(vectors, truth.astype(np.int32), 4)
    cosines = unit @ unit.T
    mates = np.flatnonzero((truth == 0) & (np.arange(len(truth)) != 0))
    assert own[0] == pytest.approx(cosines[0, mates].mean(), abs=1e-5)
    assert other[0] == pytest.approx(max(cosines[0, truth == c].mean() for c in (1, 2, 3)), abs=1e-5)


def test_the_suggestion_keeps_to_its_limits_and_that_of_a_sample_is_the_same() -> None:
    assert candidates(2, 4) == (2,)
    assert candidates(3, 4) == (2, 3)
    assert {20, 58, 174} <= set(candidates(58, 1_000)) or {19, 58, 174} <= set(candidates(58, 1_000))
    assert max(candidates(200, 300)) == 200
    assert measure(np.eye(6), candidates(2, 6), 1, 0, SILENT).ks == (2,)
    vectors, _ = planted_clusters(40)
    limited = suggest(vectors, EXACT, 10, 0)
    assert (limited.k, limited.high) == (10, 10) and "limits the result to 10" in limited.reason
    few = suggest(vectors[:3], EXACT, 10, 0)
    assert (few.k, few.low, few.high) == (2, 2, 2) and "too few different sentences" in few.reason
    equal = suggest(np.ones((30, 4)), EXACT, 10, 0)
    assert equal.low == equal.k == 2
    sample = vectors[np.random.default_rng(0).permutation(len(vectors))[: len(vectors) // 2]]
    whole, part = (suggest(x, EXACT, 200, 0).k for x in (vectors, sample))
    assert abs(whole - part) <= 6


@pytest.mark.parametrize("k", [2, 5, 12, 40])
def test_the_number_of_planted_themes_is_suggested_within_its_interval(k: int) -> None:
    vectors, _ = planted_clusters(k)
    found = suggest(vectors, EXACT, 200, 0)
    assert found.low <= k <= found.high
    assert abs(found.k - k) <= max(1, 0.15 * k)
    assert f"About {found.k} themes" in found.reason


def test_central_sentences_are_no_near_duplicates() -> None:
    texts = ["Nuclear arms deter wars", "Nuclear arms deter war.", "States should disarm", "nuclear  arms deter wars"]
    own = np.array([0.9, 0.8, 0.5, 0.7])
    assert _central(texts, own, np.arange(4), 3) == (0, 2)
