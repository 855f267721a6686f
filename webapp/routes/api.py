"""Who sends a request to the HTTP API, checked before anything of its body is read.

A token names a person where people sign in. Elsewhere, a request without a token acts as the person of the pages, and
the browser of that person must not be made to write by a page of another site: such a page can send forms without
asking, but no JSON, and no bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from themescope.core.errors import AccessError, ThemescopeError
from themescope.db.records import SignInMethod
from themescope.jobs.api import API
from themescope.jobs.api.application import OPENAPI, application
from themescope.jobs.api.problems import MEANINGS, Caller, problem, problem_of
from themescope.jobs.api.routes import corpora
from themescope.jobs.common.files import MOST_BYTES as MOST_UPLOAD
from themescope.jobs.services import people as service
from themescope.webapp.features import REGISTRY
from themescope.webapp.routes.middleware import Wrapper, documentation_policy, seeing
from themescope.webapp.shared import people
from themescope.webapp.shared.pages import CORPUS, DOCUMENTATION, SITE, by_place

# Other addresses of pages: titles, places of the navigation, other case, and those of pages that are gone

_EARLIER = {
    "home": "", "data": "texts", "corpora": "texts", "projects": "texts", "explore": "map", "cluster": "themes",
    "label": "code", "labels": "code", "relabel": "code", "notebook": "errors", "error-notebook": "errors",
    "evaluate": "compare", "models": "train", "research": "compare", "search": "", "selections": "map",
}  # fmt: skip
_RENAMED = {"corpora_": "texts_", "relabel_": "code_", "search_q": "find", "selections_open": "map_selection"}
"""Beginnings of names in the view of a page → those of today."""
_GONE = {"summaries": "summaries", "paper_tables": "paper-tables", "paper-tables": "paper-tables"}
"""Addresses of pages that are gone → what Home is asked to say about them (``features.home``)."""
_IDS = {card.id: card.id for card in REGISTRY if card.id != "home"}


def addresses() -> Mapping[str, str]:
    """Return paths of pages in lower case → path of the page, both without slashes; a place opens its first page."""
    places = {place.title: pages[0].id for place, pages in by_place(REGISTRY).items()}
    named = places | {card.title: card.id for card in REGISTRY}
    titles = {title.lower().replace(" ", "-"): id for title, id in named.items()}
    return titles | _EARLIER | dict.fromkeys(_GONE, "") | _IDS


def today(page: str, query: str) -> tuple[str, str]:
    """Return path and query of a page for those of an address that an earlier version wrote."""
    view = []
    for name, value in parse_qsl(query, keep_blank_values=True):
        old = next((old for old in _RENAMED if name.startswith(old)), "")
        view.append((_RENAMED.get(old, "") + name.removeprefix(old), value))
    if page == "search":
        return "", urlencode({"find": "", **{name: value for name, value in view if name in (CORPUS, "find")}})
    page = _PAGES[page]
    if page == "texts" and ("texts_view", "Import") in view:
        page = "import"
    if page == "texts" and ("texts_view", "All projects") in view:
        named = {name: value for name, value in view if name in (CORPUS, "texts_details")}
        return page, urlencode({CORPUS: [*named.values()][-1], "texts_view": "Import report"}) if named else ""
    return page, urlencode([(name, value) for name, value in view if page != "import" or name == CORPUS])


_PAGES = addresses()


class _OtherAddress(StringConvertor):
    """Matches the paths of :func:`addresses` in any case, also with a slash, except those of the pages themselves."""

    regex = f"(?!(?:{'|'.join(_IDS)})/?$)(?i:{'|'.join(_PAGES)})/?"


async def _redirect(request: Request) -> Response:
    asked = request.path_params["address"].strip("/").lower()
    page, query = ("", f"gone={_GONE[asked]}") if asked in _GONE else today(asked, request.url.query)
    return RedirectResponse(f"/{page}{'?' * bool(query)}{query}")


register_url_convertor("other_address", _OtherAddress())
ADDRESSES = [Route("/{address:other_address}", _redirect)]


# Routes of the documentation site, which ``make docs`` builds into this package and wheels contain

NOT_BUILT = (
    "The documentation has not been built. In a checkout of Themescope, run: make docs\n"
    "Then reload this page. Until then, the same documents can be read in the folder docs of the checkout.\n"
)
NO_SUCH_PAGE = f"The documentation has no such page. Open its start page at {DOCUMENTATION}\n"


async def start_page(request: Request) -> Response:
    """Redirect to the folder, relative to which the site finds its files."""
    return RedirectResponse(DOCUMENTATION)


async def page(request: Request) -> Response:
    """Answer with a file of the site."""
    index = SITE / "index.html"
    try:
        changed = index.stat().st_mtime_ns
    except OSError:
        return PlainTextResponse(NOT_BUILT, 404)
    try:
        found = await StaticFiles(directory=SITE, html=True).get_response(request.path_params["path"], request.scope)
    except HTTPException as error:
        text = NO_SUCH_PAGE if error.status_code == 404 else error.detail
        return PlainTextResponse(text, error.status_code)
    found.headers["Content-Security-Policy"] = _policy(index, changed)
    # Another build takes effect at once, and no proxy keeps what only people who signed in may read.
    found.headers["Cache-Control"] = "private, no-cache"
    return found


@lru_cache(maxsize=1)
def _policy(index: Path, changed: int) -> str:
    """Return the policy of the site as it was built at a time."""
    return documentation_policy(index.read_text(encoding="utf-8"))


DOCUMENTATION_ROUTES = [Route(DOCUMENTATION.rstrip("/"), start_page), Route(f"{DOCUMENTATION}{{path:path}}", page)]

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
        upload = scope["path"] == scope.get("root_path", "") + corpora.PATH
        length = request.headers.get("content-length", "0")
        known = "transfer-encoding" not in request.headers and length.isdecimal()
        if refused is None and not (known and int(length) <= (MOST_UPLOAD if upload else MOST_BYTES)):
            refused = problem(413, MEANINGS[413])
        await (refused or self._app)(scope, receive, send)


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
        request.state.caller = Caller(store, service.actor_of(store, token, address))
    except service.TooManyAttempts:
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
    session = service.session_of(store, people.browser_token(request.cookies))
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
