"""The real server, bound to every address of this machine: whom it answers, its headers, and what it looks up.

Requests come from a browser in which somebody has signed in.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers import free_port
from themescope.core.records.stored import Role
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services.accounts import people, sign_in
from themescope.webapp.routes.middleware import SECURITY_HEADERS
from themescope.webapp.shared.people import cookie

ROOT = Path(__file__).parents[2]
START_S = 120.0
TOKEN = "a-token-of-this-test"
PASSWORD = "a password of this test"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@dataclass(frozen=True)
class Answer:
    """A response as far as it is looked at."""

    status: int
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Server:
    """A running server, and the file with what it looked up."""

    port: int
    record: Path
    cookie: str

    def ask(self, path: str, **headers: str) -> Answer:
        """Send a GET request, as of this machine unless ``headers`` say otherwise."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            own = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie}
            connection.request("GET", path, headers={**own, **headers})
            got = connection.getresponse()
            found = {name.lower(): value for name, value in got.getheaders()}
            body = "" if got.status == 101 else got.read().decode(errors="replace")
            return Answer(got.status, found, body)
        finally:
            connection.close()

    def handshake(self, **headers: str) -> Answer:
        """Open a websocket as Streamlit's page does."""
        return self.ask("/_stcore/stream", **HANDSHAKE, **headers)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("serving")
    found = Server(free_port(), folder / "record.txt", signed_in(folder / "home"))
    flags = ["--server.address", "0.0.0.0", "--server.port", str(found.port)]
    command = [sys.executable, "-m", "tests.recorded_server", str(found.record), *flags]
    environment = {**os.environ, "THEMESCOPE_HOME": str(folder / "home"), "THEMESCOPE_METRICS_TOKEN": TOKEN}
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        wait_for(found)
        yield found
    finally:
        process.kill()
        process.wait()


def signed_in(home: Path) -> str:
    """Make a store with an account and return the header ``Cookie`` of a browser in which its person signed in."""
    store = Store(Settings.in_folder(home))
    store.migrate()
    people.add(store, "ada", Role.ADMIN, PASSWORD)
    token = sign_in.sign_in(store, "ada", PASSWORD, "test")
    store.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEMESCOPE_HOME", str(home))
        return "=".join(cookie(token, secure=False))


def wait_for(server: Server) -> None:
    """Wait until the server answers."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            server.ask("/_stcore/health")
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("The server did not start.")


def test_every_response_has_the_security_headers(server: Server) -> None:
    page = server.ask("/")
    script = re.search(r'src="\.(/static/[^"]+\.js)"', page.body)
    assert page.status == 200 and script
    answers = {path: server.ask(path) for path in (script[1], "/_stcore/health", "/corpora", "/static/none.js")}
    answers |= {path: server.ask(path) for path in ("/media/none.png", "/_stcore/upload_file/a/b", "/..%2f..%2fetc")}
    answers |= {"foreign": server.ask("/", Host="evil.example"), "handshake": server.handshake(), "page": page}
    assert answers[script[1]].status == 200 and answers["foreign"].status == 403
    for name, answer in answers.items():
        missing = {k: v for k, v in SECURITY_HEADERS.items() if answer.headers.get(k.lower()) != v}
        assert not missing, (name, answer.status)


def test_probes_are_answered_under_every_host_name(server: Server) -> None:
    answer = server.ask("/healthz", Host="web1")
    assert (answer.status, answer.body) == (200, "ok")
    until = time.monotonic() + START_S
    while (answer := server.ask("/readyz", Host="web1")).status == 503 and time.monotonic() < until:
        time.sleep(0.1)  # the store is migrated in the background
    assert (answer.status, json.loads(answer.body)) == (200, {"store": "ok"})


def test_metrics_are_for_those_with_the_token(server: Server) -> None:
    assert server.ask("/metrics").status == 403
    assert server.ask("/metrics", Authorization="Bearer wrong").status == 403
    assert server.ask("/metrics", Host="evil.example", Authorization=f"Bearer {TOKEN}").status == 403
    server.ask("/a/made-up/path")
    answer = server.ask("/metrics", Authorization=f"Bearer {TOKEN}")
    assert answer.status == 200
    assert 'themescope_http_request_seconds_count{kind="page",status="200"}' in answer.body
    assert "themescope_sessions 0.0" in answer.body and "themescope_store_up 1.0" in answer.body
    assert "made-up" not in answer.body
