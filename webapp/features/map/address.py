"""Selection and view of a map as query parameters."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from webapp.features.map import state
from webapp.map_view import geometry
from webapp.map_view.colouring import MAX_CATEGORIES
from webapp.map_view.view_state import MapState, camera_of


def state_of(digest: str) -> MapState:
    """Return the state of a map in this session; for the first map of a session, the state in the address."""
    key = f"{state.SELECTION}_{digest}"
    if key not in st.session_state:
        first = not st.session_state.get(state.OPENED)
        st.session_state[key] = from_address(st.query_params) if first else MapState()
        st.session_state[state.OPENED] = True
    found: MapState = st.session_state[key]
    return found


def from_address(query: Mapping[str, str]) -> MapState:
    """Return the state that query parameters describe; invalid ones are ignored."""
    shape = geometry.read_shape(query.get(state.SHAPE, ""))
    return MapState(
        shape=shape,
        side=int(query.get(state.SIDE) == "1"),
        hidden=[n for n in _numbers(query.get(state.HIDDEN, "")) if -1 <= n < MAX_CATEGORIES],
        sentence=next(iter(_numbers(query.get(state.SENTENCE, ""))), -1),
        camera=_camera(query.get(state.CAMERA, "")),
        fresh=bool(len(shape)),
    )


def to_address(shown: MapState) -> None:
    """Write the state into the address, where it differs."""
    wanted = {
        state.SHAPE: geometry.written_shape(shown.shape),
        state.SIDE: "1" if shown.side else "",
        state.HIDDEN: "_".join(str(category) for category in shown.hidden),
        state.SENTENCE: str(shown.sentence) if shown.sentence >= 0 else "",
        state.CAMERA: "_".join(f"{value:g}" for value in shown.camera or []),
    }
    for name, value in wanted.items():
        if value and st.query_params.get(name) != value:
            st.query_params[name] = value
        elif not value and name in st.query_params:
            del st.query_params[name]


def _camera(text: str) -> list[float] | None:
    return camera_of(text.split("_")) if text else None


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split("_")] if text else []
    except ValueError:
        return []
