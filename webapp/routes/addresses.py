"""Other addresses of pages: titles, places of the navigation, other case, and those of pages that are gone."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import by_place

_EARLIER = {
    "home": "", "projects": "corpora", "import": "corpora", "cluster": "themes", "labels": "relabel",
    "notebook": "errors", "error-notebook": "errors",
}  # fmt: skip
_GONE = {"summaries": "summaries", "paper_tables": "paper-tables", "paper-tables": "paper-tables"}
"""Addresses of pages that are gone → what Home is asked to say about them (``features.home.page``)."""
_IDS = {card.id: card.id for card in REGISTRY if card.id != "home"}


def addresses() -> Mapping[str, str]:
    """Return paths of pages in lower case → path of the page, both without slashes; a place opens its first page."""
    places = {place.title: pages[0].id for place, pages in by_place(REGISTRY).items()}
    named = places | {card.title: card.id for card in REGISTRY}
    titles = {title.lower().replace(" ", "-"): id for title, id in named.items()}
    return titles | _EARLIER | dict.fromkeys(_GONE, "") | _IDS


_PAGES = addresses()


class _OtherAddress(StringConvertor):
    """Matches the paths of :func:`addresses` in any case, also with a slash, except those of the pages themselves."""

    regex = f"(?!(?:{'|'.join(_IDS)})/?$)(?i:{'|'.join(_PAGES)})/?"


async def _redirect(request: Request) -> Response:
    asked = request.path_params["address"].strip("/").lower()
    query = f"gone={_GONE[asked]}" if asked in _GONE else request.url.query
    return RedirectResponse(f"/{_PAGES[asked]}{'?' * bool(query)}{query}")


register_url_convertor("other_address", _OtherAddress())
ROUTES = [Route("/{address:other_address}", _redirect)]
