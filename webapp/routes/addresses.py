"""Other addresses of pages: titles, places of the navigation, other case, and those of pages that are gone."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import CORPUS, by_place

_EARLIER = {
    "home": "", "data": "texts", "corpora": "texts", "projects": "texts", "explore": "map", "cluster": "themes",
    "label": "code", "labels": "code", "relabel": "code", "notebook": "errors", "error-notebook": "errors",
    "evaluate": "compare", "models": "train", "research": "compare", "search": "", "selections": "map",
}  # fmt: skip
_RENAMED = {"corpora_": "texts_", "relabel_": "code_", "search_q": "find", "selections_open": "map_selection"}
"""Beginnings of names in the view of a page → those of today."""
_GONE = {"summaries": "summaries", "paper_tables": "paper-tables", "paper-tables": "paper-tables"}
"""Addresses of pages that are gone → what Home is asked to say about them (``features.home.page``)."""
_IDS = {card.id: card.id for card in REGISTRY if card.id != "home"}


def addresses() -> Mapping[str, str]:
    """Return paths of pages in lower case → path of the page, both without slashes; a place opens its first page."""
    places = {place.title: pages[0].id for place, pages in by_place(REGISTRY).items()}
    named = places | {card.title: card.id for card in REGISTRY}
    titles = {title.lower().replace(" ", "-"): id for title, id in named.items()}
    return titles | _EARLIER | dict.fromkeys(_GONE, "") | _IDS


def today(page: str, query: str) -> tuple[str, str]:
    """Return path and query of a page for those of an address that an earlier version wrote."""
    view = [(_name_of_today(name), value) for name, value in parse_qsl(query, keep_blank_values=True)]
    if page == "search":
        return "", urlencode({"find": "", **{name: value for name, value in view if name in (CORPUS, "find")}})
    page = _PAGES[page]
    if page == "texts" and ("texts_view", "Import") in view:
        page = "import"
    if page == "texts" and ("texts_view", "All projects") in view:
        named = {name: value for name, value in view if name in (CORPUS, "texts_details")}
        return page, urlencode({CORPUS: [*named.values()][-1], "texts_view": "Import report"}) if named else ""
    return page, urlencode([(name, value) for name, value in view if page != "import" or name == CORPUS])


def _name_of_today(name: str) -> str:
    old = next((old for old in _RENAMED if name.startswith(old)), "")
    return _RENAMED[old] + name.removeprefix(old) if old else name


_PAGES = addresses()


class _OtherAddress(StringConvertor):
    """Matches the paths of :func:`addresses` in any case, also with a slash, except those of the pages themselves."""

    regex = f"(?!(?:{'|'.join(_IDS)})/?$)(?i:{'|'.join(_PAGES)})/?"


async def _redirect(request: Request) -> Response:
    asked = request.path_params["address"].strip("/").lower()
    page, query = ("", f"gone={_GONE[asked]}") if asked in _GONE else today(asked, request.url.query)
    return RedirectResponse(f"/{page}{'?' * bool(query)}{query}")


register_url_convertor("other_address", _OtherAddress())
ROUTES = [Route("/{address:other_address}", _redirect)]
