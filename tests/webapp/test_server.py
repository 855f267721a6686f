"""The web process: before the first person comes, on SIGTERM, and its launcher."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import streamlit as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.jobs.helpers import wait_for
from tests.servers import answers, free_port
from tests.webapp.hands import Open
from themescope.core.text import languages
from themescope.db.settings import Settings
from themescope.webapp import server as web
from themescope.webapp import start
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
    assert gc.get_freeze_count() > 100_000, "what is imported is not collected again and again"


def test_pages_report_a_store_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch, open_page: Open) -> None:
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


ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
GOING_AWAY = (1001, 1012)
"""Close codes after which Streamlit's page connects again by itself."""


@posix
def test_on_sigterm_open_pages_are_told_and_the_process_ends(tmp_path: Path) -> None:
    port = free_port()
    address, log = f"127.0.0.1:{port}", tmp_path / "log.txt"
    flags = ["--server.address", "127.0.0.1", "--server.port", str(port), "--server.headless", "true"]
    environment = {**os.environ, "THEMESCOPE_HOME": str(tmp_path / "home"), "THEMESCOPE_LOG_FORMAT": "json"}
    with log.open("wb") as out:
        command = [sys.executable, "-m", "themescope.webapp.server", *flags]
        web = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        wait_for(lambda: answers(f"http://{address}/readyz"))
        with connect(f"ws://{address}/_stcore/stream", origin=f"http://{address}", open_timeout=60) as page:  # type: ignore[arg-type]
            started = time.monotonic()
            web.terminate()
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    page.recv(60)
            assert closed.value.rcvd is not None and closed.value.rcvd.code in GOING_AWAY
        web.wait(60)
        assert time.monotonic() - started < 30
    finally:
        web.kill()
        web.wait()
    lines = log.read_text().splitlines()
    assert lines and all(json.loads(line)["process"].startswith("web@") for line in lines)


@contextmanager
def launched(*command: str, home: Path) -> Iterator[psutil.Popen]:
    environment = {**os.environ, "THEMESCOPE_HOME": str(home)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = psutil.Popen([sys.executable, *command], env=environment, **pipes)
    try:
        yield process
    finally:
        if process.is_running():
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        process.stdout.close()


@posix
@pytest.mark.slow
def test_a_killed_web_server_or_worker_comes_back_and_the_other_goes_on(tmp_path: Path) -> None:
    port = start.free_port("127.0.0.1", 20_000 + os.getpid() % 20_000)
    url = f"http://127.0.0.1:{port}/healthz"
    with launched("-m", "themescope", "--no-demo", "--port", str(port), home=tmp_path) as launcher:

        def pids(word: str) -> list[int]:
            found = []
            for child in launcher.children():
                with suppress(psutil.NoSuchProcess):  # a zombie too
                    found += [child.pid] * (word in " ".join(child.cmdline()))
            return found

        wait_for(lambda: answers(url) and pids("worker"))
        (web,), (worker,) = pids("webapp.server"), pids("worker")
        os.kill(web, signal.SIGKILL)
        wait_for(lambda: web not in pids("webapp.server") and answers(url))
        assert pids("worker") == [worker]
        (web,) = pids("webapp.server")
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: pids("worker") not in ([], [worker]))
        assert pids("webapp.server") == [web] and answers(url)
        children = launcher.children(recursive=True)
        launcher.send_signal(signal.SIGTERM)
        assert launcher.wait(20) == 0
        assert not psutil.wait_procs(children, timeout=5)[1]
        said = launcher.stdout.read()
    assert said.count("killed by signal 9. It is started again.") == 2


@posix
def test_a_killed_process_is_started_again_and_one_that_ends_again_and_again_is_given_up(tmp_path: Path) -> None:
    script = """
import os, sys
from themescope.webapp import start
if __name__ == "__main__":
    worker = "import os, time; print('working', os.getpid(), flush=True); time.sleep(600)"
    commands = {"web": [sys.executable, "-c", "print('no port'); raise SystemExit(3)"],
                "worker": [sys.executable, "-c", worker]}
    sys.exit(start.supervise(commands, os.environ, False))
"""
    with launched("-c", script, home=tmp_path) as launcher:
        said = ""
        while not (first := re.findall(r"working (\d+)", said)):
            said += launcher.stdout.readline()
        os.kill(int(first[0]), signal.SIGKILL)
        assert launcher.wait(60) == 3
        said += launcher.stdout.read()
    assert "The worker process was killed by signal 9. It is started again." in said
    workers = re.findall(r"working (\d+)", said)
    assert said.count("no port") == 5 and len({*workers}) == 2 and workers[:1] == first
    assert "The web process ended with exit code 3, for the 5th time in a row. Giving up." in said
    assert not psutil.pid_exists(int(workers[1]))


def test_caches_are_emptied_when_visitors_have_left() -> None:
    @st.cache_resource
    def kept() -> object:
        return object()

    languages.language_shares(["Where is the railway station?"])
    first = kept()
    web.rest([True, *[False] * 5, True])
    assert kept() is first and languages._identifier.cache_info().currsize
    web.rest([True, *[False] * 6])
    assert kept() is not first and not languages._identifier.cache_info().currsize


HEAVY = ("torch", "umap", "numba", "sklearn", "gensim", "transformers", "scipy.stats", "scipy.optimize")
IMPORTS = f"""
import ast, importlib, pkgutil, sys
from themescope.webapp import features
for module in pkgutil.walk_packages(features.__path__, "themescope.webapp.features."):
    if module.name not in {{card.factory for card in features.REGISTRY}}:
        importlib.import_module(module.name)
from themescope.core.models import REGISTRY; [card.config_class() for card in REGISTRY.tagged('usual')]
for card in features.REGISTRY:
    script = ast.parse(card.script.read_text(encoding="utf-8"))
    for node in script.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            exec(compile(ast.Module([node], []), str(card.script), "exec"))
print([name for name in {HEAVY!r} if name in sys.modules])
"""


def test_opening_pages_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
