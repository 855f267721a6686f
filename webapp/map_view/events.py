"""What the browser sends about a map: selections, clicks, pan and zoom, and requests for tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from themescope.webapp.map_view.parts import part_of
from themescope.webapp.map_view.scene import MapState, camera_of

if TYPE_CHECKING:
    from themescope.webapp.map_view.component import Canvas

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
