"""Deletion with a confirmation that names everything deleted along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.errors import ThemescopeError
from db.access import Right
from webapp.shared import queries
from webapp.shared.people import may
from webapp.shared.text import plain


def button(noun: str, name: str, along: str, delete: Callable[[Any], None]) -> None:
    """Draw a button that confirms before it calls ``delete`` with the store's repositories; admins only."""
    if may(Right.MANAGE) and st.button(
        f"Delete this {noun} …", icon=":material/delete:", type="tertiary", key=f"delete-{noun}"
    ):
        st.dialog(f"Delete this {noun}?")(_ask)(name, along, delete)


def _ask(name: str, along: str, delete: Callable[[Any], None]) -> None:
    outcome = st.session_state.pop("deletion", None)
    if outcome == "":
        st.rerun()
    st.markdown(f"**{plain(name)}**{' with ' + plain(along) if along else ''}. This cannot be undone.")
    if outcome:
        st.error(plain(outcome), icon=":material/error:")
    st.button("Delete", type="primary", icon=":material/delete:", on_click=_delete, args=(delete,))


def _delete(delete: Callable[[Any], None]) -> None:
    """Delete, and keep the error message, or "" for success, for the next run of the dialog."""
    st.session_state["deletion"] = ""
    try:
        with queries.store().writing() as repositories:
            delete(repositories)
    except ThemescopeError as error:
        st.session_state["deletion"] = str(error)
