"""Atomic writing of output files, which never replaces the input file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import DataError


def check_target(out: Path, source: Path | None = None) -> None:
    """Raise :class:`DataError` if ``out`` cannot be written; call it before the work starts."""
    if out.is_dir():
        raise DataError(f"{str(out)!r} is a folder. Name a file.")
    if not out.parent.is_dir():
        raise DataError(f"There is no folder {str(out.parent)!r} to write into.")
    if not os.access(out.parent, os.W_OK):
        raise DataError(f"Themescope may not write into the folder {str(out.parent)!r}.")
    if source is not None and source.exists() and out.exists() and out.samefile(source):
        raise DataError(f"{str(out)!r} is the file that is read. Choose another name to write.")


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
