"""The Streamlit component that draws a map, and what the browser sends back.

The points stay in the browser: those of a small map are sent once, those of a large one in tiles as they come into view
(:mod:`themescope.webapp.map_view.labels`). Hovering, searching and selecting send only a few hundred bytes. The browser
sends shapes and places of points, which become sentence ids here; shapes select among all points, drawn or not.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.config import digest_of
from themescope.webapp.map_view import scene as geometry
from themescope.webapp.map_view.labels import Levels, Name, Texts, density, levels_of, names_of
from themescope.webapp.map_view.scene import (
    SHAPE,
    Colouring,
    MapState,
    Rows,
    Scene,
    Units,
    camera_of,
    channels,
    part_of,
)
from themescope.webapp.shared.components import asset
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.text import count, shorten

_ASSETS = Path(__file__).parent / "assets"
_TOOLTIP_CHARS, _PIN_CHARS, _MOST_RINGS = 320, 120, 20_000
PINS = 20
"""Number of search results with a numbered pin."""


@dataclass(frozen=True)
class Canvas:
    """The points of a map and their appearance."""

    scene: Scene
    colouring: Colouring
    units: Units
    """(n, 2) grid coordinates of the sentences of the scene."""
    found: Rows
    """Rows that a search found; they are drawn with a ring."""
    tones: Tones
    size: float
    opacity: float
    height: int
    name: str
    frame: list[int]
    """[left, bottom, right, top] of the initial view, in grid coordinates."""
    context: Units = field(default_factory=lambda: np.empty((0, 2), np.uint16))
    """(m, 2) points that a filter leaves out; they are drawn in grey below the others and cannot be selected."""
    fill: int | None = None
    """The map fills the window down to this distance from its lower border, in pixels; None for a fixed height."""
    texts: Texts | None = None
    """Returns the texts of rows, from which groups and parts of categories are named; without it they have no names."""
    page: Mapping[str, Any] | None = None
    """What the page adds to the toolbar; events of kind "ask" come from it. The "options" of "colour", the "chosen" one
    among them; the number of active "filters"; whether their panel is open ("filtering"); and id and label of each
    entry of the last menu ("more")."""
    status: str = ""
    """What stands below the points; "": their number."""

    @cached_property
    def _units_digest(self) -> str:
        return self.scene.units_digest if self.units is self.scene.units else geometry.digest(self.units)

    @cached_property
    def digest(self) -> str:
        """Hash of the points and their colours."""
        categories = geometry.digest(self.colouring.categories)
        context = geometry.digest(self.context) if len(self.context) else ""
        return digest_of([self.scene.ids_digest, self._units_digest, categories, context])[:24]

    @cached_property
    def levels(self) -> Levels:
        """The tiles of the points."""
        return _levels(self._units_digest, self.units)

    @cached_property
    def sizes(self) -> list[int]:
        """Number of shown points of each category; that of "other" comes first."""
        categories = self.colouring.categories
        return [int(count) for count in np.bincount(categories + 1, minlength=len(self.colouring.names) + 1)]

    def row(self, event: Any) -> int:
        """Return the row of the point in a browser event about these points, else -1."""
        place = event.get("place") if self.concerns(event) else None
        return self.levels.row(place) if isinstance(place, int) else -1

    def concerns(self, event: Any) -> bool:
        """Return whether a browser event is about these points."""
        return isinstance(event, dict) and event.get("digest") == self.digest

    def only(self, rows: Rows) -> Canvas:
        """Return the canvas of some rows."""
        place, of = np.full(len(self.units), -1), self.texts
        place[rows] = np.arange(len(rows))
        found = place[self.found]
        return replace(
            self,
            scene=self.scene.only(rows),
            colouring=self.colouring.only(rows),
            units=self.units[rows],
            found=found[found >= 0],
            texts=None if of is None else lambda some: of(rows[some]),
        )


@st.cache_resource(show_spinner=False, max_entries=6)
def _levels(digest: str, _units: Units) -> Levels:
    return levels_of(_units)


@st.cache_data(show_spinner=False, max_entries=6)
def _density(digest: str, _units: Units) -> str:
    return _packed(density(_units), "u1")


@st.cache_data(show_spinner=False, max_entries=16)
def _names(digest: str, shown: tuple[str, ...], texts: bool, _canvas: Canvas) -> list[Name]:
    return names_of(_canvas.units, _canvas.colouring.categories, shown, _canvas.texts if texts else None)


@st.cache_data(show_spinner=False, max_entries=4, hash_funcs={Canvas: lambda canvas: canvas.digest})
def outline(canvas: Canvas) -> list[dict[str, Any]]:
    """Return the map as a list: of each category the nearest other ones, and its sentences at its densest place."""
    found = outline_of(canvas.units, canvas.colouring.categories, len(canvas.colouring.names))
    listed = np.array([row for *_, rows in found for row in rows], dtype=np.intp)
    texts = iter([] if canvas.texts is None else canvas.texts(listed))
    groups = []
    for kind, near, rows in found:
        some = [shorten(" ".join(text.split()), _TOOLTIP_CHARS) for _, text in zip(rows, texts, strict=False)]
        sentences = [[canvas.levels.place(row), text] for row, text in zip(rows, some, strict=False)]
        groups.append({"kind": kind, "near": near, "sentences": sentences})
    return groups


def names(canvas: Canvas) -> list[Name]:
    """Return the names on the map; values on a ramp have none, so that regions of the map are named instead."""
    shown = () if canvas.colouring.shades else tuple(canvas.colouring.names)
    return _names(canvas.digest, shown, canvas.texts is not None, canvas)


def canvas_of(scene: Scene, colouring: Colouring, **fields: Any) -> Canvas:
    """Return the canvas of a scene in the theme of the browser; ``fields`` replace defaults."""
    defaults: dict[str, Any] = {
        "units": scene.units,
        "found": np.empty(0, dtype=np.intp),
        "tones": tones(st.context.theme.type),
        "size": geometry.point_size(len(scene.ids)),
        "frame": geometry.frame_of(scene.units),
        "texts": lambda rows: [sentence.text for sentence in geometry.texts(scene, rows)],
    }
    return Canvas(scene=scene, colouring=colouring, **(defaults | fields))


def source(*names: str) -> str:
    """Return the concatenated source of some asset files."""
    return asset(_ASSETS, *names)


POINTS_SOURCE = ("scene.js", "points.js")
VIEW_SOURCE = (
    "elements.js",
    "scene.js",
    "webgl.js",
    "levels.js",
    "tools.js",
    "legend.js",
    "card.js",
    "labels.js",
    "pins.js",
    "input.js",
    "outline.js",
    "map_view.js",
)
STYLE = "map_view.css"


def points(canvas: Canvas) -> None:
    """Send the first points to the browser. They change with a filter or the colouring, not with a selection."""
    send = st.components.v2.component("themescope_map_points", js=source(*POINTS_SOURCE))
    send(data=points_data(canvas), key=f"points-{canvas.name}", height=1)


def points_data(canvas: Canvas) -> dict[str, Any]:
    """Return the list of tiles and the points of the first ones; for a map with several tiles also its density."""
    levels, several = canvas.levels, len(canvas.levels.tiles) > 1
    return {
        "digest": canvas.digest,
        "total": len(canvas.scene.ids),
        "index": levels.index(),
        "density": _density(canvas._units_digest, canvas.units) if several else "",
        "context": _packed(canvas.context, "<u2"),
        **tiles_data(canvas, levels.first()),
    }


def tiles_data(canvas: Canvas, tiles: Sequence[int]) -> dict[str, Any]:
    """Return the points of some tiles, one after the other; see :func:`_points_of`."""
    return {"tiles": list(tiles), **_points_of(canvas, canvas.levels.rows(tiles))}


def _points_of(canvas: Canvas, rows: Rows) -> dict[str, str]:
    """Return the points of some rows: two bytes per coordinate and one for the category of each."""
    categories = canvas.colouring.categories[rows]
    kinds = np.where(categories < 0, len(canvas.colouring.names), categories)
    return {"places": _packed(canvas.units[rows], "<u2"), "kinds": _packed(kinds, "u1")}


@st.fragment
def interactive(canvas: Canvas, state: MapState, version: int, keep: Callable[[MapState], None] | None = None) -> None:
    """Draw the map with its tools and legend; what the user does on it changes ``state``.

    The map is a fragment of its own, which hovering redraws alone; a selection redraws the page, which shows the given
    version of ``state``. ``keep`` is called with the state after each run, to write it into the address.
    """
    if state.version != version:
        st.rerun()
    html, key = '<div class="map-view"></div>', f"view-{canvas.name}"
    draw = st.components.v2.component("themescope_map", html=html, css=source(STYLE), js=source(*VIEW_SOURCE))

    def read(name: str) -> None:
        value = (st.session_state.get(key) or {}).get(name)
        if value is not None:
            handle(canvas, state, name, value)

    changes: dict[str, Any] = {f"on_{name}_change": partial(read, name) for name in EVENTS}
    draw(data=view_data(canvas, state), key=key, **changes)
    if keep is not None:
        keep(state)


def view_data(canvas: Canvas, state: MapState) -> dict[str, Any]:
    """Return what the browser needs beside the first points; small for a map of any size."""
    scene, colouring = canvas.scene, canvas.colouring
    held = state.held.get(canvas.digest, canvas.levels.first())
    marked = state.rows(scene) if len(state.ids) else canvas.found
    wanted = state.wanted.pop(canvas.digest, None)
    loaded = tiles_data(canvas, wanted) if wanted else None
    return {
        "digest": canvas.digest,
        "fit": canvas.frame,
        "label": f"Map of {count(len(scene.ids), 'unit')}: arrow keys go from point to point, Enter opens",
        "height": canvas.height,
        "fill": canvas.fill,
        "size": canvas.size,
        "look": appearance(canvas),
        "names": [name.sent() for name in names(canvas)],
        "hidden": [len(colouring.names) if kind < 0 else kind for kind in state.hidden],
        "held": held,
        "marked": _bits(marked, canvas.levels.rows(held), len(scene.ids)),
        "found": _points_of(canvas, canvas.found[:_MOST_RINGS]),
        "pins": pins(canvas),
        "focus": canvas.units[scene.rows_of(np.array([state.sentence]))].ravel().tolist(),
        "shapes": [part.corners.astype(int).tolist() for part in state.parts if part.kind == SHAPE],
        "camera": state.camera,
        "page": canvas.page,
        "status": canvas.status or None,
        "handled": state.handled.get(canvas.name, 0),
        "tip": _tip(canvas, state.tip),
        "loaded": loaded,
        "picture": _picture(canvas, state) if state.picture else None,
        "outline": outline(canvas) if state.outlined == canvas.digest else None,
    }


def pins(canvas: Canvas) -> list[list[Any]]:
    """Return x, y, place and text of the first points that a search found, in its order."""
    rows = canvas.found[:PINS]
    if canvas.texts is None or not len(rows):
        return []
    places = [canvas.levels.place(int(row)) for row in rows]
    texts = [shorten(" ".join(text.split()), _PIN_CHARS) for text in canvas.texts(rows)]
    return [[*canvas.units[row].tolist(), place, text] for row, place, text in zip(rows, places, texts, strict=True)]


def _picture(canvas: Canvas, state: MapState) -> dict[str, str]:
    """Return an image of the map and its description, for a browser that cannot draw the points."""
    sizes = {name: canvas.sizes[i + 1] for i, name in enumerate(canvas.colouring.names)}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
    groups = ", ".join(f"{shorten(name, 60)} ({sizes[name]:,})" for name in largest if sizes[name])
    alt = f"Picture of {count(len(canvas.scene.ids), 'unit')} on the map."
    png = base64.b64encode(picture_png(canvas, tuple(state.hidden))).decode("ascii")
    return {"source": f"data:image/png;base64,{png}", "alt": f"{alt} Largest groups: {groups}." if groups else alt}


@st.cache_data(show_spinner=False, max_entries=8, hash_funcs={Canvas: lambda one: (one.digest, one.tones.paper)})
def picture_png(canvas: Canvas, hidden: tuple[int, ...]) -> bytes:
    """Return the PNG image of the points of the categories that are not hidden."""
    colouring, tones = canvas.colouring, canvas.tones
    colours = [colouring.paint(tones, category)[0] for category in (*range(len(colouring.names)), -1)]
    shown = np.flatnonzero(~np.isin(colouring.categories, np.array(hidden, dtype=np.int64)))
    return map_png(canvas.units[shown], colouring.categories[shown], colours, tones.paper, canvas.frame, canvas.size)


def appearance(canvas: Canvas) -> dict[str, Any]:
    """Return colours, shapes, names and sizes of the categories, "other" last."""
    colouring, tones = canvas.colouring, canvas.tones
    classes = []
    for category in (*range(len(colouring.names)), -1):
        colour, shape = colouring.paint(tones, category)
        name = colouring.names[category] if category >= 0 else colouring.other
        about = {"name": shorten(name, 60), "count": canvas.sizes[category + 1], "other": category < 0}
        classes.append({"colour": colour, "shape": shape, **about})
    theme = {"ink": tones.ink, "accent": tones.accent, "paper": tones.paper, "grey": tones.other}
    return {"classes": classes, "opacity": canvas.opacity, **theme}


def _tip(canvas: Canvas, sentence: int) -> dict[str, Any] | None:
    scene = canvas.scene
    rows = scene.rows_of(np.array([sentence]))
    if not len(rows):
        return None
    row = int(rows[0])
    text = "" if canvas.texts is None else canvas.texts(rows)[0]
    head = [shorten(scene.article(row), 60), shorten(scene.section(row), 60)]
    here = int(np.count_nonzero((canvas.units == canvas.units[row]).all(axis=1)))
    head += [f"{here:,} units at this point"] if here > 1 else []
    group, kind = shorten(canvas.colouring.name(row), 60), int(canvas.colouring.categories[row])
    return {
        "place": canvas.levels.place(row),
        "head": " · ".join(filter(None, head)),
        "group": "" if group in head else group,
        "kind": kind if kind >= 0 else len(canvas.colouring.names),
        "text": shorten(" ".join(text.split()), _TOOLTIP_CHARS),
    }


def _packed(values: npt.ArrayLike, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _bits(selected: Rows, sent: Rows, n: int) -> str:
    """Return one bit per point that was sent; "" if nothing is selected."""
    if not len(selected):
        return ""
    flags = np.zeros(n, dtype=np.bool_)
    flags[selected] = True
    return base64.b64encode(np.packbits(flags[sent]).tobytes()).decode("ascii")


# A map for those who do not see its points: a PNG image for browsers without WebGL2, and a list for screen readers


WIDTH, HEIGHT = 960, 600
_ZOOM_OUT = 1.06
_FAINTEST = 0.35
"""Opacity of a single point; the densest pixel is opaque."""


def map_png(
    units: Units,
    categories: npt.NDArray[np.int64],
    colours: Sequence[str],
    paper: str,
    frame: Sequence[int],
    size: float,
) -> bytes:
    """Return a PNG image of (n, 2) points, n ≥ 0, inside a frame [left, bottom, right, top] of the grid.

    The colour of a pixel is the mean of the colours of its points. ``colours`` are those of the categories 0, 1, …, and
    at last that of -1; ``size`` is the diameter of a point in pixels.
    """
    from PIL import Image

    left, bottom, right, top = frame
    step = _ZOOM_OUT * max((right - left) / WIDTH, (top - bottom) / HEIGHT, 0.01)
    x = np.floor((units[:, 0] - (left + right) / 2) / step + WIDTH / 2).astype(np.int64)
    y = np.floor(HEIGHT / 2 - (units[:, 1] - (bottom + top) / 2) / step).astype(np.int64)
    table = np.array([channels(colour) for colour in colours], dtype=np.float64)
    counts, sums = np.zeros(WIDTH * HEIGHT), np.zeros((3, WIDTH * HEIGHT))
    radius = int(size // 2)
    steps = range(-radius, radius + 1)
    for dx, dy in ((dx, dy) for dx in steps for dy in steps if dx * dx + dy * dy <= radius * radius):
        inside = (x + dx >= 0) & (x + dx < WIDTH) & (y + dy >= 0) & (y + dy < HEIGHT)
        pixels = (y[inside] + dy) * WIDTH + x[inside] + dx
        painted = table[categories[inside]]
        counts += np.bincount(pixels, minlength=len(counts))
        for channel in range(3):
            sums[channel] += np.bincount(pixels, painted[:, channel], minlength=len(counts))
    means = sums / np.maximum(counts, 1)
    opacity = np.where(counts > 0, _FAINTEST + (1 - _FAINTEST) * np.log1p(counts) / np.log1p(max(counts.max(), 1)), 0)
    pixels = np.rint(means * opacity + np.array(channels(paper))[:, None] * (1 - opacity)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels.T.reshape(HEIGHT, WIDTH, 3))).save(stream, "PNG")
    return stream.getvalue()


_NEAR, _SENTENCES = 3, 5


def outline_of(units: Units, categories: npt.NDArray[np.int64], names: int) -> list[tuple[int, list[int], list[int]]]:
    """Return the categories of (n, 2) points that have any, largest first and "other" last.

    Each is its index, which is ``names`` for "other"; the nearest other categories by their centres, nearest first; and
    the rows that are nearest to its centre, the median of its points in each direction.
    """
    kinds = np.where(categories < 0, names, categories)
    sizes = np.bincount(kinds, minlength=names + 1)
    there = sorted(np.flatnonzero(sizes).tolist(), key=lambda kind: (kind == names, -int(sizes[kind]), kind))
    members = {kind: np.flatnonzero(kinds == kind) for kind in there}
    centres = np.array([np.median(units[members[kind]], axis=0) for kind in there]).reshape(-1, 2)
    groups = []
    for place, kind in enumerate(there):
        rows, far = members[kind], ((centres - centres[place]) ** 2).sum(axis=1)
        near = [there[other] for other in np.argsort(far, kind="stable") if other != place and there[other] != names]
        distances = ((units[rows] - centres[place]) ** 2).sum(axis=1)
        closest = rows[np.argsort(distances, kind="stable")[:_SENTENCES]]
        groups.append((kind, near[:_NEAR], closest.tolist()))
    return groups


# What the browser sends about a map: selections, clicks, pan and zoom, and requests for tiles

_MOST_TILES = 4_096

EVENTS = ("events", "hover", "hidden", "camera", "tiles", "picture", "outline")
"""What the browser sends. "events" are those that must not be lost: areas, points, "clear" and what is requested."""


def handle(canvas: Canvas, state: MapState, name: str, event: Any) -> None:
    """Change the state of a map as an event of the browser says; one about other points changes nothing."""
    if name == "events":
        _handle_new(canvas, state, event)
    elif name == "clear":
        state.clear()
    elif name == "ask" and isinstance(event, Mapping):  # the page draws what the menus of the map ask for
        state.asked = str(event.get("what")), str(event.get("value"))
        state.version += 1
    elif name == "camera":  # pan and zoom
        state.camera = camera_of(event)
    elif name == "outline":  # the canvas whose list of categories and sentences is open
        state.outlined = str(event)
    elif name == "hover":  # the point under the pointer has a tooltip
        row = canvas.row(event)
        state.tip = int(canvas.scene.ids[row]) if row >= 0 else -1
    elif canvas.concerns(event):
        _handle(canvas, state, name, event)


def _handle_new(canvas: Canvas, state: MapState, message: Any) -> None:
    """Handle the events of a list that were not handled before: the browser repeats those that wait."""
    listed = message.get("list") if isinstance(message, Mapping) else None
    for event in listed if isinstance(listed, list) else ():
        number = event.get("number") if isinstance(event, Mapping) else None
        if isinstance(number, int) and number > state.handled.get(canvas.name, 0):
            state.handled[canvas.name] = number
            handle(canvas, state, str(event.get("kind")), event.get("value"))


def _handle(canvas: Canvas, state: MapState, name: str, event: Mapping[str, Any]) -> None:
    if name == "area":  # a shape or a category is selected
        state.hidden = _categories(canvas, event.get("hidden"))
        part = part_of(event, len(canvas.colouring.names))
        if part is not None:
            state.extend(part, canvas.scene, canvas.units, canvas.colouring)
    elif name == "point":  # a point was clicked
        row = canvas.row(event)
        if row >= 0:
            state.click(int(canvas.scene.ids[row]))
    elif name == "hidden":  # in the legend
        state.hidden = _categories(canvas, event.get("kinds"))
    elif name == "tiles":  # the browser asks for more
        held = [number for number in _numbers(event.get("held")) if number < len(canvas.levels.tiles)]
        state.request_tiles(canvas.digest, held, canvas.levels.batch(_numbers(event.get("wanted"))))
    elif name == "picture":  # the browser cannot draw the points
        state.picture = True


def _numbers(value: Any) -> list[int]:
    listed = value[:_MOST_TILES] if isinstance(value, list) else []
    return list(dict.fromkeys(number for number in listed if isinstance(number, int) and number >= 0))


def _categories(canvas: Canvas, kinds: Any) -> list[int]:
    known = len(canvas.colouring.names)
    listed = kinds if isinstance(kinds, Sequence) else ()
    return sorted({-1 if kind == known else kind for kind in listed if isinstance(kind, int) and 0 <= kind <= known})
