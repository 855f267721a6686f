"""A map of any size in a drawing of our own: points go down once, shapes and row numbers come up, ids stay here."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.config import digest_of
from webapp.map_view import map_choice, mapping
from webapp.map_view.colourings import Colouring
from webapp.map_view.map_choice import Choice
from webapp.map_view.map_scene import Scene
from webapp.map_view.mapping import Rows, Units
from webapp.shared import queries
from webapp.shared.palette import Tones
from webapp.shared.text import count, shorten

_ASSETS = Path(__file__).parent / "assets"
_LETTERS = 320
_FAR_OUT = 0.002
_HTML = '<div class="atlas"></div>'


@dataclass(frozen=True, slots=True)
class Canvas:
    """What is drawn, and how."""

    scene: Scene
    colouring: Colouring
    units: Units
    """(n, 2) where the sentences of the scene stand; of a second map, its aligned places."""
    found: Rows
    tones: Tones
    paper: str
    size: float
    opacity: float
    height: int
    name: str
    frame: list[int]
    """[left, low, right, high] of what is seen at first."""
    link: str = ""
    """Canvases of one page with the same link move together."""
    side: int = 0
    """1 for the second of two maps."""
    outbox: bool = False
    """What is chosen goes through the outbox of the page, in order with its keys; letters and digits are the page's."""

    @property
    def digest(self) -> str:
        """Names the points and their colours."""
        parts = (self.scene.ids, self.units, self.colouring.categories)
        return digest_of([mapping.digest(part) for part in parts])[:24]

    def row(self, event: Any) -> int:
        """The row that an event of these very points means, else -1."""
        row = event.get("row") if isinstance(event, dict) and event.get("digest") == self.digest else None
        return row if isinstance(row, int) and 0 <= row < len(self.scene.ids) else -1


@cache
def source(*names: str) -> str:
    """The files of the drawing, one after the other."""
    return "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)


POINTS_SOURCE = ("atlas_points.js",)
VIEW_SOURCE = ("atlas_drawing.js", "atlas_frame.js", "atlas_hands.js", "atlas.js")


def points(canvas: Canvas) -> None:
    """Send the points down. They change with a filter or another colouring, and not when something is selected."""
    send = st.components.v2.component("themescope_map_points", js=source(*POINTS_SOURCE))
    send(data=points_data(canvas), key=f"points-{canvas.name}", height=1)


def points_data(canvas: Canvas) -> dict[str, Any]:
    """Two bytes a coordinate and one for the colour of each point."""
    kinds = np.where(canvas.colouring.categories < 0, len(canvas.colouring.names), canvas.colouring.categories)
    return {"digest": canvas.digest, "places": _packed(canvas.units, "<u2"), "kinds": _packed(kinds, "u1")}


def view(canvas: Canvas, choice: Choice) -> None:
    """The map with its tools and legend. What is chosen on it is in ``choice``; a fragment of its own redraws it."""
    draw = st.components.v2.component("themescope_map", html=_HTML, css=source("atlas.css"), js=source(*VIEW_SOURCE))
    key = f"view-{canvas.name}"

    def told(name: str, act: Callable[[Any], None]) -> Callable[[], None]:
        def read() -> None:
            value = (st.session_state.get(key) or {}).get(name)
            if value is not None:
                act(value)

        return read

    draw(
        data=view_data(canvas, choice),
        key=key,
        on_area_change=told("area", lambda event: area(canvas, choice, event)),
        on_point_change=told("point", lambda event: point(canvas, choice, event)),
        on_hover_change=told("hover", lambda event: hover(canvas, choice, event)),
        on_clear_change=told("clear", lambda event: choice.clear()),
        on_hidden_change=told("hidden", lambda event: hide(canvas, choice, event)),
        on_camera_change=told("camera", lambda event: move(choice, event)),
    )


def view_data(canvas: Canvas, choice: Choice) -> dict[str, Any]:
    """What the drawing needs beside the points: small, whatever the size of the map."""
    scene, colouring = canvas.scene, canvas.colouring
    selected = choice.rows(scene)
    return {
        "digest": canvas.digest,
        "fit": canvas.frame,
        "label": f"Map of {count(len(scene.ids), 'sentence')}: draw around points to select them",
        "height": canvas.height,
        "size": canvas.size,
        "look": look(canvas),
        "hidden": [len(colouring.names) if kind < 0 else kind for kind in choice.hidden],
        "selected": _bits(selected, len(scene.ids)),
        "found": _bits(canvas.found, len(scene.ids)),
        "focus": next(iter(scene.rows_of(np.array([choice.sentence])).tolist()), -1),
        "shape": choice.shape.astype(int).tolist() if choice.side == canvas.side else [],
        "camera": choice.camera,
        "link": canvas.link,
        "outbox": canvas.outbox,
        "tip": _tip(scene, choice.tip),
    }


def frame_of(units: Units) -> list[int]:
    """[left, low, right, high] around all but the few points that lie far out; around all of them where few are."""
    if not len(units):
        return [0, 0, mapping.UNITS, mapping.UNITS]
    low, high = np.quantile(units, (_FAR_OUT, 1 - _FAR_OUT), axis=0)
    return [int(value) for value in (*low, *high)]


def look(canvas: Canvas) -> dict[str, Any]:
    """Colours, shapes, names and sizes of the categories, "other" last."""
    colouring, tones = canvas.colouring, canvas.tones
    sizes = np.bincount(colouring.categories + 1, minlength=len(colouring.names) + 1)
    classes = []
    for category in (*range(len(colouring.names)), -1):
        colour, shape = colouring.paint(tones, category)
        name = colouring.names[category] if category >= 0 else colouring.other
        about = {"name": shorten(name, 60), "count": int(sizes[category + 1]), "other": category < 0}
        classes.append({"colour": colour, "shape": shape, **about})
    ground = {"ink": tones.ink, "accent": tones.accent, "paper": canvas.paper}
    return {"classes": classes, "opacity": canvas.opacity, **ground}


# ---------------------------------------------------------------- what comes up


def area(canvas: Canvas, choice: Choice, event: Any) -> None:
    """Select what lies inside a shape that was drawn on these points."""
    if not isinstance(event, dict) or event.get("digest") != canvas.digest:
        return
    choice.hidden = _categories(canvas, event.get("hidden"))
    shape = mapping.shape_of(event.get("corners"))
    if len(shape):
        choice.shape, choice.side = shape, canvas.side
        choice.take(canvas.scene, canvas.units, canvas.colouring)


def point(canvas: Canvas, choice: Choice, event: Any) -> None:
    """Show the details of the point that was clicked."""
    row = canvas.row(event)
    if row >= 0:
        choice.click(int(canvas.scene.ids[row]))


def hover(canvas: Canvas, choice: Choice, event: Any) -> None:
    """Answer with the text of the point that is pointed at."""
    row = canvas.row(event)
    choice.tip = int(canvas.scene.ids[row]) if row >= 0 else -1


def hide(canvas: Canvas, choice: Choice, event: Any) -> None:
    """Keep what the legend hides."""
    if isinstance(event, dict) and event.get("digest") == canvas.digest:
        choice.hidden = _categories(canvas, event.get("kinds"))


def move(choice: Choice, event: Any) -> None:
    """Keep what part of the map is looked at."""
    choice.camera = map_choice.camera_of(event)


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
    return {"row": row, "head": head, "text": shorten(" ".join(text.split()), _LETTERS)}


def _packed(values: npt.ArrayLike, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _bits(rows: Rows, n: int) -> str:
    """One bit a point; "" for no rows."""
    if not len(rows):
        return ""
    flags = np.zeros(n, dtype=np.uint8)
    flags[rows] = 1
    return base64.b64encode(np.packbits(flags).tobytes()).decode("ascii")
