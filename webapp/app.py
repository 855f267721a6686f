"""Navigation and frame of all pages. Streamlit runs this script for every page; ``python -m themescope`` starts it.

The pages are in ``features``. With a folder ``pages`` beside this script, Streamlit would use its older kind of pages,
which are opened without this script.
"""

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from themescope.core.errors import ThemescopeError
from themescope.db.access import Actor, Right
from themescope.jobs.common.logs import about_person
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared import header, navigation, people, projects, queries
from themescope.webapp.shared.choose import guarded
from themescope.webapp.shared.components import ASSETS
from themescope.webapp.shared.pages import PageCard

# A local file: Streamlit fetches an icon that is given by its name from a foreign host.
_ICON = str(ASSETS / "icon.svg")

st.set_page_config(page_title="Themescope", page_icon=_ICON, layout="wide", initial_sidebar_state="auto")
st.logo(_ICON, size="large")
st.html(ASSETS / "style.css")


def _offered(actor: Actor | ThemescopeError | None) -> dict[str, tuple[PageCard, StreamlitPage]]:
    """Return the pages that ``actor`` may open. Before sign-in every address is kept, so that it opens afterwards."""
    offered = {}
    for card in REGISTRY:
        if card.right is Right.LOOK or actor is None or (isinstance(actor, Actor) and actor.may(card.right)):
            path = "" if card.id == "home" else card.id
            page = st.Page(card.script, title=card.title, icon=card.icon, url_path=path, default=not path)
            offered[card.id] = (card, page)
    return offered


def _run() -> None:
    actor: Actor | ThemescopeError | None
    try:  # None for somebody who must sign in first
        away = people.sign_in_required() and people.signed_in_person() is None
        actor = None if away else people.current_actor()
    except ThemescopeError as error:
        actor = error
    offered = _offered(actor)
    # Hidden: the frame draws the links, which keep the project, and fewer than there are pages.
    page = st.navigation([one for _, one in offered.values()], position="hidden")
    current = next(id for id, (_, one) in offered.items() if one.url_path == page.url_path)
    navigation.offer(offered, current)
    if isinstance(actor, ThemescopeError):
        raise actor
    about_person(actor.name if actor else "")
    if actor is None:
        people.show_signed_out()
        return
    card, cards = REGISTRY.get(current), {id: found for id, (found, _) in offered.items()}
    queries.follow_edits()
    navigation.arrive()
    header.sidebar(cards, card)
    header.header(cards, card, actor)
    projects.remember()
    if header.missing(current):
        return
    page.run()


guarded(_run)
