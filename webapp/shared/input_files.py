"""Files that a form reads: uploads, and paths of the server if the settings name folders that pages may read.

Uploads are stored under sanitized names, each in a new folder.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import streamlit as st

from themescope.core.errors import AccessError
from themescope.db.settings import Settings
from themescope.jobs.common.files import NO_FOLDERS, UPLOADS, readable
from themescope.webapp.shared.text import plain

UPLOAD, SERVER_PATH = "Upload", "Server path"


def server_paths_offered() -> bool:
    """Return whether there are folders that pages may read."""
    return bool(Settings.from_environment().import_folders)


def explain_server_paths() -> None:
    """Draw a caption on how to enable server paths."""
    st.caption(NO_FOLDERS)


def choose_server_path(question: str, key: str) -> bool:
    """Draw the choice between upload and server path, and return whether it is a server path."""
    if not server_paths_offered():
        explain_server_paths()
        return False
    how = st.segmented_control(question, [UPLOAD, SERVER_PATH], default=UPLOAD, required=True, key=key)
    return how == SERVER_PATH


def server_path(text: str) -> Path | None:
    """Return the resolved path of a typed path; None, with an error on the page, if pages may not read there."""
    try:
        return readable(Settings.from_environment(), Path(expanded_path(text)))
    except AccessError as error:
        st.error(plain(error), icon=":material/error:")
        return None


def expanded_path(text: str) -> str:
    """Return a path with ``~`` replaced by the home folder of the server's user."""
    return os.path.expanduser(text.strip())


_KEPT_S = 7 * 86_400
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


class Upload(Protocol):
    """Interface of an uploaded file."""

    name: str

    def getbuffer(self) -> memoryview:
        """Return the content."""
        ...


def safe_name(name: str) -> str:
    """Return a file name of letters, digits, spaces, ``.``, ``_`` and ``-``: no folder, not hidden, not reserved.

    The name is kept recognisable because a reader may take an article's title from it.
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[^\w .-]|[\x00-\x1f]", "_", last).strip(" .")[-100:].strip(" .")
    return f"_{cleaned}" if not cleaned or _RESERVED.match(cleaned) else cleaned


def keep(files: Iterable[Upload], home: Path) -> tuple[Path, ...]:
    """Write uploads into a fresh folder under ``home`` and return their paths."""
    root = home / UPLOADS
    root.mkdir(parents=True, exist_ok=True)
    remove_old(root)
    folder = root / secrets.token_hex(8)
    folder.mkdir()
    paths = []
    for number, file in enumerate(files):
        path = folder / safe_name(file.name)
        if path.exists():
            path = path.with_name(f"{number} {path.name}")
        with path.open("xb") as out:
            out.write(file.getbuffer())
        paths.append(path)
    return tuple(paths)


def keep_once(key: str, mark: object, files: Iterable[Upload], home: Path) -> tuple[Path, ...]:
    """Call :func:`keep` once, not in every run of the page; ``mark`` identifies the files of the session key."""
    if st.session_state.get(key, (None, ()))[0] != mark:
        st.session_state[key] = (mark, keep(files, home))
    paths: tuple[Path, ...] = st.session_state[key][1]
    return paths


def is_upload(path: Path, home: Path) -> bool:
    """Return whether ``path`` was returned by :func:`keep`."""
    return path.is_relative_to(home / UPLOADS)


def remove_old(root: Path, now: float | None = None) -> None:
    """Remove uploads older than a week."""
    limit = (now or time.time()) - _KEPT_S
    for folder in root.iterdir():
        if folder.is_dir() and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)
