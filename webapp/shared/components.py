"""Components of pages: drawn from assets, tables and charts with clicks, downloads, and errors of calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path, PurePath
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit import runtime

from themescope.core.errors import ThemescopeError
from themescope.webapp.shared.text import plain

T = TypeVar("T")

_MIME = {
    ".bib": "text/plain",
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".qdc": "application/xml",
    ".qdpx": "application/zip",
    ".svg": "image/svg+xml",
    ".tex": "text/plain",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".zip": "application/zip",
}
_KEPT_DOWNLOADS = 16
_SHARED = Path(__file__).parent / "assets"
_download_numbers = count()


@cache
def asset(folder: Path, *names: str) -> str:
    """Return the concatenated text of some files of a folder; those that it lacks are files that pages share."""
    paths = [folder / name if (folder / name).exists() else _SHARED / name for name in names]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


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
    mime = _MIME[PurePath(file).suffix]

    def make() -> bytes:
        made = data()
        content = made.encode() if isinstance(made, str) else made
        _keep_download(content, mime, file)
        return content

    st.download_button(label, data=make, file_name=file, mime=mime, on_click="ignore", **options)


def _keep_download(content: bytes, mime: str, file: str) -> None:
    """Keep the last :data:`_KEPT_DOWNLOADS` files on the server.

    Streamlit 1.67 deletes a file made on click when any two script runs have ended, of whichever session. With several
    open pages, which refresh by themselves, that is often before the browser has requested the file. A file that is
    registered under a name stays until another one takes the name.
    """
    name = f"download-{next(_download_numbers) % _KEPT_DOWNLOADS}"
    runtime.get_instance().media_file_mgr.add(content, mime, name, file_name=file, is_for_static_download=True)
