"""Who is at the keyboard.

Where others can reach the pages, it is who signed in. Otherwise it is a name that a person gives in the sidebar, kept
for as long as the browser's tab is open. Nobody has to give one: work without a name is done by "", which pages show
as "me"; a name matters as soon as several people work in one store, because labels, verdicts and histories carry it.
"""

from __future__ import annotations

import streamlit as st

from db.roles import Actor, Right
from jobs.services.people import LONGEST_NAME as LONGEST
from jobs.services.people import tidy
from webapp.shared import login
from webapp.shared import store as house
from webapp.shared.text import plain

UNNAMED = "me"
_KEY = "person"


def current_person() -> str:
    """The name of who signed in, or that was given in this session; "" where nobody gave one.

    Raises
    ------
    AccessError
        If people must sign in here, and nobody has.
    """
    if house.shared():
        return login.require()
    return tidy(str(st.session_state.get(_KEY) or ""))


def current_actor() -> Actor:
    """Who is here, with the role that counts now."""
    with house.store().reading() as r:
        return r.people.actor(current_person())


def may(right: Right) -> bool:
    """Whether whoever is here may do that."""
    return current_actor().may(right)


def shown(person: str) -> str:
    """A person's name for any place that reads Markdown; without one, "me"."""
    return plain(person or UNNAMED)


def entrance(actor: Actor) -> None:
    """In the sidebar of every page: who signed in, or a box for a name."""
    if house.shared():
        login.bar(actor)
        return
    with st.sidebar:
        st.text_input(
            "Your name",
            key=_KEY,
            max_chars=LONGEST,
            placeholder=UNNAMED,
            icon=":material/person:",
            help="What you label and judge is kept under this name, so that several people can work side by side.",
        )
        if not actor.may(Right.MANAGE):
            st.caption("May look only" if not actor.may(Right.LABEL) else "May label and review")
