"""What a map shows and what was chosen on it: plain functions, so that no wrong id can hide behind a browser."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.projection.geometry import Polygon, inside
from core.types import Ids, Labels, Points
from webapp.shared.text import figure_text, shorten

Units = npt.NDArray[np.uint16]  # (n, 2) places on the grid of a map
Rows = npt.NDArray[np.intp]  # (m,) rows of a scene
Flags = npt.NDArray[np.bool_]  # (n,)

_LINE = 64
LIMIT = 18
"""More categories than this cannot be told apart; the rest become "other"."""
MOST = 31
"""Categories that a map can draw at all, beside "other"."""
UNITS = 65_535
_MARGIN = 0.1
"""Share of the grid left free on every side, so that another map that is laid over this one finds room."""
_MOST_CORNERS = 1_000


# ---------------------------------------------------------------- the grid


@dataclass(frozen=True, slots=True)
class Grid:
    """A square grid of 65,536 lines each way around the points of a map, the same for every filter of it."""

    x: float
    y: float
    """The lower left corner."""
    step: float
    """Between two lines, in units of the map."""

    @classmethod
    def around(cls, points: Points) -> Grid:
        """The grid of (n, 2) points, n at least 1."""
        low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
        span = float((high - low).max()) or 1.0
        width = span / (1 - 2 * _MARGIN)
        corner = (low + high) / 2 - width / 2
        return cls(float(corner[0]), float(corner[1]), width / UNITS)

    def units(self, points: Points) -> Units:
        """(n, 2) nearest lines; what lies outside the grid is put on its border."""
        at = (np.asarray(points, np.float64) - (self.x, self.y)) / self.step
        return np.clip(np.rint(at), 0, UNITS).astype(np.uint16)

    def corners(self, shape: npt.ArrayLike) -> Polygon:
        """(m, 2) corners in whole lines of a shape in units of the map."""
        at = (np.asarray(shape, np.float64).reshape(-1, 2) - (self.x, self.y)) / self.step
        return np.rint(at)

    def place(self, units: npt.ArrayLike) -> Polygon:
        """(m, 2) places on the map of grid lines."""
        return np.asarray(units, np.float64) * self.step + (self.x, self.y)


# ---------------------------------------------------------------- what was chosen


def rows_of(among: Ids, wanted: Ids) -> Rows:
    """Rows of ``among`` (each id once) that hold ``wanted``, in the order of ``wanted``, without what is missing."""
    order = np.argsort(among, kind="stable")
    if not len(order) or not len(wanted):
        return np.empty(0, dtype=np.intp)
    at = order[np.minimum(np.searchsorted(among, wanted, sorter=order), len(order) - 1)]
    return at[among[at] == wanted]


def inside_rows(units: Units, categories: npt.NDArray[np.int64], shape: Polygon, hidden: Sequence[int]) -> Rows:
    """Rows of the points inside ``shape`` (corners on the grid) whose category is not hidden; -1 is "other"."""
    return np.flatnonzero(inside(units, shape) & ~np.isin(categories, np.asarray(hidden, dtype=np.int64)))


def shape_of(value: Any) -> Polygon:
    """(m, 2) corners from what a browser or an address says; nothing, where that makes no shape."""
    try:
        corners = np.asarray(value, dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        corners = np.empty((0, 2))
    fits = 3 <= len(corners) <= _MOST_CORNERS and np.isfinite(corners).all() and (np.abs(corners) <= 64 * UNITS).all()
    return np.rint(corners) if fits else np.empty((0, 2))


def written_shape(shape: Polygon) -> str:
    """A shape for an address: whole numbers joined by ``_``, x and y in turn."""
    return "_".join(str(int(value)) for value in shape.ravel())


def read_shape(text: str) -> Polygon:
    """Inverse of :func:`written_shape`; nothing, where the address was changed by hand into nonsense."""
    try:
        return shape_of([int(value) for value in text.split("_")]) if text else shape_of(())
    except ValueError:
        return shape_of(())


def chart_shape(event: Mapping[str, Any] | None, grid: Grid) -> Polygon:
    """The lasso or box of a chart's selection event, on the grid; nothing where points were clicked."""
    selection = (event or {}).get("selection") or {}
    for kind in ("lasso", "box"):
        for drawn in selection.get(kind) or []:
            x, y = list(drawn.get("x") or []), list(drawn.get("y") or [])
            if kind == "box" and len(x) == len(y) == 2:
                x, y = [x[0], x[1], x[1], x[0]], [y[0], y[0], y[1], y[1]]
            if len(x) == len(y) > 2:
                return shape_of(grid.corners(np.column_stack([x, y])))
    return shape_of(())


def selected_ids(event: Mapping[str, Any] | None) -> Ids:
    """(n,) ids of the points in a selection event, each once, in ascending order.

    The id of a point is its ``customdata``; its place in a trace says nothing, because it changes with colouring,
    filters and sampling.
    """
    points = ((event or {}).get("selection") or {}).get("points") or []
    found = {_id(point.get("customdata")) for point in points}
    return np.array(sorted(i for i in found if i is not None), dtype=np.int64)


def _id(value: Any) -> int | None:
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = value[0] if value else None
    return None if value is None else int(value)


# ---------------------------------------------------------------- colours


def categories(
    codes: npt.NDArray[np.integer], names: Sequence[str], keep_order: bool = False
) -> tuple[npt.NDArray[np.int64], list[int]]:
    """(n,) category of each point and the code that each category stands for; what is rare is -1.

    ``codes`` are places in ``names``; categories are the ``LIMIT`` most frequent, of equals the first by name. With
    ``keep_order`` they stand in order of first appearance (sections of one article), else by frequency.
    """
    counts = np.bincount(codes, minlength=len(names)) if len(codes) else np.zeros(len(names), np.int64)
    least = np.sort(counts)[-LIMIT] if len(counts) >= LIMIT else 0
    there = np.flatnonzero((counts > 0) & (counts >= least))
    chosen = sorted(there.tolist(), key=lambda code: (-int(counts[code]), names[code]))[:LIMIT]
    if keep_order:
        first = dict(zip(*(part.tolist() for part in np.unique(codes, return_index=True)), strict=True))
        chosen.sort(key=first.__getitem__)
    place = np.full(len(names), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    return place[codes] if len(codes) else np.empty(0, np.int64), chosen


def lasting_colours(names: Sequence[str], known: Sequence[str]) -> list[int]:
    """Place in the palette of each of ``names``: a name among the ``known`` keeps its place there in every view.

    The others take the places that are left, in their order, so that no two categories in view look alike.
    """
    place = {name: i for i, name in enumerate(known)}
    taken = {place[name] for name in names if name in place}
    free = (i for i in range(len(names) + len(taken)) if i not in taken)
    return [place[name] if name in place else next(free) for name in names]


def cluster_of(labels: Mapping[int, Labels], items: Mapping[int, Ids]) -> dict[int, int]:
    """Sentence id → label, over every article of a run."""
    return {
        int(sentence): int(label)
        for article, ids in items.items()
        if article in labels
        for sentence, label in zip(ids, labels[article], strict=True)
    }


def ranges(values: npt.NDArray[np.floating], parts: int) -> tuple[npt.NDArray[np.int64], list[tuple[float, float]]]:
    """(n,) range of each value, from the lowest, and the ends of each range; NaN is -1.

    About as many values fall into each of the at most ``parts`` ranges; equal values fall into the same.
    """
    there = np.isfinite(values)
    found = np.full(len(values), -1, dtype=np.int64)
    if not there.any():
        return found, []
    known = values[there]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, parts + 1)[1:-1], method="higher"))
    place = np.searchsorted(edges, known, side="right")
    _, found[there] = np.unique(place, return_inverse=True)
    return found, [(float(known[place == p].min()), float(known[place == p].max())) for p in np.unique(place)]


# ---------------------------------------------------------------- words


def hover_text(article: str, section: str, sentence: str, letters: int) -> str:
    """The lines of a hover label, escaped for a chart."""
    head = f"{figure_text(article, 60)} · {figure_text(section or 'Introduction', 50)}"
    lines = wrapped(shorten(" ".join(sentence.split()), letters), _LINE)
    return "<br>".join([f"<b>{head}</b>", *(figure_text(line) for line in lines)])


def wrapped(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` letters, broken at spaces where there are any; quick for whole maps."""
    lines = []
    while len(text) > width:
        cut = text.rfind(" ", 1, width + 1)
        cut = width if cut < 0 else cut
        lines.append(text[:cut])
        text = text[cut:].lstrip(" ")
    return [*lines, text] if text else lines


def digest(values: npt.NDArray[Any]) -> str:
    """Names the content of an array, whatever its size, in milliseconds."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=12).hexdigest()
