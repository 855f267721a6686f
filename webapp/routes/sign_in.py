"""The sign-in page and the account page: forms that need no script.

People sign in by password or through an identity provider, and sign out; they change their password, end sessions, and
manage tokens for programs.
"""

from __future__ import annotations

import hashlib
import logging
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin

import streamlit as st
from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from themescope.core.errors import (
    AccessError,
    ConfigError,
    DataError,
    DuplicateNameError,
    ThemescopeError,
    UnknownNameError,
)
from themescope.db.passwords import SHORTEST
from themescope.db.records import ApiTokenRecord, SessionRecord, SignInMethod
from themescope.db.settings import Settings
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.services import people as service
from themescope.jobs.services.people import tidy
from themescope.webapp.routes.middleware import ACCOUNT, CALLBACK, ORGANISATION, SIGN_IN, SIGN_OUT
from themescope.webapp.shared import people
from themescope.webapp.shared.components import ASSETS
from themescope.webapp.shared.people import has_signed_in

EXPIRED = "This form has expired, or the browser accepts no cookies. Try again."
ONE_AT_A_TIME = CapacityLimiter(1)
"""Checking a password takes a core and 64 MiB for a tenth of a second."""
_LONGEST_FORM = 20_000
_ICON = (ASSETS / "icon.svg").read_text(encoding="utf-8").replace("<svg ", '<svg aria-hidden="true" ', 1)
_STYLE = (ASSETS / "forms.css").read_text(encoding="utf-8")
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
    return Template((ASSETS / name).read_text(encoding="utf-8"))


def _status(error: ThemescopeError) -> int:
    if isinstance(error, service.TooManyAttempts):
        return 429
    if isinstance(error, AccessError):
        return 401
    return 422 if isinstance(error, DataError | DuplicateNameError | UnknownNameError) else 503


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
    token = people.browser_token(request.cookies)
    own = token or people.new_token()
    kind = "alert" if status >= 400 else "status"
    found = {
        "message": f'<p role="{kind}">{escape(message)}</p>' if message else "",
        "form_token": people.form_token(own),
        "icon": _ICON,
        "style": _STYLE,
        **html,
        **{name: escape(str(value)) for name, value in values.items()},
    }
    answer = HTMLResponse(page.substitute(found), status, _HEADERS)
    if not token:
        people.set_cookie(request, answer, own)
    return answer


_PAGE = template("sign_in.html")
_LINK = '<a class="button" href="{}">Sign in with your organisation</a>'


async def show(request: Request) -> Response:
    """Answer with the sign-in form, or with a redirect if there is no need to sign in."""
    token = people.browser_token(request.cookies)
    if not people.sign_in_required() or await run_in_threadpool(has_signed_in, token):
        return RedirectResponse(_path(request.query_params.get("next", "")), 303)
    try:
        address = str(st.get_option("server.address") or "all addresses")
        await run_in_threadpool(service.check_sharing, people.server_store(), is_configured(), address)
    except ThemescopeError as error:
        return _page(request, str(error), 503)
    return _page(request)


async def submit(request: Request) -> Response:
    """Check name and password; begin a session with a new token, or show the form again."""
    form, token = await fields(request), people.browser_token(request.cookies)
    name, target = form.get("person", ""), form.get("next", "")
    if not people.sign_in_required():
        return RedirectResponse("/", 303)
    if not people.is_form_token(token, form.get("form_token", "")):
        return _page(request, EXPIRED, 403, name, target)
    address, store = request.client.host if request.client else "", people.server_store()
    try:
        given = (store, name, form.get("password", ""), address)
        token = await to_thread.run_sync(service.sign_in, *given, limiter=ONE_AT_A_TIME)
    except ThemescopeError as error:
        answer = _page(request, str(error), _status(error), name, target)
        if isinstance(error, service.TooManyAttempts):
            answer.headers["Retry-After"] = f"{error.wait_s:.0f}"
        return answer
    return await _begun(request, token, target)


async def sign_out(request: Request) -> Response:
    """End the session here and in the store, and with the identity provider if it began there."""
    form, token = await fields(request), people.browser_token(request.cookies)
    if not people.is_form_token(token, form.get("form_token", "")):
        return _page(request, EXPIRED, 403)
    session = await run_in_threadpool(service.sign_out, people.server_store(), token)
    by_organisation = session is not None and session.method is SignInMethod.ORGANISATION
    answer = RedirectResponse(await sign_out_address() if by_organisation else SIGN_IN, 303)
    people.set_cookie(request, answer, people.new_token())
    return answer


async def ask_organisation(request: Request) -> Response:
    """Redirect to the identity provider."""
    if not is_configured():
        return RedirectResponse(SIGN_IN, 303)
    request.session["next"] = request.query_params.get("next", "")
    try:
        return await redirect(request)
    except ConfigError as error:
        return _page(request, str(error), 503)


async def answer_of_organisation(request: Request) -> Response:
    """Begin a session of the person for whom the identity provider vouches."""
    target = str(request.session.pop("next", ""))
    try:
        name = await person(request)
        token = await run_in_threadpool(service.sign_in_by_organisation, people.server_store(), name)
    except ThemescopeError as error:
        return _page(request, str(error), 403, target=target)
    return await _begun(request, token, target)


async def _begun(request: Request, token: str, target: str) -> Response:
    """Give the browser the token of its new session, and end the one that it had."""
    await run_in_threadpool(service.sign_out, people.server_store(), people.browser_token(request.cookies))
    answer = RedirectResponse(_path(target), 303)
    people.set_cookie(request, answer, token, people.server_store().settings.session_limit)
    return answer


def _page(request: Request, message: str = "", status: int = 200, name: str = "", target: str = "") -> Response:
    target = _path(target or request.query_params.get("next", ""))
    link = _LINK.format(escape(f"{ORGANISATION}?{urlencode({'next': target})}"))
    values = {"name": name[:200], "next": target, "longest_name": service.LONGEST_NAME}
    focus = {"empty": "", "named": "", "named" if name else "empty": "autofocus"}
    html = {"organisation": link if is_configured() else "", **focus}
    return form_page(request, _PAGE, values, html, message, status)


def _path(wanted: str) -> str:
    """Return a path of this server to go to after signing in; "/" for anything that could be another address."""
    own = wanted.startswith("/") and not wanted.startswith("//") and "\\" not in wanted and wanted.isprintable()
    return wanted if own else "/"


CHANGED = "Your password has been changed. You are signed out in all other browsers, and your tokens are revoked."
SIGNED_OUT = "You are signed out in all other browsers."
DIFFERENT = "The new passwords differ. Enter the same one twice."
WRONG = "The current password is wrong."
CREATED = "The token has been created. Copy it now: it is not shown again."
REVOKED = "The token has been revoked. Programs that use it are refused."
DAYS = ("30", "90", "365")
"""Offered numbers of days until a token expires."""
_ACCOUNT_PAGE = template("account.html")
_TIME = "%d %b %Y at %H:%M UTC"


async def show_account(request: Request) -> Response:
    """Answer with the account of the signed-in person."""
    return await _account_page(request, people.browser_token(request.cookies))


async def change_account(request: Request) -> Response:
    """Change the password, which begins a new session, end the sessions in other browsers, or manage tokens."""
    form, token = await fields(request), people.browser_token(request.cookies)
    if not people.is_form_token(token, form.get("form_token", "")):
        return await _account_page(request, token, EXPIRED, 403)
    try:
        return await _CHANGES.get(form.get("change", ""), _change_password)(request, token, form)
    except ThemescopeError as error:
        status = _status(error)
        return await _account_page(request, token, WRONG if status == 401 else str(error), status)


async def _change_password(request: Request, token: str, form: Mapping[str, str]) -> Response:
    if form.get("new") != form.get("again"):
        return await _account_page(request, token, DIFFERENT, 422)
    store, address = people.server_store(), request.client.host if request.client else ""
    given = (store, token, form.get("current", ""), form.get("new", ""), address)
    new_token = await to_thread.run_sync(service.change_password, *given, limiter=ONE_AT_A_TIME)
    answer = await _account_page(request, new_token, CHANGED)
    people.set_cookie(request, answer, new_token, store.settings.session_limit)
    return answer


async def _end_sessions(request: Request, token: str, form: Mapping[str, str]) -> Response:
    await run_in_threadpool(service.sign_out_elsewhere, people.server_store(), token)
    return await _account_page(request, token, SIGNED_OUT)


async def _create_token(request: Request, token: str, form: Mapping[str, str]) -> Response:
    name, days = form.get("name", ""), form.get("days", "")
    if days not in DAYS:
        raise DataError("Choose how long the token is valid.")

    store, own = await run_in_threadpool(_signed_in, token)
    given = (store, own, form.get("current", ""), request.client.host if request.client else "")
    await to_thread.run_sync(service.confirm, *given, limiter=ONE_AT_A_TIME)
    made = await run_in_threadpool(service.create, store, own.person, name, int(days), by=own.person)
    return await _account_page(request, token, CREATED, new_token=made.secret)


async def _revoke_token(request: Request, token: str, form: Mapping[str, str]) -> Response:
    number = form.get("token", "")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise UnknownNameError("token", number, None)

    store, own = await run_in_threadpool(_signed_in, token)
    await run_in_threadpool(service.revoke, store, int(number), own.person, by=own.person)
    return await _account_page(request, token, REVOKED)


def _signed_in(token: str) -> tuple[Store, SessionRecord]:
    store = people.server_store()
    account = service.account_of(store, token)
    if account is None:
        raise AccessError(EXPIRED)
    return store, account.own


_CHANGES = {"sessions": _end_sessions, "create-token": _create_token, "revoke-token": _revoke_token}


async def _account_page(
    request: Request, token: str, message: str = "", status: int = 200, new_token: str = ""
) -> Response:
    """Return the account page of a session, or a redirect if it has ended or nobody signs in here."""
    found = await run_in_threadpool(service.account_of, people.server_store(), token)
    if found is None or not people.sign_in_required():
        return RedirectResponse(SIGN_IN, 303)
    values = {
        "person": found.own.person,
        "role": found.role.value,
        "shortest": SHORTEST,
        "form_token": people.form_token(token),
        "password_hidden": "" if found.own.method is SignInMethod.PASSWORD else "hidden",
        "password_required": "required" if found.own.method is SignInMethod.PASSWORD else "disabled",
        "others_hidden": "" if found.others else "hidden",
    }
    sessions = [_session(found.own, "This browser"), *(_session(other, "Another browser") for other in found.others)]
    known = await run_in_threadpool(service.tokens_of, people.server_store(), found.own.person)
    html = {
        "sessions": "".join(sessions),
        "tokens": "".join(_token(one, people.form_token(token)) for one in known if one.revoked is None),
        "new_token": f'<output aria-label="New token">{escape(new_token)}</output>' if new_token else "",
    }
    return form_page(request, _ACCOUNT_PAGE, values, html, message, status)


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


ROUTES = [
    Route(SIGN_IN, show, methods=["GET"]),
    Route(SIGN_IN, submit, methods=["POST"]),
    Route(SIGN_OUT, show, methods=["GET"]),
    Route(SIGN_OUT, sign_out, methods=["POST"]),
    Route(ORGANISATION, ask_organisation, methods=["GET"]),
    Route(CALLBACK, answer_of_organisation, methods=["GET"]),
    Route(ACCOUNT, show_account, methods=["GET"]),
    Route(ACCOUNT, change_account, methods=["POST"]),
]


# Sign-in through an identity provider (OpenID Connect), configured in the section ``auth`` of the secrets file


logger = logging.getLogger(__name__)

_SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Ways of signing that only the provider can do; HMAC would do with our client secret."""
_NEEDED = ("redirect_uri", "client_id", "client_secret", "server_metadata_url")


def is_configured() -> bool:
    """Return whether an identity provider is configured."""
    return bool(_configuration())


def _configuration() -> dict[str, Any]:
    try:
        with Settings.from_environment().secrets_file.open("rb") as stream:
            return dict(tomllib.load(stream).get("auth", {}))
    except (OSError, tomllib.TOMLDecodeError):
        return {}


async def redirect(request: Request) -> Response:
    """Redirect to the provider. Raises :class:`ConfigError` if it cannot be reached or is not configured completely."""
    configuration = _configuration()
    if missing := [name for name in _NEEDED if not configuration.get(name)]:
        path = Settings.from_environment().secrets_file
        raise ConfigError(f"The section [auth] of {path} has no {', '.join(missing)}. See docs/sharing.md.")
    try:
        answer: Response = await _client().authorize_redirect(request, configuration["redirect_uri"])
    except Exception as error:
        logger.exception("The identity provider cannot be reached.")
        raise ConfigError("The identity provider of your organisation cannot be reached. Try again later.") from error
    return answer


async def person(request: Request) -> str:
    """Return the name for which the provider vouches; raise :class:`AccessError` if it vouches for none."""
    try:
        token = await _client().authorize_access_token(request)
    except Exception as error:
        logger.warning("A sign-in through the identity provider failed: %s", type(error).__name__, exc_info=True)
        raise AccessError("The sign-in through your organisation failed. Try again.") from error
    return vouched(token.get("userinfo") or {})


def vouched(user: Mapping[str, Any]) -> str:
    """Return the name that an identity provider vouches for: a verified e-mail address, else its subject id.

    "" if there is neither, or if the value is not a normalised name, which could be confused with another person's.
    """
    name = user.get("email") or user.get("sub")
    stated = user.get("email_verified", True)  # many providers say nothing
    refused = bool(user.get("email")) and stated is not True and str(stated).lower() != "true"
    return name if isinstance(name, str) and not refused and tidy(name) == name else ""


async def sign_out_address() -> str:
    """Return where a browser signs out at the provider, which then returns here; our sign-in page if it offers none."""
    try:
        end = (await _client().load_server_metadata()).get("end_session_endpoint")
    except Exception:
        logger.exception("The identity provider cannot be reached.")
        end = None
    if not end:
        return SIGN_IN
    configuration = _configuration()
    back = urljoin(configuration["redirect_uri"], SIGN_IN)
    return f"{end}?{urlencode({'client_id': configuration['client_id'], 'post_logout_redirect_uri': back})}"


def _client() -> Any:
    return _registered(Settings.from_environment().secrets_file, tuple(_configuration().get(n, "") for n in _NEEDED))


@lru_cache(maxsize=1)
def _registered(path: Path, values: tuple[str, ...]) -> Any:
    """Return the client, which keeps the metadata of the provider."""
    from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App

    class Client(StarletteOAuth2App):
        async def load_server_metadata(self) -> dict[str, Any]:
            """Return the metadata; of the ways to sign, only those with the provider's own key, so never ``none``."""
            found: dict[str, Any] = await super().load_server_metadata()
            signs = found.get("id_token_signing_alg_values_supported") or ()
            found["id_token_signing_alg_values_supported"] = [sign for sign in signs if sign in _SIGNATURES]
            return found

    class Provider(OAuth):
        oauth2_client_cls = Client

    _, client_id, client_secret, server_metadata_url = values
    return Provider().register(
        "organisation",
        client_id=client_id,
        client_secret=client_secret,
        server_metadata_url=server_metadata_url,
        client_kwargs={"scope": "openid email profile", "prompt": "select_account", "code_challenge_method": "S256"},
    )
