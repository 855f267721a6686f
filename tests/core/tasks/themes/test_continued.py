"""Themes that are found again keep their places; no sentence changes its theme."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.metrics.matching import UNASSIGNED
from themescope.core.tasks.theme_counts import Curves
from themescope.core.tasks.themes import FoundThemes, Theme, continued


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
