"""Two classifications of the same items as a table: expected counts, residuals, association; and shares over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.types import Floats, Ids

Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer]  # (n,) class of each item; -1: none

LEAST_EXPECTED = 5.0
"""Expected count below which residuals and the chi-square test are unreliable (Cochran 1954)."""


@dataclass(frozen=True, slots=True, eq=False)
class Crosstab:
    """Contingency table (r, c) of two classifications."""

    counts: Counts
    expected: Floats
    """(r, c) counts if the two were independent."""
    residuals: Floats
    """(r, c) adjusted Pearson residuals, which are about standard normal then (Haberman 1973); NaN where undefined."""
    chi_square: float
    degrees: int
    p: float
    """P value of the chi-square test of independence; 1 without degrees of freedom."""
    cramers_v: float
    """Strength of the association, 0…1 (Cramér 1946)."""

    @property
    def low_expected(self) -> int:
        """Number of cells whose expected count is below :data:`LEAST_EXPECTED`."""
        return int((self.expected < LEAST_EXPECTED).sum())

    def shares(self, axis: int = 1) -> Floats:
        """Return the (r, c) shares of the columns in each row, or with axis 0 of the rows in each column.

        Those of empty rows or columns are NaN.
        """
        totals = self.counts.sum(axis=axis, keepdims=True)
        shares: Floats = np.divide(self.counts, totals, out=np.full(self.counts.shape, np.nan), where=totals > 0)
        return shares


def crosstab(rows: Codes, columns: Codes, shape: tuple[int, int]) -> Crosstab:
    """Return the table of items (n,) whose class is known in both; ``shape`` is the number of classes of each."""
    from scipy import stats  # the commands import the names of periods, and must start fast

    known = (rows >= 0) & (columns >= 0)
    cells = rows[known].astype(np.int64) * shape[1] + columns[known]
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)
    n = max(int(counts.sum()), 1)
    by_row, by_column = counts.sum(axis=1, keepdims=True) / n, counts.sum(axis=0, keepdims=True) / n
    expected = n * by_row * by_column
    spread = np.sqrt(expected * (1 - by_row) * (1 - by_column))
    residuals = np.divide(counts - expected, spread, out=np.full(shape, np.nan), where=spread > 0)
    squares = np.divide((counts - expected) ** 2, expected, out=np.zeros(shape), where=expected > 0)
    used = min(int((by_row > 0).sum()), int((by_column > 0).sum())) - 1
    degrees = max((int((by_row > 0).sum()) - 1) * (int((by_column > 0).sum()) - 1), 0)
    chi_square = float(squares.sum()) if degrees else 0.0
    p = float(stats.chi2.sf(chi_square, degrees)) if degrees else 1.0
    cramers_v = float(np.sqrt(chi_square / (n * used))) if used > 0 else 0.0
    return Crosstab(counts, expected, residuals, chi_square, degrees, p, min(cramers_v, 1.0))


def once_per_article(rows: Codes, columns: Codes, articles: Ids) -> npt.NDArray[np.intp]:
    """Return items (m,) such that each article has at most one of each pair of classes: the first one.

    Sentences of an article are not independent of each other; this way an article counts once for each of its themes.
    """
    triples = np.stack([articles, rows.astype(np.int64), columns.astype(np.int64)])
    return np.sort(np.unique(triples, axis=1, return_index=True)[1])


def share_intervals(counts: npt.ArrayLike, totals: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the shares of counts in totals with the ends of their 95 % intervals (Wilson 1927); NaN without items."""
    from scipy import stats

    x, n = np.asarray(counts, np.float64), np.asarray(totals, np.float64)
    z = float(stats.norm.ppf(0.975))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(n > 0, x / n, np.nan)
        centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return share, np.maximum(centre - half, 0), np.minimum(centre + half, 1)


PERIODS = ("year", "quarter", "month", "day")
"""Periods into which dates are grouped."""
_UNITS = {"year": "datetime64[Y]", "quarter": "datetime64[M]", "month": "datetime64[M]", "day": "datetime64[D]"}


def periods_of(dates: npt.NDArray[np.datetime64], period: str) -> tuple[Codes, list[str]]:
    """Return the (n,) period of each date, -1 for missing ones, and the names of the periods in order.

    Periods without a date are left out.
    """
    known = ~np.isnat(dates)
    units = dates[known].astype(_UNITS[period])
    if period == "quarter":
        months = units.astype(np.int64)
        units = (months - months % 3).astype("datetime64[M]")
    starts, codes = np.unique(units, return_inverse=True)
    found = np.full(len(dates), -1, dtype=np.int64)
    found[known] = codes
    names = [str(start) for start in starts]
    if period == "quarter":
        names = [f"{name[:4]} Q{(int(name[5:7]) + 2) // 3}" for name in names]
    return found, names


def usual_period(dates: npt.NDArray[np.datetime64]) -> str:
    """Return the longest period of which the dates cover at least three, else days."""
    known = dates[~np.isnat(dates)]
    if len(known):
        span = int((known.max() - known.min()) / np.timedelta64(1, "D"))
        for period, days in zip(PERIODS, (365, 91, 30), strict=False):
            if span >= 3 * days:
                return period
    return PERIODS[-1]
