"""The sign-in page and the check of sessions: who is let in, cookies, other sites, and an identity provider."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from db import label_tables as t
from db.label_records import Role
from db.settings import Settings
from db.store import Store
from jobs.services import people
from jobs.services import sign_in as service
from jobs.services.people import LONGEST_NAME
from tests.servers import free_port
from webapp import organisation, sign_in, status
from webapp.middleware import HostCheck, SecurityHeaders
from webapp.sessions import PUBLIC, REFUSED, SessionCheck
from webapp.shared import cookies

SECRET = "correct horse battery"
PAGE = {"accept": "text/html"}
INSIDE = "inside"
pytestmark = pytest.mark.usefixtures("cheap_passwords")


async def inside(request: Request) -> Response:
    """Answer in place of Streamlit."""
    await request.body()
    return PlainTextResponse(INSIDE)


async def stream(websocket: WebSocket) -> None:
    """Accept a websocket in place of Streamlit."""
    await websocket.accept()
    await websocket.close()


APP = Starlette(
    routes=[
        *status.ROUTES,
        *sign_in.ROUTES,
        Route("/{path:path}", inside, methods=["GET", "PUT", "DELETE", "POST"]),
        WebSocketRoute("/{path:path}", stream),
    ],
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(HostCheck),
        Middleware(SessionCheck),
        Middleware(SessionMiddleware, secret_key="of this test"),
    ],
)


def browser(address: str = "http://localhost:8501", **options: Any) -> TestClient:
    """Return a new browser."""
    return TestClient(APP, base_url=address, follow_redirects=False, **options)


@pytest.fixture
def shared(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store whose pages ask people to sign in; each role has somebody."""
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    for name, role in (("ada", Role.ADMIN), ("lea", Role.LABELLER), ("val", Role.VIEWER)):
        people.add(sqlite_store, name, role, SECRET)
    return sqlite_store


def form_token(answer: Any) -> str:
    return re.search(r'name="form_token" value="([^"]+)"', answer.text)[1]  # type: ignore[index]


def submit(client: TestClient, name: str, password: str = SECRET, **fields: str) -> Any:
    """Fill in the form of the sign-in page and send it."""
    form = {"form_token": form_token(client.get("/sign-in")), "person": name, "password": password, **fields}
    return client.post("/sign-in", data=form, headers={"origin": str(client.base_url)})


def signed_in(name: str = "lea") -> TestClient:
    client = browser()
    assert submit(client, name).status_code == 303
    return client


def cookie_of(client: TestClient) -> tuple[str, str]:
    ((name, value),) = client.cookies.items()
    return name, value


def token_of(client: TestClient) -> str:
    return cookies.browser_token(dict(client.cookies))


# --- who is let in ----------------------------------------------------------------------------------------------------


def age(store: Store, column: sa.Column[Any], by: timedelta) -> None:
    with store.writing() as w:
        for digest, value in w.people.connection.execute(sa.select(t.session.c.token_hash, column)).all():
            own = t.session.update().where(t.session.c.token_hash == digest)
            w.people.connection.execute(own.values({column.name: value - by}))


def send(client: TestClient, name: str, value: str) -> None:
    """Replace the cookies of a browser."""
    client.cookies.clear()
    client.cookies.set(name, value)


def _unsigned(store: Store, client: TestClient) -> None:
    name, value = cookie_of(client)
    send(client, name, value.rpartition(".")[0])


def _forged(store: Store, client: TestClient) -> None:
    name, value = cookie_of(client)
    send(client, name, value[:-4] + ("AAAA" if value[-4:] != "AAAA" else "BBBB"))


def _guessed(store: Store, client: TestClient) -> None:
    send(client, *cookies.cookie(cookies.new_token(), secure=False))


def _named(store: Store, client: TestClient) -> None:
    service.sign_out(store, token_of(client))
    service.remember_name(store, token_of(client), "ada")


ENDS: dict[str, Callable[[Store, TestClient], object]] = {
    "nobody": lambda s, c: c.cookies.clear(),
    "unsigned cookie": _unsigned,
    "forged cookie": _forged,
    "guessed session": _guessed,
    "name that was only entered": _named,
    "signed out in another tab": lambda s, c: service.sign_out(s, token_of(c)),
    "idle": lambda s, c: age(s, t.session.c.seen, s.settings.session_idle),
    "too old": lambda s, c: age(s, t.session.c.created, s.settings.session_limit),
    "new password": lambda s, c: people.set_password(s, "lea", "another password"),
    "new role": lambda s, c: people.set_role(s, "lea", Role.VIEWER),
    "removed": lambda s, c: people.remove(s, "lea"),
}
PATHS = [
    "/",
    "/corpora",
    "/_stcore/host-config",
    "/media/1.png",
    "/component/x.js",
    "/_stcore/agent/mcp",
    "/auth/login",
]


def admitted(client: TestClient) -> set[str]:
    """Return what a browser is let in to; everything else is refused in the right way."""
    found = set()
    for path in PATHS:
        if (answer := client.get(path)).status_code == 200:
            found.add(path)
        else:
            assert (answer.status_code, answer.text) == (403, REFUSED)
            page = client.get(path, headers=PAGE)
            assert page.status_code == 303 and page.headers["location"].startswith("/sign-in")
    for method in ("PUT", "POST", "DELETE"):
        if client.request(method, "/_stcore/upload_file/a/b", content=b"x" * 1_000).text == INSIDE:
            found.add(method)
    try:
        with client.websocket_connect("ws://localhost:8501/_stcore/stream"):
            found.add("websocket")
    except WebSocketDenialResponse as answer:
        assert (answer.status_code, answer.text) == (403, REFUSED)
    return found


@pytest.mark.parametrize("end", ENDS)
def test_only_who_has_a_session_is_let_in(shared: Store, end: str) -> None:
    client = signed_in()
    assert admitted(client) == {*PATHS, "PUT", "POST", "DELETE", "websocket"}
    ENDS[end](shared, client)
    assert admitted(client) == set()


def test_what_is_public(shared: Store) -> None:
    answers = {path: browser().get(path).status_code for path in PUBLIC}
    assert answers == {
        "/healthz": 200, "/readyz": 200, "/metrics": 403, "/_stcore/health": 200, "/sign-in": 200,
        "/sign-out": 200, "/sign-in/organisation": 303, "/oauth2callback": 403,
    }  # fmt: skip
    assert browser().get("/static/js/index.js").text == INSIDE
    for path in ("/staticx", "/sign-in/", "/sign-in/x", "/healthz/x", "//sign-in", "/STATIC/x", "/_stcore/health/x"):
        assert browser().get(path).text == REFUSED, path


def test_the_address_that_was_opened_first_opens_afterwards(shared: Store) -> None:
    client = browser()
    to = client.get("/corpora?corpus=A%26B&view=Read", headers=PAGE).headers["location"]
    page = client.get(to)
    wanted = re.search(r'name="next" value="([^"]+)"', page.text)[1].replace("&amp;", "&")  # type: ignore[index]
    assert submit(client, "ada", next=wanted).headers["location"] == "/corpora?corpus=A%26B&view=Read"
    assert client.get("/sign-in?next=%2Fmap").headers["location"] == "/map"


@pytest.mark.parametrize(
    "next",
    ["//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "/a\nb",
     "///evil.example", "evil.example", "http:evil.example", "/\t/evil.example", "//[", ""],
)  # fmt: skip
def test_signing_in_leads_to_no_other_site(shared: Store, next: str) -> None:
    assert submit(browser(), "ada", next=next).headers["location"] == "/"
    assert quote(next) not in browser().get("/sign-in", params={"next": next}).text or not next


def test_invalid_settings_let_nobody_in(shared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in()
    monkeypatch.setenv("THEMESCOPE_LOGIN", "allways")
    answer = client.get("/", headers=PAGE)
    assert answer.status_code == 503 and "THEMESCOPE_LOGIN must be" in answer.text


# --- cookies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "headers", "secure"),
    [
        ("http://localhost:8501", {}, False),
        ("https://localhost:8501", {}, True),
        ("http://localhost:8501", {"x-forwarded-proto": "https"}, True),
    ],
)
def test_the_flags_of_the_cookie(shared: Store, address: str, headers: dict[str, str], secure: bool) -> None:
    client = browser(address, headers=headers)
    page = client.get("/sign-in")
    form = {"form_token": form_token(page), "person": "ada", "password": SECRET}
    sent = {"cookie": page.headers["set-cookie"].partition(";")[0]}
    answer = client.post("/sign-in", data=form, headers=sent)
    assert answer.status_code == 303
    for header, kept in ((page.headers["set-cookie"], ""), (answer.headers["set-cookie"], "Max-Age=604800")):
        name, *flags = header.split("; ")
        assert {*flags} == {"HttpOnly", "Path=/", "SameSite=lax", *filter(None, [kept]), *(["Secure"] * secure)}
        assert name.startswith("__Host-themescope-" if secure else "themescope-")


def test_the_token_changes_at_every_sign_in_and_sign_out(shared: Store) -> None:
    client = browser()
    page = client.get("/sign-in")
    fixed = cookie_of(client)
    tokens = [token_of(client)]
    assert "set-cookie" not in client.get("/sign-in").headers
    for name in ("ada", "lea"):
        form = {"form_token": cookies.form_token(tokens[-1]), "person": name, "password": SECRET}
        assert client.post("/sign-in", data=form).status_code == 303
        tokens.append(token_of(client))
        assert service.session_of(shared, tokens[-1]).person == name  # type: ignore[union-attr]
        assert service.session_of(shared, tokens[-2]) is None
    assert form_token(page) == cookies.form_token(tokens[0])
    attacker = browser()
    attacker.cookies.set(*fixed)
    assert admitted(attacker) == set()
    other_tab = browser(cookies=dict(client.cookies))
    out = client.post("/sign-out", data={"form_token": cookies.form_token(tokens[-1])})
    assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
    assert token_of(client) not in (*tokens, "") and admitted(client) == admitted(other_tab) == set()


def test_two_installations_on_one_host_have_two_cookies(shared: Store, tmp_path: Path) -> None:
    own = cookies.cookie("token", secure=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEMESCOPE_HOME", str(tmp_path / "other"))
        other = cookies.cookie("token", secure=False)
        assert cookies.browser_token({own[0]: own[1], other[0]: other[1]}) == "token"
        assert cookies.browser_token({other[0]: own[1]}) == ""
    assert own[0] != other[0] and own[1] != other[1]


def test_who_does_not_sign_in_is_known_by_a_cookie(sqlite_store: Store) -> None:
    client = browser()
    assert "set-cookie" not in client.get("/_stcore/host-config").headers
    header = client.get("/", headers=PAGE).headers["set-cookie"]
    assert {*header.split("; ")[1:]} == {"HttpOnly", "Path=/", "SameSite=lax", "Max-Age=34560000"}
    assert "set-cookie" not in client.get("/corpora", headers=PAGE).headers
    assert client.get("/sign-in?next=/map").headers["location"] == "/map"
    assert "websocket" in admitted(browser())


# --- the form ---------------------------------------------------------------------------------------------------------


def test_forms_of_other_sites_are_refused(shared: Store) -> None:
    client, other = browser(), browser()
    client.get("/sign-in")
    tokens = ["", "x", "ü", form_token(other.get("/sign-in"))]
    for token in tokens:
        form = {"form_token": token, "person": "ada", "password": SECRET}
        answer = client.post("/sign-in", data=form)
        assert answer.status_code == 403 and sign_in.EXPIRED in answer.text
    form["form_token"] = form_token(client.get("/sign-in"))
    for origin in ("https://evil.example", "null", "http://localhost:9999"):
        assert client.post("/sign-in", data=form, headers={"origin": origin}).status_code == 403
    assert browser().post("/sign-in", data=form).status_code == 403  # a browser without the cookie
    assert client.post("/sign-in", data=form).status_code == 303
    for token in tokens:
        assert client.post("/sign-out", data={"form_token": token}).status_code == 403
    assert client.get("/sign-out").headers["location"] == "/" and client.get("/").text == INSIDE


def test_wrong_passwords_are_told_and_counted(shared: Store) -> None:
    client = browser()
    for name in ("ada", "nobody"):
        answer = submit(client, name, "wrong password")
        assert answer.status_code == 401 and "Wrong name or password." in answer.text
        assert f'value="{name}"' in answer.text and "wrong password" not in answer.text
    statuses = [submit(browser(), "ada", "wrong password").status_code for _ in range(3)]
    assert statuses == [401, 401, 429]
    answer = submit(browser(), "ada")
    assert answer.status_code == 429 and 0 < int(answer.headers["retry-after"]) <= 2
    assert submit(client, "lea").status_code == 303


def test_the_page_runs_nothing_that_was_entered(shared: Store) -> None:
    hostile = "<img src=x onerror=alert(1)>\"'$name ${message}"
    answer = submit(browser(), hostile, "wrong password", next=f"/{hostile}")
    assert "<img" not in answer.text and "&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;$name" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "script-src" not in policy
    assert answer.headers["cache-control"] == "no-store" and answer.headers["x-frame-options"] == "SAMEORIGIN"


@pytest.mark.parametrize("body", [b"x" * 30_000, b"\xff=\xff", b"a=1&" * 50, b"", b"person=ada&person=lea"])
def test_other_bodies_are_refused(shared: Store, body: bytes) -> None:
    client = browser()
    client.get("/sign-in")
    assert client.post("/sign-in", content=body).status_code == 403
    assert client.post("/sign-out", content=body).status_code == 403


def test_long_names_are_cut_as_they_are_stored(shared: Store) -> None:
    people.add(shared, "x" * 100, Role.VIEWER, SECRET)
    assert submit(browser(), "x" * LONGEST_NAME).status_code == 303
    assert submit(browser(), "y" * 5_000).status_code == 401


def test_while_nobody_can_sign_in_the_page_says_so(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    answer = browser().get("/sign-in")
    assert answer.status_code == 503 and "nobody can sign in yet" in answer.text


# --- an identity provider ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The address of a real identity provider with three people."""
    port = free_port()
    claims = [
        {"sub": "1", "email": "ada@example.org", "email_verified": True},
        {"sub": "2", "email": "lea@example.org", "email_verified": False},
        {"sub": "3", "email": "mallory@example.org", "preferred_username": "ada@example.org"},
    ]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true"]
    command += [part for claim in claims for part in ("--user-claims", json.dumps(claim))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://localhost:{port}"
    try:
        until = time.monotonic() + 30
        while True:
            try:
                fetch(f"{address}/.well-known/openid-configuration")
                break
            except OSError:
                assert time.monotonic() < until and process.poll() is None
                time.sleep(0.1)
        yield address
    finally:
        process.kill()
        process.wait()


def fetch(url: str, data: bytes | None = None) -> tuple[int, str]:
    """Return status and ``Location`` of an answer of the provider."""
    from http.client import HTTPConnection

    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=30)
    try:
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if data else {}
        connection.request("POST" if data else "GET", f"{parts.path}?{parts.query}", data, kind)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("Location", "")
    finally:
        connection.close()


@pytest.fixture
def by_organisation(shared: Store, provider: str) -> Store:
    people.add(shared, "ada@example.org", Role.ADMIN, None)
    people.add(shared, "lea@example.org", Role.LABELLER, None)
    shared.settings.secrets_file.write_text(
        "[auth]\n"
        'redirect_uri = "http://localhost:8501/oauth2callback"\nclient_id = "themescope"\nclient_secret = "secret"\n'
        f'server_metadata_url = "{provider}/.well-known/openid-configuration"\n',
        encoding="utf-8",
    )
    return shared


def answer_of(client: TestClient, subject: str) -> str:
    """Sign in at the provider; return the address that it leads the browser back to."""
    assert "Sign in with your organisation" in client.get("/sign-in").text
    to = client.get("/sign-in/organisation?next=/map").headers["location"]
    assert "code_challenge" in to and "nonce" in to and "state" in to
    status, back = fetch(to, f"sub={subject}".encode())
    assert status == 302 and back.startswith("http://localhost:8501/oauth2callback")
    return back


def test_people_sign_in_through_an_identity_provider_and_out(by_organisation: Store, provider: str) -> None:
    client = browser()
    back = answer_of(client, "1")
    before = token_of(client)
    answer = client.get(back)
    assert (answer.status_code, answer.headers["location"]) == (303, "/map")
    session = service.session_of(by_organisation, token_of(client))
    assert session is not None and (session.person, session.method) == ("ada@example.org", "organisation")
    assert token_of(client) != before and client.get("/map").text == INSIDE
    assert client.get(back).status_code == 403  # an answer counts once
    out = client.post("/sign-out", data={"form_token": cookies.form_token(token_of(client))})
    assert out.headers["location"].startswith(f"{provider}/oauth2/end_session?client_id=themescope&")
    assert service.session_of(by_organisation, token_of(client)) is None and client.get("/map").text == REFUSED


def test_who_is_not_vouched_for_or_has_no_account_is_refused(by_organisation: Store) -> None:
    for subject, said in (("2", "has no account"), ("3", "mallory@example.org has no account")):
        client = browser()
        answer = client.get(answer_of(client, subject))
        assert answer.status_code == 403 and said in answer.text
        assert admitted(client) == set()


def test_an_answer_for_another_browser_is_refused(by_organisation: Store) -> None:
    back = answer_of(browser(), "1")
    victim = browser()
    for address in (back, re.sub("state=[^&]+", "state=x", back), "/oauth2callback?error=access_denied"):
        answer = victim.get(address)
        assert answer.status_code == 403 and "sign-in through your organisation failed" in answer.text
    assert admitted(victim) == set()


def test_a_provider_that_is_not_configured_or_reached_is_told(by_organisation: Store) -> None:
    path = by_organisation.settings.secrets_file
    complete = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"localhost:\d+/\.well", f"localhost:{free_port()}/.well", complete), encoding="utf-8")
    answer = browser().get("/sign-in/organisation")
    assert answer.status_code == 503 and "cannot be reached" in answer.text
    path.write_text('[auth]\nclient_id = "x"\n', encoding="utf-8")
    answer = browser().get("/sign-in/organisation")
    assert answer.status_code == 503 and "has no redirect_uri, client_secret" in answer.text


def test_an_identity_provider_is_set_up_by_a_file(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    files = {"": False, "[other]\nx = 1\n": False, "[auth": False, '[auth]\nclient_id = "x"\n': True}
    for text, found in files.items():
        settings.secrets_file.write_text(text, encoding="utf-8")
        assert organisation.is_configured() is found


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ({"email": "ada@example.org", "email_verified": True, "sub": "1"}, "ada@example.org"),
        ({"email": "ada@example.org", "sub": "1"}, "ada@example.org"),
        ({"email": "ada@example.org", "email_verified": False, "sub": "1"}, ""),
        ({"email": "ada@example.org", "email_verified": "false", "sub": "1"}, ""),
        ({"preferred_username": "ada@example.org", "sub": "1"}, "1"),
        ({"name": "ada@example.org"}, ""),
        ({"email": ["ada@example.org"], "sub": 7}, ""),
        ({"email": "x" * 60 + "@example.org", "sub": "1"}, ""),
        ({"email": "ada@example.org\u200b", "sub": "1"}, ""),
    ],
)
def test_what_an_organisation_vouches_for(user: dict[str, object], name: str) -> None:
    """Many providers let people choose their ``preferred_username``, so it says nothing of who they are."""
    assert organisation.vouched(user) == name
