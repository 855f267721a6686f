"""Views that people keep under a name: what the address says, put back by a click. Any page places it in two lines."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from core.errors import ThemescopeError
from db.records import SavedViewRecord
from db.roles import only_its_maker
from webapp.shared import queries
from webapp.shared.navigation import open_address
from webapp.shared.people import current_actor, current_person, shown
from webapp.shared.text import ago, plain

_NAME = "view-name"


def saved_views(page: str) -> None:
    """Save what the address of ``page`` says now, open what was saved, forget it.

    ``page`` is the file in ``views`` and the page's part of the address, such as "compare". Place it last on the
    page, so that everything the page writes into the address is there.
    """
    with queries.store().reading() as r:
        found = r.views.list(page)
    label = f"Saved views ({len(found)})" if found else "Save this view"
    with st.popover(label, icon=":material/bookmark:", key="saved-views"):
        _save(page)
        actor = current_actor() if found else None
        for view in found:
            _line(page, view, "" if actor is None or actor.owns(view.person) else only_its_maker(view.person))
        if not found:
            st.caption("A saved view opens this page just as it is now, for everybody who works here.")


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
        st.text_input("Name of this view", key=_NAME, max_chars=200)
        st.button("Save", key="save-view", icon=":material/bookmark_add:", on_click=keep)
    if refused := st.session_state.pop("view-refused", ""):
        st.error(plain(refused), icon=":material/error:")


def _line(page: str, view: SavedViewRecord, refused: str) -> None:
    """One view, and its deletion unless there is a sentence that refuses it."""

    def forget() -> None:
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
            "Delete", key=f"forget-view-{view.id}", type="tertiary", icon=":material/delete:", on_click=forget,
            help=plain(refused or "The view is forgotten; nothing that it shows is lost."), disabled=bool(refused),
        )  # fmt: skip
