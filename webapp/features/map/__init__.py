"""URL keys of the Map page, and the selection and view of a map as query parameters."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from themescope.webapp.map_view import scene
from themescope.webapp.map_view.scene import MAX_CATEGORIES, MapState, camera_of, forget_replaced, open_stored
from themescope.webapp.shared.navigation import write_parameter
from themescope.webapp.shared.pages import PageKeys

SUBSTRING, WHOLE_WORDS, MEANING = "substring", "whole words", "meaning"
MATCHES = (SUBSTRING, WHOLE_WORDS, MEANING)
"""Ways to search."""
KEYS = PageKeys("map", viewed=("map_opened", "map_map_state", "map_opened_selection"))
MAP = KEYS.url("map", record="map")
ARTICLES = KEYS.url("articles", kind=list)
COLOUR = KEYS.url("colour")
SEARCH = KEYS.url("search")
MATCH = KEYS.url("match")
SIMILAR = KEYS.url("similar")
NEAREST = KEYS.url("nearest")
SCALE = KEYS.url("scale")
OPACITY = KEYS.url("opacity")
STORED = KEYS.url("selection", record="selection")
"""Id of a stored selection."""
SHAPE = KEYS.url("shape")
HIDDEN = KEYS.url("hidden")
SENTENCE = KEYS.url("sentence")
CAMERA = KEYS.url("camera")
FACETS = KEYS.url("facets")
"""Filters by columns as JSON."""

OPENED = "map_opened"
SELECTION = "map_map_state"


def held(key: str, default: str = "") -> str:
    """Return what the session holds under a URL key, and write it into the address where it is not the default."""
    value = str(st.session_state.get(key) or default)
    if st.query_params.get(key, default) != value:
        write_parameter(key, [] if value == default else [value])
    return value


def number_held(key: str, default: float, least: float, most: float) -> float:
    """Return the number under a URL key within its limits; the default if it is none."""
    try:
        return min(max(float(held(key, f"{default:g}")), least), most)
    except ValueError:
        return default


def articles_held(known: Mapping[str, int]) -> list[str]:
    """Return the titles of the chosen articles that exist, and write them into the address."""
    chosen = [title for title in st.session_state.get(ARTICLES) or [] if title in known]
    if st.query_params.get_all(ARTICLES) != chosen:
        write_parameter(ARTICLES, chosen)
    return chosen


def state_of(digest: str) -> MapState:
    """Return the state of a map in this session; for the first map of a link, the state in the address."""
    key = f"{SELECTION}_{digest}"
    if key not in st.session_state:
        first = not st.session_state.get(OPENED)
        st.session_state[key] = from_address(st.query_params) if first else MapState()
        st.session_state[OPENED] = True
    found: MapState = st.session_state[key]
    open_stored(found, STORED, "map_opened_selection")
    return found


def from_address(query: Mapping[str, str]) -> MapState:
    """Return the state that query parameters describe; invalid ones are ignored."""
    chosen = scene.read(query.get(SHAPE, ""))
    text = query.get(CAMERA, "")
    return MapState(
        parts=chosen,
        hidden=[n for n in _numbers(query.get(HIDDEN, "")) if -1 <= n < MAX_CATEGORIES],
        sentence=next(iter(_numbers(query.get(SENTENCE, ""))), -1),
        camera=camera_of(text.split("_")) if text else None,
        fresh=bool(chosen),
    )


def to_address(shown: MapState) -> None:
    """Write the state into the address, where it differs."""
    wanted = {
        SHAPE: scene.written(shown.parts),
        HIDDEN: "_".join(str(category) for category in shown.hidden),
        SENTENCE: str(shown.sentence) if shown.sentence >= 0 else "",
        CAMERA: "_".join(f"{value:g}" for value in shown.camera or []),
    }
    for name, value in wanted.items():
        if value and st.query_params.get(name) != value:
            st.query_params[name] = value
        elif not value and name in st.query_params:
            del st.query_params[name]
    forget_replaced(shown, STORED)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split("_")] if text else []
    except ValueError:
        return []
