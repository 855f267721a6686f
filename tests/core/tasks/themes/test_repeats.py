"""Themes of lists with repeated texts: copies and the order of rows change nothing but sizes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.tasks.themes.test_find import EXACT, planted
from themescope.core.errors import DataError
from themescope.core.labelling.suggestions import clusterers
from themescope.core.protocols import SILENT
from themescope.core.tasks.themes import FoundThemes, ThemesConfig, find_themes

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
    assert (found.interval, found.curves, found.reason) == (plain.interval, plain.curves, plain.reason)
    assert (found.distinct, len(found.usual), found.compared) == (30 + bool(answers), 30, 30)
    assert len(found.themes) == len(plain.themes)
    assert len({*found.labels[:answers].tolist()}) == bool(answers)
    labels = found.labels[answers:]
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
    plain, found = themes_of(list(range(30)), 0, config), themes_of(rows, 40, config)
    pairs = {(int(found.labels[40 + place]), int(plain.labels[row])) for place, row in enumerate(rows)}
    assert len(pairs) == 4 and len({*found.labels[:40].tolist()}) == 1


def test_one_text_is_one_theme() -> None:
    found = find_themes(["River floods"] * 20, np.ones((20, 3), np.float32), CONFIG, 0, SILENT)
    assert [(theme.name, theme.size, theme.central) for theme in found.themes] == [("floods · river", 20, (0,))]
    assert found.frequent == ((0, 20),) and (found.margins > 0).all() and found.curves.ks == ()
    with pytest.raises(DataError, match="20 sentences with 1 different texts are too few for 3 themes"):
        find_themes(["River floods"] * 20, np.ones((20, 3), np.float32), ThemesConfig(k=3), 0, SILENT)


def test_a_repeated_text_with_a_theme_of_its_own_is_certain() -> None:
    found = find_themes(["Yes"] * 7 + ["No"] * 5, np.eye(2, dtype=np.float32)[[0] * 7 + [1] * 5], CONFIG, 0, SILENT)
    assert [theme.size for theme in found.themes] == [7, 5] and found.margins == pytest.approx(1.0)
