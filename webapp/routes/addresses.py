"""Other addresses of pages: their titles, the places of the navigation, and those of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import by_place

_EARLIER = {"home": "", "projects": "corpora", "import": "corpora", "cluster": "themes", "labels": "relabel"}


def other_addresses() -> Mapping[str, str]:
    """Return other paths of pages → path of the page, both without the slash; a place opens its first page."""
    places = {place.title: pages[0].id for place, pages in by_place(REGISTRY).items()}
    named = places | {card.title: card.id for card in REGISTRY}
    titles = {title.lower().replace(" ", "-"): id for title, id in named.items()}
    ids = {card.id for card in REGISTRY}
    return {path: id for path, id in (titles | _EARLIER).items() if path not in ids - {"home"}}


async def _redirect(request: Request) -> Response:
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/{_OTHERS[request.url.path[1:]]}{query}")


_OTHERS = other_addresses()
ROUTES = [Route(f"/{path}", _redirect) for path in _OTHERS]
