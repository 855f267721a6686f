"""The sentences of a map without their text, and the colours of their categories.

Row i of every array is one sentence: a few arrays, also for a million sentences. Texts are read for the rows that are
shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.errors import DataError
from themescope.core.labelling.operations import Origin
from themescope.core.records.stored import ArticleRecord, MapRecord
from themescope.core.types import Ids, Points, Sentence
from themescope.webapp.map_view import geometry
from themescope.webapp.map_view.geometry import Grid, Rows, Units
from themescope.webapp.map_view.parts import MapPart, after
from themescope.webapp.shared import queries
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.selections import selections

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
    grid: Grid

    @cached_property
    def ids_digest(self) -> str:
        """Hash of the ids."""
        return geometry.digest(self.ids)

    @cached_property
    def units_digest(self) -> str:
        """Hash of the points on the grid."""
        return geometry.digest(self.units)

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
        return geometry.rows_of(self.ids, ids)


@st.cache_resource(show_spinner="Opening the map …", max_entries=4, hash_funcs=queries.HASHES)
def opened(record: MapRecord) -> Scene:
    """Return the scene of a stored map, cached by the digest of its content."""
    placed = queries.map_points(record.id)
    places = queries.read(lambda r: r.maps.places(placed.sentence_ids))
    points = placed.points[geometry.rows_of(placed.sentence_ids, places.ids)]
    if not len(points):
        raise DataError(f"The sentences of the map “{record.name}” no longer exist. Draw the map again.")
    known = queries.articles_by_id(np.unique(places.articles))
    grid = Grid.around(points)
    articles = places.articles, places.positions, places.sections, list(places.titles)
    return Scene(places.ids, points, grid.units(points), *articles, known, grid)


def texts(scene: Scene, rows: npt.NDArray[np.intp]) -> list[Sentence]:
    """Return the sentences of some rows, in their order."""
    found = queries.sentences(scene.ids[rows])
    return [found[int(i)] for i in scene.ids[rows]]


Categories = npt.NDArray[np.int64]  # (n,) category of each point, -1 for "other"
Numbers = npt.NDArray[np.floating]

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
    values: Numbers | None = None
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


def _none() -> Ids:
    return np.empty(0, dtype=np.int64)


@dataclass
class MapState:
    """Selection and view of one map, kept in the session: sentence ids, and the parts that they come from."""

    ids: Ids = field(default_factory=_none)
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
        self.ids, self.parts, self.origin = _none(), [], None
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
    except (TypeError, ValueError):
        return None
    fits = all(np.isfinite([x, y, unit])) and 0 < unit <= geometry.UNITS and abs(x) + abs(y) <= 64 * geometry.UNITS
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
