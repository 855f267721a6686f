"""What a person sees when a page goes wrong: a sentence and what to do, never a stack of code."""

from __future__ import annotations

import logging
from collections.abc import Callable

import streamlit as st

from core.errors import ThemescopeError
from db.label_records import Role
from db.roles import Right
from webapp.shared import queries
from webapp.shared import store as house
from webapp.shared.choose import nothing
from webapp.shared.navigation import page_link
from webapp.shared.people import may
from webapp.shared.text import plain

_LOG = logging.getLogger(__name__)
_NAMED = 3
"""Admins who are named to somebody who may not do something."""
BROKEN = "This page could not be drawn."
"""What stands on a page where something failed that nobody foresaw."""


def guarded(draw: Callable[[], object]) -> None:
    """Run ``draw``; what goes wrong in it is told in words, and in full in the log of the server."""
    try:
        draw()
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
    except Exception as error:
        _LOG.exception("A page failed")
        st.error(
            f"**{BROKEN}** Nothing is lost: what has been stored stays as it is. "
            "Load the page again; if that does not help, the log of the server has the details "
            "(start with `--verbose` to see it).  \n"
            f"{plain(type(error).__name__)}: {plain(error)}",
            icon=":material/error:",
        )
        page_link("home", "Back to Home", icon=":material/arrow_back:")


def closed(what: str, right: Right = Right.MANAGE) -> bool:
    """Whether whoever is here may not do that; says so in place of a form for ``what``."""
    if may(right):
        return False
    who = "an admin" if right is Right.MANAGE else "a labeller"
    nothing(f"{what} takes {who}.", f"You may look at everything that is here. For more, ask {_admins()}")
    return True


def _admins() -> str:
    """Whom to ask, by name; where names are taken on trust, an admin may just have forgotten to give theirs."""
    with queries.store().reading() as r:
        named = [person.name for person in r.people.list() if person.role is Role.ADMIN]
    listed = ", ".join(named[:_NAMED]) + (" or another" if len(named) > _NAMED else "")
    own = "" if house.shared() else " If that is you, put your name into the box at the left."
    return f"an admin: {listed}.{own}" if named else "an admin."
