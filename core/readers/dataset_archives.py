"""ZIP archives of Hugging Face dataset folders. Archives are not trusted: they are unpacked with limits."""

from __future__ import annotations

import errno
import lzma
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from themescope.core.errors import ReadError
from themescope.core.readers.dataset_folders import CARD, SUFFIXES, is_dataset
from themescope.core.readers.unpacking import excessive_size

_MOST_FILES = 10_000
_MOST_UNPACKED = 4_000_000_000
"""Bytes up to which the ratio of compression does not matter."""
_PIECE = 1 << 20
_ADVICE = "Pack the folder of a dataset: its data files, and its card README.md."


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the data files and the card of a dataset into ``folder``, and return the folder of the dataset.

    It is ``folder`` itself or, where the archive holds a folder, that one. Other files of the archive stay packed.
    Raises :class:`ReadError` if the archive is damaged or encrypted, names files elsewhere, is too large when unpacked,
    or has no dataset.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in _wanted(archive, packed.infolist()):
                target = folder.joinpath(*PurePosixPath(member.filename).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as source, target.open("wb") as out:
                    # Copy a member, at most as many bytes as it declares.
                    left = member.file_size
                    while piece := source.read(_PIECE):
                        left -= len(piece)
                        if left < 0:
                            raise ReadError(archive, "this ZIP file is damaged: a file in it is longer than declared.")
                        out.write(piece)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, zlib.error, lzma.LZMAError):
        raise ReadError(archive, "this ZIP file is damaged or encrypted.") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ReadError(archive, "this ZIP file is damaged: a place or a name in it is invalid.") from None
    parts = list(folder.iterdir()) if folder.is_dir() else []
    found = parts[0] if len(parts) == 1 and parts[0].is_dir() and is_dataset(parts[0]) else folder
    if not is_dataset(found):
        raise ReadError(archive, "this ZIP file is not a Hugging Face dataset.", advice=_ADVICE)
    return found


def _wanted(archive: Path, members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Return the members that are files of a dataset, after the checks of names and sizes."""
    if len(members) > _MOST_FILES:
        raise ReadError(archive, f"this ZIP file has more than {_MOST_FILES:,} files.")
    wanted = [member for member in members if _is_of_dataset(archive, member)]
    if size := excessive_size(wanted, _MOST_UNPACKED):
        raise ReadError(archive, f"this ZIP file has {size} when unpacked, which is too much.")
    return wanted


def _is_of_dataset(archive: Path, member: zipfile.ZipInfo) -> bool:
    """Return whether a member is a data file, a card or a JSON file; raise an error for a name outside the folder."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in member.filename or ":" in member.filename:
        raise ReadError(archive, "this ZIP file names a file outside of its folder.")
    if member.is_dir() or stat.S_ISLNK(member.external_attr >> 16):
        return False
    if any(part.startswith((".", "__MACOSX")) for part in path.parts):
        return False
    return path.name == CARD or path.suffix.lower().lstrip(".") in (*SUFFIXES, "json")
