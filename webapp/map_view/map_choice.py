"""What a person has chosen on a map: by sentence id in the session, and in the address, so that it can be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from core.projection.geometry import Polygon
from core.types import Ids
from webapp.map_view import mapping
from webapp.map_view.colourings import Colouring
from webapp.map_view.map_scene import Scene
from webapp.map_view.mapping import Rows, Units

SHAPE, SIDE, HIDDEN, SENTENCE, CAMERA = "shape", "side", "hide", "sentence", "at"
"""Names in the address."""
_OPENED = "maps-opened"


def _none() -> Ids:
    return np.empty(0, dtype=np.int64)


def _no_shape() -> Polygon:
    return np.empty((0, 2))


@dataclass
class Choice:
    """Lives in the session, one a map. Everything is said by sentence id or by a shape on the map's own grid."""

    ids: Ids = field(default_factory=_none)
    """The selected sentences."""
    shape: Polygon = field(default_factory=_no_shape)
    """What was drawn to select them; empty after a click."""
    side: int = 0
    """The map that the shape was drawn on: 0, or 1 for the second of two."""
    hidden: list[int] = field(default_factory=list)
    """Categories that the legend hides; -1 is "other"."""
    sentence: int = -1
    """Id of the one sentence whose details are shown; -1: none."""
    camera: list[float] | None = None
    tip: int = -1
    """Id of the sentence that is pointed at."""
    fresh: bool = False
    """The shape came with the address, and nobody has looked yet what lies inside."""
    version: int = 0
    """Counts what was chosen: the list beside a map is drawn anew when it is not the one it knows."""
    generation: int = 0
    """Counts clearings: a chart keeps what it has selected for as long as its key stays."""
    by: str = ""
    """Key of the chart that made the selection."""

    def take(self, scene: Scene, units: Units, colouring: Colouring) -> None:
        """Select what stands inside the shape, by its places on the grid, and is not hidden."""
        self.ids = scene.ids[mapping.inside_rows(units, colouring.categories, self.shape, self.hidden)]
        self.fresh = False
        self.version += 1

    def click(self, sentence: int) -> None:
        """Show the details of a sentence."""
        self.sentence = sentence
        self.version += 1

    def clear(self) -> None:
        """Select nothing."""
        self.ids, self.shape, self.side, self.by = _none(), _no_shape(), 0, ""
        self.generation += 1
        self.version += 1

    def rows(self, scene: Scene) -> Rows:
        """Rows of the selection that are in view."""
        return np.flatnonzero(np.isin(scene.ids, self.ids)) if len(self.ids) else np.empty(0, dtype=np.intp)


def of_map(digest: str) -> Choice:
    """The choice of a map; of the first map of a session, what the address says."""
    key = f"map-choice-{digest}"
    if key not in st.session_state:
        st.session_state[key] = Choice() if st.session_state.get(_OPENED) else from_address(st.query_params)
        st.session_state[_OPENED] = True
    choice: Choice = st.session_state[key]
    return choice


def from_address(said: Mapping[str, str]) -> Choice:
    """A choice from the parameters of an address; nonsense in them is passed over."""
    shape = mapping.read_shape(said.get(SHAPE, ""))
    hidden = [n for n in _numbers(said.get(HIDDEN, "")) if -1 <= n < mapping.MOST]
    sentence = next(iter(_numbers(said.get(SENTENCE, ""))), -1)
    camera = _camera(said.get(CAMERA, ""))
    side = int(said.get(SIDE) == "1")
    return Choice(shape=shape, side=side, hidden=hidden, sentence=sentence, camera=camera, fresh=bool(len(shape)))


def to_address(choice: Choice) -> None:
    """Write the choice into the address where it says something else."""
    wanted = {
        SHAPE: mapping.written_shape(choice.shape),
        SIDE: "1" if choice.side else "",
        HIDDEN: "_".join(str(kind) for kind in choice.hidden),
        SENTENCE: str(choice.sentence) if choice.sentence >= 0 else "",
        CAMERA: "_".join(f"{value:g}" for value in choice.camera or []),
    }
    for name, value in wanted.items():
        if value and st.query_params.get(name) != value:
            st.query_params[name] = value
        elif not value and name in st.query_params:
            del st.query_params[name]


def camera_of(value: Any) -> list[float] | None:
    """[x, y, units a pixel] from what a browser says; None, where that is no place."""
    try:
        x, y, unit = (float(number) for number in value)
    except (TypeError, ValueError):
        return None
    fits = all(np.isfinite([x, y, unit])) and 0 < unit <= mapping.UNITS and abs(x) + abs(y) <= 64 * mapping.UNITS
    return [round(x), round(y), float(f"{unit:.4g}")] if fits else None


def _camera(text: str) -> list[float] | None:
    return camera_of(text.split("_")) if text else None


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split("_")] if text else []
    except ValueError:
        return []
