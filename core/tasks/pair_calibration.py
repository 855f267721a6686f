"""The calibration of a model: coefficients for pair probabilities and for the number of themes.

It is stored as ``pair-calibration.json`` in the folder of its model. ``benchmarks/theme_counts.py`` fits it.
"""

from __future__ import annotations

from pathlib import Path

from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.config import config_from_dict
from themescope.core.models.storage import read_json, write_json

FILE = "pair-calibration.json"


def save_calibration(folder: Path, calibration: PairCalibration) -> None:
    """Write the calibration of the model in ``folder``."""
    write_json(folder / FILE, calibration.to_dict())


def load_calibration(folder: Path) -> PairCalibration:
    """Return the calibration of the model in ``folder``, or the default where it has none."""
    path = folder / FILE
    return config_from_dict(PairCalibration, read_json(path)) if path.is_file() else DEFAULT_CALIBRATION


def copy_calibration(source: Path, target: Path) -> None:
    """Write the calibration of the model in ``source``, if it has one, for the same model in ``target``."""
    if (source / FILE).is_file():
        save_calibration(target, load_calibration(source))
