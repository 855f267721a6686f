"""Files that people name to be written: whole or not at all, and never in place of the file that is read."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import DataError


def check_target(out: Path, source: Path | None = None) -> None:
    """Refuse (:class:`DataError`), before any work is done, what a file cannot be written as."""
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
    """A name to write under; moved to ``out`` when the block ends well, so that what stands there is never half."""
    target = Path(os.path.realpath(out))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
