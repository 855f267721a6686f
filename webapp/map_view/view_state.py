"""Selection, hidden categories and opened sentence of a map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.labelling.operations import Origin
from themescope.core.types import Ids
from themescope.webapp.map_view import geometry
from themescope.webapp.map_view.geometry import Rows, Units
from themescope.webapp.map_view.parts import MapPart, after
from themescope.webapp.map_view.scene import Colouring, Scene
from themescope.webapp.shared.selections import selections

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
    side: int = 0
    """Index of the map that the parts were chosen on: 0, or 1 for the second of two."""
    hidden: list[int] = field(default_factory=list)
    """Categories that the legend hides; -1 is "other"."""
    sentence: int = -1
    """Id of the one sentence whose details are shown; -1: none."""
    camera: list[float] | None = None
    """[x, y, units per pixel]; None for the initial view."""
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
        self.ids, self.parts, self.side, self.fresh, self.origin = ids, [], 0, False, origin
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
        self.ids, self.parts, self.side, self.origin = _none(), [], 0, None
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
