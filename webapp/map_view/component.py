"""The Streamlit component that draws a map, and what the browser sends back.

The points stay in the browser: those of a small map are sent once, those of a large one in tiles as they come into view
(:mod:`webapp.map_view.levels`). Hovering, searching and selecting send only a few hundred bytes. The browser sends
shapes and places of points, which become sentence ids here; shapes select among all points, drawn or not.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.config import digest_of
from webapp.map_view import geometry
from webapp.map_view.geometry import Rows, Units
from webapp.map_view.labels import Anchor, anchors_of
from webapp.map_view.levels import Levels, density, levels_of
from webapp.map_view.picture import map_png
from webapp.map_view.scene import Colouring, Scene
from webapp.map_view.view_state import MapState, camera_of
from webapp.shared import queries
from webapp.shared.components import asset
from webapp.shared.figures import Tones, ground, tones
from webapp.shared.text import count, shorten

_ASSETS = Path(__file__).parent / "assets"
_TOOLTIP_CHARS = 320
_OUTLIERS = 0.002
"""Share of the points at each border that the initial view leaves out."""
_SIZES, _SMALLEST = ((500, 8.0), (2_000, 6.0), (50_000, 4.0)), 2.5
_FRAME_POINTS = 100_000
_MOST_RINGS = 20_000
_MOST_TILES = 4_096
_HTML = '<div class="map-view"></div>'


@dataclass(frozen=True)
class Canvas:
    """The points of a map and their appearance."""

    scene: Scene
    colouring: Colouring
    units: Units
    """(n, 2) grid coordinates of the sentences of the scene; for a second map, the aligned ones."""
    found: Rows
    """Rows that a search found; they are drawn with a ring."""
    tones: Tones
    paper: str
    size: float
    opacity: float
    height: int
    name: str
    frame: list[int]
    """[left, bottom, right, top] of the initial view, in grid coordinates."""
    link: str = ""
    """Canvases of one page with the same link share pan and zoom."""
    side: int = 0
    """1 for the second of two maps."""
    action_queue: bool = False
    """Selections go through the message queue of the page, in order with its shortcuts, and the map itself has none."""

    @cached_property
    def _units_digest(self) -> str:
        return self.scene.units_digest if self.units is self.scene.units else geometry.digest(self.units)

    @cached_property
    def digest(self) -> str:
        """Hash of the points and their colours."""
        categories = geometry.digest(self.colouring.categories)
        return digest_of([self.scene.ids_digest, self._units_digest, categories])[:24]

    @cached_property
    def levels(self) -> Levels:
        """The tiles of the points."""
        return _levels(self._units_digest, self.units)

    @cached_property
    def sizes(self) -> list[int]:
        """Number of points of each category; that of "other" comes first."""
        counts = np.bincount(self.colouring.categories + 1, minlength=len(self.colouring.names) + 1)
        return [int(count) for count in counts]

    def row(self, event: Any) -> int:
        """Return the row of the point in a browser event about these points, else -1."""
        place = event.get("place") if self.concerns(event) else None
        return self.levels.row(place) if isinstance(place, int) else -1

    def concerns(self, event: Any) -> bool:
        """Return whether a browser event is about these points."""
        return isinstance(event, dict) and event.get("digest") == self.digest


@st.cache_resource(show_spinner=False, max_entries=6)
def _levels(digest: str, _units: Units) -> Levels:
    return levels_of(_units)


@st.cache_data(show_spinner=False, max_entries=6)
def _density(digest: str, _units: Units) -> str:
    return _packed(density(_units), "u1")


@st.cache_data(show_spinner=False, max_entries=16)
def _anchors(digest: str, _canvas: Canvas) -> list[Anchor]:
    return anchors_of(_canvas.units, _canvas.colouring.categories, len(_canvas.colouring.names))


def anchors(canvas: Canvas) -> list[Anchor]:
    """Return the anchors of the names of categories; values on a ramp have none."""
    return [] if canvas.colouring.shades else _anchors(canvas.digest, canvas)


def canvas_of(scene: Scene, colouring: Colouring, **fields: Any) -> Canvas:
    """Return the canvas of a scene in the theme of the browser; ``fields`` replace defaults."""
    theme = st.context.theme.type or "light"
    defaults: dict[str, Any] = {
        "units": scene.units,
        "found": np.empty(0, dtype=np.intp),
        "tones": tones(theme),
        "paper": ground(theme),
        "size": point_size(len(scene.ids)),
        "frame": frame_of(scene.units),
    }
    return Canvas(scene=scene, colouring=colouring, **(defaults | fields))


def source(*names: str) -> str:
    """Return the concatenated source of some asset files."""
    return asset(_ASSETS, *names)


POINTS_SOURCE = ("scene.js", "points.js")
VIEW_SOURCE = ("scene.js", "webgl.js", "levels.js", "frame.js", "labels.js", "input.js", "map_view.js")
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


def view(canvas: Canvas, state: MapState) -> None:
    """Draw the map with its tools and legend; what the user does on it changes ``state``."""
    draw = st.components.v2.component("themescope_map", html=_HTML, css=source(STYLE), js=source(*VIEW_SOURCE))
    key = f"view-{canvas.name}"

    def on(name: str, act: Callable[[Any], None]) -> Callable[[], None]:
        def read() -> None:
            value = (st.session_state.get(key) or {}).get(name)
            if value is not None:
                act(value)

        return read

    draw(
        data=view_data(canvas, state),
        key=key,
        on_area_change=on("area", lambda event: area(canvas, state, event)),
        on_point_change=on("point", lambda event: point(canvas, state, event)),
        on_hover_change=on("hover", lambda event: hover(canvas, state, event)),
        on_clear_change=on("clear", lambda event: state.clear()),
        on_hidden_change=on("hidden", lambda event: hide(canvas, state, event)),
        on_camera_change=on("camera", lambda event: move(state, event)),
        on_tiles_change=on("tiles", lambda event: request_tiles(canvas, state, event)),
        on_picture_change=on("picture", lambda event: show_picture(canvas, state, event)),
    )


@st.fragment
def interactive(canvas: Canvas, state: MapState, version: int, keep: Callable[[MapState], None] | None = None) -> None:
    """Draw the map in a fragment of its own, which hovering redraws alone; a selection redraws the page.

    Parameters
    ----------
    version
        Version of ``state`` that the rest of the page shows.
    keep
        Called with the state after each run, to write it into the address.
    """
    if state.version != version:
        st.rerun()
    view(canvas, state)
    if keep is not None:
        keep(state)


def view_data(canvas: Canvas, state: MapState) -> dict[str, Any]:
    """Return what the browser needs beside the first points; small for a map of any size."""
    scene, colouring = canvas.scene, canvas.colouring
    held = state.held.get(canvas.digest, canvas.levels.first())
    return {
        "digest": canvas.digest,
        "fit": canvas.frame,
        "label": f"Map of {count(len(scene.ids), 'sentence')}: lasso points to select them",
        "height": canvas.height,
        "size": canvas.size,
        "look": appearance(canvas),
        "anchors": anchors(canvas),
        "hidden": [len(colouring.names) if kind < 0 else kind for kind in state.hidden],
        "held": held,
        "selected": _bits(state.rows(scene), canvas.levels.rows(held), len(scene.ids)),
        "found": _points_of(canvas, canvas.found[:_MOST_RINGS]),
        "focus": canvas.units[scene.rows_of(np.array([state.sentence]))].ravel().tolist(),
        "shape": state.shape.astype(int).tolist() if state.side == canvas.side else [],
        "camera": state.camera,
        "link": canvas.link,
        "action_queue": canvas.action_queue,
        "tip": _tip(canvas, state.tip),
        "loaded": _loaded(canvas, state),
        "picture": _picture(canvas, state) if state.picture else None,
    }


def _loaded(canvas: Canvas, state: MapState) -> dict[str, Any] | None:
    """Return the tiles that the browser requested, once; it asks again if they do not arrive."""
    wanted = state.wanted.pop(canvas.digest, None)
    return tiles_data(canvas, wanted) if wanted else None


def _picture(canvas: Canvas, state: MapState) -> dict[str, str]:
    """Return an image of the map and its description, for a browser that cannot draw the points."""
    sizes = {name: canvas.sizes[i + 1] for i, name in enumerate(canvas.colouring.names)}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
    groups = ", ".join(f"{shorten(name, 60)} ({sizes[name]:,})" for name in largest if sizes[name])
    alt = f"Picture of {count(len(canvas.scene.ids), 'sentence')} on the map."
    png = _png(canvas.digest, canvas.paper, tuple(state.hidden), canvas)
    return {"source": f"data:image/png;base64,{png}", "alt": f"{alt} Largest groups: {groups}." if groups else alt}


@st.cache_data(show_spinner=False, max_entries=8)
def _png(digest: str, paper: str, hidden: tuple[int, ...], _canvas: Canvas) -> str:
    colouring, tones = _canvas.colouring, _canvas.tones
    colours = [colouring.paint(tones, category)[0] for category in (*range(len(colouring.names)), -1)]
    shown = np.flatnonzero(~np.isin(colouring.categories, np.array(hidden, dtype=np.int64)))
    png = map_png(_canvas.units[shown], colouring.categories[shown], colours, paper, _canvas.frame, _canvas.size)
    return base64.b64encode(png).decode("ascii")


def frame_of(units: Units) -> list[int]:
    """Return [left, bottom, right, top] around all points but outliers, which are found in a part of many points."""
    if not len(units):
        return [0, 0, geometry.UNITS, geometry.UNITS]
    some = units[:: len(units) // _FRAME_POINTS + 1]
    low, high = np.quantile(some, (_OUTLIERS, 1 - _OUTLIERS), axis=0)
    return [int(value) for value in (*low, *high)]


def point_size(n: int) -> float:
    """Return a readable diameter for the points of a map of ``n``, in pixels."""
    return next((size for most, size in _SIZES if n <= most), _SMALLEST)


def appearance(canvas: Canvas) -> dict[str, Any]:
    """Return colours, shapes, names and sizes of the categories, "other" last."""
    colouring, tones = canvas.colouring, canvas.tones
    classes = []
    for category in (*range(len(colouring.names)), -1):
        colour, shape = colouring.paint(tones, category)
        name = colouring.names[category] if category >= 0 else colouring.other
        about = {"name": shorten(name, 60), "count": canvas.sizes[category + 1], "other": category < 0}
        classes.append({"colour": colour, "shape": shape, **about})
    theme = {"ink": tones.ink, "accent": tones.accent, "paper": canvas.paper}
    return {"classes": classes, "opacity": canvas.opacity, **theme}


# ---------------------------------------------------------------- events from the browser


def area(canvas: Canvas, state: MapState, event: Any) -> None:
    """Select the points inside a shape that was drawn on this canvas."""
    if not canvas.concerns(event):
        return
    state.hidden = _categories(canvas, event.get("hidden"))
    shape = geometry.shape_of(event.get("corners"))
    if len(shape):
        state.shape, state.side = shape, canvas.side
        state.take(canvas.scene, canvas.units, canvas.colouring)


def point(canvas: Canvas, state: MapState, event: Any) -> None:
    """Show the details of a clicked point."""
    row = canvas.row(event)
    if row >= 0:
        state.click(int(canvas.scene.ids[row]))


def hover(canvas: Canvas, state: MapState, event: Any) -> None:
    """Show the tooltip of the point under the pointer."""
    row = canvas.row(event)
    state.tip = int(canvas.scene.ids[row]) if row >= 0 else -1


def hide(canvas: Canvas, state: MapState, event: Any) -> None:
    """Keep the categories that the legend hides."""
    if canvas.concerns(event):
        state.hidden = _categories(canvas, event.get("kinds"))


def move(state: MapState, event: Any) -> None:
    """Keep pan and zoom."""
    state.camera = camera_of(event)


def request_tiles(canvas: Canvas, state: MapState, event: Any) -> None:
    """Send the tiles that the browser asks for next."""
    if canvas.concerns(event):
        held = [number for number in _numbers(event.get("held")) if number < len(canvas.levels.tiles)]
        state.request_tiles(canvas.digest, held, canvas.levels.batch(_numbers(event.get("wanted"))))


def show_picture(canvas: Canvas, state: MapState, event: Any) -> None:
    """Draw the map as a picture from now on."""
    state.picture = state.picture or canvas.concerns(event)


def _numbers(value: Any) -> list[int]:
    listed = value[:_MOST_TILES] if isinstance(value, list) else []
    return list(dict.fromkeys(number for number in listed if isinstance(number, int) and number >= 0))


def _categories(canvas: Canvas, kinds: Any) -> list[int]:
    known = len(canvas.colouring.names)
    listed = kinds if isinstance(kinds, Sequence) else ()
    return sorted({-1 if kind == known else kind for kind in listed if isinstance(kind, int) and 0 <= kind <= known})


def _tip(canvas: Canvas, sentence: int) -> dict[str, Any] | None:
    scene = canvas.scene
    rows = scene.rows_of(np.array([sentence]))
    if not len(rows):
        return None
    row = int(rows[0])
    text = queries.sentences(np.array([sentence]))[sentence].text
    head = f"{shorten(scene.article(row), 60)} · {shorten(scene.section(row), 50)}"
    return {"place": canvas.levels.place(row), "head": head, "text": shorten(" ".join(text.split()), _TOOLTIP_CHARS)}


def _packed(values: npt.ArrayLike, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _bits(selected: Rows, sent: Rows, n: int) -> str:
    """Return one bit per point that was sent; "" if nothing is selected."""
    if not len(selected):
        return ""
    flags = np.zeros(n, dtype=np.bool_)
    flags[selected] = True
    return base64.b64encode(np.packbits(flags[sent]).tobytes()).decode("ascii")
