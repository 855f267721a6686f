"""Middleware that admits only people who signed in, where sign-in is required, and identifies browsers elsewhere."""

from __future__ import annotations

import re
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from themescope.core.errors import ThemescopeError
from themescope.db.repositories.accounts import NAME_KEPT
from themescope.jobs.api import API
from themescope.jobs.services.installation.health import METRICS
from themescope.webapp.shared import cookies
from themescope.webapp.shared import store as server_store
from themescope.webapp.shared.people import has_signed_in
from themescope.webapp.status import PROBES

SIGN_IN, SIGN_OUT, ORGANISATION, CALLBACK = "/sign-in", "/sign-out", "/sign-in/organisation", "/oauth2callback"
ACCOUNT = "/account"
_OF_API = re.compile(rf"{API}/.*")
"""Paths that the route of the HTTP API matches, which checks tokens itself; others, with a line break, would reach the
pages."""
PUBLIC = frozenset({*PROBES, METRICS, "/_stcore/health", SIGN_IN, SIGN_OUT, ORGANISATION, CALLBACK})
"""Paths that are answered without a session. Metrics have a token of their own."""
PUBLIC_FILES = "/static/"
"""Start of the paths of Streamlit's own files, which are the same in every installation."""
REFUSED = "Sign in first."


class SessionCheck:
    """Refuses requests and websocket handshakes without a session, before any of their body is read.

    Where nobody signs in, everything is admitted, and a browser that opens a page gets a cookie, with which the store
    keeps the name that is entered.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is admitted; redirect pages to the sign-in page, and answer the rest with status 403."""
        if scope["type"] not in ("http", "websocket") or _is_public(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        is_page = scope.get("method") == "GET" and "text/html" in request.headers.get("accept", "")
        try:
            token = cookies.browser_token(request.cookies)
            if server_store.shared() and not await run_in_threadpool(has_signed_in, token):
                await _refusal(request, is_page)(scope, receive, send)
                return
        except ThemescopeError as error:
            await PlainTextResponse(str(error), 503)(scope, receive, send)
            return
        await self._app(scope, receive, _identifying(request, send) if is_page and not token else send)


def _is_public(path: str) -> bool:
    return path in PUBLIC or path.startswith(PUBLIC_FILES) or bool(_OF_API.fullmatch(path))


def _refusal(request: HTTPConnection, is_page: bool) -> Response:
    if not is_page:
        return PlainTextResponse(REFUSED, 403)
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"{SIGN_IN}?next={quote(wanted)}" if wanted != "/" else SIGN_IN, 303)


def _identifying(request: HTTPConnection, send: Send) -> Send:
    """Return ``send`` with a new cookie in the response."""

    async def send_with_cookie(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = Response()
            cookies.set_cookie(request, own, cookies.new_token(), NAME_KEPT)
            MutableHeaders(scope=message).append("set-cookie", own.headers["set-cookie"])
        await send(message)

    return send_with_cookie
