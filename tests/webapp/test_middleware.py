"""Which requests are answered, and what every answer says to the browser."""

import gzip
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.event_loops import run
from themescope.webapp.routes import middleware
from themescope.webapp.shared.components import ASSETS, MODULES, module

ANSWERED = "answered"


async def inner(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with the host that it was sent to; accept a websocket."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    host = dict(scope["headers"]).get(b"host", b"").decode()
    await PlainTextResponse(ANSWERED, headers={"x-host": host})(scope, receive, send)


def ask(
    app: ASGIApp,
    headers: Iterable[tuple[str, str]] = (),
    *,
    path: str = "/",
    method: str = "GET",
    kind: str = "http",
    server: Any = ("127.0.0.1", 8501),
) -> list[Any]:
    """Return the messages that ``app`` sends for a request."""
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("The body must not be read.")

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": kind, "path": path, "method": method, "headers": raw, "server": server}
    run(partial(app, scope, receive, send))
    return sent


def body(sent: list[Any]) -> str:
    return b"".join(message.get("body", b"") for message in sent).decode()


def headers_of(sent: list[Any]) -> dict[str, str]:
    return {name.decode().lower(): value.decode() for name, value in sent[0].get("headers", [])}


def refusal(*headers: tuple[str, str], **more: Any) -> str:
    """Return the sentence that a request and a websocket are refused with; "" if they are answered."""
    sent, opened = (ask(middleware.HostCheck(inner), headers, kind=kind, **more) for kind in ("http", "websocket"))
    if body(sent) == ANSWERED:
        assert opened[0]["type"] == "websocket.accept"
        return ""
    assert sent[0]["status"] == opened[0].get("status") == 403 and body(sent) == body(opened)
    return body(sent)


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Say which address the server is bound to."""

    def bind(address: str) -> None:
        monkeypatch.setattr("themescope.webapp.routes.middleware.st.get_option", {"server.address": address}.get)

    return bind


@pytest.mark.parametrize(
    "host",
    ["localhost:8501", "LOCALHOST:8501", "localhost.:8501", "localhost", "127.0.0.1:8501", "[::1]:8501", "[0:0::1]"],
)
def test_this_machine_is_answered(host: str) -> None:
    assert refusal(("host", host)) == ""
    assert refusal(("host", host), ("origin", f"http://{host}")) == ""


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8501",
        "evil.example",
        "localhost.evil.example:8501",
        "localhost@evil.example",
        "evil.example/localhost",
        "localhost:8501, evil.example",
        "localhost:port",
        "192.168.0.7:8501",
        "2130706433",
        "[::2]:8501",
        "[localhost]",
        "",
        "ü:8501",
    ],
)
def test_a_foreign_host_is_refused(host: str) -> None:
    assert refusal(("host", host)) == middleware.FOREIGN_HOST
    assert refusal(("host", host), ("origin", f"http://{host}")) == middleware.FOREIGN_HOST


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://evil.example:8501",
        "http://localhost:9999",
        "http://localhost",
        "http://127.0.0.1:8501",
        "http://localhost:8501.evil.example",
        "http://user@localhost:8501",
        "ftp://localhost:8501",
        "file://",
        "null",
        "",
    ],
)
def test_a_foreign_origin_is_refused(origin: str) -> None:
    assert refusal(("host", "localhost:8501"), ("origin", origin)) == middleware.FOREIGN_ORIGIN


def test_one_host_and_at_most_one_origin_are_needed() -> None:
    assert refusal() == middleware.FOREIGN_HOST
    assert refusal(("host", "localhost"), ("host", "evil.example")) == middleware.FOREIGN_HOST
    own = ("origin", "http://localhost:8501")
    assert refusal(("host", "localhost:8501"), own, own) == middleware.FOREIGN_ORIGIN


def test_the_configured_address_is_answered(bound: Any) -> None:
    assert refusal(("host", "192.168.0.7:8501")) == middleware.FOREIGN_HOST
    bound("192.168.0.7")
    assert refusal(("host", "192.168.0.7:8501"), server=("192.168.0.7", 8501)) == ""
    bound("Box.local")
    assert refusal(("host", "box.local:8501"), server=("192.168.0.7", 8501)) == ""


def test_bound_to_every_address_the_one_that_a_request_arrived_at_is_answered(bound: Any) -> None:
    bound("0.0.0.0")
    for server, own, other in [
        (("192.168.0.7", 8501), "192.168.0.7:8501", "192.168.0.8:8501"),
        (("::ffff:192.168.0.7", 8501), "192.168.0.7:8501", "192.168.0.8:8501"),
        (("fe80::1%eth0", 8501), "[fe80::1]:8501", "[fe80::2]:8501"),
    ]:
        assert refusal(("host", own), server=server) == ""
        assert refusal(("host", other), server=server) == middleware.FOREIGN_HOST
        assert refusal(("host", "evil.example"), server=server) == middleware.FOREIGN_HOST
    assert refusal(("host", "192.168.0.7"), server=None) == middleware.FOREIGN_HOST
    assert refusal(("host", "192.168.0.7"), server=("/run/web.sock", None)) == middleware.FOREIGN_HOST


def test_only_hosts_that_the_owner_names_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_ALLOWED_HOSTS", "Themes.example.org, müller.example 10.0.0.1")
    for host in ("themes.example.org", "themes.example.org:8443", "xn--mller-kva.example", "10.0.0.1:8501"):
        assert refusal(("host", host)) == ""
    assert refusal(("host", "evil.themes.example.org")) == middleware.FOREIGN_HOST
    monkeypatch.setenv("THEMESCOPE_ALLOWED_HOSTS", "*")
    assert refusal(("host", "localhost")) == "" and refusal(("host", "evil.example")) == middleware.FOREIGN_HOST


@pytest.mark.parametrize(
    ("host", "origin", "allowed"),
    [
        ("themes.example.org", "https://themes.example.org", True),
        ("themes.example.org:443", "https://themes.example.org", True),
        ("127.0.0.1:8501", "https://themes.example.org", True),  # a proxy that does not pass the host on
        ("themes.example.org", "https://themes.example.org:9999", False),
        ("themes.example.org", "https://evil.example", False),
        ("127.0.0.1:8501", "https://evil.example", False),
    ],
)
def test_origins_behind_a_proxy(host: str, origin: str, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_ALLOWED_HOSTS", "themes.example.org")
    assert (refusal(("host", host), ("origin", origin)) == "") is allowed
    if allowed:  # Streamlit compares the two as text, and looks up its public address where they differ
        sent = ask(middleware.HostCheck(inner), [("host", host), ("origin", origin)])
        assert headers_of(sent)["x-host"] == origin.removeprefix("https://")


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_every_response_has_the_security_headers(kind: str, host: str) -> None:
    found = headers_of(ask(middleware.SecurityHeaders(middleware.HostCheck(inner)), [("host", host)], kind=kind))
    assert {name: found[name.lower()] for name in middleware.SECURITY_HEADERS} == middleware.SECURITY_HEADERS
    assert "frame-ancestors 'self'" in found["content-security-policy"]


def test_browsers_keep_no_copy_of_downloads() -> None:
    for path, kept in (("/media/1.csv", "no-store"), ("/static/index.js", None), ("/", None)):
        sent = ask(middleware.SecurityHeaders(inner), [("host", "localhost")], path=path)
        assert headers_of(sent).get("cache-control") == kept, path


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_over_https_browsers_are_told_to_use_nothing_else(kind: str) -> None:
    name = "strict-transport-security"
    plain = ask(middleware.SecurityHeaders(inner), [("host", "localhost")], kind=kind)
    secure = ask(middleware.SecurityHeaders(inner), [("host", "x"), ("x-forwarded-proto", "https")], kind=kind)
    assert name not in headers_of(plain) and headers_of(secure)[name] == middleware.HTTPS_ONLY


def test_an_internal_error_has_the_security_headers() -> None:
    response = run(partial(middleware.server_error, Request({"type": "http"}), ValueError("secret")))
    assert response.status_code == 500
    assert {name: response.headers[name] for name in middleware.SECURITY_HEADERS} == middleware.SECURITY_HEADERS
    assert b"secret" not in response.body


@pytest.mark.parametrize(
    ("path", "accepted", "compressed"),
    [
        ("/app/static/font.woff", "gzip, br", True),
        ("/docs/pages.html", "gzip", True),
        ("/docs/pages.html", "br", False),
        ("/api/v1/corpora", "gzip", False),
        ("/media/download.csv", "gzip", False),
    ],
)
def test_files_are_compressed_and_data_are_not(path: str, accepted: str, compressed: bool) -> None:
    long_file = PlainTextResponse("letters " * 500)
    sent = ask(middleware.Compression(long_file), [("accept-encoding", accepted)], path=path)
    raw = b"".join(message.get("body", b"") for message in sent)
    assert (headers_of(sent).get("content-encoding") == "gzip") is compressed
    assert (gzip.decompress(raw) if compressed else raw) == b"letters " * 500
    assert compressed is (len(raw) < 1_000)


def directives() -> dict[str, list[str]]:
    return {words[0]: words[1:] for words in (part.split() for part in middleware.page_policy().split(";"))}


def test_scripts_come_from_the_server_only() -> None:
    found = directives()
    assert found["default-src"] == ["'self'"] and found["object-src"] == ["'none'"]
    assert found["frame-ancestors"] == ["'self'"] and found["base-uri"] == ["'self'"]
    assert {source for source in found["script-src"] if not source.startswith("'sha256-")} == {"'self'", "blob:"}


def test_inline_scripts_of_the_start_page_have_their_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = '<script>\n a = 1\n</script><script type="module" src="x.js"></script><script>b()</script>'
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "index.html").write_text(page, encoding="utf-8")
    monkeypatch.setattr(streamlit, "__file__", str(tmp_path / "__init__.py"))
    digests = [f"'sha256-{b64encode(sha256(text).digest()).decode()}'" for text in (b"\n a = 1\n", b"b()")]
    assert directives()["script-src"] == ["'self'", "blob:", *digests]


STATIC = Path(streamlit.__file__).parent / "static" / "static"


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(middleware=[Middleware(middleware.FirstPage)]))


@pytest.mark.parametrize(
    ("path", "said"), [("/", "Home"), ("/map", "Themes · Map"), ("/import?corpus=A", "Project · Import")]
)
def test_a_page_says_what_is_loading_before_its_scripts_run(client: TestClient, path: str, said: str) -> None:
    answer = client.get(path)
    body = re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL)
    assert answer.status_code == 200 and answer.headers["cache-control"] == "no-cache"
    assert f"{said} is loading" in body and "<title>Themescope</title>" in body
    scripts = [STATIC.parent / name for name in re.findall(r'src="\./([^"]+)"', answer.text)]
    assert scripts and all(script.is_file() for script in scripts)


def test_scripts_are_compressed_once_and_kept_for_ever(client: TestClient) -> None:
    script = max((STATIC / "js").glob("index.*.js"), key=lambda path: path.stat().st_size)
    with client.stream("GET", f"/static/js/{script.name}", headers={"accept-encoding": "gzip"}) as answer:
        raw = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip" and "immutable" in answer.headers["cache-control"]
    assert gzip.decompress(raw) == script.read_bytes() and len(raw) < script.stat().st_size / 2
    plain = client.get(f"/static/js/{script.name}", headers={"accept-encoding": "identity"})
    assert plain.content == script.read_bytes() and "content-encoding" not in plain.headers


@pytest.mark.parametrize("path", ["../index.html", "..%2f..%2f__init__.py", "js/none.js", "js"])
def test_no_other_file_is_served(client: TestClient, path: str) -> None:
    answer = client.get(f"/static/{path}")
    assert answer.status_code == 404 and "<html" not in answer.text


def test_a_module_of_ours_is_kept_by_the_browser_and_no_other_file_is_one(client: TestClient) -> None:
    digest, text = module(ASSETS, "elements.js", "search.js")
    address = f"{MODULES}{digest}/shared/assets/elements.js+search.js"
    found = client.get(address)
    assert found.content == text and found.headers["content-type"].startswith("text/javascript")
    assert "immutable" in found.headers["cache-control"] and found.headers["content-encoding"] == "gzip"
    # Another server of the installation may be older or newer.
    assert client.get(address.replace(digest, "0")).headers["cache-control"] == "no-cache"
    repeated = "shared/assets/" + "+".join(["elements.js"] * 2_000)  # of any size, and kept by the server
    outside = "%2Fetc/elements.js"
    for other in ("shared/assets/style.css", "shared/elements.js", "shared/assets/..+elements.js", repeated, outside):
        assert client.get(f"{MODULES}{digest}/{other}").status_code == 404
