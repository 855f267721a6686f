"""The places of the navigation. A page names its place in its card (``PageCard.group``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from themescope.webapp.shared.pages import PageCard


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the navigation: a link in the sidebar that leads to one or several pages."""

    title: str
    icon: str


DATA = Place("Data", ":material/library_books:")
EXPLORE = Place("Explore", ":material/explore:")
LABEL = Place("Label", ":material/edit_note:")
EVALUATE = Place("Evaluate", ":material/leaderboard:")
MODELS = Place("Models", ":material/model_training:")
MORE = Place("More", ":material/extension:")
"""Place of pages of plug-ins that name no place."""
PLACES = (DATA, EXPLORE, LABEL, EVALUATE, MODELS, MORE)
MENU = "Menu"
"""Group of the pages that belong to no place and are linked from the header: Home, Jobs and People."""
_GROUPS = {place.title: place for place in PLACES} | {"Text": DATA, "Methods": EVALUATE, "People": LABEL}
"""Places by group; the last ones are groups of version 0.1."""


def place_of(card: PageCard) -> Place | None:
    """Return the place of a page; None for a page of the menu."""
    return None if card.group == MENU else _GROUPS.get(card.group, MORE)


def by_place(cards: Iterable[PageCard]) -> dict[Place, list[PageCard]]:
    """Return the places that have pages, in their order, with their pages."""
    found: dict[Place, list[PageCard]] = {place: [] for place in PLACES}
    for card in cards:
        place = place_of(card)
        if place is not None:
            found[place].append(card)
    return {place: pages for place, pages in found.items() if pages}
