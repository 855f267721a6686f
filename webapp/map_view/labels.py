"""Names on a map: their anchors, where the points of a category are densest, and their places in a picture.

In the browser, ``assets/labels.js`` places the names anew whenever the user moves the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from webapp.map_view.geometry import UNITS, Units

Anchor = tuple[int, int, int, int]
"""Category, x and y on the grid, and the number of points of the category around."""

_CELLS = 48
"""Cells of the map in each direction; an anchor stands for 3 × 3 of them."""
_LEAST_SHARE = 0.1
"""Share of its points that a category must have around an anchor: names of scattered categories would mislead."""
_MOST = 3
"""Number of anchors of a category; those after the first are for parts of the map that do not show it."""
_APART = 8
"""Minimum number of cells between two anchors of a category."""
_GAP = 4.0
_SHIFTS = (0, -1, 1, -2, 2)
"""Lines by which a name may be moved to be free."""


@dataclass(frozen=True, slots=True)
class Label:
    """A name in a picture whose y grows downwards."""

    category: int
    left: float
    top: float
    width: float
    height: float

    def covers(self, other: Label) -> bool:
        """Return whether two labels overlap, or nearly do."""
        return (
            self.left < other.left + other.width + _GAP
            and other.left < self.left + self.width + _GAP
            and self.top < other.top + other.height + _GAP
            and other.top < self.top + self.height + _GAP
        )


def anchors_of(units: Units, categories: npt.NDArray[np.int64], names: int) -> list[Anchor]:
    """Return the anchors of ``names`` categories of (n, 2) points, those with the most points around first.

    Points of the category -1 ("other") have none.
    """
    shown = categories >= 0
    if not names or not shown.any():
        return []
    points, kinds = units[shown], categories[shown]
    low, high = points.min(axis=0).astype(np.int64), points.max(axis=0).astype(np.int64)
    side = max(int((high - low).max()) + 1, _CELLS)
    cells = (points.astype(np.int64) - low) * _CELLS // side
    places = (kinds * _CELLS + cells[:, 1]) * _CELLS + cells[:, 0]
    grids = [_around(_grid(places, names, weights)) for weights in (None, points[:, 0], points[:, 1])]
    totals = np.bincount(kinds, minlength=names)
    found = [anchor for kind in range(names) for anchor in _peaks(kind, totals[kind], *(grid[kind] for grid in grids))]
    return sorted(found, key=lambda anchor: (-anchor[3], anchor))


def _grid(places: npt.NDArray[np.int64], names: int, weights: npt.NDArray[np.uint16] | None) -> npt.NDArray[np.float64]:
    sums = np.bincount(places, weights, minlength=names * _CELLS * _CELLS)
    return sums.reshape(names, _CELLS, _CELLS).astype(np.float64)


def _around(grid: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sums over 3 × 3 cells."""
    padded = np.pad(grid, ((0, 0), (1, 1), (1, 1)))
    rows = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    return np.asarray(rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:])


def _peaks(
    kind: int, total: int, count: npt.NDArray[np.float64], x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]
) -> list[Anchor]:
    left = count.copy()
    found: list[Anchor] = []
    while len(found) < _MOST:
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        n = left[row, column]
        if n <= 0 or n < _LEAST_SHARE * total:
            break
        found.append((kind, round(x[row, column] / n), round(y[row, column] / n), int(n)))
        left[max(row - _APART, 0) : row + _APART + 1, max(column - _APART, 0) : column + _APART + 1] = 0
    return found


def placed(anchors: Sequence[Anchor], widths: Sequence[float], height: float, side: float) -> list[Label]:
    """Return the labels that fit on a picture of the whole grid, ``side`` wide and high, without overlaps.

    ``widths`` are those of the names of the categories. A name that has no free place is left out.
    """
    labels: dict[int, Label] = {}
    for category, x, y, _ in anchors:
        if category in labels:
            continue
        left, middle = x / UNITS * side - widths[category] / 2, side - y / UNITS * side
        for shift in _SHIFTS:
            label = Label(category, left, middle - height / 2 + shift * (height + _GAP), widths[category], height)
            inside = left >= 0 and label.top >= 0 and left + label.width <= side and label.top + height <= side
            if inside and not any(label.covers(other) for other in labels.values()):
                labels[category] = label
                break
    return list(labels.values())
