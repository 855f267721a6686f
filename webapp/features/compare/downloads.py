"""A chart with a way to keep it: PNG or SVG by the camera at its corner, drawn by the browser, or a page by itself."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from webapp.shared.palette import THEMES

_FORMATS = ("PNG", "SVG")
_SCALE = 2
"""Pixels of a PNG for each of the screen."""


def chart(figure: go.Figure, key: str, name: str, **more: Any) -> Any:
    """Draw ``figure``; whoever wants it as a file opens the popover below it. ``more`` goes to the chart."""
    wanted = str(st.session_state.get(f"format-{key}") or _FORMATS[0]).lower()
    config = {
        "displaylogo": False,
        "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
        "toImageButtonOptions": {"format": wanted, "filename": name, "scale": _SCALE},
    }
    event = st.plotly_chart(figure, key=key, config=config, **more)
    with st.popover("Save the figure", icon=":material/image:", type="tertiary"):
        st.segmented_control(
            "What the camera of the chart saves", _FORMATS, default=_FORMATS[0], key=f"format-{key}", required=True
        )
        st.caption("The camera appears at the upper right of the chart when the pointer is over it.")
        st.download_button(
            "HTML, with its own controls",
            data=lambda: page_of(figure),
            file_name=f"{name}.html",
            mime="text/html",
            icon=":material/download:",
            on_click="ignore",
            key=f"html-{key}",
        )
    return event


def page_of(figure: go.Figure) -> str:
    """The chart as a page that needs nothing else, black on white."""
    alone = go.Figure(figure).update_layout(template="plotly_white", font={"color": THEMES["light"].ink})
    return str(alone.to_html(include_plotlyjs=True, full_html=True))
