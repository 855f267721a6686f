"""HTTP endpoints of the sign-in page: signing in by password or through an identity provider, and signing out."""

from __future__ import annotations

from html import escape
from urllib.parse import urlencode

import streamlit as st
from anyio import to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from themescope.core.errors import AccessError, ConfigError, ThemescopeError
from themescope.db.label_records import SignInMethod
from themescope.jobs.services.accounts import people, sign_in
from themescope.webapp import organisation
from themescope.webapp.plain_pages import EXPIRED, ONE_AT_A_TIME, fields, form_page, template
from themescope.webapp.sessions import CALLBACK, ORGANISATION, SIGN_IN, SIGN_OUT
from themescope.webapp.shared import cookies
from themescope.webapp.shared import store as server_store
from themescope.webapp.shared.people import has_signed_in

_PAGE = template("sign_in.html")
_LINK = '<a class="button" href="{}">Sign in with your organisation</a>'


async def show(request: Request) -> Response:
    """Answer with the sign-in form, or with a redirect if there is no need to sign in."""
    token = cookies.browser_token(request.cookies)
    if not server_store.shared() or await run_in_threadpool(has_signed_in, token):
        return RedirectResponse(_path(request.query_params.get("next", "")), 303)
    try:
        address = str(st.get_option("server.address") or "all addresses")
        await run_in_threadpool(people.check_sharing, server_store.store(), organisation.is_configured(), address)
    except ThemescopeError as error:
        return _page(request, str(error), 503)
    return _page(request)


async def submit(request: Request) -> Response:
    """Check name and password; begin a session with a new token, or show the form again."""
    form, token = await fields(request), cookies.browser_token(request.cookies)
    name, target = form.get("person", ""), form.get("next", "")
    if not server_store.shared():
        return RedirectResponse("/", 303)
    if not cookies.is_form_token(token, form.get("form_token", "")):
        return _page(request, EXPIRED, 403, name, target)
    address, store = request.client.host if request.client else "", server_store.store()
    try:
        given = (store, name, form.get("password", ""), address)
        token = await to_thread.run_sync(sign_in.sign_in, *given, limiter=ONE_AT_A_TIME)
    except sign_in.TooManyAttempts as error:
        answer = _page(request, str(error), 429, name, target)
        answer.headers["Retry-After"] = f"{error.wait_s:.0f}"
        return answer
    except AccessError as error:
        return _page(request, str(error), 401, name, target)
    except ThemescopeError as error:
        return _page(request, str(error), 503, name, target)
    return await _begun(request, token, target)


async def sign_out(request: Request) -> Response:
    """End the session here and in the store, and with the identity provider if it began there."""
    form, token = await fields(request), cookies.browser_token(request.cookies)
    if not cookies.is_form_token(token, form.get("form_token", "")):
        return _page(request, EXPIRED, 403)
    session = await run_in_threadpool(sign_in.sign_out, server_store.store(), token)
    by_organisation = session is not None and session.method is SignInMethod.ORGANISATION
    answer = RedirectResponse(await organisation.sign_out_address() if by_organisation else SIGN_IN, 303)
    cookies.set_cookie(request, answer, cookies.new_token())
    return answer


async def ask_organisation(request: Request) -> Response:
    """Redirect to the identity provider."""
    if not organisation.is_configured():
        return RedirectResponse(SIGN_IN, 303)
    request.session["next"] = request.query_params.get("next", "")
    try:
        return await organisation.redirect(request)
    except ConfigError as error:
        return _page(request, str(error), 503)


async def answer_of_organisation(request: Request) -> Response:
    """Begin a session of the person for whom the identity provider vouches."""
    target = str(request.session.pop("next", ""))
    try:
        name = await organisation.person(request)
        token = await run_in_threadpool(sign_in.sign_in_by_organisation, server_store.store(), name)
    except ThemescopeError as error:
        return _page(request, str(error), 403, target=target)
    return await _begun(request, token, target)


ROUTES = [
    Route(SIGN_IN, show, methods=["GET"]),
    Route(SIGN_IN, submit, methods=["POST"]),
    Route(SIGN_OUT, show, methods=["GET"]),
    Route(SIGN_OUT, sign_out, methods=["POST"]),
    Route(ORGANISATION, ask_organisation, methods=["GET"]),
    Route(CALLBACK, answer_of_organisation, methods=["GET"]),
]


async def _begun(request: Request, token: str, target: str) -> Response:
    """Give the browser the token of its new session, and end the one that it had."""
    await run_in_threadpool(sign_in.sign_out, server_store.store(), cookies.browser_token(request.cookies))
    answer = RedirectResponse(_path(target), 303)
    cookies.set_cookie(request, answer, token, server_store.store().settings.session_limit)
    return answer


def _page(request: Request, message: str = "", status: int = 200, name: str = "", target: str = "") -> Response:
    """Return the sign-in page."""
    target = _path(target or request.query_params.get("next", ""))
    link = _LINK.format(escape(f"{ORGANISATION}?{urlencode({'next': target})}"))
    values = {"name": name[:200], "next": target, "longest_name": people.LONGEST_NAME}
    html = {"organisation": link if organisation.is_configured() else ""}
    return form_page(request, _PAGE, values, html, message, status)


def _path(wanted: str) -> str:
    """Return a path of this server to go to after signing in; "/" for anything that could be another address."""
    own = wanted.startswith("/") and not wanted.startswith("//") and "\\" not in wanted and wanted.isprintable()
    return wanted if own else "/"
