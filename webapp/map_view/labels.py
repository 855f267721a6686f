"""Names on a map at several levels: where they stand, and their places in a picture.

A name stands where the points of its group are densest. From afar the names of categories are shown as far as they
have room, first that of the largest category of each part of the map; closer in, those of their parts, too. Where
regions are named, larger ones are shown from afar. In the browser, ``assets/labels.js`` places the names anew
whenever the user moves the map, by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from themescope.core.clustering.inputs import canonical_labels
from themescope.core.clustering.naming import level_names
from themescope.core.projection import merged, regions
from themescope.core.types import Labels
from themescope.webapp.map_view.scene import UNITS, Rows, Units

# Levels of detail: the points of a large map as tiles of a quadtree, which the browser loads as they come into view

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


GROUPS, CATEGORIES, PARTS = 0, 1, 2
"""Levels of names: large regions, categories or regions, and parts of categories or small regions."""
CLOSER, CLOSEST = 1.6, 4.5
"""Magnification, as a multiple of the initial view, from which regions and parts are named."""

Anchor = tuple[int, int, int, int]
"""Category, x and y on the grid, and the number of points of the category around."""
Texts = Callable[[Rows], list[str]]

_CELLS = 48
"""Cells of the map in each direction; an anchor stands for 3 × 3 of them."""
_LEAST_SHARE = 0.1
"""Share of its points that a category must have around an anchor: names of scattered categories would mislead."""
_MOST = 3
"""Number of anchors of a category; those after the first are for parts of the map that do not show it."""
_APART = 8
"""Minimum number of cells between two anchors of a category."""
_GAP = 4.0
_SHIFTS, _ASIDE = (0, -1, 1, -2, 2), (0.0, -0.4, 0.4)
"""Lines, and shares of its width, by which a name may be moved to be free."""
_PHRASES = 2
"""Number of phrases of the name of a theme that stand on the map; the legend has all of them."""
_SAMPLE, _TEXTS = 10_000, 2_000
"""Number of points and of texts that names are made from."""
_SEVERAL = 8
"""Number of groups of neighbouring categories, each of which has a name from afar."""
_NAMED = 0.5
"""Share of the points that must be in categories with an anchor, so that categories are named and not regions."""
_REGIONS, _SMALLEST = (72, 26, 8), 12
"""Maximum number of regions of each level, and mean number of points of the smallest ones."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name on the map."""

    level: int
    text: str
    kinds: tuple[int, ...]
    """Categories that it stands for; it is hidden with all of them. Empty for a region of the map."""
    x: int
    y: int
    key: int
    """Number of the group within its level: a group is named once in a view, although it may have several anchors."""

    def sent(self) -> list[object]:
        """Return what the browser needs."""
        return [self.level, self.text, list(self.kinds), self.x, self.y, self.key]


@dataclass(frozen=True, slots=True)
class Viewport:
    """A part of the map in a picture ``width`` × ``height`` pixels wide and high; y of the picture grows downwards."""

    x: float
    y: float
    """Grid coordinates of the centre."""
    unit: float
    """Grid units per pixel."""
    width: float
    height: float

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point in the picture."""
        return (x - self.x) / self.unit + self.width / 2, self.height / 2 - (y - self.y) / self.unit

    @classmethod
    def whole(cls, side: float) -> Viewport:
        """Return the view of the whole grid in a square picture."""
        return cls(UNITS / 2, UNITS / 2, UNITS / side, side, side)


@dataclass(frozen=True, slots=True)
class Label:
    """A name in a picture."""

    name: Name
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


def names_of(
    units: Units, categories: npt.NDArray[np.int64], names: Sequence[str], texts: Texts | None = None
) -> list[Name]:
    """Return the names on a map of (n, 2) points; within a level, those come first that are shown if room is short.

    ``categories`` is the (n,) index into ``names`` of each point, -1 for none. ``texts`` returns the texts of some
    rows; without it only categories are named. Where these are scattered over the map, regions of the map are named by
    their distinctive words instead.
    """
    n = len(units)
    rows = np.arange(n) if n <= _SAMPLE else np.sort(np.random.default_rng(n).permutation(n)[:_SAMPLE])
    points, kinds = units[rows], categories[rows]
    anchors = anchors_of(points, kinds, len(names))
    named = sorted({anchor[0] for anchor in anchors})
    share = float(np.isin(kinds, named).mean()) if n else 0.0
    of_categories = [
        Name(CATEGORIES, " · ".join(names[kind].split(" · ")[:_PHRASES]), (kind,), x, y, kind)
        for kind, x, y, _ in _spread(anchors)
    ]
    if texts is None:
        return of_categories
    if share < _NAMED:
        places = points.astype(np.float64)
        finest = regions(places, min(_REGIONS[0], len(points) // _SMALLEST))
        sizes = np.bincount(finest).astype(np.float64)
        centres = np.column_stack([np.bincount(finest, places[:, axis]) for axis in (0, 1)]) / sizes[:, None]
        levels = (finest, *(groups[finest] for groups in merged(centres, sizes, _REGIONS[1:])))
        words = _words(levels, rows, texts, {})
        return [
            name
            for level, groups, texts_of in zip((PARTS, CATEGORIES, GROUPS), levels, words, strict=True)
            for name in _anchored(points, groups, texts_of, level, [()] * len(texts_of))
        ]
    return of_categories + _of_parts(points, kinds, rows, names, named, texts)


def _spread(anchors: Sequence[Anchor]) -> list[Anchor]:
    """Return anchors in another order: the largest category of each part of the map, the second ones, and so on.

    The parts are groups of neighbouring categories, so that each of them has a name where not all names have room.
    """
    first: dict[int, Anchor] = {}
    for anchor in anchors:
        first.setdefault(anchor[0], anchor)
    sizes = np.array([anchor[3] for anchor in first.values()], dtype=np.float64)
    centres = np.array([anchor[1:3] for anchor in first.values()], dtype=np.float64).reshape(-1, 2)
    part = merged(centres, sizes, [_SEVERAL])[0]
    rank = {kind: int(np.count_nonzero(part[:place] == part[place])) for place, kind in enumerate(first)}
    return sorted(anchors, key=lambda anchor: rank[anchor[0]])


def _of_parts(
    points: Units, kinds: npt.NDArray[np.int64], rows: Rows, names: Sequence[str], named: Sequence[int], texts: Texts
) -> list[Name]:
    """Return the names of the parts of the categories ``named``, without words of the names of the categories."""
    shown = np.flatnonzero(np.isin(kinds, named))
    points, rows = points[shown], rows[shown]
    category = np.searchsorted(named, kinds[shown]).astype(np.int32)
    small = regions(points.astype(np.float64), min(_REGIONS[0], len(points) // _SMALLEST))
    part = canonical_labels(category * (int(small.max(initial=0)) + 1) + small)
    words = _words((part, category), rows, texts, {1: [names[kind] for kind in named]})
    owner = {int(p): (named[c],) for p, c in zip(part, category, strict=True)}
    return _anchored(points, part, words[0], PARTS, [owner[p] for p in range(len(words[0]))])


def _words(levels: Sequence[Labels], rows: Rows, texts: Texts, given: dict[int, list[str]]) -> list[list[str]]:
    """Return the names of the groups of each level from a sample of their texts, about equally many of each part."""
    finest = levels[0]
    most = -(-_TEXTS // max(int(finest.max(initial=0)) + 1, 1))
    order = np.argsort(finest, kind="stable")
    starts = np.searchsorted(finest[order], np.arange(int(finest.max(initial=0)) + 1))
    rank = np.empty(len(finest), dtype=np.int64)
    rank[order] = np.arange(len(finest)) - starts[finest[order]]
    some = np.flatnonzero(rank < most)
    return level_names(texts(rows[some]), [level[some] for level in levels], given=given)


def _anchored(
    points: Units, groups: Labels, texts: Sequence[str], level: int, kinds: Sequence[tuple[int, ...]]
) -> list[Name]:
    """Return the names of groups, each at the densest place of its group, those without words left out."""
    first: dict[int, Name] = {}
    for group, x, y, _ in anchors_of(points, groups.astype(np.int64), len(texts), least=0.0):
        if texts[group]:
            first.setdefault(group, Name(level, texts[group], kinds[group], x, y, group))
    return list(first.values())


def anchors_of(
    units: Units, categories: npt.NDArray[np.int64], names: int, least: float = _LEAST_SHARE
) -> list[Anchor]:
    """Return the anchors of ``names`` categories of (n, 2) points, those with the most points around first.

    Points of the category -1 ("other") have none, and places with less than the share ``least`` of a category neither.
    """
    shown = categories >= 0
    if not names or not shown.any():
        return []
    points, kinds = units[shown], categories[shown]
    low, high = points.min(axis=0).astype(np.int64), points.max(axis=0).astype(np.int64)
    side = max(int((high - low).max()) + 1, _CELLS)
    cells = (points.astype(np.int64) - low) * _CELLS // side
    places = (kinds * _CELLS + cells[:, 1]) * _CELLS + cells[:, 0]
    grids = [_around(places, names, weights) for weights in (None, points[:, 0], points[:, 1])]
    fewest = least * np.bincount(kinds, minlength=names)
    found = [anchor for kind in range(names) for anchor in _peaks(kind, fewest[kind], *(grid[kind] for grid in grids))]
    return sorted(found, key=lambda anchor: (-anchor[3], anchor))


def _around(
    places: npt.NDArray[np.int64], names: int, weights: npt.NDArray[np.uint16] | None
) -> npt.NDArray[np.float64]:
    """Return the sums of points, or of their weights, over the 3 × 3 cells around each cell."""
    grid = np.bincount(places, weights, minlength=names * _CELLS * _CELLS).reshape(names, _CELLS, _CELLS)
    padded = np.pad(grid.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    rows = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    return np.asarray(rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:])


def _peaks(
    kind: int, fewest: float, count: npt.NDArray[np.float64], x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]
) -> list[Anchor]:
    left = count.copy()
    found: list[Anchor] = []
    while len(found) < _MOST:
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        n = left[row, column]
        if n <= 0 or n < fewest:
            break
        found.append((kind, round(x[row, column] / n), round(y[row, column] / n), int(n)))
        left[max(row - _APART, 0) : row + _APART + 1, max(column - _APART, 0) : column + _APART + 1] = 0
    return found


def levels_at(names: Sequence[Name], magnification: float) -> tuple[int, ...]:
    """Return the levels that are shown at a magnification, 1 for the initial view, the first of them in large type."""
    if magnification < CLOSER and any(name.level == GROUPS for name in names):
        return (GROUPS,)
    return (CATEGORIES,) if magnification < CLOSEST else (CATEGORIES, PARTS)


def placed(
    names: Sequence[Name], levels: Sequence[int], size: Callable[[Name], tuple[float, float]], view: Viewport
) -> list[Label]:
    """Return the labels of some levels that fit into a view, without overlaps.

    ``size`` returns width and height of a name in pixels. A name that has no free place is left out; one whose group
    has a label already is not repeated.
    """
    labels: dict[tuple[int, int], Label] = {}
    for level in levels:
        for name in names:
            if name.level == level and (level, name.key) not in labels:
                label = _free(name, size(name), view, list(labels.values()))
                if label is not None:
                    labels[level, name.key] = label
    return list(labels.values())


def _free(name: Name, size: tuple[float, float], view: Viewport, others: Sequence[Label]) -> Label | None:
    (width, height), (x, y) = size, view.pixel(name.x, name.y)
    for aside, shift in product(_ASIDE, _SHIFTS):
        left, top = x - width / 2 + aside * width, y - height / 2 + shift * (height + _GAP)
        label = Label(name, left, top, width, height)
        inside = label.left >= 0 and label.top >= 0
        inside = inside and label.left + width <= view.width and label.top + height <= view.height
        if inside and not any(label.covers(other) for other in others):
            return label
    return None
