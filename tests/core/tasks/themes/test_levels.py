from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import themescope
from tests.core.tasks.themes.test_find import EXACT
from themescope.core.errors import ConfigError
from themescope.core.metrics.partition import UNASSIGNED, same_clusters
from themescope.core.tasks.density import Curves
from themescope.core.tasks.themes import FEWEST, FoundThemes, Theme, ThemesConfig, continued, find_themes
from themescope.core.themes import Themes
from themescope.core.types import SILENT

SUBJECTS = {"water": ("river", "lake"), "arts": ("opera", "poem"), "money": ("tax", "price")}


class Subjects:
    """An encoder of another package: six nouns in three pairs, each with two kinds of sentences."""

    def encode(self, sentences: list[str], **options: object) -> np.ndarray:
        rows = [
            [
                *(2.0 * (noun in text) for noun in NOUNS),
                *(1.5 * any(noun in text for noun in pair) for pair in SUBJECTS.values()),
                *(0.7 * (kind in text) for kind in ("first", "second")),
                len(text) % 7 / 20,
            ]
            for text in sentences
        ]
        return np.array(rows, np.float32)


NOUNS, LETTERS = [noun for pair in SUBJECTS.values() for noun in pair], "bcdfghjklmn"
TEXTS = [f"The {noun} is the {kind} of {c}{c} here." for noun in NOUNS for kind in ("first", "second") for c in LETTERS]


@pytest.fixture(scope="module")
def themes() -> Themes:
    return themescope.find_themes(TEXTS, Subjects(), 6, settings={"shared": 0.0, "subsamples": 1})


def nested(themes: FoundThemes) -> None:
    """Check that every sentence has one theme of each level, and each theme lies in one of the level above."""
    levels = (*themes.coarser, themes, *themes.finer)
    sizes = [len(level.themes) for level in levels]
    assert sizes == sorted(set(sizes)) and themes.suggested == len(themes.coarser)
    for level in levels:
        counts = np.bincount(level.labels)
        assert counts.tolist() == [theme.size for theme in level.themes]
        assert counts.min() > 0 and (np.diff(counts) <= 0).all()
        assert len({theme.name for theme in level.themes}) == len(level.themes)
        assert all(level.labels[row] == c for c, theme in enumerate(level.themes) for row in theme.central)
    for above, below in pairwise(levels):
        pairs = np.unique(np.stack([above.labels, below.labels]), axis=1)
        assert pairs.shape[1] == len(below.themes)


def test_subjects_are_joined_and_divided_as_they_belong_together(themes: Themes) -> None:
    nested(themes)
    assert themes.levels == (3, 6, 12) and themes.suggested == 1
    for noun, other in SUBJECTS.values():
        rows = [row for row, text in enumerate(TEXTS) if noun in text or other in text]
        assert len({*themes.level(0).labels[rows].tolist()}) == 1
    parts = {(noun, kind): set[int]() for noun in NOUNS for kind in ("first", "second")}
    for text, theme in zip(TEXTS, themes.level(-1).labels.tolist(), strict=True):
        parts[text.split()[1], text.split()[4]].add(theme)
    assert all(len(part) == 1 for part in parts.values())


def test_a_level_has_everything_that_themes_have(themes: Themes) -> None:
    few = themes.level(0)
    assert few.levels == themes.levels and few.level(1).themes == themes.themes
    assert few.rename({0: "Water"}).level(2).level(0).themes[0].name == "Water"
    assert few.predict(["A tax."]).labels.tolist() == [few.labels[TEXTS.index("The tax is the first of bb here.")]]
    frame = themes.to_frame(levels=True)
    assert [*frame.columns[-3:]] == ["level_0", "level_1", "level_2"] and (frame["level_1"] == frame["name"]).all()
    assert themes.merge(0, 1).levels == (5,), "corrected themes have no other level"
    assert themes.stability(2).shape == (6,) and few.stability(2) == pytest.approx([1, 1, 1])
    for wrong in (3, -4):
        with pytest.raises(ConfigError, match="these themes have 3"):
            themes.level(wrong)


def test_frequent_answers_are_joined_with_nothing_and_few_sentences_have_one_level() -> None:
    texts = [*TEXTS, *["Don't know"] * 40]
    config = ThemesConfig(subsamples=1, shared=0.0)
    found = find_themes(texts, Subjects().encode(texts), config, 0, SILENT, EXACT)
    nested(found)
    assert len(found.coarser) and len(found.finer)
    for level in (*found.coarser, *found.finer):
        assert [theme.size for theme in level.themes if theme.name == "Don't know"] == [40]
    one = themescope.find_themes(TEXTS[8:14], Subjects(), 2)
    assert one.levels == (2,) and one.level(0).themes == one.themes


def test_the_order_of_the_rows_changes_no_level(themes: Themes) -> None:
    order = np.random.default_rng(0).permutation(len(TEXTS))
    other = themescope.find_themes([TEXTS[i] for i in order], Subjects(), 6, settings={"shared": 0.0, "subsamples": 1})
    assert other.levels == themes.levels
    for number in range(len(themes.levels)):
        assert (other.level(number).labels == themes.level(number).labels[order]).all()


@given(st.integers(4, 70), st.integers(2, 9), st.integers(0, 10**6))
def test_levels_are_nested_whatever_the_vectors(n: int, k: int, seed: int) -> None:
    texts = [f"word {chr(97 + i % 26)} {chr(97 + i // 26)}" for i in range(n)]
    vectors = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    config = ThemesConfig(k=min(k, n), sample=10, subsamples=1, shared=0.0)
    found = find_themes(texts, vectors, config, seed, SILENT)
    nested(found)
    again = find_themes(texts, vectors, replace(config, words=2), seed, SILENT)
    assert all((one.labels == two.labels).all() for one, two in zip(found.coarser, again.coarser, strict=True))
    assert all((one.labels == two.labels).all() for one, two in zip(found.finer, again.finer, strict=True))
    for level in found.finer:
        new = {*range(len(level.themes))} - {*same_clusters(level.labels, found.labels)}
        assert all(level.themes[theme].size >= FEWEST for theme in new)


def themes_of(labels: list[int]) -> FoundThemes:
    found = np.array(labels, np.int32)
    listed = tuple(Theme(f"theme {c}", (), int((found == c).sum()), ()) for c in range(int(found.max()) + 1))
    curves, margins = Curves((), (), (), (), 0), np.zeros(len(found), np.float32)
    n = len(found)
    return FoundThemes(
        found, listed, margins, curves, "", (1, len(listed)), n, 0.0, 0.0, False, False, n, np.arange(n), (),
        coarser=(), finer=(), suggested=0,
    )  # fmt: skip


def test_a_theme_that_is_found_again_has_its_place_and_a_new_one_a_free_place() -> None:
    themes, places = continued(themes_of([2, 2, 2, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, UNASSIGNED, 1, -1]))
    assert themes.labels.tolist() == [0, 0, 0, 1, 1, 2, 2, 2] and places == {0: 0, 1: 1}
    assert [theme.name for theme in themes.themes] == ["theme 2", "theme 0", "theme 1"]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 5)), min_size=1, max_size=40))
def test_places_are_a_permutation(pairs: list[tuple[int, int]]) -> None:
    before = themes_of([new for new, _ in pairs])
    themes, places = continued(before, np.array([old for _, old in pairs], np.int32))
    names = [before.themes[label].name for label in before.labels]
    assert [themes.themes[label].name for label in themes.labels] == names
    assert sorted(theme.name for theme in themes.themes) == sorted(theme.name for theme in before.themes)
    assert len(set(places.values())) == len(places)
    assert all(place == old for place, old in places.items() if old < len(themes.themes))
