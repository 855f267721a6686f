"""Saved views: named query strings of a page."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from core.errors import ThemescopeError
from db.access import only_its_maker
from db.records import SavedViewRecord
from webapp.shared import queries
from webapp.shared.navigation import open_address
from webapp.shared.people import current_actor, current_person, shown
from webapp.shared.text import ago, plain

_NAME = "view-name"


def saved_views(page: str) -> None:
    """Draw the list of saved views of ``page`` (its id), and a form that saves the current one.

    Call it at the end of a page, after everything that writes into the address.
    """
    found = queries.read(lambda r: r.views.list(page))
    label = f"Saved views ({len(found)})" if found else "Save this view"
    with st.popover(label, icon=":material/bookmark:", key="saved-views"):
        _save(page)
        actor = current_actor() if found else None
        for view in found:
            _line(page, view, "" if actor is None or actor.owns(view.person) else only_its_maker(view.person))
        if not found:
            st.caption("A saved view reopens this page with its current selections, for everyone.")


def _save(page: str) -> None:
    def keep() -> None:
        query = urlencode([(name, v) for name in st.query_params for v in st.query_params.get_all(name)])
        try:
            with queries.store().writing() as w:
                w.views.add(page, str(st.session_state[_NAME]), query, current_person())
        except ThemescopeError as error:
            st.session_state["view-refused"] = str(error)
        else:
            st.session_state[_NAME] = ""

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("View name", key=_NAME, max_chars=200)
        st.button("Save", key="save-view", icon=":material/bookmark_add:", on_click=keep)
    if refused := st.session_state.pop("view-refused", ""):
        st.error(plain(refused), icon=":material/error:")


def _line(page: str, view: SavedViewRecord, refused: str) -> None:
    """Draw one view with a button that deletes it, disabled with the reason ``refused``."""

    def delete() -> None:
        try:
            with queries.store().writing() as w:
                w.views.delete(view.id)
        except ThemescopeError as error:
            st.session_state["view-refused"] = str(error)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            plain(view.name), key=f"open-view-{view.id}", type="tertiary", icon=":material/bookmark:",
            on_click=open_address, args=(view.query,),
        )  # fmt: skip
        st.caption(f"{shown(view.person)}, {ago(view.created)}")
        st.space("stretch")
        st.button(
            "Delete", key=f"delete-view-{view.id}", type="tertiary", icon=":material/delete:", on_click=delete,
            help=plain(refused or "Deletes the saved view only, not the data that it shows."), disabled=bool(refused),
        )  # fmt: skip
