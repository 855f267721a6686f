"""A component that keeps the keyboard on a tab while Streamlit draws the tabs anew."""

from __future__ import annotations

from pathlib import Path

from themescope.webapp.shared.components import draw_component

_ASSETS = Path(__file__).parent / "assets"


def keep() -> None:
    """Keep the focus on the tab that has it."""
    draw_component("tab_focus", _ASSETS, key="tab_focus")
