"""Charts with downloads: PNG or SVG from the chart's toolbar, or an HTML page."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from webapp.shared.palette import THEMES

_FORMATS = ("PNG", "SVG")
_SCALE = 2
"""PNG pixels per screen pixel."""


def chart(figure: go.Figure, key: str, name: str, **more: Any) -> Any:
    """Draw ``figure`` with a popover for downloads; ``more`` is passed to ``st.plotly_chart``."""
    wanted = str(st.session_state.get(f"format-{key}") or _FORMATS[0]).lower()
    config = {
        "displaylogo": False,
        "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
        "toImageButtonOptions": {"format": wanted, "filename": name, "scale": _SCALE},
    }
    event = st.plotly_chart(figure, key=key, config=config, **more)
    with st.popover("Save figure", icon=":material/image:", type="tertiary"):
        st.segmented_control("Image format", _FORMATS, default=_FORMATS[0], key=f"format-{key}", required=True)
        st.caption("To save an image, point at the chart and click the camera icon at its upper right.")
        st.download_button(
            "Interactive chart (HTML)",
            data=lambda: page_of(figure),
            file_name=f"{name}.html",
            mime="text/html",
            icon=":material/download:",
            on_click="ignore",
            key=f"html-{key}",
        )
    return event


def page_of(figure: go.Figure) -> str:
    """Return the chart as a self-contained HTML page in the light theme."""
    alone = go.Figure(figure).update_layout(template="plotly_white", font={"color": THEMES["light"].ink})
    return str(alone.to_html(include_plotlyjs=True, full_html=True))
