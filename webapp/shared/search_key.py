"""The search button of the header with its key "/", and the setting that switches off all shortcuts of a single key."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from themescope.webapp.shared import navigation
from themescope.webapp.shared.components import draw_component

SEARCH = "search"
"""Id of the Search page."""
_ASSETS = Path(__file__).parent / "assets"
_BUTTON = "search_key_button"


def button(current: str) -> None:
    """Draw the button, which opens the Search page or, if that is open, focuses its box."""
    if not navigation.offered(SEARCH):
        return
    here = current == SEARCH
    draw_component(
        "search_key",
        _ASSETS,
        data={"here": here, "label": "Search"},
        key=_BUTTON,
        width="content",
        on_open_change=lambda: None,
    )
    if not here and (st.session_state.get(_BUTTON) or {}).get("open"):
        navigation.switch_page(SEARCH)


def setting() -> None:
    """Draw the switch of shortcuts of a single key, on all pages of this browser (WCAG 2.1.4)."""
    draw_component("search_key_setting", _ASSETS, data={"label": "Shortcuts of a single key"}, key="search_key_setting")
