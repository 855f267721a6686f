"""Who reaches which path of a running server: every route and page, every method, every kind of visitor; headers."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from email.message import Message
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from tests.e2e.conftest import serving, wait_for
from tests.homes import MakeHome
from themescope.core.records.stored import Role
from themescope.db import tables as t
from themescope.db.settings import Settings
from themescope.db.sql import now
from themescope.db.store import Store
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

ROOT = Path(__file__).parents[2]
PRINT = """
import json
from themescope.webapp.asgi import app
print(json.dumps([route.path for route in app._build_starlette_app().routes]))
"""
Headers = dict[str, str]
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
WITH_ALL_METHODS = ("nobody", "viewer", "admin", "other origin")
"""Visitors who try every method; the others, of whom the check of sessions thinks alike, read and write."""
STREAM = "/_stcore/stream"
SECRET = "correct horse battery"
PEOPLE = {"val": Role.VIEWER, "lea": Role.LABELLER, "ada": Role.ADMIN}
SIGNED_IN = ("viewer", "labeller", "admin", "own origin")
FOREIGN = {"other origin": FOREIGN_ORIGIN, "other host": FOREIGN_HOST}


@pytest.fixture(scope="module")
def routes() -> set[str]:
    """The paths of the routes of the server. In a process of its own, because it makes Streamlit's runtime."""
    done = subprocess.run([sys.executable, "-c", PRINT], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1])) | {PUBLIC_FILES}


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


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    def fill(store: Store) -> None:
        for name, role in PEOPLE.items():
            people.add(store, name, role, SECRET)

    return make_home(fill)


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[str]:
    with serving(home, THEMESCOPE_LOGIN="always") as url:
        yield url


@pytest.fixture
def visitors(home: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Headers]:
    """The headers of each kind of visitor."""
    monkeypatch.setenv("THEMESCOPE_HOME", str(home))
    store = Store(Settings.from_environment())
    idle = people.sign_in(store, "ada", SECRET, "")
    with store.writing() as w:
        w.people.connection.execute(t.session.update().values(seen=now() - store.settings.session_idle))
    tokens = {name: people.sign_in(store, name, SECRET, "") for name in PEOPLE}
    out = people.sign_in(store, "ada", SECRET, "")
    people.sign_out(store, out)
    store.close()

    def of(token: str, **more: str) -> Headers:
        return {"cookie": "=".join(cookie(token, secure=False)), **more}

    own = of(tokens["ada"])
    return {
        "nobody": {},
        "viewer": of(tokens["val"]),
        "labeller": of(tokens["lea"]),
        "admin": own,
        "own origin": {**own, "origin": server},
        "signed out in another tab": of(out),
        "forged cookie": {"cookie": own["cookie"][:-4] + "AAAA"},
        "guessed session": of(new_token()),
        "expired": of(idle),
        "other origin": {**own, "origin": "https://evil.example"},
        "other host": {**own, "host": "evil.example"},
    }


def test_each_visitor_reaches_what_is_theirs(routes: set[str], server: str, visitors: dict[str, Headers]) -> None:
    paths = {re.sub(r"\{[^}]*\}", "x", route) or "/" for route in routes - {PUBLIC_FILES, STREAM}}
    paths |= {f"/{page}" for page in REGISTRY.ids()} | {"/", "/data", "/Models/", "/favicon.png", "/unknown"}
    paths |= {f"{PUBLIC_FILES}x.js"}
    host, port = urlsplit(server).hostname, urlsplit(server).port
    connection = HTTPConnection(host or "", port, timeout=60)
    wrong = []
    for visitor, path, method in product(visitors, sorted(paths), METHODS):
        if method not in ("GET", "POST") and visitor not in WITH_ALL_METHODS:
            continue
        connection.request(method, path, headers=visitors[visitor])
        answer = connection.getresponse()
        found = what(method, answer.status, answer.read().decode("utf-8", "replace"), answer.headers)
        if found != (expected := reach(visitor, method, path)):
            wrong.append((visitor, method, path, expected, found, answer.status))
    connection.close()
    assert wrong == []


def ask(server: str, path: str, **headers: str) -> tuple[int, Message, str]:
    """Send a GET request; status, headers and body of the answer."""
    connection = HTTPConnection(urlsplit(server).hostname or "", urlsplit(server).port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, answer.headers, body


def test_every_response_has_the_security_headers(server: str, visitors: dict[str, Headers]) -> None:
    own = visitors["admin"]
    status, headers, page = ask(server, "/", **own)
    script = re.search(r'src="\.(/static/[^"]+\.js)"', page)
    assert status == 200 and script
    answers: dict[str, tuple[int, Message]] = {"/": (status, headers)}
    for path in (script[1], "/_stcore/health", "/corpora", "/static/none.js", "/media/none.png", "/..%2f..%2fetc"):
        answers[path] = ask(server, path, **own)[:2]
    answers["foreign"] = ask(server, "/", **visitors["other host"])[:2]
    assert answers[script[1]][0] == 200 and answers["foreign"][0] == 403
    for name, (status, headers) in answers.items():
        assert {key: headers[key] for key in SECURITY_HEADERS} == SECURITY_HEADERS, (name, status)


def test_probes_are_answered_under_every_host_name(server: str) -> None:
    assert ask(server, "/healthz", host="web1")[::2] == (200, "ok")
    wait_for(lambda: ask(server, "/readyz", host="web1")[::2] == (200, '{"store":"ok"}'), 60, "the migration")


def test_no_cookie_opens_the_api(server: str, visitors: dict[str, Headers]) -> None:
    host, port = urlsplit(server).hostname, urlsplit(server).port
    connection = HTTPConnection(host or "", port, timeout=60)
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


def test_only_signed_in_visitors_open_a_websocket(server: str, visitors: dict[str, Headers]) -> None:
    opened = [visitor for visitor, headers in visitors.items() if opens_websocket(server, headers)]
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
