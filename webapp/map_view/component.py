"""The Streamlit component that draws a map, and what the browser sends back.

The points are sent once and stay in the browser; hovering, searching and selecting send only a few hundred bytes. The
browser sends shapes and row numbers, which become sentence ids here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.config import digest_of
from webapp.map_view import geometry
from webapp.map_view.geometry import Rows, Units
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
_HTML = '<div class="map-view"></div>'


@dataclass(frozen=True, slots=True)
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

    @property
    def digest(self) -> str:
        """Hash of the points and their colours."""
        parts = (self.scene.ids, self.units, self.colouring.categories)
        return digest_of([geometry.digest(part) for part in parts])[:24]

    def row(self, event: Any) -> int:
        """Return the row in a browser event about these points, else -1."""
        row = event.get("row") if isinstance(event, dict) and event.get("digest") == self.digest else None
        return row if isinstance(row, int) and 0 <= row < len(self.scene.ids) else -1


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


POINTS_SOURCE = ("points.js",)
VIEW_SOURCE = ("webgl.js", "frame.js", "input.js", "map_view.js")
STYLE = "map_view.css"


def points(canvas: Canvas) -> None:
    """Send the points to the browser. They change with a filter or the colouring, not with a selection."""
    send = st.components.v2.component("themescope_map_points", js=source(*POINTS_SOURCE))
    send(data=points_data(canvas), key=f"points-{canvas.name}", height=1)


def points_data(canvas: Canvas) -> dict[str, Any]:
    """Return the points: two bytes per coordinate and one for the category of each."""
    kinds = np.where(canvas.colouring.categories < 0, len(canvas.colouring.names), canvas.colouring.categories)
    return {"digest": canvas.digest, "places": _packed(canvas.units, "<u2"), "kinds": _packed(kinds, "u1")}


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
    """Return what the browser needs beside the points; small for a map of any size."""
    scene, colouring = canvas.scene, canvas.colouring
    selected = state.rows(scene)
    return {
        "digest": canvas.digest,
        "fit": canvas.frame,
        "label": f"Map of {count(len(scene.ids), 'sentence')}: lasso points to select them",
        "height": canvas.height,
        "size": canvas.size,
        "look": appearance(canvas),
        "hidden": [len(colouring.names) if kind < 0 else kind for kind in state.hidden],
        "selected": _bits(selected, len(scene.ids)),
        "found": _bits(canvas.found, len(scene.ids)),
        "focus": next(iter(scene.rows_of(np.array([state.sentence])).tolist()), -1),
        "shape": state.shape.astype(int).tolist() if state.side == canvas.side else [],
        "camera": state.camera,
        "link": canvas.link,
        "action_queue": canvas.action_queue,
        "tip": _tip(scene, state.tip),
    }


def frame_of(units: Units) -> list[int]:
    """Return [left, bottom, right, top] around all points but outliers."""
    if not len(units):
        return [0, 0, geometry.UNITS, geometry.UNITS]
    low, high = np.quantile(units, (_OUTLIERS, 1 - _OUTLIERS), axis=0)
    return [int(value) for value in (*low, *high)]


def point_size(n: int) -> float:
    """Return a readable diameter for the points of a map of ``n``, in pixels."""
    return next((size for most, size in _SIZES if n <= most), _SMALLEST)


def appearance(canvas: Canvas) -> dict[str, Any]:
    """Return colours, shapes, names and sizes of the categories, "other" last."""
    colouring, tones = canvas.colouring, canvas.tones
    sizes = np.bincount(colouring.categories + 1, minlength=len(colouring.names) + 1)
    classes = []
    for category in (*range(len(colouring.names)), -1):
        colour, shape = colouring.paint(tones, category)
        name = colouring.names[category] if category >= 0 else colouring.other
        about = {"name": shorten(name, 60), "count": int(sizes[category + 1]), "other": category < 0}
        classes.append({"colour": colour, "shape": shape, **about})
    theme = {"ink": tones.ink, "accent": tones.accent, "paper": canvas.paper}
    return {"classes": classes, "opacity": canvas.opacity, **theme}


# ---------------------------------------------------------------- events from the browser


def area(canvas: Canvas, state: MapState, event: Any) -> None:
    """Select the points inside a shape that was drawn on this canvas."""
    if not isinstance(event, dict) or event.get("digest") != canvas.digest:
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
    if isinstance(event, dict) and event.get("digest") == canvas.digest:
        state.hidden = _categories(canvas, event.get("kinds"))


def move(state: MapState, event: Any) -> None:
    """Keep pan and zoom."""
    state.camera = camera_of(event)


def _categories(canvas: Canvas, kinds: Any) -> list[int]:
    known = len(canvas.colouring.names)
    listed = kinds if isinstance(kinds, Sequence) else ()
    return sorted({-1 if kind == known else kind for kind in listed if isinstance(kind, int) and 0 <= kind <= known})


def _tip(scene: Scene, sentence: int) -> dict[str, Any] | None:
    rows = scene.rows_of(np.array([sentence]))
    if not len(rows):
        return None
    row = int(rows[0])
    text = queries.sentences(np.array([sentence]))[sentence].text
    head = f"{shorten(scene.article(row), 60)} · {shorten(scene.section(row), 50)}"
    return {"row": row, "head": head, "text": shorten(" ".join(text.split()), _TOOLTIP_CHARS)}


def _packed(values: npt.ArrayLike, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _bits(rows: Rows, n: int) -> str:
    """Return one bit per point; "" for no rows."""
    if not len(rows):
        return ""
    flags = np.zeros(n, dtype=np.uint8)
    flags[rows] = 1
    return base64.b64encode(np.packbits(flags).tobytes()).decode("ascii")
