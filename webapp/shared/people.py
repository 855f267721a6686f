"""The person who uses a session, and sign-in by password or through an identity provider (OIDC).

Where others can reach the pages, people sign in. A session is a random token: the browser keeps it in a cookie of this
site, so that a reload or a new tab needs no password; the store keeps its digest, and every run of a page checks there
that the session is still valid.

Elsewhere the person is the optional name in the sidebar, kept while the browser tab is open. Without a name it is "",
which pages show as "me". Labels, verdicts and histories carry the name.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.errors import AccessError
from db.access import Actor, Right
from db.repositories.people import LONGEST
from db.settings import split_host
from jobs.services import people as members
from webapp.shared import store as server_store
from webapp.shared.components import attempt
from webapp.shared.text import plain

UNNAMED = "me"
_KEY = "person"


def current_person() -> str:
    """Return the name of the person who signed in, or the name in the sidebar; "" for none.

    Raises
    ------
    AccessError
        If sign-in is required and nobody has signed in.
    """
    if server_store.shared():
        return require_sign_in()
    return members.tidy(str(st.session_state.get(_KEY) or ""))


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


def show_identity(actor: Actor) -> None:
    """Draw the signed-in person, or the text box for a name, in the sidebar."""
    if server_store.shared():
        _account(actor)
        return
    with st.sidebar:
        st.text_input(
            "Your name",
            key=_KEY,
            max_chars=members.LONGEST_NAME,
            placeholder=UNNAMED,
            icon=":material/person:",
            help="Labels and verdicts are stored under this name.",
        )
        if not actor.may(Right.MANAGE):
            st.caption("Role: viewer" if not actor.may(Right.LABEL) else "Role: labeller")


_HELD, _ENDED, _LAST = "signed-in", "signed-out", "signed-in-last"
_ATTEMPTS = members.Attempts()
"""Failed attempts. Not in a Streamlit cache, because any browser can have those cleared."""
_IN: set[str] = set()
"""Ids of the Streamlit sessions with a signed-in person; one session is one open page."""
_LOOK_AGAIN_S = 5.0
_MOST_IN = 10_000
_TOUCH_EVERY = timedelta(minutes=1)
_SET_COOKIE = """
export default function ({ data }) {
  const secure = location.protocol === "https:" ? "; Secure" : ""
  document.cookie = `${data.name}=${data.value}; Path=/; SameSite=Strict; Max-Age=${data.seconds}${secure}`
}
"""


@dataclass(slots=True)
class _Held:
    """The signed-in person of a browser session."""

    name: str
    token: str
    """Empty after sign-in through an identity provider, whose cookie Streamlit manages."""
    looked: float


def signed_in_person() -> str | None:
    """Return the name of the signed-in person, or None; checked in the store every few seconds."""
    held: _Held | None = st.session_state.get(_HELD)
    if held is not None and time.monotonic() - held.looked < _LOOK_AGAIN_S:
        return held.name
    found = _by_token(held) or _by_organisation()
    _note(found is not None)
    if found is None:
        st.session_state.pop(_HELD, None)
        return None
    _begin(found.name)
    st.session_state[_HELD] = found
    return found.name


def _by_token(held: _Held | None) -> _Held | None:
    token = held.token if held else str(st.context.cookies.get(_cookie(), ""))
    if not token or token == st.session_state.get(_ENDED):
        return None
    known = members.session_of(server_store.store(), token)
    if known is None:
        return None
    name, seen = known
    if datetime.now(UTC) - seen > _TOUCH_EVERY:
        with server_store.store().writing() as w:
            if w.sign_ins.touch(token):
                w.people.touch(name)
    return _Held(name, token, time.monotonic())


def _by_organisation() -> _Held | None:
    user: Any = st.user
    if not has_organisation() or not user.get("is_logged_in"):
        return None
    issued = user.get("iat")
    if not isinstance(issued, int | float) or time.time() - issued > LONGEST.total_seconds():
        return None
    try:
        return _Held(members.admitted(server_store.store(), vouched(user)), "", time.monotonic())
    except AccessError:
        return None


def vouched(user: Mapping[str, Any]) -> str:
    """Return the name that an identity provider vouches for: a verified e-mail address, else its subject id.

    "" if there is neither, or if the value is not a normalised name, which could be confused with another person's.
    """
    name = user.get("email") or user.get("sub")
    refused = bool(user.get("email")) and str(user.get("email_verified")).lower() == "false"
    return name if isinstance(name, str) and not refused and members.tidy(name) == name else ""


def is_signed_in(session: str) -> bool:
    """Return whether a person is signed in in a Streamlit session, as of its last check."""
    return session in _IN


def _note(signed_in: bool) -> None:
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        if len(_IN) > _MOST_IN:
            _IN.clear()  # Closed sessions are not reported; open ones register again within seconds.
        (_IN.add if signed_in else _IN.discard)(context.session_id)


def require_sign_in() -> str:
    """Return the name of the signed-in person; raise :class:`AccessError` if there is none."""
    name = signed_in_person()
    if name is None:
        raise AccessError("You are not signed in, or your session has expired. Reload the page.")
    return name


# --- pages ------------------------------------------------------------------------------------------------------------


def sign_in_page() -> None:
    """Draw the sign-in form."""
    _forget_cookie()
    _, middle, _ = st.columns([1, 1.2, 1])
    with middle:
        st.space("large")
        st.title("Themescope", anchor=False)
        st.caption("Sign in to continue.")
        members.check_sharing(
            server_store.store(), has_organisation(), str(st.get_option("server.address") or "all addresses")
        )
        with st.form("sign-in", border=True):
            name = st.text_input("Name", max_chars=members.LONGEST_NAME, icon=":material/person:")
            password = st.text_input("Password", type="password", icon=":material/key:")
            if st.form_submit_button("Sign in", type="primary", width="stretch"):
                _try(name or "", password or "")
        if has_organisation():
            _organisation()
        st.caption("No account, or forgotten password? Contact the administrator of this server.")


def _try(name: str, password: str) -> None:
    token = attempt(lambda: members.sign_in(server_store.store(), name, password, _ATTEMPTS))
    if token is None:
        return
    _begin(members.tidy(name))
    _note(True)
    st.session_state[_HELD] = _Held(members.tidy(name), token, time.monotonic())
    st.session_state.pop(_ENDED, None)
    st.rerun()


def _begin(name: str) -> None:
    """Clear the session state if another person was signed in before."""
    if st.session_state.get(_LAST, name) != name:
        _forget()
    st.session_state[_LAST] = name


def _forget() -> None:
    for key in [*st.session_state]:
        del st.session_state[key]


def _organisation() -> None:
    user: Any = st.user
    if user.get("is_logged_in"):
        who = vouched(user) or "This account"
        st.warning(f"{plain(who)} has no access, or the session has expired. Ask an admin to add this account.")
        if st.button("Use another account", icon=":material/logout:", width="stretch"):
            st.logout()
    elif st.button("Sign in with your organisation", icon=":material/domain:", width="stretch"):
        st.login()


def _account(actor: Actor) -> None:
    """Draw the signed-in person, the role and the sign-out button in the sidebar."""
    held: _Held = st.session_state[_HELD]
    with st.sidebar, st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":material/person: **{plain(held.name)}** :gray[{actor.role.value}]", width="stretch")
        st.button("Sign out", type="tertiary", on_click=sign_out)
    if held.token and st.context.cookies.get(_cookie()) != held.token:
        with st.sidebar:
            _set_cookie(held.token, int(LONGEST.total_seconds()))


def sign_out() -> None:
    """Sign out: end the session here and in the store."""
    held: _Held | None = st.session_state.get(_HELD)
    _forget()
    _note(False)
    if held is not None and held.token:
        with server_store.store().writing() as w:
            w.sign_ins.close(held.token)
        st.session_state[_ENDED] = held.token
    elif held is not None:
        st.logout()


def _cookie() -> str:
    """Return the name of the cookie, which contains the port because browsers share cookies between ports.

    It is the port that the browser opened: the processes behind a proxy have others, but share the session.
    """
    try:
        _, port = split_host(st.context.headers.get("Host", ""))
    except ValueError:
        port = None
    return f"themescope-{port}" if port else "themescope"


def _set_cookie(value: str, seconds: int) -> None:
    draw = st.components.v2.component("themescope_cookie", html="", js=_SET_COOKIE)
    draw(data={"name": _cookie(), "value": value, "seconds": seconds}, key=f"cookie-{bool(value)}", height=1)


def _forget_cookie() -> None:
    if st.session_state.get(_ENDED):
        _set_cookie("", 0)


# --- OIDC -------------------------------------------------------------------------------------------------------------


def has_organisation(files: list[str] | None = None) -> bool:
    """Return whether an identity provider is configured: a section ``auth`` in a secrets file."""
    paths = st.get_option("secrets.files") if files is None else files
    return any(_has_auth(Path(path)) for path in paths)


def _has_auth(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return "auth" in tomllib.load(stream)
    except (OSError, tomllib.TOMLDecodeError):
        return False
