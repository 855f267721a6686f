"""What the web process does before the first person comes."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from themescope.db.settings import Settings
from themescope.webapp import server as web
from themescope.webapp.shared.people import server_store


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No server starts in a test, so nothing is waited for; the process of the tests collects garbage as before."""
    monkeypatch.setattr(web, "_START_S", 0.0)
    yield
    gc.unfreeze()


def test_the_first_page_finds_the_store_migrated(settings: Settings) -> None:
    web.preload()
    assert list(settings.home.iterdir())
    with server_store().reading() as r:
        assert r.corpora.list() == []  # a table that is not there would be an error


def test_what_is_imported_is_not_collected_again_and_again(settings: Settings) -> None:
    web.preload()
    assert gc.get_freeze_count() > 100_000


def test_a_store_that_cannot_be_opened_is_reported_by_the_pages(
    monkeypatch: pytest.MonkeyPatch, open_page: Callable[..., AppTest]
) -> None:
    monkeypatch.setenv("DATABASE_URL", "nonsense://nowhere")
    web.preload()
    assert "DATABASE_URL has the unsupported scheme" in open_page("home").error[0].value.replace("\\", "")


@pytest.mark.parametrize(
    ("flags", "hosts"),
    [
        ([], ["localhost", "127.0.0.1", "::1", "themes.example.org"]),
        (["--server.address", "10.0.0.7"], ["localhost", "127.0.0.1", "::1", "10.0.0.7", "themes.example.org"]),
        (["--server.port", "80", "--server.address=0.0.0.0"], ["*"]),
        (["--server.address", "::"], ["*"]),
    ],
)
def test_streamlit_checks_the_same_hosts(flags: list[str], hosts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_ALLOWED_HOSTS", "themes.example.org")
    assert web._host_flags(flags) == [part for host in hosts for part in ("--server.allowedHosts", host)]


@pytest.mark.parametrize(
    ("trusted", "address"), [(None, "127.0.0.1"), ("10.0.0.1", "127.0.0.1"), ("127.0.0.1", "9.9.9.9")]
)
def test_only_a_configured_proxy_says_where_a_client_is(trusted: str | None, address: str, tmp_path: Path) -> None:
    asked = """
import asyncio, sys
from uvicorn import Config
from streamlit.web import cli
from themescope.webapp import server
def serve():
    async def app(scope, receive, send):
        print(scope["client"][0])
    config = Config(app)
    config.load()
    scope = {"type": "http", "client": ("127.0.0.1", 1), "headers": [(b"x-forwarded-for", b"9.9.9.9")]}
    asyncio.run(config.loaded_app(scope, None, None))
cli.main, server.preload = serve, lambda: None
server.main()
"""
    environment = {**os.environ, "THEMESCOPE_HOME": str(tmp_path)}
    environment.pop("FORWARDED_ALLOW_IPS", None)
    if trusted is not None:
        environment["FORWARDED_ALLOW_IPS"] = trusted
    done = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [address]
