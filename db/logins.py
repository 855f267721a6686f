"""Password file in the data folder, with a scrypt hash for each account, readable by its owner only.

An account without a hash signs in through the organisation (OIDC). Roles are in the store.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from core.errors import ConfigError, DataError, UnknownNameError

SHORTEST, LONGEST = 10, 1_000
"""Minimum and maximum length of a password in characters."""
_LOG_N, _R, _P = 15, 8, 3
_MEMORY = 256 * 1024 * 1024
_SALT, _KEY = 16, 32
_VERSION = 1
_LOCK_WAIT_S = 15.0


def hash_password(password: str) -> str:
    """Return ``scrypt$15$8$3$salt$key``, with salt and key in base 64.

    The hash contains its cost parameters, so that they can be increased without invalidating old hashes. The current
    ones (n = 2¹⁵, r = 8, p = 3; RFC 7914) take 32 MiB and about 0.2 s, as the OWASP password storage cheat sheet
    recommends. Raises ``DataError`` if the password is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise DataError(f"A password must have {SHORTEST} to {LONGEST:,} characters. Use several words.")
    salt = secrets.token_bytes(_SALT)
    key = _derived(password, salt, _LOG_N, _R, _P)
    shown = (base64.b64encode(part).decode("ascii") for part in (salt, key))
    return "$".join(["scrypt", str(_LOG_N), str(_R), str(_P), *shown])


def verify(password: str, hashed: str | None) -> bool:
    """Return whether the password matches the hash; without a hash, return False after the same time."""
    if not hashed:
        _derived(password[:LONGEST], b"\0" * _SALT, _LOG_N, _R, _P)
        return False
    log_n, r, p, salt, key = _hash_parts(hashed)
    return hmac.compare_digest(_derived(password[:LONGEST], salt, log_n, r, p), key)


def _derived(password: str, salt: bytes, log_n: int, r: int, p: int) -> bytes:
    # Keyboards encode accents differently, so letters are composed (RFC 8265, section 4.2).
    data = unicodedata.normalize("NFC", password).encode("utf-8", errors="surrogatepass")
    return hashlib.scrypt(data, salt=salt, n=1 << log_n, r=r, p=p, maxmem=_MEMORY, dklen=_KEY)


def _hash_parts(hashed: str) -> tuple[int, int, int, bytes, bytes]:
    try:
        kind, log_n, r, p, salt, key = hashed.split("$")
        if kind != "scrypt" or not (1 <= int(log_n) <= 17 and 1 <= int(r) <= 16 and 1 <= int(p) <= 16):
            raise ValueError(kind)
        return int(log_n), int(r), int(p), base64.b64decode(salt, validate=True), base64.b64decode(key, validate=True)
    except ValueError:
        raise ConfigError("A password hash is damaged. Set a new password: themescope people password NAME.") from None


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
