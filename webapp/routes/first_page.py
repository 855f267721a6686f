"""What a browser gets first: the page before any script runs, and Streamlit's own files, compressed once.

On a slow line the scripts take seconds. Until they run, the page shows its name and that it is loading.
"""

from __future__ import annotations

import gzip
import mimetypes
from functools import cache, lru_cache
from html import escape
from pathlib import Path
from urllib.parse import quote

import streamlit
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Match, Route, Router
from starlette.types import Receive, Scope, Send

from themescope.webapp.features import REGISTRY
from themescope.webapp.routes.status import Wrapper
from themescope.webapp.shared.components import ASSETS, MODULES, WEBAPP, module
from themescope.webapp.shared.pages import place_of

_STATIC = Path(streamlit.__file__).resolve().parent / "static"
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


async def page(request: Request) -> Response:
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
    digest, folder, files = (request.path_params[name] for name in ("digest", "folder", "files"))
    known = {one.name for place in (WEBAPP / folder, ASSETS) for one in place.glob("*.js")}
    if folder not in _FOLDERS or not known.issuperset(files.split("+")):
        return PlainTextResponse("Not found.", 404)
    current, text = module(WEBAPP / folder, *files.split("+"))
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
        *(Route(f"/{'' if id == 'home' else id}", page) for id in REGISTRY.ids()),
    ]
)


class FirstPage(Wrapper):
    """Answers for the pages and for Streamlit's files, whose routes Streamlit does not let others have."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what :data:`_ROUTER` knows, and pass on everything else."""
        known = scope["type"] == "http" and any(route.matches(scope)[0] is Match.FULL for route in _ROUTER.routes)
        await (_ROUTER if known else self._app)(scope, receive, send)
