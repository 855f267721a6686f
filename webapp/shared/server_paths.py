"""Paths of the server in forms, offered only where the owner named folders that pages may read."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from core.errors import AccessError
from db.settings import Settings
from jobs.common.server_files import NO_FOLDERS, readable
from webapp.shared.text import plain

UPLOAD, SERVER_PATH = "Upload", "Server path"


def offered() -> bool:
    """Whether there are folders that pages may read."""
    return bool(Settings.from_environment().import_folders)


def explain() -> None:
    """Say how paths of the server can be offered."""
    st.caption(NO_FOLDERS)


def by_path(question: str, key: str) -> bool:
    """Ask whether a file is uploaded or named by its path; without folders to read, it is uploaded."""
    if not offered():
        explain()
        return False
    how = st.segmented_control(question, [UPLOAD, SERVER_PATH], default=UPLOAD, required=True, key=key)
    return how == SERVER_PATH


def typed(text: str) -> Path | None:
    """Return the real path that a person typed; None, with the reason on the page, if pages may not read there."""
    try:
        return readable(Settings.from_environment(), Path(expanded(text)))
    except AccessError as error:
        st.error(plain(error), icon=":material/error:")
        return None


def expanded(text: str) -> str:
    """Return a path with the home folder of whoever runs Themescope for ``~``; other text stays as it is."""
    return os.path.expanduser(text.strip())
