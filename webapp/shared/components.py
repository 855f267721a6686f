"""Browser components drawn from the assets of a page, and download buttons."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePath
from typing import Any

import streamlit as st

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


def download(label: str, data: Callable[[], str | bytes], file: str, **options: Any) -> None:
    """Draw a button that downloads ``file``, made when the button is clicked; its suffix decides the media type."""
    options = {"icon": ":material/download:", **options}
    st.download_button(
        label, data=data, file_name=file, mime=_MIME[PurePath(file).suffix], on_click="ignore", **options
    )
