"""Who sends a request to the HTTP API, checked before anything of its body is read.

A token names a person where people sign in. Elsewhere, a request without a token acts as the person of the pages, and
the browser of that person must not be made to write by a page of another site: such a page can send forms without
asking, but no JSON, and no bytes.
"""

from __future__ import annotations

import re

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from themescope.core.errors import AccessError, ThemescopeError
from themescope.db.records import SignInMethod
from themescope.jobs.api import API
from themescope.jobs.api.application import OPENAPI, application
from themescope.jobs.api.problems import MEANINGS, Caller, problem, problem_of
from themescope.jobs.api.routes import uploads
from themescope.jobs.common.files import MOST_BYTES as MOST_UPLOAD
from themescope.jobs.services.accounts import people as api_tokens
from themescope.jobs.services.accounts import people as sign_in
from themescope.webapp.routes.status import Wrapper, seeing
from themescope.webapp.shared import people

MISSING = (
    "This request needs a token: send the header “Authorization: Bearer …”. Tokens are created on the page Account."
)
MOST_BYTES = 16_000_000
"""Maximum size of the body of a request, but for uploads of files."""
_WRITTEN = ("application/json", "application/octet-stream")
"""Types of bodies that no form of another site can send without asking."""
_READING = ("GET", "HEAD")


class TokenCheck(Wrapper):
    """Middleware that refuses requests without a valid token, or too large ones, with problem details."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is admitted, with the :class:`Caller` in its state."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, send = HTTPConnection(scope), seeing(send, _keep_from_stores)
        public = scope["path"] == scope.get("root_path", "") + OPENAPI
        refused = None if public else await run_in_threadpool(_admit, request)
        upload = scope["path"] == scope.get("root_path", "") + uploads.PATH
        if refused is None and _length(request) > (MOST_UPLOAD if upload else MOST_BYTES):
            refused = problem(413, MEANINGS[413])
        await (refused or self._app)(scope, receive, send)


def _length(request: HTTPConnection) -> int:
    """Return the announced length of the body; one without length counts as too large."""
    length = request.headers.get("content-length", "0")
    return MOST_UPLOAD + 1 if "transfer-encoding" in request.headers or not length.isdecimal() else int(length)


def _admit(request: HTTPConnection) -> Response | None:
    """Set the caller of a request; return the answer if it is refused."""
    try:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if token and scheme.lower() == "bearer":
            return _by_token(request, token.strip())
        if scheme or people.sign_in_required():
            return problem(401, MISSING, {"WWW-Authenticate": "Bearer"})
        return _local(request)
    except ThemescopeError as error:
        return problem_of(error)


def _by_token(request: HTTPConnection, token: str) -> Response | None:
    store, address = people.server_store(), request.client.host if request.client else ""
    try:
        request.state.caller = Caller(store, api_tokens.actor_of(store, token, address))
    except sign_in.TooManyAttempts:
        raise
    except AccessError as error:
        return problem(401, str(error), {"WWW-Authenticate": "Bearer"})
    return None


def _local(request: HTTPConnection) -> Response | None:
    """Act as the person whose name was entered in this browser, or as the one without a name."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.scope["method"] not in _READING and kind not in _WRITTEN:
        return problem(415, MEANINGS[415])
    store = people.server_store()
    session = sign_in.session_of(store, people.browser_token(request.cookies))
    name = session.person if session is not None and session.method is SignInMethod.NAME else ""
    with store.reading() as r:
        request.state.caller = Caller(store, r.people.actor(name))
    return None


def _keep_from_stores(message: Message) -> None:
    """Add the header that keeps browsers and proxies from storing the answer."""
    if message["type"] == "http.response.start":
        MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")


_MOUNT = Mount(API, application(TokenCheck))
_MOUNT.path_regex = re.compile(_MOUNT.path_regex.pattern, re.DOTALL)  # a path with a line break is answered here too
ROUTES = [_MOUNT]
