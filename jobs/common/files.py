"""Files that jobs read and write: uploads, the paths that pages may name, and atomic writing.

Pages may name uploaded files and files below the folders of the setting ``THEMESCOPE_IMPORT_FOLDERS``. The command line
acts as the owner of the data folder and may read all files.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from themescope.core.errors import AccessError, DataError
from themescope.core.paths import DATA
from themescope.core.text.word_vectors import DISTILLED
from themescope.core.text.word_vectors import REGISTRY as WORD_TABLES
from themescope.db.settings import Settings
from themescope.jobs.common.job import JobConfig

UPLOADS = "uploads"
"""Folder of uploaded files, in the data folder."""
_KEPT_S = 7 * 86_400
NO_FOLDERS = (
    "To read files of the server by their path, set THEMESCOPE_IMPORT_FOLDERS to the folders that pages may read, and "
    "restart Themescope. The themescope command reads files without it."
)


def readable(settings: Settings, path: Path) -> Path:
    """Return the real path behind ``path``, all links followed, which need not exist.

    Raises :class:`themescope.core.errors.AccessError` if it is not below a folder that pages may read.
    """
    real = _real(path)
    if any(real.is_relative_to(_real(root)) for root in (*settings.import_folders, settings.home / UPLOADS, DATA)):
        return real
    if not settings.import_folders:
        raise AccessError(f"Pages may not read {str(path)!r}. {NO_FOLDERS}")
    folders = ", ".join(map(str, settings.import_folders))
    raise AccessError(
        f"{str(path)!r} is not below the folders that pages may read ({folders}). "
        "Add its folder to THEMESCOPE_IMPORT_FOLDERS, or use the themescope command."
    )


def check_files(settings: Settings, config: JobConfig) -> None:
    """Raise :class:`themescope.core.errors.AccessError` for a job with a path that pages may not read or write."""
    for name in config.file_names():
        path = _path_in(name)
        if path is None:
            continue
        if not path.is_absolute():
            raise AccessError(f"Enter the full path instead of {name!r}: the worker runs in another folder.")
        for found in (path, *_links_below(path)):
            readable(settings, found)


def _real(path: Path) -> Path:
    """Return ``path`` with links resolved; a path with a null byte is returned unchanged."""
    if "\0" in str(path):
        return Path(os.path.abspath(path))
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise AccessError(f"{str(path)!r} cannot be resolved: its symbolic links form a cycle.") from None


def _path_in(name: str) -> Path | None:
    """Return the path in a setting that names a file; None for installed word vectors, which have no path."""
    if name in WORD_TABLES or name == DISTILLED:
        return None
    return Path(os.path.expanduser(name.removeprefix(DISTILLED)))


def _links_below(folder: Path) -> Iterator[Path]:
    """Yield every symbolic link below a folder, because jobs read their targets."""
    for parent, folders, files in os.walk(folder):
        yield from (found for name in (*folders, *files) if (found := Path(parent, name)).is_symlink())


def check_target(out: Path, source: Path | None = None) -> None:
    """Raise :class:`DataError` if ``out`` cannot be written; call it before the work starts."""
    if out.is_dir():
        raise DataError(f"{str(out)!r} is a folder. Name a file.")
    if not out.parent.is_dir():
        raise DataError(f"The folder {str(out.parent)!r} does not exist.")
    if not os.access(out.parent, os.W_OK):
        raise DataError(f"Themescope may not write into the folder {str(out.parent)!r}.")
    if source is not None and source.exists() and out.exists() and out.samefile(source):
        raise DataError(f"{str(out)!r} is the input file. Choose another name for the output.")


def check_new(out: Path) -> None:
    """Raise :class:`DataError` if ``out`` exists or cannot be written; call it before the work starts."""
    check_target(out)
    if out.exists():
        raise DataError(f"The file {str(out)!r} exists already. Choose another name, or move it away.")


def made_file(folder: Path, suffix: str) -> Path:
    """Return the path of a new file for a download in a folder, from which files older than a week are removed.

    Partial files of killed exports are removed as well; two exports may do so at the same time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        with suppress(FileNotFoundError):
            if old.stat().st_mtime < time.time() - _KEPT_S:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    return folder / f"{secrets.token_hex(8)}{suffix}"


def write_private(path: Path, data: bytes) -> None:
    """Write a new file that only its owner can read, and flush it to disk."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def size_text(size: float) -> str:
    """Return a number of bytes for people, in GB from 100 MB on."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


@contextmanager
def whole(out: Path) -> Iterator[Path]:
    """Yield a temporary path that is moved to ``out`` if the block succeeds."""
    target = Path(os.path.realpath(out))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


# Uploaded files: stored under sanitized names, each in a new folder of the data folder, for a week

MOST_BYTES = 500_000_000
"""Maximum size of an uploaded file."""
_UPLOADS_KEPT_S = 7 * 86_400
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
    limit = (now or time.time()) - _UPLOADS_KEPT_S
    for folder in root.iterdir():
        if folder.is_dir() and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)
