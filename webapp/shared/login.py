"""Signing in: by password, or through the organisation's own login (OIDC), wherever others can reach the pages.

A session is a random token. The browser keeps it in a cookie of this site, so that a reload or a link opened in
another tab needs no password; the store keeps its digest, and says in every run of a page whether it still counts.
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

from core.errors import AccessError, ThemescopeError
from db.repositories.sign_ins import LONGEST
from db.roles import Actor
from jobs.services import people as members
from webapp.shared import store as house
from webapp.shared.text import plain

_HELD, _ENDED, _LAST = "signed-in", "signed-out", "signed-in-last"
_ATTEMPTS = members.Attempts()
"""Not in a cache of Streamlit's, which any browser may ask to be emptied."""
_IN: set[str] = set()
"""Streamlit's own sessions in which somebody is signed in; a session is one open page, and its name is not told."""
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
    """What this browser session knows of who is at the keyboard."""

    name: str
    token: str
    """"" for who came in through the organisation's login: its cookie is Streamlit's."""
    looked: float


def person() -> str | None:
    """Who has signed in; None: nobody. The store is asked again every few seconds."""
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
    known = members.session_of(house.store(), token)
    if known is None:
        return None
    name, seen = known
    if datetime.now(UTC) - seen > _TOUCH_EVERY:
        with house.store().writing() as w:
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
        return _Held(members.admitted(house.store(), vouched(user)), "", time.monotonic())
    except AccessError:
        return None


def vouched(user: Mapping[str, Any]) -> str:
    """Who a login through an organisation says somebody is: a verified e-mail address, or else its own name for them.

    "" where it says neither, or something that is no name as it is stored, for which another's could be taken.
    """
    name = user.get("email") or user.get("sub")
    refused = bool(user.get("email")) and str(user.get("email_verified")).lower() == "false"
    return name if isinstance(name, str) and not refused and members.tidy(name) == name else ""


def is_in(session: str) -> bool:
    """Whether somebody is signed in in that open page, as far as it has looked."""
    return session in _IN


def _note(signed_in: bool) -> None:
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        if len(_IN) > _MOST_IN:
            _IN.clear()  # closed pages are not told of; who is in enters again within seconds
        (_IN.add if signed_in else _IN.discard)(context.session_id)


def require() -> str:
    """Who has signed in; :class:`AccessError` for nobody."""
    name = person()
    if name is None:
        raise AccessError("You are not signed in, or not any more. Load the page again.")
    return name


# --- pages ------------------------------------------------------------------------------------------------------------


def page() -> None:
    """Ask who is there."""
    _forget_cookie()
    _, middle, _ = st.columns([1, 1.2, 1])
    with middle:
        st.space("large")
        st.title("Themescope", anchor=False)
        st.caption("Other people can reach these pages, so please say who you are.")
        members.check_sharing(
            house.store(), has_organisation(), str(st.get_option("server.address") or "every address")
        )
        with st.form("sign-in", border=True):
            name = st.text_input("Name", max_chars=members.LONGEST_NAME, icon=":material/person:")
            password = st.text_input("Password", type="password", icon=":material/key:")
            if st.form_submit_button("Sign in", type="primary", width="stretch"):
                _try(name or "", password or "")
        if has_organisation():
            _organisation()
        st.caption(
            "No account, or the password forgotten? Whoever runs this Themescope adds people and sets passwords."
        )


def _try(name: str, password: str) -> None:
    try:
        token = members.sign_in(house.store(), name, password, _ATTEMPTS)
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
        return
    _begin(members.tidy(name))
    _note(True)
    st.session_state[_HELD] = _Held(members.tidy(name), token, time.monotonic())
    st.session_state.pop(_ENDED, None)
    st.rerun()


def _begin(name: str) -> None:
    """Keep what was being done in this tab only for the one who did it."""
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
        st.warning(
            f"{plain(who)} is not among the people who may come in, or has been away for too long. Ask an admin."
        )
        if st.button("Use another account", icon=":material/logout:", width="stretch"):
            st.logout()
    elif st.button("Sign in through your organisation", icon=":material/domain:", width="stretch"):
        st.login()


def bar(actor: Actor) -> None:
    """Who is here and what they may do, with the way out; in the sidebar of every page."""
    held: _Held = st.session_state[_HELD]
    with st.sidebar, st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":material/person: **{plain(held.name)}** :gray[{actor.role.value}]", width="stretch")
        st.button("Sign out", type="tertiary", on_click=sign_out)
    if held.token and st.context.cookies.get(_cookie()) != held.token:
        with st.sidebar:
            _set_cookie(held.token, int(LONGEST.total_seconds()))


def sign_out() -> None:
    """End the session here and in the store."""
    held: _Held | None = st.session_state.get(_HELD)
    _forget()
    _note(False)
    if held is not None and held.token:
        with house.store().writing() as w:
            w.sign_ins.close(held.token)
        st.session_state[_ENDED] = held.token
    elif held is not None:
        st.logout()


def _cookie() -> str:
    """One for each port: browsers keep the cookies of all ports of a machine together."""
    return f"themescope-{st.get_option('server.port')}"


def _set_cookie(value: str, seconds: int) -> None:
    draw = st.components.v2.component("themescope_cookie", html="", js=_SET_COOKIE)
    draw(data={"name": _cookie(), "value": value, "seconds": seconds}, key=f"cookie-{bool(value)}", height=1)


def _forget_cookie() -> None:
    if st.session_state.get(_ENDED):
        _set_cookie("", 0)


# --- OIDC -------------------------------------------------------------------------------------------------------------


def has_organisation(files: list[str] | None = None) -> bool:
    """Whether a login through an organisation is set up: a section ``auth`` in a file of secrets."""
    paths = st.get_option("secrets.files") if files is None else files
    return any(_has_auth(Path(path)) for path in paths)


def _has_auth(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return "auth" in tomllib.load(stream)
    except (OSError, tomllib.TOMLDecodeError):
        return False
