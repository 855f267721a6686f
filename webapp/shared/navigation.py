"""Links between pages, and saved views, which are named query strings of a page.

Pages are named by id, and the keys of their view state without the prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.navigation.page import StreamlitPage

from themescope.core.errors import UnknownNameError
from themescope.db.access import only_its_maker
from themescope.db.records import SavedViewRecord
from themescope.webapp.shared import projects, queries
from themescope.webapp.shared.pages import CORPUS, PageCard, PageKeys, translated
from themescope.webapp.shared.people import current_actor, current_person, shown
from themescope.webapp.shared.text import ago, plain

View = Mapping[str, str | Sequence[str]]
ARROW = ":material/arrow_forward:"
_PAGES, _CURRENT = "navigation_pages", "navigation_current"


def offer(pages: Mapping[str, tuple[PageCard, StreamlitPage]], current: str) -> None:
    """Set the pages that this person may open, and the one that is open; called by the app in every run."""
    st.session_state[_PAGES], st.session_state[_CURRENT] = dict(pages), current


def page_link(page: str, label: str, *, icon: str = ARROW, view: View | None = None, key: str = "") -> bool:
    """Draw a link to a view of a page; nothing where this person may not open the page.

    A link to the page that is open changes its view, and returns whether it did: a fragment has to rerun the page
    then. Streamlit would change the address only.
    """
    found = _offered().get(page)
    if found is None:
        return False
    card, target = found
    query, keys = address(card, view), card.page_keys()
    if page == st.session_state[_CURRENT] and keys is not None:
        key = key or f"navigation_{page}_{urlencode(query, doseq=True)}"
        return st.button(label, icon=icon or None, type="tertiary", key=key, on_click=_show, args=(keys, query))
    st.page_link(target, label=label, icon=icon or None, query_params=query)
    return False


def is_open(page: str) -> bool:
    """Return whether a page is the one that is open."""
    return bool(st.session_state[_CURRENT] == page)


def current_page() -> str:
    """Return the id of the page that is open, which is its URL path."""
    return str(st.session_state[_CURRENT])


def switch_page(page: str, view: View | None = None) -> None:
    """Open a view of another page.

    Raises
    ------
    UnknownNameError
        If there is no such page, or this person may not open it.
    """
    offered = _offered()
    if page not in offered:
        raise UnknownNameError("page", page, offered)
    card, target = offered[page]
    st.switch_page(target, query_params=address(card, view))


def show_view(view: View) -> NoReturn:
    """Show another view of the open page; ends the run."""
    card, _ = _offered()[st.session_state[_CURRENT]]
    _show(card.page_keys(), address(card, view))
    st.rerun()


def open_address(query: str) -> None:
    """Show the view that a query string of the open page describes, also one of version 0.1; for callbacks."""
    card, _ = _offered()[st.session_state[_CURRENT]]
    keys = card.page_keys()
    _show(keys, _grouped(translated(keys, parse_qsl(query, keep_blank_values=True))), reset=True)


def offered(page: str) -> bool:
    """Return whether this person may open a page."""
    return page in _offered()


def offered_cards() -> list[PageCard]:
    """Return the cards of the pages that this person may open, in the order of the navigation."""
    return [card for card, _ in _offered().values()]


def _offered() -> dict[str, tuple[PageCard, StreamlitPage]]:
    found: dict[str, tuple[PageCard, StreamlitPage]] = st.session_state.get(_PAGES, {})
    return found


def address(card: PageCard, view: View | None = None) -> dict[str, str | Sequence[str]]:
    """Return the query parameters of a link to a view of a page, with the current project unless ``view`` names one."""
    keys, project = card.page_keys(), projects.current()
    named = {} if project is None else {CORPUS: project.name}
    return named | (dict(view or {}) if keys is None else keys.address(view or {}))


def open_project(name: str) -> NoReturn:
    """Show the open page for another project, without the view of the present one; ends the run."""
    card, target = _offered()[st.session_state[_CURRENT]]
    keys = card.page_keys()
    for key in keys.urls if keys is not None else ():
        st.session_state.pop(key, None)
    st.switch_page(target, query_params={CORPUS: name})


def _grouped(query: Iterable[tuple[str, str]]) -> dict[str, str | Sequence[str]]:
    found: dict[str, list[str]] = {}
    for name, value in query:
        found.setdefault(name, []).append(value)
    return dict(found)


def _show(keys: PageKeys | None, query: View, reset: bool = False) -> None:
    """Write a view into the session and the address; with ``reset``, what it does not name returns to its default."""
    for name in keys.urls if keys is not None and reset else ():
        if name not in query:
            st.session_state.pop(name, None)
            write_parameter(name, ())
    for name, value in query.items():
        values = [value] if isinstance(value, str) else list(value)
        if keys is not None and name in keys.urls:
            try:
                st.session_state[name] = keys.urls[name].read(values)
            except ValueError:
                continue
        write_parameter(name, values)


def write_parameter(name: str, values: Sequence[str]) -> None:
    """Write one parameter of the address. Streamlit itself writes those that are bound to a widget."""
    try:
        if values:
            st.query_params[name] = list(values)
        else:
            st.query_params.pop(name, None)
    except StreamlitAPIException:
        return


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
        name = str(st.session_state[_NAME])
        refused = queries.write(lambda w: w.views.add(page, name, query, current_person()))
        if refused:
            st.session_state["view-refused"] = refused
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
        st.session_state["view-refused"] = queries.write(lambda w: w.views.delete(view.id))

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
