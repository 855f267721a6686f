"""Plain pages with forms, which need no script: the sign-in page and the account page."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import parse_qsl

from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import HTMLResponse

from themescope.webapp.shared import cookies

EXPIRED = "This form has expired, or the browser accepts no cookies. Try again."
ONE_AT_A_TIME = CapacityLimiter(1)
"""Checking a password takes a core and 64 MiB for a tenth of a second."""
_LONGEST_FORM = 20_000
_ASSETS = Path(__file__).parent / "shared" / "assets"
_ICON = (_ASSETS / "icon.svg").read_text(encoding="utf-8").replace("<svg ", '<svg aria-hidden="true" ', 1)
_STYLE = (_ASSETS / "forms.css").read_text(encoding="utf-8")
_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}


async def fields(request: Request) -> dict[str, str]:
    """Return the fields of a form; none if it is larger than any of ours."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST_FORM:
            return {}
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        return {}


def template(name: str) -> Template:
    """Return a page of ``webapp/shared/assets``."""
    return Template((_ASSETS / name).read_text(encoding="utf-8"))


def form_page(
    request: Request,
    page: Template,
    values: Mapping[str, object],
    html: Mapping[str, str],
    message: str = "",
    status: int = 200,
) -> HTMLResponse:
    """Return a page with ``values``, which are escaped, and ``html``, which is not.

    A browser without a cookie gets one, to which its form is bound. The message is an error if the status is.
    """
    token = cookies.browser_token(request.cookies)
    own = token or cookies.new_token()
    kind = "alert" if status >= 400 else "status"
    found = {
        "message": f'<p role="{kind}">{escape(message)}</p>' if message else "",
        "form_token": cookies.form_token(own),
        "icon": _ICON,
        "style": _STYLE,
        **html,
        **{name: escape(str(value)) for name, value in values.items()},
    }
    answer = HTMLResponse(page.substitute(found), status, _HEADERS)
    if not token:
        cookies.set_cookie(request, answer, own)
    return answer
