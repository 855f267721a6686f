"""Levels of detail: the points of a large map as tiles of a quadtree, which the browser loads as they come into view.

The points have a random but fixed order. The root tile has the first ``TILE_POINTS`` of them; the others go to
the four quarters of the map, each of which keeps the first ``TILE_POINTS`` of its own, and so on. Every point is in one
tile, and the tiles of the first levels together are a random sample of each region that has more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.webapp.map_view.geometry import Rows, Units

WHOLE_POINTS = 100_000
"""Number of points up to which a map is one tile, in the order of its rows."""
TILE_POINTS = 16_384
"""Number of points of a tile that has quarters."""
DEEPEST = 16
"""Level whose tiles are single grid points."""
FIRST_POINTS = 100_000
"""Maximum number of points that are sent with the page."""
BATCH_POINTS = 200_000
"""Maximum number of points in an answer, unless a single tile has more."""
DENSITY_CELLS = 256
"""Cells per side of the density image."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The tiles of a map. The place of a point is its position in ``order``; a tile is a range of places."""

    order: Rows
    """(n,) rows of the map, tile by tile."""
    tiles: npt.NDArray[np.int64]
    """(t, 3) level, column and row of each tile, coarse levels first; level l has 2^l columns."""
    starts: npt.NDArray[np.int64]
    """(t + 1,) places at which the tiles start, and n."""
    limit: int
    """Maximum number of points that are sent of a tile: more are in a tile only at the same grid point."""

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return the (t,) numbers of points that are sent of the tiles."""
        return np.minimum(np.diff(self.starts), self.limit)

    def rows(self, numbers: Sequence[int]) -> Rows:
        """Return the rows of the points that are sent of some tiles, tile by tile."""
        sizes = self.sizes()
        parts = [self.order[self.starts[i] : self.starts[i] + sizes[i]] for i in numbers]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)

    def first(self) -> list[int]:
        """Return the tiles of the levels that are sent with the page: the root and what fits beside it."""
        levels = self.tiles[:, 0]
        sent = np.cumsum(np.bincount(levels, self.sizes()))  # with the tiles of the levels up to each
        return np.flatnonzero(levels <= max(int(np.count_nonzero(sent <= FIRST_POINTS)) - 1, 0)).tolist()

    def batch(self, wanted: Sequence[int]) -> list[int]:
        """Return the first of the wanted tiles that fit in one answer, at least one; unknown numbers are skipped."""
        known = [number for number in dict.fromkeys(wanted) if 0 <= number < len(self.tiles)]
        fitting = int(np.count_nonzero(np.cumsum(self.sizes()[known]) <= BATCH_POINTS)) if known else 0
        return known[: max(fitting, 1)]

    def row(self, place: int) -> int:
        """Return the row of a place, -1 for an invalid one."""
        return int(self.order[place]) if 0 <= place < len(self.order) else -1

    def place(self, row: int) -> int:
        """Return the place of a row."""
        return int(np.flatnonzero(self.order == row)[0])

    def index(self) -> list[list[int]]:
        """Return level, column, row, first place and number of sent points of every tile."""
        return np.column_stack([self.tiles, self.starts[:-1], self.sizes()]).tolist()


def levels_of(units: Units, whole: int = WHOLE_POINTS, capacity: int = TILE_POINTS) -> Levels:
    """Return the tiles of (n, 2) grid coordinates; the same points give the same tiles in the same order.

    A map of up to ``whole`` points is one tile in the order of its rows.
    """
    n = len(units)
    if n <= whole:
        return Levels(np.arange(n), np.zeros((1, 3), np.int64), np.array([0, n]), n)
    rows = np.random.default_rng(n).permutation(n)
    order, tiles, sizes = [], [], []
    for level in range(DEEPEST + 1):
        cells = _cells(units[rows], level)
        by_cell = np.argsort(cells, kind="stable")  # keeps the random order within a cell
        rows, cells = rows[by_cell], cells[by_cell]
        starts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
        counts = np.diff(np.append(starts, len(cells)))
        kept = np.arange(len(cells)) - np.repeat(starts, counts) < (capacity if level < DEEPEST else n)
        found = cells[starts].astype(np.int64)
        order.append(rows[kept])
        tiles.append(np.column_stack([np.full(len(found), level), found & ((1 << level) - 1), found >> level]))
        sizes.append(counts if level == DEEPEST else np.minimum(counts, capacity))
        rows = rows[~kept]
        if not len(rows):
            break
    places = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return Levels(np.concatenate(order), np.concatenate(tiles), places, capacity)


def _cells(units: Units, level: int) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint16]:
    """Return the (n,) number of the tile of each point; of 16 bits where possible, which are sorted much faster."""
    wide = units.astype(np.uint32) >> np.uint32(16 - level)
    cells = (wide[:, 1] << np.uint32(level)) | wide[:, 0]
    return cells.astype(np.uint16) if level <= 8 else cells


def density(units: Units) -> npt.NDArray[np.uint8]:
    """Return (256, 256) densities 0…255 on a logarithmic scale, lowest y first; 0 only for cells without points."""
    cells = (units >> np.uint16(8)).astype(np.intp)
    counts = np.bincount(cells[:, 1] * DENSITY_CELLS + cells[:, 0], minlength=DENSITY_CELLS**2).astype(np.float64)
    scaled = np.log1p(counts) / np.log1p(max(counts.max(), 1.0))
    return np.ceil(255 * scaled).astype(np.uint8).reshape(DENSITY_CELLS, DENSITY_CELLS)
