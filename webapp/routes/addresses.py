"""Other addresses of pages: their titles, the places of the navigation, those of earlier versions, and other case."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import by_place

_EARLIER = {"home": "", "projects": "corpora", "import": "corpora", "cluster": "themes", "labels": "relabel"}
_IDS = {card.id: card.id for card in REGISTRY if card.id != "home"}


def addresses() -> Mapping[str, str]:
    """Return paths of pages in lower case → path of the page, both without slashes; a place opens its first page."""
    places = {place.title: pages[0].id for place, pages in by_place(REGISTRY).items()}
    named = places | {card.title: card.id for card in REGISTRY}
    return {title.lower().replace(" ", "-"): id for title, id in named.items()} | _EARLIER | _IDS


_PAGES = addresses()


class _OtherAddress(StringConvertor):
    """Matches the paths of :func:`addresses` in any case, also with a slash, except those of the pages themselves."""

    regex = f"(?!(?:{'|'.join(_IDS)})/?$)(?i:{'|'.join(_PAGES)})/?"


async def _redirect(request: Request) -> Response:
    query = f"?{request.url.query}" if request.url.query else ""
    page = _PAGES[request.path_params["address"].strip("/").lower()]
    return RedirectResponse(f"/{page}{query}")


register_url_convertor("other_address", _OtherAddress())
ROUTES = [Route("/{address:other_address}", _redirect)]
