"""The person who uses a session.

On a shared server it is the person who signed in. Otherwise it is the optional name in the sidebar, kept while the
browser tab is open. Without a name it is "", which pages show as "me". Labels, verdicts and histories carry the name.
"""

from __future__ import annotations

import streamlit as st

from db.access import Actor, Right
from jobs.services.people import LONGEST_NAME as LONGEST
from jobs.services.people import tidy
from webapp.shared import login
from webapp.shared import store as server_store
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
        return login.require()
    return tidy(str(st.session_state.get(_KEY) or ""))


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
        login.bar(actor)
        return
    with st.sidebar:
        st.text_input(
            "Your name",
            key=_KEY,
            max_chars=LONGEST,
            placeholder=UNNAMED,
            icon=":material/person:",
            help="Labels and verdicts are stored under this name.",
        )
        if not actor.may(Right.MANAGE):
            st.caption("Role: viewer" if not actor.may(Right.LABEL) else "Role: labeller")
