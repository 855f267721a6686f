"""Password file in the data folder, with a hash for each account, readable by its owner only.

An account without a hash signs in through the organisation (OIDC). Roles are in the store.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from core.errors import ConfigError, UnknownNameError

_VERSION = 1
_LOCK_WAIT_S = 15.0


class Logins:
    """Password file, read on every access so that changes by the command line take effect at once."""

    def __init__(self, home: Path) -> None:
        self.path = home / "logins.json"
        self._lock = home / ".logins.lock"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the file and the roles in the store against changes by other processes and threads.

        Take the lock before a transaction of the store, never inside one. Raises ``ConfigError`` if another process
        holds the lock for 15 seconds, or the data folder cannot be written.
        """
        try:
            self._lock.parent.mkdir(parents=True, exist_ok=True)
            held = FileLock(self._lock, timeout=_LOCK_WAIT_S).acquire()
        except Timeout:
            raise ConfigError(f"Another process is changing {self.path}. Try again in a moment.") from None
        except OSError as error:
            raise _unwritable(self.path, error) from None
        with held:
            yield

    def all(self) -> dict[str, str]:
        """Return name → password hash, "" for accounts with OIDC.

        Raises ``ConfigError`` if the file is damaged, or others may read it.
        """
        try:
            if os.name == "posix" and stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                raise ConfigError(
                    f"Other users may read {self.path}, which contains password hashes. Make it private: "
                    f"chmod 600 '{self.path}'"
                )
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read ({error.strerror}). Check its owner.") from None
        except ValueError:
            raise _damaged(self.path) from None
        return _checked(found, self.path)

    def put(self, name: str, hashed: str) -> None:
        """Add or change an account with a hash, or "" for OIDC. Call it inside :meth:`locked`."""
        self._write(self.all() | {name: hashed})

    def remove(self, name: str) -> None:
        """Remove an account. Call it inside :meth:`locked`."""
        known = self.all()
        if name not in known:
            raise UnknownNameError("person who may sign in", name, known)
        self._write({other: hashed for other, hashed in known.items() if other != name})

    def _write(self, logins: Mapping[str, str]) -> None:
        """Write the file atomically."""
        try:
            self._put(json.dumps({"version": _VERSION, "people": dict(sorted(logins.items()))}, indent=2) + "\n")
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def _put(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            os.replace(partial, self.path)
        finally:
            partial.unlink(missing_ok=True)


def _checked(found: object, path: Path) -> dict[str, str]:
    if not isinstance(found, dict) or found.get("version") != _VERSION or not isinstance(found.get("people"), dict):
        raise _damaged(path)
    people = found["people"]
    if not all(isinstance(hashed, str) for hashed in people.values()):
        raise _damaged(path)
    return dict(people)


def _unwritable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"{path} cannot be written ({error.strerror}), so nothing was changed. "
        "Check the permissions of its folder and the free space on its disk."
    )


def _damaged(path: Path) -> ConfigError:
    return ConfigError(f"{path} is damaged. Move it away and add the accounts again: themescope people add NAME.")
