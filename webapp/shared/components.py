"""Components of pages: drawn from assets, tables and charts with clicks, downloads, and errors of calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePath
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.errors import ThemescopeError
from webapp.shared.text import plain

T = TypeVar("T")

_MIME = {
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".html": "text/html",
    ".jsonl": "application/jsonl",
    ".parquet": "application/vnd.apache.parquet",
    ".svg": "image/svg+xml",
    ".tex": "text/plain",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".zip": "application/zip",
}


@cache
def asset(folder: Path, *names: str) -> str:
    """Return the concatenated text of some files of a folder."""
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def draw_component(name: str, folder: Path, *scripts: str, **call: Any) -> None:
    """Draw a component in a ``div`` whose class is ``name``.

    Its files in ``folder`` are ``<name>.css`` and ``<name>.js``, which may use the other ``scripts``; ``call`` holds
    its data, key and callbacks.
    """
    css, js = asset(folder, f"{name}.css"), asset(folder, *scripts, f"{name}.js")
    draw = st.components.v2.component(f"themescope_{name}", html=f'<div class="{name}"></div>', css=css, js=js)
    draw(**call)


def clickable_table(frame: pd.DataFrame | Styler, key: str, on_click: Callable[[int], None], **options: Any) -> None:
    """Draw a table; a click calls ``on_click`` with the number of the row, in a callback."""

    def choose() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells:
            on_click(cells[0][0])

    st.dataframe(frame, hide_index=True, key=key, on_select=choose, selection_mode="single-cell", **options)


def clicked_point(key: str) -> tuple[int, int] | None:
    """Return custom data and trace number of the point of a chart that was clicked; for callbacks."""
    points = (st.session_state[key].get("selection") or {}).get("points") or []
    if not points:
        return None
    data = points[0]["customdata"]
    return int(data[0] if isinstance(data, list) else data), points[0].get("curve_number", 0)


def attempt(call: Callable[[], T]) -> T | None:
    """Return the result of a call; None, with the error on the page, if it fails."""
    try:
        return call()
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
        return None


def download(label: str, data: Callable[[], str | bytes], file: str, **options: Any) -> None:
    """Draw a button that downloads ``file``, made when the button is clicked; its suffix decides the media type."""
    options = {"icon": ":material/download:", **options}
    st.download_button(
        label, data=data, file_name=file, mime=_MIME[PurePath(file).suffix], on_click="ignore", **options
    )
