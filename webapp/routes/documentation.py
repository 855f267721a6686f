"""Routes of the documentation site, which ``make docs`` builds into this package and wheels contain."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from themescope.webapp.routes.middleware import documentation_policy
from themescope.webapp.shared.pages import DOCUMENTATION, SITE

NOT_BUILT = (
    "The documentation has not been built. In a checkout of Themescope, run: make docs\n"
    "Then reload this page. Until then, the same documents can be read in the folder docs of the checkout.\n"
)
NO_SUCH_PAGE = f"The documentation has no such page. Open its start page at {DOCUMENTATION}\n"
_INDEX = "index.html"


async def start_page(request: Request) -> Response:
    """Redirect to the folder, relative to which the site finds its files."""
    return RedirectResponse(DOCUMENTATION)


async def page(request: Request) -> Response:
    """Answer with a file of the site."""
    index = SITE / _INDEX
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


ROUTES = [Route(DOCUMENTATION.rstrip("/"), start_page), Route(f"{DOCUMENTATION}{{path:path}}", page)]
