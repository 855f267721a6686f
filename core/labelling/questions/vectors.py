"""Vectors of a labelling's sentences, prepared for the choice of questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.inputs import unit_rows
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration, effective_themes
from themescope.core.types import Matrix

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
_DIMENSIONS = 128
_SMALLEST = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class QuestionVectors:
    """Unit vectors of n sentences, and the log-odds that two of them share a theme."""

    unit: npt.NDArray[np.float32]
    """(n, dim) rows of length 1, or zero."""
    centred: npt.NDArray[np.float32]
    """(n, dim) unit rows minus their mean, again of length 1."""
    intercept: float
    slope: float
    """The log-odds of a pair are ``intercept + slope · cosine`` of the centred rows."""
    themes: float
    """Estimated number of themes."""

    def log_odds(self, first: Rows, second: Rows) -> float:
        """Return the mean log-odds of the pairs of a row of ``first`` and a row of ``second``."""
        one, other = self.centred[first].mean(axis=0), self.centred[second].mean(axis=0)
        return self.intercept + self.slope * float(one @ other)

    def central(self, rows: Rows) -> int:
        """Return the row with the largest mean cosine to the others of (m,) ``rows``, the first of several."""
        return int(rows[np.argmax(np.round(self.unit[rows] @ self.unit[rows].sum(axis=0), 5))])


def prepare(x: Matrix, calibration: PairCalibration = DEFAULT_CALIBRATION) -> QuestionVectors:
    """Prepare (n, dim) vectors; CSR vectors are first reduced to 128 dimensions (latent semantic analysis)."""
    unit: Any = unit_rows(_dense(x))
    centred = unit_rows(unit - unit.mean(axis=0))
    effective = effective_themes(unit) if len(unit) > 1 else 1.0
    n, total = len(unit), centred.sum(axis=0)
    lengths = np.einsum("ij,ij->i", centred, centred)
    pairs = max(n * (n - 1), 1)
    mean = float(total @ total - lengths.sum()) / pairs
    second = centred.T @ centred
    squares = float(np.einsum("ij,ij->", second, second) - (lengths**2).sum()) / pairs
    spread = max(np.sqrt(max(squares - mean * mean, 0.0)), _SMALLEST)
    themes = float(np.log(effective))
    slope = (calibration.standardised + calibration.interaction * themes) / spread
    intercept = calibration.intercept + calibration.themes * themes - slope * mean
    return QuestionVectors(
        np.asarray(unit, np.float32), np.asarray(centred, np.float32), intercept, slope, calibration.count(effective)
    )


def _dense(x: Matrix) -> Floats:
    if not sparse.issparse(x):
        return np.asarray(x, np.float64)
    from sklearn.decomposition import TruncatedSVD

    unit = sparse.csr_array(unit_rows(x))
    dimensions = min(_DIMENSIONS, min(unit.shape) - 1)
    if dimensions < 1:
        return np.asarray(unit.toarray(), np.float64)
    return np.asarray(TruncatedSVD(dimensions, random_state=0).fit_transform(unit), np.float64)
