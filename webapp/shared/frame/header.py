"""Frame of every page: places in the sidebar, the breadcrumb with the project, links to the pages of the place."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.db.access import Actor
from themescope.webapp.shared import navigation, people, projects, queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.frame import job_tray
from themescope.webapp.shared.pages import DOCUMENTATION, PageCard, by_place, place_of
from themescope.webapp.shared.text import ago, count, plain, shorten

SEARCH = "search"
"""Id of the Search page."""
_BUTTON = "search_key_button"


def search_button(current: str) -> None:
    """Draw the button, which opens the Search page or, if that is open, focuses its box."""
    if not navigation.offered(SEARCH):
        return
    here = current == SEARCH
    draw_component(
        "search_key", data={"here": here, "label": "Search"}, key=_BUTTON, width="content", on_open_change=lambda: None
    )
    if not here and (st.session_state.get(_BUTTON) or {}).get("open"):
        st.session_state[navigation.SEARCHED_FROM] = current
        navigation.switch_page(SEARCH)


def search_key_setting() -> None:
    """Draw the switch of shortcuts of a single key, on all pages of this browser (WCAG 2.1.4)."""
    draw_component("search_key_setting", data={"label": "Shortcuts of a single key"}, key="search_key_setting")


_HOME = "home"
_NAME_CHARS, _SEARCHED = 28, 8
_LINKS = (("New project", ":material/add:", "Import"), ("All projects", ":material/list:", "All projects"))
"""Label, icon and view of the page Data."""
_GONE = "It may have been deleted or renamed, or it is not shared with you."
_LISTED: dict[str, str] = {"view": "All projects"}
_LONGEST = 120
_SWITCH, _FIND = "frame_project", "frame_find_project"


def sidebar(cards: Mapping[str, PageCard], current: PageCard) -> None:
    """Draw the links to Home and to the places; a place opens at the page that was open in it last."""
    sections = projects.has_sections()
    here, visited = place_of(current, sections), st.session_state.setdefault(navigation.VISITED, {})
    if here is not None:
        visited[here.title] = current.id
    with st.sidebar, st.container(key="frame-places", gap="xxsmall"):
        home = cards.get(_HOME)
        if home is not None:
            _link(home, home.title, home.icon, current.id == _HOME)
        for place, pages in by_place(cards.values(), sections).items():
            named = {card.id: card for card in pages}
            card = named.get(visited.get(place.title, ""), pages[0])
            _link(card, place.title, place.icon, place == here)


def header(cards: Mapping[str, PageCard], current: PageCard, actor: Actor) -> None:
    """Draw the breadcrumb with the title of the page and the menu, and below the links to the pages of its place."""
    sections = projects.has_sections()
    place = place_of(current, sections)
    row: dict[str, Any] = {"horizontal": True, "vertical_alignment": "center", "gap": "xxsmall", "wrap": False}
    with st.container(key="frame-header", **row):
        with st.container(key="frame-breadcrumb", **row):
            switcher()
            if place is not None and place.title != current.title:
                _separator()
                st.html(f'<span class="frame-place">{escape(place.title)}</span>', width="content")
            _separator()
            st.title(current.title, anchor=False)
        search_button(current.id)
        job_tray.tray(current.id)
        menu(cards, current, actor)
        # Runs the page again when the browser turns light or dark: Streamlit redraws its own elements only.
        draw_component("theme_watch", key="theme_watch", on_theme_change=lambda: None)
        draw_component("tab_focus", key="tab_focus")  # keeps the keyboard on a tab that is drawn anew
    pages = by_place(cards.values(), sections).get(place, []) if place is not None else []
    if len(pages) > 1:
        with st.container(key="frame-tabs", horizontal=True, gap="xxsmall", wrap=False):
            for card in pages:
                _link(card, card.title, "", card == current)


def missing(page: str) -> bool:
    """Draw, in place of the page, what the link to it names and does not exist; return whether there is such."""
    if name := projects.unknown():
        what = f"There is no project called “{shorten(name, _LONGEST)}”."
        nothing(what, _GONE + " Choose another one in the menu at the top.", "corpora", "All projects", _LISTED)
        return True
    kind, name = navigation.missing()
    if kind:
        verb = "are" if kind.endswith("s") else "is"
        what = f"There {verb} no {kind} called “{shorten(name, _LONGEST)}” in this project."
        nothing(what, _GONE, page, "Open the page without it")
    return bool(kind)


def _separator() -> None:
    st.html('<span class="frame-separator" aria-hidden="true">›</span>', width="content")


def _link(card: PageCard, label: str, icon: str, is_current: bool) -> None:
    """Draw a link to a page of the navigation. Streamlit's own links do not tell which one is current."""
    if not is_current:
        navigation.page_link(card.id, plain(label), icon=icon)
        return
    query = urlencode(navigation.address(card), doseq=True)
    address = f"/{'' if card.id == _HOME else card.id}{'?' if query else ''}{query}"
    name = icon.removeprefix(":material/").removesuffix(":")
    shown = f'<span class="icon" aria-hidden="true">{escape(name)}</span>' if name else ""
    link = f'<a class="frame-current" aria-current="page" href="{escape(address)}" target="_self">'
    st.html(f"{link}{shown}<span>{escape(label)}</span></a>", width="stretch" if icon else "content")


# ---------------------------------------------------------------- menu


def menu(cards: Mapping[str, PageCard], current: PageCard, actor: Actor) -> None:
    """Draw the menu of the person: name, sign-out, pages that belong to no place, and documentation."""
    label = plain(shorten(actor.name or people.UNNAMED, _NAME_CHARS))
    with st.popover(label, key="frame-menu", type="tertiary", icon=":material/person:"):
        people.show_identity(actor)
        for card in cards.values():
            if place_of(card) is None and card.id != _HOME:
                navigation.page_link(card.id, plain(card.title), icon=card.icon, key=f"frame-menu-{card.id}")
        with st.container(key="frame-documentation", gap="xxsmall"):
            for name, icon, address in (
                ("Help with this page", ":material/help:", current.documentation),
                ("Documentation", ":material/menu_book:", ""),
                ("Glossary", ":material/dictionary:", "glossary.html"),
                ("Keyboard shortcuts", ":material/keyboard:", "relabelling.html#keyboard-shortcuts"),
            ):
                st.link_button(name, DOCUMENTATION + address, icon=icon, type="tertiary")
        search_key_setting()


# ---------------------------------------------------------------- project


@st.fragment
def switcher() -> None:
    """Draw the current project as a menu of all projects, with links to a new project and to the list of them."""
    chosen = projects.current()
    label = shorten(chosen.name, _NAME_CHARS) if chosen else "No project"
    # The list is read when it is opened, not in every run of every page.
    # Its key is that of the project, so that it is closed once another one is chosen.
    with st.container(key=_SWITCH):
        key = f"{_SWITCH}_menu_{chosen.id if chosen else 0}"
        menu = st.popover(plain(label), key=key, type="tertiary", on_change="rerun")
    if menu.open:
        with menu:
            if chosen is not None:
                st.caption(f"Unit of analysis: {chosen.unit.value} ({chosen.sentences:,} in this project)")
            listed = projects.by_activity(queries.corpora())
            wanted = ""
            if len(listed) > _SEARCHED:
                wanted = st.text_input("Find a project", key=_FIND, icon=":material/search:").strip().casefold()
            found = [corpus for corpus in listed if wanted in corpus.name.casefold()]
            for corpus in found[:_SEARCHED]:
                if _entry(corpus, chosen is not None and corpus.id == chosen.id):
                    navigation.open_project(corpus.name)
                    st.rerun()
            if len(found) > _SEARCHED:
                st.caption(f"and {count(len(found) - _SEARCHED, 'more project')}")
            elif listed and not found:
                st.caption("No project matches.")
            for name, icon, view in _LINKS if listed else _LINKS[:1]:
                if navigation.page_link("corpora", name, icon=icon, view={"view": view}, key=f"{_SWITCH}_{view}"):
                    st.rerun()


def _entry(corpus: CorpusRecord, is_current: bool) -> bool:
    """Draw one project; returns whether it was chosen."""
    return st.button(
        plain(shorten(corpus.name, 2 * _NAME_CHARS)), key=f"{_SWITCH}_{corpus.id}", type="tertiary", width="stretch",
        icon=":material/check:" if is_current else ":material/folder:", disabled=is_current,
        help=f"{count(corpus.sentences, corpus.unit.value)}, imported {ago(corpus.created)}",
    )  # fmt: skip
