"""HTTP endpoints of the account page: people change their password, and see and end their sessions."""

from __future__ import annotations

from anyio import to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from core.errors import AccessError, DataError, ThemescopeError
from db.label_records import SessionRecord, SignInMethod
from db.passwords import SHORTEST
from jobs.services import sign_in
from webapp.plain_pages import EXPIRED, ONE_AT_A_TIME, fields, form_page, template
from webapp.sessions import ACCOUNT, SIGN_IN
from webapp.shared import cookies
from webapp.shared import store as server_store

CHANGED = "Your password has been changed, and you are signed out in all other browsers."
SIGNED_OUT = "You are signed out in all other browsers."
DIFFERENT = "The new passwords differ. Enter the same one twice."
WRONG = "The current password is wrong."
_PAGE = template("account.html")
_TIME = "%d %b %Y at %H:%M UTC"


async def show(request: Request) -> Response:
    """Answer with the account of the signed-in person."""
    return await _page(request, cookies.browser_token(request.cookies))


async def change(request: Request) -> Response:
    """Change the password, which begins a new session, or end the sessions in other browsers."""
    form, token = await fields(request), cookies.browser_token(request.cookies)
    if not cookies.is_form_token(token, form.get("form_token", "")):
        return await _page(request, token, EXPIRED, 403)
    store = server_store.store()
    try:
        if form.get("change") == "sessions":
            await run_in_threadpool(sign_in.sign_out_elsewhere, store, token)
            return await _page(request, token, SIGNED_OUT)
        if form.get("new") != form.get("again"):
            return await _page(request, token, DIFFERENT, 422)
        address = request.client.host if request.client else ""
        given = (store, token, form.get("current", ""), form.get("new", ""), address)
        new_token = await to_thread.run_sync(sign_in.change_password, *given, limiter=ONE_AT_A_TIME)
    except sign_in.TooManyAttempts as error:
        return await _page(request, token, str(error), 429)
    except AccessError:
        return await _page(request, token, WRONG, 401)
    except DataError as error:
        return await _page(request, token, str(error), 422)
    except ThemescopeError as error:
        return await _page(request, token, str(error), 503)
    answer = await _page(request, new_token, CHANGED)
    cookies.set_cookie(request, answer, new_token, store.settings.session_limit)
    return answer


ROUTES = [Route(ACCOUNT, show, methods=["GET"]), Route(ACCOUNT, change, methods=["POST"])]


async def _page(request: Request, token: str, message: str = "", status: int = 200) -> Response:
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
    return form_page(request, _PAGE, values, {"sessions": "".join(sessions)}, message, status)


def _session(session: SessionRecord, browser: str) -> str:
    times = f"Signed in on {session.created:{_TIME}}</small><small>Last used on {session.seen:{_TIME}}"
    return f"<li>{browser}<small>{times}</small></li>"
