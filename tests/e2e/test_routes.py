"""Who reaches which path of a running server: every route and page, every method, every kind of visitor; headers."""

import json
import re
import socket
from email.message import Message
from http.client import HTTPConnection
from itertools import product
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from tests.e2e.conftest import PEOPLE, ROOT, App
from tests.jobs.helpers import wait_for
from themescope.db import tables as t
from themescope.db.records import SignInMethod
from themescope.db.sql import now
from themescope.jobs.api.application import description
from themescope.jobs.services import people
from themescope.webapp.features import REGISTRY
from themescope.webapp.routes.middleware import (
    API,
    FOREIGN_HOST,
    FOREIGN_ORIGIN,
    PROBES,
    PUBLIC,
    PUBLIC_FILES,
    REFUSED,
    SECURITY_HEADERS,
)
from themescope.webapp.shared.people import cookie, new_token

Headers = dict[str, str]
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
WITH_ALL_METHODS = ("nobody", "viewer", "admin", "other origin")
"""Visitors who try every method; the others, of whom the check of sessions thinks alike, read and write."""
STREAM = "/_stcore/stream"
SIGNED_IN = ("viewer", "labeller", "admin", "own origin")
FOREIGN = {"other origin": FOREIGN_ORIGIN, "other host": FOREIGN_HOST}


@pytest.fixture
def routes(shared: App) -> set[str]:
    return {*json.loads((shared.home / "routes.json").read_text("utf-8")), PUBLIC_FILES}


def test_every_route_is_in_the_document(routes: set[str]) -> None:
    document = (ROOT / "docs" / "security.md").read_text("utf-8")
    rows = re.findall(r"^\| (`/.*?) \| .* \| (.*) \|$", document, re.MULTILINE)
    said = {path: who for paths, who in rows for path in re.findall(r"`([^`]+)`", paths)}
    assert {path for path in said if said[path].startswith("public")} == PUBLIC | {PUBLIC_FILES}
    unsaid = [route for route in routes if not any(is_under(route or "/", path) for path in said)]
    assert unsaid == []
    assert [path for path in said if not any(is_under(route or "/", path) for route in routes)] == []


def is_under(route: str, path: str) -> bool:
    return route == path or (path.endswith("/") and path != "/" and route.startswith(path))


@pytest.fixture
def visitors(shared: App, monkeypatch: pytest.MonkeyPatch) -> dict[str, Headers]:
    monkeypatch.setenv("THEMESCOPE_HOME", str(shared.home))
    with shared.store.writing() as w:
        idle = w.sessions.open("ada", SignInMethod.PASSWORD)
        w.people.connection.execute(t.session.update().values(seen=now() - shared.store.settings.session_idle))
        tokens = {name: w.sessions.open(name, SignInMethod.PASSWORD) for name in PEOPLE}
        out = w.sessions.open("ada", SignInMethod.PASSWORD)
    people.sign_out(shared.store, out)

    def of(token: str, **more: str) -> Headers:
        return {"cookie": "=".join(cookie(token, secure=False)), **more}

    own = of(tokens["ada"])
    return {
        "nobody": {},
        "viewer": of(tokens["val"]),
        "labeller": of(tokens["lea"]),
        "admin": own,
        "own origin": {**own, "origin": shared.url},
        "signed out in another tab": of(out),
        "forged cookie": {"cookie": own["cookie"][:-4] + "AAAA"},
        "guessed session": of(new_token()),
        "expired": of(idle),
        "other origin": {**own, "origin": "https://evil.example"},
        "other host": {**own, "host": "evil.example"},
    }


def test_each_visitor_reaches_what_is_theirs_with_the_security_headers(
    routes: set[str], shared: App, visitors: dict[str, Headers]
) -> None:
    paths = {re.sub(r"\{[^}]*\}", "x", route) or "/" for route in routes - {PUBLIC_FILES, STREAM}}
    paths |= {f"/{page}" for page in REGISTRY.ids()} | {"/", "/data", "/Models/", "/favicon.png", "/unknown"}
    script = re.search(r'src="\.(/static/[^"]+\.js)"', ask(shared.url, "/", **visitors["admin"])[1])
    assert script and ask(shared.url, script[1])[0] == 200
    alike = {"/", "/_stcore/health", "/corpora", script[1], f"{PUBLIC_FILES}x.js", "/media/none.png", "/..%2f..%2fetc"}
    paths |= alike
    connection = connected(shared.url)
    wrong = []
    for visitor, path, method in product(visitors, sorted(paths), METHODS):
        if method not in ("GET", "POST") and visitor not in WITH_ALL_METHODS:
            continue
        connection.request(method, path, headers=visitors[visitor])
        answer = connection.getresponse()
        found = what(method, answer.status, answer.read().decode("utf-8", "replace"), answer.headers)
        if found != (expected := reach(visitor, method, path)):
            wrong.append((visitor, method, path, expected, found, answer.status))
        secure = {key: answer.headers[key] for key in SECURITY_HEADERS}
        if None in secure.values() or (path in alike and secure != SECURITY_HEADERS):  # others may have stricter ones
            wrong.append((visitor, method, path, SECURITY_HEADERS, secure, answer.status))
    connection.close()
    assert wrong == []


def connected(server: str) -> HTTPConnection:
    return HTTPConnection(urlsplit(server).hostname or "", urlsplit(server).port, timeout=60)


def ask(server: str, path: str, **headers: str) -> tuple[int, str]:
    connection = connected(server)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, body


def test_probes_are_answered_under_every_host_name(shared: App) -> None:
    assert ask(shared.url, "/healthz", host="web1") == (200, "ok")
    wait_for(lambda: ask(shared.url, "/readyz", host="web1") == (200, '{"store":"ok"}'))


def test_no_cookie_opens_the_api(shared: App, visitors: dict[str, Headers]) -> None:
    connection = connected(shared.url)
    operations = [(method.upper(), path) for path, found in description()["paths"].items() for method in found]
    statuses: dict[str, set[int]] = {visitor: set() for visitor in visitors}
    for visitor, (method, path) in product(visitors, operations):
        headers = {**visitors[visitor], "content-type": "application/json"}
        connection.request(method, API + re.sub(r"\{[^}]*\}", "1", path), body="{}", headers=headers)
        answer = connection.getresponse()
        answer.read()
        statuses[visitor].add(answer.status)
    connection.close()
    assert statuses == {visitor: {403 if visitor in FOREIGN else 401} for visitor in visitors}


def test_only_signed_in_visitors_open_a_websocket(shared: App, visitors: dict[str, Headers]) -> None:
    opened = [visitor for visitor, headers in visitors.items() if opens_websocket(shared.url, headers)]
    assert opened == [*SIGNED_IN]


def opens_websocket(server: str, headers: Headers) -> bool:
    """Whether a handshake succeeds, from a page of the server unless the headers name another origin or host."""
    host, port = urlsplit(server).hostname, urlsplit(server).port or 0
    named = headers.get("host", host)
    origin = Origin(headers.get("origin", f"http://{named}:{port}"))
    others = {name: value for name, value in headers.items() if name == "cookie"}
    to = socket.create_connection((host, port), timeout=30)
    address = f"ws://{named}:{port}{STREAM}"
    try:
        with connect(
            address, sock=to, origin=origin, additional_headers=others, subprotocols=[Subprotocol("streamlit")]
        ):
            return True
    except InvalidStatus as refused:
        assert refused.response.status_code == 403
        return False
    finally:
        to.close()


def reach(visitor: str, method: str, path: str) -> str:
    """Say what a visitor meets: an answer of the path, or one of the refusals."""
    if path in PROBES:
        return "answered"
    if visitor in FOREIGN:
        return visitor
    is_public = path in PUBLIC or path.startswith(PUBLIC_FILES)
    return "answered" if is_public or visitor in SIGNED_IN else "refused"


def what(method: str, status: int, text: str, headers: Message) -> str:
    """Say what was met. An answer to ``HEAD`` has no text, so its length decides."""
    kinds = {REFUSED: "refused", FOREIGN_ORIGIN: "other origin", FOREIGN_HOST: "other host"}
    if method != "HEAD":
        return kinds.get(text, "answered")
    lengths = {str(len(refusal.encode())): kind for refusal, kind in kinds.items()}
    return lengths.get(headers["content-length"], "answered") if status == 403 else "answered"
