"""HTTP middleware in front of Streamlit: checks of requests, and security headers.

Streamlit's own checks cover the websocket only, and look up the public address of this machine at a foreign host
before they refuse a foreign origin. The middleware checks every request first, without any look-up.
"""

from __future__ import annotations

import gzip
import logging
import mimetypes
import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path
from urllib.parse import quote, urlsplit

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from themescope.core.errors import ConfigError, ThemescopeError
from themescope.db.settings import Settings, canonical_host, split_host
from themescope.db.store import Store
from themescope.jobs.api import API
from themescope.jobs.services.installation import ALIVE, OK, READY, Health
from themescope.jobs.services.people import NAME_KEPT
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared import people
from themescope.webapp.shared.components import ASSETS, MODULES, WEBAPP, module
from themescope.webapp.shared.pages import place_of
from themescope.webapp.shared.people import has_signed_in, is_secure

# Routes of the web server for load balancers

PROBES = (ALIVE, READY)
"""Paths that are answered under every host name, since a load balancer uses an address or a name of its own."""


@cache
def _health() -> Health:
    """Return the health of this process, with connections of its own. Raises ``ConfigError``."""
    return Health(Store(Settings.from_environment()))


async def alive(request: Request) -> Response:
    """Answer that the process runs."""
    return PlainTextResponse(OK)


async def ready(request: Request) -> Response:
    """Answer with the states of store and queue; status 503 unless both are ready."""
    states = await run_in_threadpool(lambda: _health().states())
    return JSONResponse(states, 200 if set(states.values()) == {OK} else 503)


STATUS = [Route(ALIVE, alive), Route(READY, ready)]


class Wrapper:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app


def seeing(send: Send, see: Callable[[Message], None]) -> Send:
    """Return ``send`` that passes each message to ``see`` first, which may change it."""

    async def see_and_send(message: Message) -> None:
        see(message)
        await send(message)

    return see_and_send


def page_policy() -> str:
    """Return the policy (W3C, Content Security Policy Level 3).

    Scripts come from this server, or from a ``blob:`` address, which only a running script can make: Streamlit loads
    the code of components in that way. Scripts in the page, event handlers in attributes and ``eval`` are refused; the
    only exceptions are the scripts in Streamlit's own start page, by their digests. Styles may be in the page, because
    Streamlit's components and Plotly write them there.
    """
    index = Path(st.__file__).parent / "static" / "index.html"
    digests = _digests(index.read_text(encoding="utf-8"))
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' blob: {digests}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "worker-src 'self' blob:",
            "media-src 'self' data: blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "frame-ancestors 'self'",
        )
    )


def documentation_policy(page: str) -> str:
    """Return the policy of the documentation site, whose pages have the inline scripts of ``page`` (HTML).

    The theme of the site chooses between light and dark in an inline script, and defines its colours in the page. The
    search reads the pages that it lists.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {_digests(page)}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'self'",
        )
    )


def _digests(page: str) -> str:
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)


logger = logging.getLogger(__name__)

SECURITY_HEADERS = {
    "Content-Security-Policy": page_policy(),
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
HTTPS_ONLY = "max-age=31536000; includeSubDomains"
"""Value of ``Strict-Transport-Security`` over HTTPS: a year, in which browsers do not ask this host without it."""
MEDIA = "/media/"
"""Start of the paths of downloads and pictures of open pages."""
FILES = ("/app/static/", "/docs/")
"""Paths of the files of the application and of the documentation, which are the same for everybody."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
FOREIGN_HOST = (
    "Themescope does not answer requests for this host name. Open it at http://localhost (with its port), or add the "
    "host name to the setting THEMESCOPE_ALLOWED_HOSTS and restart Themescope."
)
FOREIGN_ORIGIN = (
    "This request comes from another web site. If Themescope runs behind a proxy, add the host name that people open "
    "to the setting THEMESCOPE_ALLOWED_HOSTS and restart Themescope."
)
_DEFAULT_PORTS = {"http": 80, "https": 443}


class SecurityHeaders(Wrapper):
    """Sets :data:`SECURITY_HEADERS` on every response that has no stricter ones, refused handshakes included.

    Browsers and proxies keep no copy of :data:`MEDIA`, which Streamlit would let them do, and ask a host that they
    reached over HTTPS in no other way (:data:`HTTPS_ONLY`).
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to its response."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        over_https = is_secure(HTTPConnection(scope))

        def add_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start", "websocket.accept"):
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if over_https:
                    headers["Strict-Transport-Security"] = HTTPS_ONLY
                if scope["path"].startswith(MEDIA):
                    headers["Cache-Control"] = "no-store"

        await self._app(scope, receive, seeing(send, add_headers))


class Compression(Wrapper):
    """Compresses the files of the application and of the documentation site, which browsers then keep.

    Answers with data of the store stay as they are: together with text that a stranger can make them repeat, the size
    of a compressed answer tells what is in it (BREACH).
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._compressing = GZipMiddleware(app, minimum_size=1_000, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and compress a file."""
        is_file = scope["type"] == "http" and scope["path"].startswith(FILES)
        await (self._compressing if is_file else self._app)(scope, receive, send)


async def server_error(request: Request, error: Exception) -> PlainTextResponse:
    """Answer a request that failed in the server. This answer bypasses middleware, so it brings its own headers."""
    return PlainTextResponse("Internal server error.", status_code=500, headers=SECURITY_HEADERS)


class HostCheck(Wrapper):
    """Refuses requests and websocket handshakes whose ``Host`` or ``Origin`` header is not allowed.

    A foreign web site whose name resolves to this machine (DNS rebinding) sends its own name as the host; a page of a
    foreign web site that opens a websocket or sends a form sends its own address as the origin.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._named = frozenset(named_hosts())
        self._hosts = frozenset(allowed_hosts(str(st.get_option("server.address") or "")))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is allowed; answer everything else with status 403."""
        if scope["type"] in ("http", "websocket") and scope["path"] not in PROBES:
            refused = self._refusal(scope)
            if refused:
                await PlainTextResponse(refused, status_code=403)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> str:
        """Return why a request is refused; "" if it is not."""
        headers = Headers(scope=scope)
        try:
            (host,) = headers.getlist("host")
            name, port = split_host(host)
        except ValueError:
            return FOREIGN_HOST
        if name not in self._hosts and name != _arrival_address(scope):
            return FOREIGN_HOST
        origins = headers.getlist("origin")
        if len(origins) > 1 or not all(self._is_own(origin, name, port) for origin in origins):
            logger.warning("Refused a request from the origin %.200r to the host %.200r.", ", ".join(origins), host)
            return FOREIGN_ORIGIN
        for origin in origins:
            # Streamlit compares origin and host as text, and looks up the public address of this machine if they
            # differ. The host is therefore replaced, as a proxy that passes it on would do.
            MutableHeaders(scope=scope)["host"] = urlsplit(origin).netloc
        return ""

    def _is_own(self, origin: str, name: str, port: int | None) -> bool:
        """Return whether ``origin`` is the requested host, or an allowed name whose proxy requests another host."""
        try:
            parts = urlsplit(origin)
            default = _DEFAULT_PORTS[parts.scheme]
            origin_name, origin_port = split_host(parts.netloc)
        except (ValueError, KeyError):
            return False
        if origin_name == name:
            return (origin_port or default) == (port or default)
        return origin_name in self._named


def _arrival_address(scope: Scope) -> str:
    """Return the address of this machine at which a request arrived; "" if it is not known."""
    try:
        return canonical_host(str((scope.get("server") or ("",))[0]))
    except ValueError:
        return ""


def allowed_hosts(address: str) -> list[str]:
    """Return the allowed hosts: this machine, the bind address, and those of the settings."""
    try:
        bound = [canonical_host(address)]
    except ValueError:
        bound = []
    return list(dict.fromkeys([*LOOPBACK, *bound, *named_hosts()]))


def named_hosts() -> Iterable[str]:
    """Return the hosts in ``THEMESCOPE_ALLOWED_HOSTS``; none if the settings are invalid, which the pages report."""
    try:
        return Settings.from_environment().allowed_hosts
    except ConfigError:
        return ()


SIGN_IN, SIGN_OUT, ORGANISATION, CALLBACK = "/sign-in", "/sign-out", "/sign-in/organisation", "/oauth2callback"
ACCOUNT = "/account"
_OF_API = re.compile(rf"{API}/.*", re.DOTALL)
"""Paths that the route of the HTTP API matches, which checks tokens itself, also with a line break."""
PUBLIC = frozenset({*PROBES, "/_stcore/health", SIGN_IN, SIGN_OUT, ORGANISATION, CALLBACK})
"""Paths that are answered without a session."""
PUBLIC_FILES = "/static/"
"""Start of the paths of Streamlit's own files, which are the same in every installation."""
REFUSED = "Sign in first."


class SessionCheck(Wrapper):
    """Refuses requests and websocket handshakes without a session, before any of their body is read.

    Where nobody signs in, everything is admitted, and a browser that opens a page gets a cookie, with which the store
    keeps the name that is entered.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is admitted; redirect pages to the sign-in page, and answer the rest with status 403."""
        path = scope.get("path", "")
        public = path in PUBLIC or path.startswith(PUBLIC_FILES) or bool(_OF_API.fullmatch(path))
        if scope["type"] not in ("http", "websocket") or public:
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        is_page = scope.get("method") == "GET" and "text/html" in request.headers.get("accept", "")
        try:
            token = people.browser_token(request.cookies)
            if people.sign_in_required() and not await run_in_threadpool(has_signed_in, token):
                wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                address = f"{SIGN_IN}?next={quote(wanted)}" if wanted != "/" else SIGN_IN
                refused = RedirectResponse(address, 303) if is_page else PlainTextResponse(REFUSED, 403)
                await refused(scope, receive, send)
                return
        except ThemescopeError as error:
            await PlainTextResponse(str(error), 503)(scope, receive, send)
            return

        def add_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = Response()
                people.set_cookie(request, own, people.new_token(), NAME_KEPT)
                MutableHeaders(scope=message).append("set-cookie", own.headers["set-cookie"])

        await self._app(scope, receive, seeing(send, add_cookie) if is_page and not token else send)


# What a browser gets first: the page before any script runs, and Streamlit's own files, compressed once

_STATIC = Path(st.__file__).resolve().parent / "static"
_LEVEL, _LEAST = 9, 1_000
_FOREVER = "public, immutable, max-age=31536000"
"""Names of Streamlit's files contain a digest of their content."""
_FOLDERS = {one.relative_to(WEBAPP).as_posix() for one in (ASSETS, *WEBAPP.glob("features/*/assets"))}
_COMPRESSED = (".js", ".css", ".json", ".svg", ".html", ".txt", ".map")
_STYLE = """
.first-page{position:fixed;inset:0;display:flex;flex-direction:column;align-items:center;justify-content:center;gap:1rem;
font:15px/1.5 system-ui,sans-serif;background:#fdfcf9;color:#1f2a33}
.first-page img{width:15rem;height:3.2rem}.first-page p{margin:0}
.first-page i{width:15rem;height:3px;border-radius:2px;background:linear-gradient(90deg,#0b6b6b33,#0b6b6b,#0b6b6b33)
0/200% 100%;animation:first-page 1.4s linear infinite}
@keyframes first-page{to{background-position:-200% 0}}
@media(prefers-color-scheme:dark){.first-page{background:#12171c;color:#e6e8ea}
.first-page img{filter:invert(1) hue-rotate(180deg)}}
@media(prefers-reduced-motion:reduce){.first-page i{animation:none}}
"""


async def first_page(request: Request) -> Response:
    """Answer with the start page of Streamlit, in which the name of the page stands until its scripts run."""
    return HTMLResponse(_start_page(request.url.path.strip("/")), headers={"Cache-Control": "no-cache"})


@cache
def _start_page(path: str) -> str:
    card = REGISTRY.get(path or "home")
    place = place_of(card)
    title = card.title if place is None or place.title == card.title else f"{place.title} · {card.title}"
    logo = quote((ASSETS / "logo.svg").read_text(encoding="utf-8"))
    shown = (
        f'<style>{_STYLE}</style><div class="first-page" role="status"><img alt="Themescope" '
        f'src="data:image/svg+xml,{logo}"><p>{escape(title)} is loading …</p><i aria-hidden="true"></i></div>'
    )
    text = (_STATIC / "index.html").read_text(encoding="utf-8")
    text = text.replace("<title>Streamlit</title>", "<title>Themescope</title>")
    return text.replace('<div id="root"></div>', f'<div id="root">{shown}</div>')


async def file(request: Request) -> Response:
    """Answer with a file of Streamlit, compressed where that helps."""
    path = (_STATIC / "static" / request.path_params["path"]).resolve()
    if not path.is_relative_to(_STATIC) or not path.is_file():
        return PlainTextResponse("Not found.", 404)
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    accepted = request.headers.get("accept-encoding", "")
    if "gzip" not in accepted or path.suffix not in _COMPRESSED or path.stat().st_size < _LEAST:
        return FileResponse(path, headers=headers)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    body = await run_in_threadpool(_compressed, path)
    return Response(body, media_type=kind, headers=headers | {"Content-Encoding": "gzip"})


async def own_module(request: Request) -> Response:
    """Answer with the module of a component of ours."""
    digest, folder = request.path_params["digest"], request.path_params["folder"]
    files = request.path_params["files"].split("+")
    places = (WEBAPP / folder, ASSETS) if folder in _FOLDERS else ()
    if len({*files} & {one.name for place in places for one in place.glob("*.js")}) < len(files):
        return PlainTextResponse("Not found.", 404)  # or repeated, of which a module could be made of any size
    current, text = module(WEBAPP / folder, *files)
    headers = {"Cache-Control": _FOREVER if digest == current else "no-cache", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        text, headers["Content-Encoding"] = gzip.compress(text, mtime=0), "gzip"
    return Response(text, media_type="text/javascript", headers=headers)


@lru_cache(maxsize=512)
def _compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), _LEVEL, mtime=0)


_ROUTER = Router(
    [
        Route(f"{MODULES}{{digest}}/{{folder:path}}/{{files}}", own_module),
        Route("/static/{path:path}", file),
        *(Route(f"/{'' if id == 'home' else id}", first_page) for id in REGISTRY.ids()),
    ]
)


class FirstPage(Wrapper):
    """Answers for the pages and for Streamlit's files, whose routes Streamlit does not let others have."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what :data:`_ROUTER` knows, and pass on everything else."""
        known = scope["type"] == "http" and any(route.matches(scope)[0] is Match.FULL for route in _ROUTER.routes)
        await (_ROUTER if known else self._app)(scope, receive, send)
