"""Fitting a calibration: recovers planted numbers and probabilities, survives its folder, names missing lists."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks._pair_calibration import KnownList, brier_scores, fit_calibration
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.errors import DataError
from themescope.core.tasks.density import FILE, copy_calibration, load_calibration, save_calibration


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


def test_a_calibration_survives_its_folder(tmp_path: Path) -> None:
    assert load_calibration(tmp_path) == DEFAULT_CALIBRATION
    fitted = fit_calibration([lists(0, 4), lists(1, 4)], 0)
    save_calibration(tmp_path, fitted)
    assert (tmp_path / FILE).is_file() and load_calibration(tmp_path) == fitted
    assert 0 <= fitted.count_error < 0.5


def test_a_copy_of_a_model_keeps_its_calibration(tmp_path: Path) -> None:
    source, target, other = (tmp_path / name for name in ("source", "target", "other"))
    for folder in (source, target, other):
        folder.mkdir()
    save_calibration(source, PairCalibration(themes=-2.0))
    copy_calibration(source, target)
    assert load_calibration(target).themes == -2.0
    copy_calibration(other, target)
    assert load_calibration(target).themes == -2.0


def test_lists_are_needed() -> None:
    for kinds in ([], [[]]):
        with pytest.raises(DataError, match="at least one list"):
            fit_calibration(kinds, 0)
