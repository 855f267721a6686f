"""Access control for server files that pages name: uploads, and folders that the owner allows.

The command line acts as the owner of the data folder and may read every file; pages act for whoever operates them. The
folders are the setting ``THEMESCOPE_IMPORT_FOLDERS``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from core.errors import AccessError
from core.paths import DATA
from core.text.word_tables import DISTILLED
from core.text.word_tables import REGISTRY as WORD_TABLES
from db.settings import Settings
from jobs.common.config import JobConfig

UPLOADS = "uploads"
"""Folder of uploaded files, in the data folder."""
NO_FOLDERS = (
    "To read files of the server by their path, set THEMESCOPE_IMPORT_FOLDERS to the folders that pages may read, and "
    "restart Themescope. The themescope command reads files without it."
)


def readable(settings: Settings, path: Path) -> Path:
    """Return the real path behind ``path``, all links followed, if pages may read there. It need not exist.

    Raises
    ------
    AccessError
        If it is not below a folder that pages may read.
    """
    real = _real(path)
    if any(real.is_relative_to(_real(root)) for root in _roots(settings)):
        return real
    if not settings.import_folders:
        raise AccessError(f"Pages may not read {str(path)!r}. {NO_FOLDERS}")
    folders = ", ".join(map(str, settings.import_folders))
    raise AccessError(
        f"{str(path)!r} is not below the folders that pages may read ({folders}). "
        "Add its folder to THEMESCOPE_IMPORT_FOLDERS, or use the themescope command."
    )


def check_files(settings: Settings, config: JobConfig) -> None:
    """Raise :class:`core.errors.AccessError` for a job with a path that pages may not read or write."""
    for name in config.file_names():
        path = _path_in(name)
        if path is None:
            continue
        if not path.is_absolute():
            raise AccessError(f"Give the full path instead of {name!r}: the worker runs in another folder.")
        for found in (path, *_links_below(path)):
            readable(settings, found)


def _roots(settings: Settings) -> tuple[Path, ...]:
    return (*settings.import_folders, settings.home / UPLOADS, DATA)


def _real(path: Path) -> Path:
    """Return ``path`` with links resolved; a path with a null byte is returned unchanged."""
    if "\0" in str(path):
        return Path(os.path.abspath(path))
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise AccessError(f"{str(path)!r} cannot be followed: its links lead in a circle.") from None


def _path_in(name: str) -> Path | None:
    """Return the path in a setting that names a file; None for the id of an installed table of word vectors."""
    if name in WORD_TABLES:
        return None
    return Path(os.path.expanduser(name.removeprefix(DISTILLED)))


def _links_below(folder: Path) -> Iterator[Path]:
    """Yield every symbolic link below a folder, because jobs read their targets."""
    for parent, folders, files in os.walk(folder):
        yield from (found for name in (*folders, *files) if (found := Path(parent, name)).is_symlink())
