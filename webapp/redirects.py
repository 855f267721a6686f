"""Redirect of links of version 0.1 to the addresses of today."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from webapp.features import REGISTRY
from webapp.shared.permalinks import translated


class PermalinkRedirect:
    """Answers a request for a page with query parameters of version 0.1 by a redirect to those of today."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on every other request."""
        if scope["type"] == "http" and scope["method"] == "GET" and scope.get("query_string"):
            query = _new_query(scope)
            if query is not None:
                # One slash at the start: two would name another host.
                path = "/" + Request(scope).url.path.lstrip("/")
                await RedirectResponse(f"{path}?{query}")(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _new_query(scope: Scope) -> str | None:
    """Return the query string to redirect to, or None if the request needs none."""
    page = str(scope["path"]).rstrip("/").rpartition("/")[2]
    if page not in REGISTRY:
        return None
    given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    found = translated(REGISTRY.get(page).page_keys(), given)
    return None if found == given else urlencode(found)
