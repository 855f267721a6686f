"""Salted password hashes with scrypt (RFC 7914) from the standard library.

The costs are in the text of the hash, so that they can grow without making old hashes useless: n = 2¹⁵, r = 8, p = 3
takes 32 MiB and about a fifth of a second, as OWASP's password storage sheet asks for.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import unicodedata

from core.errors import ConfigError, DataError

SHORTEST, LONGEST = 10, 1_000
"""Minimum and maximum length of a password in characters."""
_LOG_N, _R, _P = 15, 8, 3
_MEMORY = 256 * 1024 * 1024
_SALT, _KEY = 16, 32


def hash_password(password: str) -> str:
    """Return ``scrypt$15$8$3$salt$key``, with salt and key in base 64.

    Raises
    ------
    DataError
        If the password is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise DataError(f"A password has {SHORTEST} to {LONGEST:,} characters. Several words are easy to remember.")
    salt = secrets.token_bytes(_SALT)
    key = _derived(password, salt, _LOG_N, _R, _P)
    shown = (base64.b64encode(part).decode("ascii") for part in (salt, key))
    return "$".join(["scrypt", str(_LOG_N), str(_R), str(_P), *shown])


def verify(password: str, hashed: str | None) -> bool:
    """Return whether the password matches the hash. Without a hash it takes as long and returns False."""
    if not hashed:
        _derived(password[:LONGEST], b"\0" * _SALT, _LOG_N, _R, _P)
        return False
    log_n, r, p, salt, key = _parts(hashed)
    return hmac.compare_digest(_derived(password[:LONGEST], salt, log_n, r, p), key)


def _derived(password: str, salt: bytes, log_n: int, r: int, p: int) -> bytes:
    # Composed, as keyboards differ in how they write an accent (RFC 8265, section 4.2).
    data = unicodedata.normalize("NFC", password).encode("utf-8", errors="surrogatepass")
    return hashlib.scrypt(data, salt=salt, n=1 << log_n, r=r, p=p, maxmem=_MEMORY, dklen=_KEY)


def _parts(hashed: str) -> tuple[int, int, int, bytes, bytes]:
    try:
        kind, log_n, r, p, salt, key = hashed.split("$")
        if kind != "scrypt" or not (1 <= int(log_n) <= 17 and 1 <= int(r) <= 16 and 1 <= int(p) <= 16):
            raise ValueError(kind)
        return int(log_n), int(r), int(p), base64.b64decode(salt, validate=True), base64.b64decode(key, validate=True)
    except ValueError:
        raise ConfigError("A password hash is damaged. Set it anew: themescope people password NAME.") from None
