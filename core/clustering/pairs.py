"""Calibrated probability that two sentences of a list share a theme, and the effective number of themes.

Both use the cosines s of the rows after centring, because the mean vector of a list is what all its themes share. The
effective number of themes is the Hill number H = (Σ λ^1.5)⁴ / (Σ λ²)³ of the positive eigenvalues λ of the matrix of
cosines without its diagonal (Hill 1973, Diversity and evenness, Ecology 54): k themes of equal size and similarity
without noise have k - 1 equal eigenvalues. It does not depend on the level of the cosines, and little on the number of
sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.inputs import Square, gram_matrix, unit_rows
from themescope.core.config import Config, option
from themescope.core.types import Floats, Matrix

_ORDERS = (1.5, 2.0)
_SMALLEST, _SHORT = 1e-9, 1e-6
_SPARSE_ROWS = 1_500


@dataclass(frozen=True)
class PairCalibration(Config):
    """Coefficients that turn the vectors of a model into probabilities and a number of themes, and a weight of words.

    The defaults were fitted with MiniLM-L6 (docs/number-of-themes.md). Without noise, the intercept 0 and slope 1 give
    the exact number of themes of equal size.

    With z = (s - mean) / standard deviation over the pairs of a list, the log-odds that a pair shares a theme are
    ``intercept + standardised·z + themes·ln H + interaction·z·ln H``. The number of themes is
    ``1 + exp(count_intercept + count_slope·ln H)``, because the centring takes one dimension from k themes; it is
    within a factor of exp(``count_error``) of the true number on nine of ten validation lists.
    """

    intercept: float = option(1.43, "Constant of the log-odds.")
    standardised: float = option(0.40, "Coefficient of the standardised cosine.")
    themes: float = option(-1.58, "Coefficient of the logarithm of the effective number of themes.")
    interaction: float = option(0.31, "Coefficient of the standardised cosine times that logarithm.")
    count_intercept: float = option(-0.34, "Logarithm of the number of further themes where the effective number is 1.")
    count_slope: float = option(1.16, "Exponent of the effective number of themes.", low=0.0, high=5.0)
    count_error: float = option(
        0.45, "Error of the logarithm of the number of themes on nine of ten lists.", low=0.0, high=5.0
    )
    removed: ClassVar[frozenset[str]] = frozenset({"distinct"})

    clear: float | None = option(
        None, "Silhouette above which the clearest number of groups of a list is taken. Empty: lists are divided by "
        "Iclust.",
        low=-1.0, high=1.0,
    )  # fmt: skip
    one_subject: float = option(
        1.0, "Mean cosine above which long sentences in which nobody speaks are those of an article.",
        low=-1.0, high=1.0,
    )  # fmt: skip
    before: int = option(
        0, "Number of first columns that are vectors from before fine-tuning, beside those of the model alone.", low=0
    )
    shared: float = option(
        2.0, "Weight of shared words for finding themes, against 1 for the vectors.", low=0.0, high=1_000.0
    )

    def log_odds(self, cosines: Square, effective: float) -> Square:
        """Return the (n, n) log-odds that two rows share a theme.

        ``cosines`` are :func:`centred_cosines` and ``effective`` is :func:`effective_themes` of the same rows.
        """
        n = len(cosines)
        pairs = max(n * (n - 1), 1)
        mean = float(cosines.sum() - np.trace(cosines)) / pairs
        squares = float(np.einsum("ij,ij->", cosines, cosines) - (np.diag(cosines) ** 2).sum()) / pairs
        spread = max(np.sqrt(max(squares - mean * mean, 0.0)), _SMALLEST)
        themes = float(np.log(effective))
        slope = (self.standardised + self.interaction * themes) / spread
        return np.asarray(cosines * slope + (self.intercept + self.themes * themes - slope * mean))

    def count(self, effective: float) -> float:
        """Return the number of themes, not rounded, for an effective number of themes."""
        return 1.0 + float(np.exp(self.count_intercept + self.count_slope * np.log(effective)))


DEFAULT_CALIBRATION = PairCalibration()


def centred_cosines(x: Matrix) -> Square:
    """Return the (n, n) cosines of the rows of a dense or CSR matrix, each minus the mean of the unit rows."""
    if not sparse.issparse(x):
        rows = _centred_rows(x)
        return gram_matrix(rows)
    gram = gram_matrix(unit_rows(sparse.csr_array(x, dtype=np.float64)))
    means = gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    lengths = np.sqrt(np.maximum(np.diag(centred), 0.0))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > _SHORT)
    return np.asarray(centred * inverse[:, None] * inverse)


def effective_themes(x: Matrix, seed: int = 0) -> float:
    """Return the effective number of themes of (n, dim) rows, at least 1.

    Of a CSR matrix, at most 1,500 random rows are used.
    """
    if sparse.issparse(x):
        rows = np.random.default_rng(seed).permutation(x.shape[0])[:_SPARSE_ROWS]
        return _hill_number(np.linalg.eigvalsh(centred_cosines(sparse.csr_array(x)[np.sort(rows)])))
    dense = _centred_rows(x)
    smaller = dense.T @ dense if dense.shape[0] > dense.shape[1] else dense @ dense.T
    return _hill_number(np.linalg.eigvalsh(smaller))


def _centred_rows(x: Any) -> Floats:
    """Return unit rows minus their mean, scaled to length 1; a row that equals the mean becomes zero."""
    unit = np.asarray(unit_rows(np.asarray(x, np.float64)))
    centred = unit - unit.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    rows: Floats = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > _SHORT)
    return rows


def _hill_number(eigenvalues: npt.NDArray[np.floating]) -> float:
    """Return the Hill number of the positive eigenvalues of a matrix of cosines minus 1, its diagonal."""
    found = eigenvalues - 1.0
    found = found[found > _SMALLEST]
    if not len(found):
        return 1.0
    low, high = (float((found**order).sum()) for order in _ORDERS)
    return max(low**4 / high**3, 1.0)
