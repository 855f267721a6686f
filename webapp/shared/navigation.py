"""Links between pages, and saved views, which are named query strings of a page.

Pages are named by id, and the keys of their view state without the prefix.

Between two links the session holds the view of every page, for each project its own, and the address shows it. The
address is read only where somebody arrives: a browser may send an address, or values of widgets, from before a change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NoReturn
from urllib.parse import parse_qs, urlencode

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from themescope.core.errors import UnknownNameError
from themescope.core.records.stored import SelectionRecord
from themescope.db.access import Actor, only_its_maker
from themescope.db.records import SavedViewRecord
from themescope.webapp.shared import projects, queries
from themescope.webapp.shared.pages import CORPUS, PageCard, PageKeys
from themescope.webapp.shared.people import current_actor, current_person, shown
from themescope.webapp.shared.text import ago, plain, shorten

View = Mapping[str, str | Sequence[str]]
_ARROW = ":material/arrow_forward:"
_PAGES, _CURRENT = "navigation_pages", "navigation_current"
_LAST, _TARGET, _NAMED = "navigation_last", "navigation_target", "navigation_named"
"""Session keys: the page of the last run; page and address to open in the next one; what the last link named, until it
was found."""
_VIEWS, _OWNER = "navigation_views", "navigation_owner"
"""Session keys: the views of the pages of other projects, and the project whose views the session holds."""
VISITED = "navigation_visited"
"""Session key: the page that was open last in each place of the navigation."""


def offer(pages: Mapping[str, tuple[PageCard, StreamlitPage]], current: str) -> None:
    """Set the pages that this person may open, and the one that is open; called by the app in every run."""
    st.session_state[_PAGES], st.session_state[_CURRENT] = dict(pages), current


def arrive() -> None:
    """Set the project and the view of the open page; called by the app before it draws the page.

    A link, and the history of the browser, show what they name, and the rest as at first. A link that names a project
    only, as those of the navigation do, shows the page as it was left in that project.
    """
    page = current_page()
    context = get_script_run_ctx()
    keys = _offered()[page][0].page_keys()
    target: tuple[str, View] | None = st.session_state.get(_TARGET)
    here = target is not None and target[0] == page
    back = context is not None and context.is_history_navigation
    arrived = here or back or st.session_state.get(_LAST) != page
    query: View = {name: st.query_params.get_all(name) for name in st.query_params}
    if target is not None and here:
        query = target[1]
        _write_address(query)
    if arrived:
        st.session_state[_NAMED] = {}
        projects.open_named(_last(query.get(CORPUS, "")) or projects.name_of(projects.owner(keys, query)), True)
    else:
        projects.open_named(str(st.session_state.get(CORPUS, "")), False)
    owner = st.session_state.get(_OWNER, 0)
    if owner not in (0, projects.current_id()):
        _exchange_views(owner, projects.current_id())
    st.session_state[_OWNER] = projects.current_id()
    if keys is not None and arrived and (back or any(name in keys.urls and name != CORPUS for name in query)):
        _show(keys, query)
    # Last, because a message of the browser may end this run at any access to the session; the next run arrives then.
    st.session_state[_LAST] = page
    st.session_state.pop(_TARGET, None)


def _last(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else value[-1] if value else ""


def _write_address(query: View) -> None:
    """Replace the address. Streamlit seeds widgets from it, and refuses to write what is bound to one."""
    context = get_script_run_ctx()
    if context is None:
        return
    with context.session_state.query_params() as address:
        for name in {*address, *query}:
            binding = address.get_binding_for_param(name)
            if binding is not None:
                address.unbind_widget(binding.widget_id)
        address.from_dict({name: value if isinstance(value, str) else list(value) for name, value in query.items()})
        address.set_initial_query_params_from_current()


def _exchange_views(before: int, after: int) -> None:
    """Put the views of the pages aside for the project that was open, and bring back those of the one that is."""
    views: dict[int, dict[str, object]] = st.session_state.setdefault(_VIEWS, {})
    aside = views.setdefault(before, {})
    keys = [card.page_keys() for card, _ in _offered().values()]
    for name in {name for found in keys if found is not None for name in found.urls} - {CORPUS}:
        if name in st.session_state:
            aside[name] = st.session_state.pop(name)
    st.session_state[_OWNER] = after
    st.session_state.update(views.pop(after, {}))


def missing() -> tuple[str, str]:
    """Return kind and name of the first record that the link here names and that does not exist; else ("", "")."""
    keys = _offered()[current_page()][0].page_keys()
    found = None if keys is None else projects.missing(keys, st.session_state.get(_NAMED, {}))
    if found is None:
        st.session_state[_NAMED] = {}
    return found or ("", "")


def page_link(page: str, label: str, *, icon: str = _ARROW, view: View | None = None, key: str = "") -> bool:
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
        return st.button(label, icon=icon or None, type="tertiary", key=key, on_click=_open, args=(query,))
    st.page_link(target, label=label, icon=icon or None, query_params=query)
    return False


def current_page() -> str:
    """Return the id of the page that is open, which is its URL path."""
    return str(st.session_state[_CURRENT])


def switch_page(page: str, view: View | None = None) -> NoReturn:
    """Open a view of a page; ends the run. Raises ``UnknownNameError`` for a page that this person may not open."""
    offered = _offered()
    if page not in offered:
        raise UnknownNameError("page", page, offered)
    card, target = offered[page]
    query = address(card, view)
    st.session_state[_TARGET] = page, query
    if page != current_page():
        st.switch_page(target, query_params=query)
    st.rerun()


def open_address(query: str) -> None:
    """Show the view of the open page that a query string describes; for callbacks."""
    _open(parse_qs(query, keep_blank_values=True))


def _open(query: View) -> None:
    """Show another view of the open page; for callbacks."""
    keys = _offered()[current_page()][0].page_keys()
    # A callback of a fragment is followed by a run of the fragment alone, in which nobody arrives.
    if keys is not None and _last(query.get(CORPUS, "")) == st.session_state[CORPUS] and len(query) > 1:
        _write_address(query)
        _show(keys, query)
    else:
        st.session_state[_TARGET] = current_page(), query


def offered(page: str) -> bool:
    """Return whether this person may open a page."""
    return page in _offered()


def offered_cards() -> list[PageCard]:
    """Return the cards of the pages that this person may open, in the order of the navigation."""
    return [card for card, _ in _offered().values()]


def _offered() -> dict[str, tuple[PageCard, StreamlitPage]]:
    return st.session_state.get(_PAGES, {})


def address(card: PageCard, view: View | None = None) -> dict[str, str | Sequence[str]]:
    """Return the query parameters of a link to a view of a page.

    Without a project in ``view``, it is that of the record which the view names, else the current one.
    """
    keys = card.page_keys()
    query = dict(view or {}) if keys is None else keys.address(view or {})
    if CORPUS in query:
        return query
    owner, current = projects.owner(keys, query), projects.current()
    if current is not None and owner in (0, current.id):
        return {CORPUS: current.name} | query
    return {CORPUS: projects.name_of(owner)} | query if owner else query


def show_next(view: View) -> None:
    """Show another view of the open page in the next run, whatever interrupts this one."""
    st.session_state[_TARGET] = current_page(), address(_offered()[current_page()][0], view)


def open_project(name: str) -> None:
    """Show the open page for another project in the next run, as it was left there."""
    show_next({CORPUS: name})


def shown_view() -> dict[str, list[str]]:
    """Return the parameters of the address, and those that are left out of it because they are chosen by default."""
    keys = _offered()[current_page()][0].page_keys()
    held = {name: st.session_state.get(f"{name}_drawn") for name in (keys.urls if keys is not None else ())}
    found = {name: [str(drawn[1])] for name, drawn in held.items() if drawn is not None}
    return found | {name: st.query_params.get_all(name) for name in st.query_params}


def _show(keys: PageKeys, query: View) -> None:
    """Write a view into the session: what the query names, and everything else of the page as at first."""
    for name in [*st.session_state]:
        if (name in keys.urls and name != CORPUS) or str(name).startswith(keys.viewed):
            del st.session_state[name]
    for name, value in query.items():
        # Streamlit reads numbers from the address itself, and keeps them within their limits.
        if name in keys.urls and name != CORPUS and keys.urls[name].kind not in (int, float):
            st.session_state[name] = keys.urls[name].read([value] if isinstance(value, str) else value)
    st.session_state[_NAMED] = query


def write_parameter(name: str, values: Sequence[str]) -> None:
    """Write one parameter of the address. Streamlit itself writes those that are bound to a widget."""
    try:
        if values:
            st.query_params[name] = list(values)
        else:
            st.query_params.pop(name, None)
    except StreamlitAPIException:
        return


def set_parameter(name: str, value: str) -> None:
    """Set a URL key of the open page, in the session and in the address; "" for its default; for callbacks."""
    st.session_state[name] = value
    write_parameter(name, [value] if value else [])


_NAME, _LONG = "view-name", 60


def saved_views(page: str, menu: bool = True) -> None:
    """Draw the list of saved views of ``page`` (its id), and a form that saves the current one, in a menu or here.

    Call it at the end of a page, after everything that writes into the address.
    """

    def keep() -> None:
        query, name = urlencode(shown_view(), doseq=True), str(st.session_state[_NAME])
        if queries.write(lambda w: w.views.add(page, name, query, current_person())):
            st.session_state[_NAME] = ""

    found = queries.read(lambda r: r.views.list(page))
    label = f"Saved views ({len(found)})" if found else "Save this view"
    with st.popover(label, icon=":material/bookmark:", key="saved-views") if menu else st.container():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input("View name", key=_NAME, max_chars=200)
            st.button("Save", key="save-view", icon=":material/bookmark_add:", on_click=keep)
        if not found:
            st.caption("A saved view reopens this page with its current selections, for everyone.")
            return
        actor = current_actor()
        for view in found:
            saved_line("view", view, "", actor, partial(open_address, view.query))


def saved_line(
    noun: str, record: SavedViewRecord | SelectionRecord, about: str, actor: Actor, open_one: Callable[[], None]
) -> None:
    """Draw a saved view or selection with buttons that open and delete it; whoever saved it may delete it."""

    def delete() -> None:
        queries.write(lambda w: (w.views if isinstance(record, SavedViewRecord) else w.selections).delete(record.id))

    owned, long = actor.owns(record.person), len(record.name) > _LONG
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            plain(shorten(record.name, _LONG)),
            key=f"open-{noun}-{record.id}",
            type="tertiary",
            icon=":material/bookmark:",
            on_click=open_one,
            help=plain(record.name) if long else None,
        )
        st.caption(f"{about}{shown(record.person)}, {ago(record.created)}", width="stretch")
        st.button(
            "Delete",
            key=f"delete-{noun}-{record.id}",
            type="tertiary",
            icon=":material/delete:",
            on_click=delete,
            help=f"Deletes the saved {noun} only, not the data that it shows."
            if owned
            else plain(only_its_maker(record.person)),
            disabled=not owned,
        )
