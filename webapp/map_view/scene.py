"""The sentences of a map without their text, and the colours of their categories.

Row i of every array is one sentence: a few arrays, also for a million sentences. Texts are read for the rows that are
shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.errors import DataError
from themescope.core.labelling.operations import Origin
from themescope.core.projection import Polygon, inside
from themescope.core.records.stored import ArticleRecord, MapRecord
from themescope.core.types import Ids, Points, Sentence
from themescope.webapp.shared import queries, selections
from themescope.webapp.shared.figures import Tones

# Points and shapes on the integer grid of a map. Plain functions without Streamlit, so that tests cover them

Units = npt.NDArray[np.uint16]  # (n, 2) coordinates on the grid of a map
Rows = npt.NDArray[np.intp]  # (m,) rows of a scene

UNITS = 65_535
"""Largest coordinate of the grid."""
_MARGIN = 0.1
"""Share of the grid left free on every side."""
_MOST_CORNERS = 1_000
MANY_POINTS = 50_000
"""Number of points above which shapes are compared with cells of the grid first."""
_CELLS, _CELL = 256, 256
_OUTLIERS = 0.002
"""Share of the points at each border that the initial view leaves out."""
_FRAME_POINTS = 100_000
_SIZES, _SMALLEST = ((500, 8.0), (2_000, 6.0), (50_000, 4.0)), 2.5


def units_of(points: Points) -> Units:
    """Return (n, 2) points, n at least 1, on a square grid of 65,536 lines each way around them."""
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    width = (float((high - low).max()) or 1.0) / (1 - 2 * _MARGIN)
    corner = (low + high) / 2 - width / 2
    return np.rint((np.asarray(points, np.float64) - corner) / (width / UNITS)).astype(np.uint16)


def rows_of(among: Ids, wanted: Ids) -> Rows:
    """Return the rows of ``among`` (unique ids) that hold ``wanted``, in that order, without missing ids."""
    if not len(among) or not len(wanted):
        return np.empty(0, dtype=np.intp)
    if (among[1:] > among[:-1]).all():  # as in every stored map; sorting millions of ids takes a second
        at = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
    else:
        order = np.argsort(among, kind="stable")
        at = order[np.minimum(np.searchsorted(among, wanted, sorter=order), len(order) - 1)]
    return at[among[at] == wanted]


def inside_rows_of_many(units: Units, shape: Polygon) -> Rows:
    """Return the rows of the points inside ``shape``, as ``core.projection.inside`` finds them.

    The grid is cut into 256 × 256 cells. A cell that no edge of the shape comes near is inside or outside as a whole,
    so that only the points of the other cells are compared with the edges.
    """
    if len(shape) < 3:
        return np.empty(0, dtype=np.intp)
    near = _cells_near_edges(shape)
    corners = np.stack(np.meshgrid(np.arange(_CELLS), np.arange(_CELLS)), axis=-1).reshape(-1, 2) * _CELL
    state = np.where(near, 2, inside(corners, shape)).astype(np.uint8)
    cells = (units[:, 1] & np.uint16(0xFF00)) | (units[:, 0] >> np.uint16(8))
    of_point = state[cells]
    unsure = np.flatnonzero(of_point == 2)
    of_point[unsure] = inside(units[unsure], shape)
    return np.flatnonzero(of_point)


def _cells_near_edges(shape: Polygon) -> npt.NDArray[np.bool_]:
    """Return (65536,) true for cells that an edge crosses or comes close to: at least the cells around its points."""
    near = np.zeros((_CELLS, _CELLS), dtype=bool)
    low = np.arange(_CELLS) * float(_CELL)
    for (x1, y1), (x2, y2) in zip(shape, np.roll(shape, -1, axis=0), strict=True):
        bottom, top = min(y1, y2), max(y1, y2)
        bands = np.flatnonzero((low - 1 <= top) & (low + _CELL >= bottom))
        if y1 == y2:
            left, right = np.full(len(bands), min(x1, x2)), np.full(len(bands), max(x1, x2))
        else:
            ends = np.clip(np.stack([low[bands] - 1, low[bands] + _CELL]), bottom, top)
            at = x1 + (ends - y1) * (x2 - x1) / (y2 - y1)
            left, right = at.min(axis=0), at.max(axis=0)
        first = np.clip((left - 1) // _CELL, -1, _CELLS).astype(int)
        last = np.clip((right + 1) // _CELL, -1, _CELLS - 1).astype(int)
        for band, start, end in zip(bands.tolist(), first.tolist(), last.tolist(), strict=True):
            near[band, max(start, 0) : end + 1] = True
    return near.ravel()


def shape_of(value: Any) -> Polygon:
    """Return the (m, 2) corners in a value from the browser; none if the value is not a shape."""
    try:
        corners = np.asarray(value, dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError):
        corners = np.empty((0, 2))
    fits = 3 <= len(corners) <= _MOST_CORNERS and np.isfinite(corners).all() and (np.abs(corners) <= 64 * UNITS).all()
    return np.rint(corners) if fits else np.empty((0, 2))


def frame_of(units: Units) -> list[int]:
    """Return [left, bottom, right, top] around all points but outliers, which are found in a part of many points."""
    if not len(units):
        return [0, 0, UNITS, UNITS]
    some = units[:: len(units) // _FRAME_POINTS + 1]
    low, high = np.quantile(some, (_OUTLIERS, 1 - _OUTLIERS), axis=0)
    return [int(value) for value in (*low, *high)]


def point_size(n: int) -> float:
    """Return a readable diameter for the points of a map of ``n``, in pixels."""
    return next((size for most, size in _SIZES if n <= most), _SMALLEST)


def digest(values: npt.NDArray[Any]) -> str:
    """Return a hash of the content of an array; takes milliseconds for a million points."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=12).hexdigest()


LEAD = "Introduction"
"""Name of a section without a title."""


@dataclass(frozen=True)
class Scene:
    """Sentences with their coordinates, articles and sections."""

    ids: Ids
    points: Points
    """(n, 2) coordinates as they are stored."""
    units: Units
    """(n, 2) the points on the grid of the map: what is drawn, and what shapes are compared with."""
    articles: Ids
    """Id of the article of each sentence."""
    positions: Ids
    """Position of each sentence in its article."""
    sections: npt.NDArray[np.int32]
    """Index of the section title of each sentence in ``titles``."""
    titles: list[str]
    known: Mapping[int, ArticleRecord]
    """The articles by id."""

    @cached_property
    def ids_digest(self) -> str:
        """Hash of the ids."""
        return digest(self.ids)

    @cached_property
    def units_digest(self) -> str:
        """Hash of the points on the grid."""
        return digest(self.units)

    @cached_property
    def places(self) -> int:
        """Number of different points; identical texts have the same."""
        return len(np.unique(np.ascontiguousarray(self.points, dtype=np.float32).view(np.int64)))

    def only(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Scene:
        """Return the scene of some rows."""
        kept = {
            name: getattr(self, name)[rows] for name in ("ids", "points", "units", "articles", "positions", "sections")
        }
        return replace(self, **kept)

    def article(self, row: int) -> str:
        """Return the title of the article of a row."""
        return self.known[int(self.articles[row])].title

    def section(self, row: int) -> str:
        """Return the title of the section of a row; "" if no section of the map has one, as in a list."""
        return self.titles[self.sections[row]] or self.lead

    @property
    def lead(self) -> str:
        """Name of sections without a title; "" if no section of the map has one."""
        return LEAD if any(self.titles) else ""

    def rows_of(self, ids: Ids) -> npt.NDArray[np.intp]:
        """Return the rows of those of ``ids`` that are in the scene, in the order of ``ids``."""
        return rows_of(self.ids, ids)


@st.cache_resource(show_spinner="Opening the map …", max_entries=4, hash_funcs=queries.HASHES)
def opened(record: MapRecord) -> Scene:
    """Return the scene of a stored map, cached by the digest of its content."""
    placed = queries.map_points(record.id)
    places = queries.read(lambda r: r.maps.places(placed.sentence_ids))
    points = placed.points[rows_of(placed.sentence_ids, places.ids)]
    if not len(points):
        raise DataError(f"The sentences of the map “{record.name}” no longer exist. Draw the map again.")
    known = queries.articles_by_id(np.unique(places.articles))
    articles = places.articles, places.positions, places.sections, list(places.titles)
    return Scene(places.ids, points, units_of(points), *articles, known)


def texts(scene: Scene, rows: npt.NDArray[np.intp]) -> list[Sentence]:
    """Return the sentences of some rows, in their order."""
    found = queries.sentences(scene.ids[rows])
    return [found[int(i)] for i in scene.ids[rows]]


Categories = npt.NDArray[np.int64]  # (n,) category of each point, -1 for "other"

MAX_CATEGORIES = 108
"""Number of categories that have a colour, a shape and a lightness of their own."""
MANY = 72
"""Number of categories that a colouring takes where it chooses the most frequent ones."""
_SHAPES, _DARKER = 4, (0.0, 0.35, 0.65)
"""Number of shapes, and shares of the colour of text in the colours of the first, second and third round of shapes."""
_WRONG, _RIGHT = 1, 6
"""Indices of orange and blue in the palette."""


@dataclass(frozen=True, slots=True)
class Colouring:
    """The category of each point, the names of the categories and how they are painted."""

    categories: Categories
    """(n,) -1 is "other"."""
    names: list[str]
    other: str
    colours: Sequence[int] = ()
    """Palette index of each category; empty: 0, 1, 2, …"""
    shades: Sequence[float] = ()
    """For ordered categories, position of each on a ramp instead: -1 wrong … 0 … 1 right."""
    sequential: bool = False
    """Whether the positions are on the scale of numbers instead: 0 lowest … 1 highest."""
    column: str = ""
    """Heading of the table column with the category; "" if the table has one already."""
    values: npt.NDArray[np.floating] | None = None
    """(n,) the number behind the category, NaN where there is none."""
    dates: bool = False
    """Whether the numbers are dates, in microseconds since 1970."""

    def value(self, row: int) -> float | str | None:
        """Return the value of one row, a date in ISO form; None where there is none."""
        found = None if self.values is None else float(self.values[row])
        if found is None or np.isnan(found):
            return None
        return str(np.datetime64(int(found), "us").astype("datetime64[D]")) if self.dates else round(found, 6)

    def only(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Colouring:
        """Return the colouring of some rows."""
        values = None if self.values is None else self.values[rows]
        return replace(self, categories=self.categories[rows], values=values)

    def name(self, row: int) -> str:
        """Return the name of the category of one row."""
        return self.names[self.categories[row]] if self.categories[row] >= 0 else self.other

    def paint(self, tones: Tones, category: int) -> tuple[str, int]:
        """Return (colour, shape 0…3) of a category.

        Colours repeat with the next shape, and then all again in another lightness.
        """
        if category < 0:
            return tones.other, 0
        if self.shades:
            shade = self.shades[category]
            if not self.sequential:  # between neutral grey (0), orange (-1) and blue (1)
                return _mixed(tones.other, tones.colour(_RIGHT if shade > 0 else _WRONG), abs(shade)), 0
            place = shade * (len(tones.scale) - 1)
            low = min(int(place), len(tones.scale) - 2)
            return _mixed(tones.scale[low], tones.scale[low + 1], place - low), 0
        index = self.colours[category] if self.colours else category
        turn = index // len(tones.categories)
        return _mixed(tones.colour(index), tones.ink, _DARKER[turn // _SHAPES % len(_DARKER)]), turn % _SHAPES


def _mixed(first: str, second: str, share: float) -> str:
    """Return a colour between two, with a share of the second."""
    pairs = zip(channels(first), channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def channels(colour: str) -> list[int]:
    """Return red, green and blue (0…255) of a colour."""
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


# Selection, hidden categories and opened sentence of a map

_KEPT_CANVASES = 4


@dataclass
class MapState:
    """Selection and view of one map, kept in the session: sentence ids, and the parts that they come from."""

    ids: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    """The selected sentences."""
    origin: Origin | None = None
    """How the sentences were selected, if not on this map."""
    parts: list[MapPart] = field(default_factory=list)
    """What selected them on the map; empty for a selection that was not made there."""
    hidden: list[int] = field(default_factory=list)
    """Categories that the legend hides; -1 is "other"."""
    sentence: int = -1
    """Id of the one sentence whose details are shown; -1: none."""
    camera: list[float] | None = None
    """[x, y, units per pixel]; None for the initial view."""
    frame: list[int] | None = None
    """Frame of the initial view that the camera belongs to, once the map was shown."""
    tip: int = -1
    """Id of the sentence under the pointer; -1: none."""
    fresh: bool = False
    """The parts come from the address, and ``ids`` is not computed yet."""
    version: int = 0
    """Number of changes that the rest of the page shows too."""
    held: dict[str, list[int]] = field(default_factory=dict)
    """Tiles of each canvas, by its digest, that the browser has beside the first ones."""
    wanted: dict[str, list[int]] = field(default_factory=dict)
    """Tiles of each canvas that the browser requested and that are sent next."""
    picture: bool = False
    """The browser has no WebGL2, so it shows a picture from the server."""
    handled: dict[str, int] = field(default_factory=dict)
    """Number of the last event that was handled, by the name of the canvas."""
    asked: tuple[str, str] = ("", "")
    """What a menu of the map asked the page for, and a value."""
    outlined: str = ""
    """Digest of the canvas whose list of categories and sentences is open."""
    _rows: tuple[Ids, Ids, Rows] | None = None
    """Arguments and result of the last call of :meth:`rows`, which takes long for millions of sentences."""

    def take(self, scene: Scene, units: Units, colouring: Colouring) -> None:
        """Select the sentences of the parts whose category is not hidden."""
        rows: Rows = np.empty(0, dtype=np.intp)
        for part in self.parts:
            rows = part.combined(rows, part.rows(units, colouring.categories, self.hidden))
        self.ids = scene.ids[rows]
        self.fresh, self.origin = False, None
        self.version += 1

    def select(self, ids: Ids, origin: Origin) -> None:
        """Select sentences that were chosen otherwise than on this map."""
        self.ids, self.parts, self.fresh, self.origin = ids, [], False, origin
        self.version += 1

    def extend(self, part: MapPart, scene: Scene, units: Units, colouring: Colouring) -> None:
        """Combine the selection with a new part."""
        chosen = scene.ids[part.rows(units, colouring.categories, self.hidden)]
        self.ids = part.combined(self.ids, chosen)
        self.parts, self.origin = after(self.parts, part), None
        self.version += 1

    def click(self, sentence: int) -> None:
        """Show the details of a sentence."""
        self.sentence = sentence
        self.version += 1

    def clear(self) -> None:
        """Clear the selection."""
        self.ids, self.parts, self.origin = np.empty(0, np.int64), [], None
        self.version += 1

    def rows(self, scene: Scene) -> Rows:
        """Return the rows of the selected sentences in ``scene``."""
        if not len(self.ids):
            return np.empty(0, dtype=np.intp)
        if self._rows is None or self._rows[0] is not scene.ids or self._rows[1] is not self.ids:
            self._rows = scene.ids, self.ids, np.flatnonzero(np.isin(scene.ids, self.ids))
        return self._rows[2]

    def request_tiles(self, digest: str, held: list[int], wanted: list[int]) -> None:
        """Note that the browser has some tiles of a canvas and asks for others."""
        kept = list(self.held)[-_KEPT_CANVASES:]
        self.held = {name: self.held[name] for name in kept if name != digest} | {digest: [*held, *wanted]}
        self.wanted = {digest: wanted}


def camera_of(value: Any) -> list[float] | None:
    """Return [x, y, units per pixel] from a value of the browser; None if it is invalid."""
    try:
        x, y, unit = (float(number) for number in value)
    except (TypeError, ValueError, OverflowError):
        return None
    fits = all(np.isfinite([x, y, unit])) and 0 < unit <= UNITS and abs(x) + abs(y) <= 64 * UNITS
    return [round(x), round(y), float(f"{unit:.4g}")] if fits else None


def open_stored(state: MapState, url_key: str, opened_key: str) -> None:
    """Select the sentences of the stored selection in the address, once for each; ``opened_key`` keeps which."""
    wanted = st.query_params.get(url_key, "")
    if wanted and st.session_state.get(opened_key) != wanted:
        stored = selections.from_address(url_key)
        if stored is not None:
            state.select(stored.ids, stored.origin)
    st.session_state[opened_key] = wanted


def forget_replaced(state: MapState, url_key: str) -> None:
    """Remove a stored selection from the address once something else is selected."""
    if state.origin is None:
        st.query_params.pop(url_key, None)


# Parts of a selection on a map: what each tool selects, and how it combines with what was selected before

REPLACE, ADD, SUBTRACT = "replace", "add", "subtract"
_SIGNS = {REPLACE: "", ADD: "a", SUBTRACT: "s"}
SHAPE, CATEGORY = "", "c"
"""Kinds of parts, as they are written in addresses."""
_MOST_PARTS = 40


@dataclass(frozen=True, slots=True)
class MapPart:
    """One step of a selection: a shape or a category."""

    kind: str
    numbers: tuple[int, ...]
    """Corners of a shape, x and y in turn; or index of a category, -1 for "other"."""
    mode: str = REPLACE

    @property
    def corners(self) -> Polygon:
        """Return the (m, 2) corners of a shape; none for other parts."""
        return shape_of(self.numbers) if self.kind == SHAPE else shape_of(())

    def rows(self, units: Units, categories: npt.NDArray[np.int64], hidden: Sequence[int]) -> Rows:
        """Return the rows of (n, 2) points that this part selects; points of hidden categories are left out."""
        if self.kind == CATEGORY:
            found = np.flatnonzero(categories == self.numbers[0])
        elif len(units) > MANY_POINTS:
            found = inside_rows_of_many(units, self.corners)
        else:
            found = np.flatnonzero(inside(units, self.corners))
        return found[~np.isin(categories[found], np.asarray(hidden, dtype=np.int64))]

    def combined(self, before: npt.NDArray[Any], chosen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``before`` with the ``chosen`` rows or ids of this part added or removed, or replaced by them."""
        if self.mode == ADD:
            return np.union1d(before, chosen)
        return np.setdiff1d(before, chosen) if self.mode == SUBTRACT else chosen

    def described(self, names: Sequence[str]) -> str:
        """Return the part in words; ``names`` are those of the categories."""
        if self.kind == CATEGORY:
            known = 0 <= self.numbers[0] < len(names)
            found = f"all of “{names[self.numbers[0]]}”" if known else "all without a category of their own"
        else:
            found = "a shape"
        return {REPLACE: found, ADD: f"and {found}", SUBTRACT: f"without {found}"}[self.mode]


def part_of(event: Mapping[str, Any], categories: int) -> MapPart | None:
    """Return the part in an event of the browser about a map of ``categories``; None if it is not valid."""
    mode = event.get("mode", REPLACE)
    if mode not in _SIGNS:
        return None
    if "category" in event:
        kind = event["category"]
        fits = isinstance(kind, int) and 0 <= kind <= categories
        return MapPart(CATEGORY, (-1 if kind == categories else int(kind),), mode) if fits else None
    shape = shape_of(event.get("corners"))
    return MapPart(SHAPE, tuple(shape.astype(int).ravel().tolist()), mode) if len(shape) else None


def after(parts: Sequence[MapPart], new: MapPart) -> list[MapPart]:
    """Return the parts of a selection after a new one, which may replace the others."""
    return [new] if new.mode == REPLACE else [*parts, new][-_MOST_PARTS:]


def written(parts: Sequence[MapPart]) -> str:
    """Return parts as text of an address."""
    return ".".join(_SIGNS[part.mode] + part.kind + "_".join(map(str, part.numbers)) for part in parts)


def read(text: str) -> list[MapPart]:
    """Parse what :func:`written` returns; no parts if one is not valid."""
    found = [_read(part) for part in text.split(".")[:_MOST_PARTS]] if text else []
    return [part for part in found if part is not None] if all(found) else []


def _read(text: str) -> MapPart | None:
    mode = next((mode for mode, sign in _SIGNS.items() if sign and text.startswith(sign)), REPLACE)
    rest = text[len(_SIGNS[mode]) :]
    kind = CATEGORY if rest.startswith(CATEGORY) else SHAPE
    try:
        numbers = tuple(int(number) for number in rest[len(kind) :].split("_"))
    except ValueError:
        return None
    fits = len(numbers) == 1 and numbers[0] >= -1 if kind == CATEGORY else len(shape_of(numbers)) > 0
    return MapPart(kind, numbers, mode) if fits else None
