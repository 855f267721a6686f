"""Server paths in forms, available only if the settings name folders that pages may read."""

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
    """Return whether there are folders that pages may read."""
    return bool(Settings.from_environment().import_folders)


def explain() -> None:
    """Draw a caption on how to enable server paths."""
    st.caption(NO_FOLDERS)


def by_path(question: str, key: str) -> bool:
    """Draw the choice between upload and server path, and return whether it is a server path."""
    if not offered():
        explain()
        return False
    how = st.segmented_control(question, [UPLOAD, SERVER_PATH], default=UPLOAD, required=True, key=key)
    return how == SERVER_PATH


def typed(text: str) -> Path | None:
    """Return the resolved path for typed text; None, with an error on the page, if pages may not read there."""
    try:
        return readable(Settings.from_environment(), Path(expanded(text)))
    except AccessError as error:
        st.error(plain(error), icon=":material/error:")
        return None


def expanded(text: str) -> str:
    """Return a path with ``~`` replaced by the home folder of the server's user."""
    return os.path.expanduser(text.strip())
