"""Handling of errors, missing rights and deletions on pages."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.db.access import Right
from themescope.db.label_records import Role
from themescope.webapp.shared import queries
from themescope.webapp.shared import store as server_store
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import plain

_LOG = logging.getLogger(__name__)
_NAMED = 3
"""Number of admins that a message names."""
BROKEN = "This page failed."
"""First sentence of the message about an unexpected error."""


def guarded(draw: Callable[[], object]) -> None:
    """Run ``draw``; show its errors as messages, and log unexpected ones."""
    try:
        draw()
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
    except Exception as error:
        _LOG.exception("Unhandled error in a page")
        st.error(
            f"**{BROKEN}** Stored data is unchanged. Reload the page. If the error persists, start the server with "
            "`--verbose` and read its log.  \n"
            f"{plain(type(error).__name__)}: {plain(error)}",
            icon=":material/error:",
        )
        page_link("home", "Back to Home", icon=":material/arrow_back:")


def closed(what: str, right: Right = Right.MANAGE) -> bool:
    """Return whether this person lacks a right; shows a message in place of the form for ``what``."""
    if may(right):
        return False
    role = Role.ADMIN if right is Right.MANAGE else Role.LABELLER
    nothing(f"{what} requires the {role.value} role.", f"You can view everything. To change your role, ask {_admins()}")
    return True


def _admins() -> str:
    """Name the admins. Without sign-in, the person may be an admin who has not entered a name."""
    named = queries.read(lambda r: [person.name for person in r.people.list() if person.role is Role.ADMIN])
    listed = ", ".join(named[:_NAMED]) + (" or another" if len(named) > _NAMED else "")
    own = "" if server_store.shared() else " If you are an admin, enter your name in the menu."
    return f"an admin: {listed}.{own}" if named else "an admin."


def delete_button(noun: str, name: str, along: str, delete: Callable[[Any], None]) -> None:
    """Draw a button that confirms before it calls ``delete`` with the store's repositories; admins only."""
    if may(Right.MANAGE) and st.button(
        f"Delete this {noun} …", icon=":material/delete:", type="tertiary", key=f"delete-{noun}"
    ):
        st.dialog(f"Delete this {noun}?")(_confirm)(name, along, delete)


def _confirm(name: str, along: str, delete: Callable[[Any], None]) -> None:
    outcome = st.session_state.pop("deletion", None)
    if outcome == "":
        st.rerun()
    st.markdown(f"**{plain(name)}**{' with ' + plain(along) if along else ''}. This cannot be undone.")
    if outcome:
        st.error(plain(outcome), icon=":material/error:")
    st.button("Delete", type="primary", icon=":material/delete:", on_click=_delete, args=(delete,))


def _delete(delete: Callable[[Any], None]) -> None:
    """Delete, and keep the error message, or "" for success, for the next run of the dialog."""
    st.session_state["deletion"] = queries.write(delete)
