"""Key that signs cookies, in a file of the data folder that only its owner may read."""

from __future__ import annotations

import os
import secrets
import stat
import time
from pathlib import Path

from themescope.core.errors import ConfigError

_LENGTH = 64
_TRIES = 100


def signing_key(home: Path) -> str:
    """Return the key; the first process that needs one makes it.

    Without the file, everybody signs in again. Raises ``ConfigError`` if it cannot be read or written, or if others
    may read it.
    """
    path = home / "signing-key"
    try:
        for _ in range(_TRIES):
            if not path.exists():
                _create(path)
            if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise ConfigError(f"Other users may read {path}. Delete it and start again; people sign in again.")
            if len(found := path.read_text(encoding="ascii").strip()) == _LENGTH:
                return found
            time.sleep(0.02)  # another process is writing it
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be used ({error}). Check the permissions of its folder.") from None
    raise ConfigError(f"{path} is damaged. Delete it and start again; people sign in again.")


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="ascii") as out:
        out.write(secrets.token_hex(_LENGTH // 2))
