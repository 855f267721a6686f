"""Uploaded files, stored under sanitized names in a new folder each."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Protocol

from jobs.common.server_files import UPLOADS

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
            _write(out, file)
        paths.append(path)
    return tuple(paths)


def is_upload(path: Path, home: Path) -> bool:
    """Return whether ``path`` was returned by :func:`keep`."""
    return path.is_relative_to(home / UPLOADS)


def _write(out: IO[bytes], file: Upload) -> None:
    out.write(file.getbuffer())


def remove_old(root: Path, now: float | None = None) -> None:
    """Remove uploads older than a week."""
    limit = (now or time.time()) - _KEPT_S
    for folder in root.iterdir():
        if folder.is_dir() and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)
