"""The cookie that identifies a browser: a random token, signed with the key of the installation.

Only the server sets it, and scripts cannot read it. The store decides whether the token is a session. Until then it
protects the forms of the sign-in page, and where nobody signs in, the store keeps the entered name with it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from pathlib import Path

from itsdangerous import BadSignature, Signer
from starlette.requests import HTTPConnection
from starlette.responses import Response

from themescope.db.settings import Settings
from themescope.db.signing_key import signing_key

_SECURE = "__Host-"
"""Prefix with which browsers accept a cookie only over HTTPS, from this host, for all paths."""


@lru_cache(maxsize=4)
def _signer(home: Path) -> tuple[str, Signer]:
    """Return the name of the cookie, which differs between installations on one host, and its signer."""
    key = signing_key(home)
    name = f"themescope-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    return name, Signer(key, salt="themescope browser", digest_method=hashlib.sha256)


def browser_token(cookies: Mapping[str, str]) -> str:
    """Return the token of a browser; "" without a cookie of this installation. Raises ``ConfigError``."""
    name, signer = _signer(Settings.from_environment().home)
    for found in (cookies.get(_SECURE + name), cookies.get(name)):
        try:
            return signer.unsign(found or "").decode("ascii")
        except (BadSignature, UnicodeDecodeError):
            continue
    return ""


def project_cookie() -> str:
    """Return the name of the cookie in which pages keep the id of the last project. It is not secret and not signed."""
    return f"{_signer(Settings.from_environment().home)[0]}-project"


def tour_cookie(person: str) -> str:
    """Return the name of the cookie that says that a person, given by a digest, has seen the tour; it is not secret."""
    return f"{_signer(Settings.from_environment().home)[0]}-tour-{person}"


def new_token() -> str:
    """Return a random token that is no session."""
    return secrets.token_urlsafe(32)


def cookie(token: str, secure: bool) -> tuple[str, str]:
    """Return name and value of the cookie with a token."""
    name, signer = _signer(Settings.from_environment().home)
    return (_SECURE if secure else "") + name, signer.sign(token).decode("ascii")


def set_cookie(request: HTTPConnection, response: Response, token: str, kept: timedelta | None = None) -> None:
    """Let the browser keep ``token`` in place of any other; without ``kept`` until it is closed."""
    secure = is_secure(request)
    name, value = cookie(token, secure)
    seconds = None if kept is None else int(kept.total_seconds())
    response.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax")


def is_secure(request: HTTPConnection) -> bool:
    """Return whether the browser uses HTTPS, possibly up to a proxy.

    Whoever sends a false header only makes their own cookie stricter.
    """
    return request.url.scheme in ("https", "wss") or request.headers.get("x-forwarded-proto") == "https"


def form_token(token: str) -> str:
    """Return the value that a form of this browser has to send, which other sites cannot know."""
    _, signer = _signer(Settings.from_environment().home)
    return signer.get_signature(f"form {token}").decode("ascii")


def is_form_token(token: str, given: str) -> bool:
    """Return whether ``given`` is the :func:`form_token` of a browser."""
    return bool(token) and hmac.compare_digest(form_token(token).encode(), given.encode("utf-8", "replace"))
