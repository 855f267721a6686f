"""A component that runs the page again when the browser turns light or dark, so that maps and charts follow at once."""

from __future__ import annotations

from pathlib import Path

from themescope.webapp.shared.components import draw_component

_ASSETS = Path(__file__).parent / "assets"


def watch() -> None:
    """Watch the theme of the browser. Streamlit redraws its own elements only, and runs no script for them."""
    draw_component("theme_watch", _ASSETS, key="theme_watch", on_theme_change=lambda: None)
