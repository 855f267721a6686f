"""The person who uses a page.

Where others can reach the pages, people sign in (:mod:`themescope.webapp.sign_in`), and the cookie of the browser names
a session in the store, which is checked again every few seconds and before every change.

Elsewhere the person is the optional name in the menu, which the store keeps for this browser. Without a name it is
"", which pages show as "me". Labels, verdicts and histories carry the name.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from html import escape

import streamlit as st

from themescope.core.errors import AccessError
from themescope.db.access import Actor, Right
from themescope.db.label_records import SignInMethod
from themescope.jobs.services.accounts import people as members
from themescope.jobs.services.accounts import sign_in
from themescope.webapp.shared import store as server_store
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.cookies import browser_token, form_token
from themescope.webapp.shared.text import plain

UNNAMED = "me"
_KEY, _HELD = "person", "signed-in"
_LOOK_AGAIN_S = 5.0
_SIGN_OUT = """<form class="sign-out" method="post" action="/sign-out">
<input type="hidden" name="form_token" value="{}"><button>Sign out</button></form>"""
_SIGN_IN = '<a href="/sign-in" target="_self">Sign in</a>'


@dataclass(frozen=True, slots=True)
class _Held:
    """The signed-in person as of the last check."""

    name: str
    token: str
    looked: float


def current_person() -> str:
    """Return the name of the person who signed in, or the name in the menu; "" for none.

    Raises
    ------
    AccessError
        If sign-in is required and nobody has signed in.
    """
    if server_store.shared():
        return require_sign_in()
    if _KEY not in st.session_state:
        session = sign_in.session_of(server_store.store(), browser_token(st.context.cookies))
        st.session_state[_KEY] = session.person if session and session.method is SignInMethod.NAME else ""
    return members.tidy(str(st.session_state[_KEY] or ""))


def writing_person() -> str:
    """Return :func:`current_person`, with the session checked now."""
    held = st.session_state.pop(_HELD, None)
    if held is not None:
        st.session_state[_HELD] = replace(held, looked=-math.inf)
    return current_person()


def current_actor() -> Actor:
    """Return the person with the current role."""
    with server_store.store().reading() as r:
        return r.people.actor(current_person())


def may(right: Right) -> bool:
    """Return whether this person has a right."""
    return current_actor().may(right)


def shown(person: str) -> str:
    """Return a person's name escaped for Markdown; "me" for no name."""
    return plain(person or UNNAMED)


def has_signed_in(token: str) -> bool:
    """Return whether the token of a browser is a session in which a person signed in."""
    session = sign_in.session_of(server_store.store(), token)
    return session is not None and session.method is not SignInMethod.NAME


def signed_in_person() -> str | None:
    """Return the name of the signed-in person, or None; checked in the store every few seconds."""
    held: _Held | None = st.session_state.get(_HELD)
    token = browser_token(st.context.cookies)
    if held is not None and held.token == token and time.monotonic() - held.looked < _LOOK_AGAIN_S:
        return held.name
    session = sign_in.session_of(server_store.store(), token)
    if session is None or session.method is SignInMethod.NAME:
        _forget()
        return None
    if held is not None and held.name != session.person:
        _forget()  # the connection was opened anew, after another person had signed in
    sign_in.keep_alive(server_store.store(), token, session)
    st.session_state[_HELD] = _Held(session.person, token, time.monotonic())
    return session.person


def require_sign_in() -> str:
    """Return the name of the signed-in person; raise :class:`AccessError` if there is none."""
    name = signed_in_person()
    if name is None:
        raise AccessError("You are not signed in, or your session has ended. Reload the page.")
    return name


def _forget() -> None:
    for key in [*st.session_state]:
        del st.session_state[key]


def show_signed_out() -> None:
    """Say that the session has ended, with a link to the sign-in page."""
    st.title("Themescope", anchor=False)
    st.info("You have signed out in another tab, or your session has ended.", icon=":material/lock:")
    st.html(_SIGN_IN)


def show_identity(actor: Actor) -> None:
    """Draw the signed-in person, or the text box for a name; for the menu of the header."""
    if server_store.shared():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f":material/person: [{plain(actor.name)}](/account) :gray[{actor.role.value}]", width="stretch")
            st.html(_SIGN_OUT.format(escape(form_token(browser_token(st.context.cookies)))), width="content")
        return
    st.text_input(
        "Your name",
        key=_KEY,
        max_chars=members.LONGEST_NAME,
        placeholder=UNNAMED,
        icon=":material/person:",
        help="Labels and verdicts are stored under this name. This browser keeps it.",
        on_change=_remember,
    )
    if not actor.may(Right.MANAGE):
        st.caption("Role: viewer" if not actor.may(Right.LABEL) else "Role: labeller")


def _remember() -> None:
    if token := browser_token(st.context.cookies):
        attempt(lambda: sign_in.remember_name(server_store.store(), token, str(st.session_state[_KEY] or "")))
