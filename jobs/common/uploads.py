"""Uploaded files: stored under sanitized names, each in a new folder of the data folder, for a week."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from pathlib import Path

from themescope.jobs.common.files import UPLOADS

MOST_BYTES = 500_000_000
"""Maximum size of an uploaded file."""
_KEPT_S = 7 * 86_400
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def safe_name(name: str) -> str:
    """Return a file name of letters, digits, spaces, ``.``, ``_`` and ``-``: no folder, not hidden, not reserved.

    The name is kept recognisable because a reader may take an article's title from it.
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[^\w .-]|[\x00-\x1f]", "_", last).strip(" .")[-100:].strip(" .")
    return f"_{cleaned}" if not cleaned or _RESERVED.match(cleaned) else cleaned


def new_folder(home: Path) -> Path:
    """Return a new folder for the files of an upload; those of old uploads are removed."""
    root = home / UPLOADS
    root.mkdir(parents=True, exist_ok=True)
    remove_old(root)
    folder = root / secrets.token_hex(8)
    folder.mkdir()
    return folder


def is_upload(path: Path, home: Path) -> bool:
    """Return whether ``path`` is in a folder of :func:`new_folder`."""
    return path.is_relative_to(home / UPLOADS)


def remove_old(root: Path, now: float | None = None) -> None:
    """Remove uploads older than a week."""
    limit = (now or time.time()) - _KEPT_S
    for folder in root.iterdir():
        if folder.is_dir() and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)
