"""Sentences of a later wave: calibrated assignment to themes; what is new is found, nothing is invented."""

import numpy as np
import pytest

from themescope.core.errors import DataError
from themescope.core.tasks.waves import ThemeCentres, new_themes
from themescope.core.types import Float32, Ids


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


def test_too_few_themes_are_refused() -> None:
    x, _ = drawn(1, (3, 3))
    with pytest.raises(DataError, match="two themes"):
        ThemeCentres(x, [0, 0, 0, -1, -1, 1])
