"""The person who uses a page, the cookie of the browser, and the store of this process.

The cookie is a random token, signed with the key of the installation. Only the server sets it, and scripts cannot read
it. Where others can reach the pages, people sign in (:mod:`themescope.webapp.routes.sign_in`), and the token names a
session in the store, which is checked again every few seconds and before every change. Until then it protects forms.

Elsewhere the person is the optional name in the menu, which the store keeps for this browser. Without a name it is
"", which pages show as "me". Labels, verdicts and histories carry the name.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache, wraps
from html import escape
from pathlib import Path
from typing import ParamSpec

import streamlit as st
from itsdangerous import BadSignature, Signer
from starlette.requests import HTTPConnection
from starlette.responses import Response

from themescope.core.errors import AccessError
from themescope.db.access import Actor, Right
from themescope.db.passwords import signing_key
from themescope.db.records import SignInMethod
from themescope.db.settings import Settings, is_loopback
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.text import plain

_SECURE = "__Host-"
"""Prefix with which browsers accept a cookie only over HTTPS, from this host, for all paths."""


def _signer() -> tuple[str, Signer]:
    """Return the name of the cookie, which differs between installations on one host, and its signer."""
    return _signer_of(Settings.from_environment().home)


@lru_cache(maxsize=4)
def _signer_of(home: Path) -> tuple[str, Signer]:
    key = signing_key(home)
    name = f"themescope-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    return name, Signer(key, salt="themescope browser", digest_method=hashlib.sha256)


def browser_token(cookies: Mapping[str, str]) -> str:
    """Return the token of a browser; "" without a cookie of this installation. Raises ``ConfigError``."""
    name, signer = _signer()
    for found in (cookies.get(_SECURE + name), cookies.get(name)):
        try:
            return signer.unsign(found or "").decode("ascii")
        except (BadSignature, UnicodeDecodeError):
            continue
    return ""


def project_cookie() -> str:
    """Return the name of the cookie in which pages keep the id of the last project. It is not secret and not signed."""
    return f"{_signer()[0]}-project"


def new_token() -> str:
    """Return a random token that is no session."""
    return secrets.token_urlsafe(32)


def cookie(token: str, secure: bool) -> tuple[str, str]:
    """Return name and value of the cookie with a token."""
    name, signer = _signer()
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
    _, signer = _signer()
    return signer.get_signature(f"form {token}").decode("ascii")


def is_form_token(token: str, given: str) -> bool:
    """Return whether ``given`` is the :func:`form_token` of a browser."""
    return bool(token) and hmac.compare_digest(form_token(token).encode(), given.encode("utf-8", "replace"))


def server_store() -> Store:
    """Return the migrated store. Writes through it are not checked against a role."""
    settings = Settings.from_environment()
    return _store(str(settings.home), settings.database_url)


@st.cache_resource(show_spinner=False)
def _store(home: str, database_url: str) -> Store:
    opened = Store(Settings.from_environment())
    opened.migrate()
    return opened


def sign_in_required() -> bool:
    """Return whether sign-in is required: other machines can reach the pages, or the settings demand it."""
    address = str(st.get_option("server.address") or "0.0.0.0")
    return Settings.from_environment().login == "always" or not is_loopback(address)


UNNAMED = "me"
_KEY, _HELD = "person", "signed-in"
_LOOK_AGAIN_S = 5.0
_SIGN_OUT = """<form class="sign-out" method="post" action="/sign-out">
<input type="hidden" name="form_token" value="{}"><button>Sign out</button></form>"""


@dataclass(frozen=True, slots=True)
class _Held:
    """The signed-in person as of the last check."""

    name: str
    token: str
    looked: float


def current_person() -> str:
    """Return the name of the person who signed in, or the name in the menu; "" for none.

    Raises ``AccessError`` if sign-in is required and nobody has signed in.
    """
    if sign_in_required():
        name = signed_in_person()
        if name is None:
            raise AccessError("You are not signed in, or your session has ended. Reload the page.")
        return name
    if _KEY not in st.session_state:
        session = people.session_of(server_store(), browser_token(st.context.cookies))
        st.session_state[_KEY] = session.person if session and session.method is SignInMethod.NAME else ""
    return people.tidy(str(st.session_state[_KEY] or ""))


def writing_person() -> str:
    """Return :func:`current_person`, with the session checked now."""
    held = st.session_state.pop(_HELD, None)
    if held is not None:
        st.session_state[_HELD] = replace(held, looked=-math.inf)
    return current_person()


def current_actor() -> Actor:
    """Return the person with the current role."""
    with server_store().reading() as r:
        return r.people.actor(current_person())


def may(right: Right) -> bool:
    """Return whether this person has a right."""
    return current_actor().may(right)


def shown(person: str) -> str:
    """Return a person's name escaped for Markdown; "me" for no name."""
    return plain(person or UNNAMED)


def has_signed_in(token: str) -> bool:
    """Return whether the token of a browser is a session in which a person signed in."""
    session = people.session_of(server_store(), token)
    return session is not None and session.method is not SignInMethod.NAME


def signed_in_person() -> str | None:
    """Return the name of the signed-in person, or None; checked in the store every few seconds."""
    held: _Held | None = st.session_state.get(_HELD)
    token = browser_token(st.context.cookies)
    if held is not None and held.token == token and time.monotonic() - held.looked < _LOOK_AGAIN_S:
        return held.name
    session = people.session_of(server_store(), token)
    if session is None or session.method is SignInMethod.NAME:
        _forget()
        return None
    if held is not None and held.name != session.person:
        _forget()  # the connection was opened anew, after another person had signed in
    people.keep_alive(server_store(), token, session)
    st.session_state[_HELD] = _Held(session.person, token, time.monotonic())
    return session.person


def _forget() -> None:
    for key in [*st.session_state]:
        del st.session_state[key]


P = ParamSpec("P")


def polled(every: float | None) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Return a decorator for a part of a page that is drawn anew every so many seconds; None: only with the page.

    Once the person has signed out in another tab, the whole page is drawn, which says so.
    """

    def decorate(draw: Callable[P, None]) -> Callable[P, None]:
        @wraps(draw)
        def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                draw(*args, **kwargs)
            except AccessError:
                if sign_in_required() and signed_in_person() is None:
                    st.rerun()
                raise

        return st.fragment(drawn, run_every=every)

    return decorate


def show_signed_out() -> None:
    """Say that the session has ended, with a link to the sign-in page."""
    st.title("Themescope", anchor=False)
    st.info("You have signed out in another tab, or your session has ended.", icon=":material/lock:")
    st.html('<a href="/sign-in" target="_self">Sign in</a>')


def show_identity(actor: Actor) -> None:
    """Draw the signed-in person, or the text box for a name; for the menu of the header."""
    if sign_in_required():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f":material/person: [{plain(actor.name)}](/account) :gray[{actor.role.value}]", width="stretch")
            st.html(_SIGN_OUT.format(escape(form_token(browser_token(st.context.cookies)))), width="content")
        return
    st.text_input(
        "Your name",
        key=_KEY,
        max_chars=people.LONGEST_NAME,
        placeholder=UNNAMED,
        icon=":material/person:",
        help="Labels and verdicts are stored under this name. This browser keeps it.",
        on_change=_remember,
    )
    if not actor.may(Right.MANAGE):
        st.caption("Role: viewer" if not actor.may(Right.LABEL) else "Role: coder")


def _remember() -> None:
    if token := browser_token(st.context.cookies):
        attempt(lambda: people.remember_name(server_store(), token, str(st.session_state[_KEY] or "")))
