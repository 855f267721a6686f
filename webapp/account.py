"""HTTP endpoints of the account page: people change their password, end sessions, and manage tokens for programs."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from anyio import to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from themescope.core.errors import AccessError, DataError, DuplicateNameError, ThemescopeError, UnknownNameError
from themescope.db.label_records import ApiTokenRecord, SessionRecord, SignInMethod
from themescope.db.passwords import SHORTEST
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.services.accounts import api_tokens, sign_in
from themescope.webapp.plain_pages import EXPIRED, ONE_AT_A_TIME, fields, form_page, template
from themescope.webapp.sessions import ACCOUNT, SIGN_IN
from themescope.webapp.shared import cookies
from themescope.webapp.shared import store as server_store

CHANGED = "Your password has been changed, and you are signed out in all other browsers."
SIGNED_OUT = "You are signed out in all other browsers."
DIFFERENT = "The new passwords differ. Enter the same one twice."
WRONG = "The current password is wrong."
CREATED = "The token has been created. Copy it now: it is not shown again."
REVOKED = "The token has been revoked. Programs that use it are refused."
DAYS = ("30", "90", "365")
"""Offered numbers of days until a token expires."""
_PAGE = template("account.html")
_TIME = "%d %b %Y at %H:%M UTC"


async def show(request: Request) -> Response:
    """Answer with the account of the signed-in person."""
    return await _page(request, cookies.browser_token(request.cookies))


async def change(request: Request) -> Response:
    """Change the password, which begins a new session, end the sessions in other browsers, or manage tokens."""
    form, token = await fields(request), cookies.browser_token(request.cookies)
    if not cookies.is_form_token(token, form.get("form_token", "")):
        return await _page(request, token, EXPIRED, 403)
    try:
        return await _CHANGES.get(form.get("change", ""), _change_password)(request, token, form)
    except sign_in.TooManyAttempts as error:
        return await _page(request, token, str(error), 429)
    except AccessError:
        return await _page(request, token, WRONG, 401)
    except (DataError, DuplicateNameError, UnknownNameError) as error:
        return await _page(request, token, str(error), 422)
    except ThemescopeError as error:
        return await _page(request, token, str(error), 503)


async def _change_password(request: Request, token: str, form: Mapping[str, str]) -> Response:
    if form.get("new") != form.get("again"):
        return await _page(request, token, DIFFERENT, 422)
    store, address = server_store.store(), request.client.host if request.client else ""
    given = (store, token, form.get("current", ""), form.get("new", ""), address)
    new_token = await to_thread.run_sync(sign_in.change_password, *given, limiter=ONE_AT_A_TIME)
    answer = await _page(request, new_token, CHANGED)
    cookies.set_cookie(request, answer, new_token, store.settings.session_limit)
    return answer


async def _end_sessions(request: Request, token: str, form: Mapping[str, str]) -> Response:
    await run_in_threadpool(sign_in.sign_out_elsewhere, server_store.store(), token)
    return await _page(request, token, SIGNED_OUT)


async def _create_token(request: Request, token: str, form: Mapping[str, str]) -> Response:
    name, days = form.get("name", ""), form.get("days", "")
    if days not in DAYS:
        raise DataError("Choose how long the token is valid.")

    def create() -> api_tokens.NewToken:
        store = server_store.store()
        person = _signed_in(store, token)
        return api_tokens.create(store, person, name, int(days), by=person)

    made = await run_in_threadpool(create)
    return await _page(request, token, CREATED, new_token=made.secret)


async def _revoke_token(request: Request, token: str, form: Mapping[str, str]) -> Response:
    number = form.get("token", "")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise UnknownNameError("token", number, ())

    def revoke() -> None:
        store = server_store.store()
        person = _signed_in(store, token)
        api_tokens.revoke(store, int(number), person, by=person)

    await run_in_threadpool(revoke)
    return await _page(request, token, REVOKED)


def _signed_in(store: Store, token: str) -> str:
    account = sign_in.account_of(store, token)
    if account is None:
        raise AccessError(EXPIRED)
    return account.own.person


_CHANGES = {"sessions": _end_sessions, "create-token": _create_token, "revoke-token": _revoke_token}
ROUTES = [Route(ACCOUNT, show, methods=["GET"]), Route(ACCOUNT, change, methods=["POST"])]


async def _page(request: Request, token: str, message: str = "", status: int = 200, new_token: str = "") -> Response:
    """Return the account page of a session, or a redirect if it has ended or nobody signs in here."""
    found = await run_in_threadpool(sign_in.account_of, server_store.store(), token)
    if found is None or not server_store.shared():
        return RedirectResponse(SIGN_IN, 303)
    values = {
        "person": found.own.person,
        "role": found.role.value,
        "shortest": SHORTEST,
        "form_token": cookies.form_token(token),
        "password_hidden": "" if found.own.method is SignInMethod.PASSWORD else "hidden",
        "others_hidden": "" if found.others else "hidden",
    }
    sessions = [_session(found.own, "This browser"), *(_session(other, "Another browser") for other in found.others)]
    known = await run_in_threadpool(api_tokens.tokens_of, server_store.store(), found.own.person)
    html = {
        "sessions": "".join(sessions),
        "tokens": "".join(_token(one, cookies.form_token(token)) for one in known if one.revoked is None),
        "new_token": f'<output aria-label="New token">{escape(new_token)}</output>' if new_token else "",
    }
    return form_page(request, _PAGE, values, html, message, status)


def _session(session: SessionRecord, browser: str) -> str:
    times = f"Signed in on {session.created:{_TIME}}</small><small>Last used on {session.seen:{_TIME}}"
    return f"<li>{browser}<small>{times}</small></li>"


def _token(token: ApiTokenRecord, form_token: str) -> str:
    """Return the entry of a token with the button that revokes it."""
    used = f"Last used on {token.used:{_TIME}}" if token.used else "Not used yet"
    ends = "Expires" if token.state(now()) == "valid" else "Expired"
    times = f"<small>{used}</small><small>{ends} on {token.expires:{_TIME}}</small>"
    hidden = f'<input type="hidden" name="form_token" value="{escape(form_token)}">'
    hidden += f'<input type="hidden" name="token" value="{token.id}">'
    button = f'<button name="change" value="revoke-token" aria-label="Revoke {escape(token.name)}">Revoke</button>'
    about = f"<span>{escape(token.name)}{times}</span>"
    return f'<li><form method="post" action="{ACCOUNT}">{hidden}{about}{button}</form></li>'
