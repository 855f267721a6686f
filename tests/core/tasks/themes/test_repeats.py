from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.tasks.themes.test_density import LISTS
from tests.core.tasks.themes.test_density import planted as planted_groups
from tests.core.tasks.themes.test_find import EXACT, planted
from themescope.core.errors import DataError
from themescope.core.labelling.learning import clusterers
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig
from themescope.core.tasks.themes import FoundThemes, ThemesConfig, find_themes
from themescope.core.types import SILENT

CONFIG = ThemesConfig(most=8, subsamples=1)


def themes_of(rows: list[int], refrain: int = 0, config: ThemesConfig = CONFIG) -> FoundThemes:
    """Return the themes of these rows of a list with four themes, after a text that is there ``refrain`` times."""
    texts, vectors, _ = planted((9, 8, 7, 6))
    vectors = np.concatenate([np.full((refrain, 12), 0.3, np.float32), vectors[rows]])
    spelt = ["Don't know", "don't know.", "DON'T  KNOW"]
    return find_themes(
        [*(spelt[i % 3] for i in range(refrain)), *(texts[i] for i in rows)], vectors, config, 0, SILENT, EXACT
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 59), unique=True), st.integers(0, 60), st.randoms())
def test_repeats_and_order_change_nothing_but_sizes(copies: list[int], answers: int, random: object) -> None:
    answers = 0 if answers < 10 else answers  # enough to dominate, or none
    plain = themes_of(list(range(30)))
    rows = [*range(30), *(copy % 30 for copy in copies)]
    random.shuffle(rows)  # type: ignore[attr-defined]
    found = themes_of(rows, answers)
    own = int(bool(answers))  # themes of their own
    assert found.interval == (plain.interval[0] + own, plain.interval[1] + own)
    assert found.curves == replace(plain.curves, ks=tuple(k + own for k in plain.curves.ks))
    assert found.reason.startswith(plain.reason) and ("own besides" in found.reason) == bool(own)
    assert (found.distinct, len(found.usual), found.compared) == (30 + own, 30, 30)
    assert len(found.themes) == len(plain.themes) + own
    assert len({*found.labels[:answers].tolist()}) == own
    labels = found.labels[answers:]
    assert not {*found.labels[:answers].tolist()} & {*labels.tolist()}
    pairs = {(int(labels[place]), int(plain.labels[row])) for place, row in enumerate(rows)}
    assert len(pairs) == len(plain.themes)  # one to one; the order by size may differ
    assert [theme.size for theme in found.themes] == np.bincount(found.labels).tolist()
    if not answers:
        assert found.margins == pytest.approx(plain.margins[rows])
        for here, there in pairs:
            assert found.themes[here].words == plain.themes[there].words
            assert [rows[row] for row in found.themes[here].central] == [*plain.themes[there].central]


@pytest.mark.parametrize("clusterer", [card.id for card in clusterers()])
def test_repeats_and_order_change_nothing_with_any_clusterer(clusterer: str) -> None:
    rows = np.random.default_rng(0).permutation([*range(30), *range(20), *range(5, 15)]).tolist()
    config = replace(CONFIG, clusterer=clusterer, k=4)
    plain, found = themes_of(list(range(30)), 0, config), themes_of(rows, 40, replace(config, k=5))
    pairs = {(int(found.labels[40 + place]), int(plain.labels[row])) for place, row in enumerate(rows)}
    assert len(pairs) == 4 and [t.name for t in found.themes if t.size == 40] == ["Don't know"]


@pytest.mark.parametrize("seed", range(4))
def test_texts_keep_their_themes_where_half_of_the_rows_repeat_some_of_them(seed: int) -> None:
    """A text that lies apart, though not farther than others, is no answer that fits nothing when it is repeated."""
    x, _ = planted_groups((40, 35, 30, 25), noise=1.1, seed=seed)
    texts = [f"Answer {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(len(x))]
    random = np.random.default_rng(seed)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -1)
    apart = np.argsort(cosines.max(axis=1))[8:20]
    rows = np.concatenate([np.arange(len(x)), random.choice(apart, len(x))])
    plain, found = (
        find_themes([texts[i] for i in own], x[own], CONFIG, 0, SILENT, LISTS) for own in (rows[: len(x)], rows)
    )
    assert AdjustedRandIndex(MetricConfig()).score(plain.labels, found.labels[: len(x)]) >= 0.98
    assert "of its own" not in found.reason and "of their own" not in found.reason


@pytest.mark.parametrize("copies", [8, 130])
def test_a_repeated_answer_that_fits_nothing_is_a_theme_and_is_named(copies: int) -> None:
    x, _ = planted_groups((40, 35, 30, 25), noise=0.8)
    texts = [f"Answer {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(len(x))]
    answer = np.tile(-x.mean(axis=0), (copies, 1))
    plain = find_themes(texts, x, CONFIG, 0, SILENT, LISTS)
    found = find_themes([*texts, *["No idea"] * copies], np.vstack([x, answer]), CONFIG, 0, SILENT, LISTS)
    assert AdjustedRandIndex(MetricConfig()).score(plain.labels, found.labels[: len(x)]) == 1.0
    assert [theme.size for theme in found.themes if theme.name == "No idea"] == [copies]
    assert f"“No idea” ({copies}) is a theme of its own besides" in found.reason


def test_one_text_is_one_theme_that_is_certain() -> None:
    found = find_themes(["River floods"] * 20, np.ones((20, 3), np.float32), CONFIG, 0, SILENT)
    assert [(theme.name, theme.size, theme.central) for theme in found.themes] == [("River floods", 20, (0,))]
    assert found.frequent == ((0, 20),) and (found.margins > 0).all() and found.curves.ks == ()
    with pytest.raises(DataError, match="20 sentences with 1 different texts are too few for 3 themes"):
        find_themes(["River floods"] * 20, np.ones((20, 3), np.float32), ThemesConfig(k=3), 0, SILENT)
    found = find_themes(["Yes"] * 7 + ["No"] * 5, np.eye(2, dtype=np.float32)[[0] * 7 + [1] * 5], CONFIG, 0, SILENT)
    assert [theme.size for theme in found.themes] == [7, 5] and found.margins == pytest.approx(1.0)


@pytest.mark.parametrize("k", [0, 2, 3, 5])
def test_frequent_answers_never_join_the_theme_of_other_sentences(k: int) -> None:
    texts, vectors, _ = planted((9, 8, 7, 6))
    answers = ["n/a"] * 40 + ["None."] * 35
    rows = np.concatenate([vectors, np.full((40, 12), 0.3), np.full((35, 12), -0.3)]).astype(np.float32)
    found = find_themes(texts + answers, rows, replace(CONFIG, k=k), 0, SILENT, EXACT)
    sizes = {theme.name: theme.size for theme in found.themes}
    assert sizes["n/a"] == 40 and len(sizes) == (k or 6)
    assert sizes.get("None.") == (35 if k != 2 else None), "two themes: the most frequent answer, and the others"


@pytest.mark.parametrize("n", [4, 40, 100])
def test_sentences_that_differ_in_numbers_only_are_one_theme(n: int) -> None:
    texts = [f"I am satisfied, customer number {i:,} of {n}." for i in range(n)]
    vectors = np.random.default_rng(0).normal(size=(n, 12)).astype(np.float32)
    found = find_themes(texts, vectors, CONFIG, 0, SILENT, EXACT)
    assert [theme.size for theme in found.themes] == [n] and found.distinct == n
    others, rows, _ = planted()
    mixed = find_themes([*others, *texts], np.concatenate([rows, vectors]), CONFIG, 0, SILENT, EXACT)
    assert len({*mixed.labels[len(others) :].tolist()}) == 1
    assert len(find_themes(texts, vectors, replace(CONFIG, k=3), 0, SILENT, EXACT).themes) == 3, "as it was asked"
