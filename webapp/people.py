"""Who is at the keyboard: a name that a person gives in the sidebar, kept for as long as the browser's tab is open.

Nobody has to give one. Work without a name is done by "", which pages show as "me"; a name matters as soon as several
people work in one store, because labels, verdicts and histories carry it.
"""

from __future__ import annotations

import streamlit as st

from webapp.components.text import plain

LONGEST = 60
"""Letters of a name."""
UNNAMED = "me"
_KEY = "person"


def current_person() -> str:
    """The name that was given in this session, trimmed; "" where nobody gave one."""
    return tidy(str(st.session_state.get(_KEY) or ""))


def tidy(name: str) -> str:
    """A name as it is stored: one line, single spaces, no characters that are not seen, at most ``LONGEST`` letters."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())[:LONGEST].rstrip()


def shown(person: str) -> str:
    """A person's name for any place that reads Markdown; without one, "me"."""
    return plain(person or UNNAMED)


def name_box() -> None:
    """The box in the sidebar of every page."""
    with st.sidebar:
        st.text_input(
            "Your name",
            key=_KEY,
            max_chars=LONGEST,
            placeholder=UNNAMED,
            icon=":material/person:",
            help="What you label and judge is kept under this name, so that several people can work side by side.",
        )
