"""Declarations of pages: their cards and their URL keys.

Streamlit keeps the session state and the query parameters of all pages in one place each. Every key of a page therefore
begins with the id of the page, and those of the address are declared in ``webapp/features/<page>/state.py`` ::

    KEYS = PageKeys("themes")
    VIEW = KEYS.url("view")           # "themes_view"

The corpus, which the pages call project, is the only key that all pages share: it means the same everywhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from themescope.core.errors import DuplicateNameError, UnknownNameError
from themescope.core.registry import Card
from themescope.db.access import Right

CORPUS = "corpus"
"""URL key of the corpus that a page shows."""
DOCUMENTATION = "/docs/"
"""Path of the documentation site."""
SITE = Path(__file__).parents[1] / "site"
"""Folder of the built documentation. It is looked up at each use, so that a site that is built later is found."""


@dataclass(frozen=True, slots=True)
class UrlKey:
    """One URL key of a page."""

    key: str
    kind: type = str
    """Type of the value in the session: str, int, float, bool or list."""
    record: str = ""
    """Kind of record that the value names, if any: "map", "benchmark", "triplet set", "labelling", "themes", "task",
    "document", "selection" (its id), "person", "labelled text", "model" or "project". A link that names no project
    opens that of the record, and one to a record that does not exist opens nothing."""

    def read(self, values: Sequence[str]) -> Any:
        """Return the session value of the query values, or raise ``ValueError``."""
        if self.kind is list:
            return list(values)
        return values[-1].lower() == "true" if self.kind is bool else self.kind(values[-1])


class PageKeys:
    """URL keys of one page, whose id is the prefix of each.

    ``viewed`` are prefixes of the session keys that belong to a view, and that a link to another view removes.
    """

    def __init__(self, page: str, viewed: tuple[str, ...] = ()) -> None:
        self.page, self.viewed = page, viewed
        self.urls: dict[str, UrlKey] = {CORPUS: UrlKey(CORPUS)}

    def url(self, name: str, *, kind: type = str, record: str = "") -> str:
        """Declare a URL key and return it."""
        key = f"{self.page}_{name}"
        if key in self.urls:
            raise DuplicateNameError("key of a page", key)
        self.urls[key] = UrlKey(key, kind, record)
        return key

    def address(self, query: Mapping[str, str | Sequence[str]]) -> dict[str, str | Sequence[str]]:
        """Return the query parameters of a link to this page; ``query`` names its URL keys without the prefix."""
        named = {name if name in self.urls else f"{self.page}_{name}": value for name, value in query.items()}
        for key in named:
            if key not in self.urls:
                raise UnknownNameError("URL key", key, self.urls)
        return named


@dataclass(frozen=True, slots=True)
class PageCard(Card):
    """Declaration of a page: its place in the navigation and the script that draws it.

    The id of a page is its URL path. ``factory`` is the module of the script, such as
    ``themescope.webapp.features.map.page``; Streamlit runs the file of that module.
    """

    source: str = "Themescope"
    factory: str = ""
    config: str = ""
    icon: str = ""
    """Material icon, such as ``:material/map:``."""
    group: str = ""
    """Title of the place of the navigation in which the page is listed (:mod:`themescope.webapp.shared.pages`)."""
    right: Right = Right.LOOK
    """Right that a person needs to open the page."""
    keys: str = ""
    """``"module:NAME"`` of the page's :class:`PageKeys`; empty for a page without view state."""

    documentation: str = ""
    """Page and section of the documentation site, such as ``maps.html#computation``; empty for its start page."""

    @property
    def script(self) -> Path:
        """File of the script. The module is not imported: importing a page would draw it."""
        found = find_spec(self.factory)
        if found is None or found.origin is None:
            raise ModuleNotFoundError(f"The page {self.id!r} has no module {self.factory!r}.")
        return Path(found.origin)

    def page_keys(self) -> PageKeys | None:
        """Import and return the page's keys; None for a page without view state."""
        if not self.keys:
            return None
        module, _, name = self.keys.partition(":")
        return getattr(importlib.import_module(module), name)


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the navigation: a link in the sidebar that leads to one or several pages."""

    title: str
    icon: str


PROJECT = Place("Project", ":material/library_books:")
THEMES = Place("Themes", ":material/bubble_chart:")
CODE = Place("Code", ":material/edit_note:")
RESULTS = Place("Results", ":material/bar_chart:")
LAB = Place("Lab", ":material/science:")
MORE = Place("More", ":material/extension:")
"""Place of pages of plug-ins that name no place."""
PLACES = (PROJECT, THEMES, CODE, RESULTS, LAB, MORE)
MENU = "Menu"
"""Group of the pages that belong to no place and are linked from the logo or the header: Home, Jobs and People."""
_GROUPS = {place.title: place for place in PLACES}


def place_of(card: PageCard) -> Place | None:
    """Return the place of a page; None for a page of the menu."""
    return None if card.group == MENU else _GROUPS.get(card.group, MORE)


def by_place(cards: Iterable[PageCard]) -> dict[Place, list[PageCard]]:
    """Return the places that have pages, in their order, with the pages."""
    listed = list(cards)
    found = {place: [card for card in listed if place_of(card) == place] for place in PLACES}
    return {place: pages for place, pages in found.items() if pages}
