"""Password hashes, and the key that signs cookies.

New hashes are Argon2id; the scrypt hashes of version 0.1 are replaced when their person signs in. The key is in a file
of the data folder that only its owner may read.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import stat
import time
import unicodedata
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from themescope.core.errors import ConfigError, DataError

SHORTEST, LONGEST = 10, 1_000
"""Minimum and maximum length of a password in characters."""
HASHER = PasswordHasher(time_cost=3, memory_cost=65_536, parallelism=4)
"""Argon2id with the second recommended costs of RFC 9106, section 4: 64 MiB, 3 passes, 4 lanes."""
_SCRYPT = "scrypt$"
_SCRYPT_MEMORY = 256 * 1024 * 1024


def hash_password(password: str) -> str:
    """Return the hash of a password, with its salt and its costs; ``DataError`` if it is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise DataError(f"A password must have {SHORTEST} to {LONGEST:,} characters. Use several words.")
    return HASHER.hash(_encoded(password))


def verify(password: str, hashed: str | None) -> bool:
    """Return whether the password matches the hash; without a hash, return False after the same time.

    Raises ``ConfigError`` if the hash is damaged.
    """
    data = _encoded(password[:LONGEST])
    try:
        if not hashed:
            HASHER.hash(data)
            return False
        return _matches_scrypt(data, hashed) if hashed.startswith(_SCRYPT) else HASHER.verify(hashed, data)
    except VerifyMismatchError:
        return False
    except (InvalidHashError, VerificationError, ValueError):
        raise ConfigError(
            "A password hash is damaged. Set a new password: themescope people change NAME --password."
        ) from None


def is_outdated(hashed: str) -> bool:
    """Return whether a valid hash was made with another function or other costs than new ones."""
    return hashed.startswith(_SCRYPT) or HASHER.check_needs_rehash(hashed)


def _encoded(password: str) -> bytes:
    # Keyboards encode accents differently, so letters are composed (RFC 8265, section 4.2).
    return unicodedata.normalize("NFC", password).encode("utf-8", errors="surrogatepass")


def _matches_scrypt(data: bytes, hashed: str) -> bool:
    """Compare with ``scrypt$log2(n)$r$p$salt$key``; raise ``ValueError`` if this is damaged or too expensive."""
    _, log_n, r, p, salt, key = hashed.split("$")
    if not (1 <= int(log_n) <= 17 and 1 <= int(r) <= 16 and 1 <= int(p) <= 16):
        raise ValueError(hashed)
    wanted = base64.b64decode(key, validate=True)
    costs = {"n": 1 << int(log_n), "r": int(r), "p": int(p), "maxmem": _SCRYPT_MEMORY, "dklen": 32}
    return hmac.compare_digest(hashlib.scrypt(data, salt=base64.b64decode(salt, validate=True), **costs), wanted)


_KEY = "The file signing-key of the data folder"
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
                raise ConfigError(
                    f"{_KEY} may be read by other users. Delete it and start again; people sign in again."
                )
            if len(found := path.read_text(encoding="ascii").strip()) == _LENGTH:
                return found
            time.sleep(0.02)  # another process is writing it
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{_KEY} cannot be used ({type(error).__name__}). Check the folder and its disk.") from None
    raise ConfigError(f"{_KEY} is damaged. Delete it and start again; people sign in again.")


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            out.write(secrets.token_hex(_LENGTH // 2))
    except OSError:  # a full disk, which would leave a damaged key
        path.unlink()
        raise
