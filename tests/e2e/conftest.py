"""A real browser, a real server and a real worker on a data folder of their own."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from db.settings import Settings
from db.store import Store

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PAYLOAD = "<img src=x onerror='window.pwned=1'><script>window.pwned=1</script> **bold** [x](javascript:alert(1))"


expect.set_options(timeout=60_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here as driving a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def chromium() -> str:
    """Path of Chromium; its absence skips on a developer's machine and fails in CI."""
    named = os.environ.get("CHROMIUM")
    found = named or next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if found is None:
        why = "no Chromium: on Debian or Ubuntu, sudo apt install chromium; elsewhere set CHROMIUM to its path"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return found


@dataclass
class App:
    """A running server with its worker."""

    home: Path
    url: str
    environment: dict[str, str]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def store(self) -> Store:
        """The store behind the pages."""
        return Store(Settings.in_folder(self.home))

    def start_worker(self) -> None:
        """Start a worker."""
        self.workers.append(
            start([sys.executable, "-m", "jobs.cli", "worker", "--no-warm-up"], self.environment, self.home)
        )

    def kill_worker(self) -> None:
        """End the worker without a chance to say goodbye."""
        worker = self.workers.pop()
        worker.kill()
        worker.wait(10)


def start(command: list[str], environment: dict[str, str], home: Path) -> subprocess.Popen[bytes]:
    """Start a process whose words go to a log in ``home``."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "log.txt").open("ab") as log:
        return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end; insist after ten seconds."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], object], seconds: float, what: str) -> None:
    """Wait until ``condition`` is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {seconds:g} s")


def answers(url: str) -> bool:
    """True once the server is up."""
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
            return True
    except OSError:
        return False


def environment_for(home: Path) -> dict[str, str]:
    """The environment of processes that live in ``home``."""
    kept = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "QUEUE_URL")}
    return {**kept, "THEMESCOPE_HOME": str(home), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Server and worker on a fresh data folder; each file has its own, so that none depends on another's work."""
    chromium()
    home = tmp_path_factory.mktemp("browser") / "home"
    environment = environment_for(home)
    port = free_port()
    running = App(home, f"http://127.0.0.1:{port}", environment)
    running.store.migrate()
    options = {"server.port": str(port), "server.address": "127.0.0.1", "server.headless": "true"}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    web = start([sys.executable, "-m", "streamlit", "run", "webapp/app.py", *flags], environment, home)
    running.start_worker()
    try:
        wait_for(lambda: answers(running.url), 60, "the web's answer")
        yield running
    finally:
        for process in (web, *running.workers):
            stop(process)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    path = chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@dataclass
class Watched:
    """What the browser complained about, and whom it called."""

    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


@pytest.fixture
def page(app: App, browser: Browser) -> Iterator[Page]:
    """A page in a context of its own; afterwards there was no error in the console and no foreign host was called."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened, watched = context.new_page(), Watched()
    watch(opened, watched, app.url)
    yield opened
    context.close()
    assert watched.foreign == []
    assert watched.complaints == []


def at_rest(page: Page) -> None:
    """Wait until the script has run to its end and nothing on the page stands for something that is still to come."""
    expect(page.locator(".stApp[data-test-script-state=notRunning]")).to_have_count(1)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)


def watch(page: Page, watched: Watched, url: str) -> None:
    """Note errors and calls to other hosts."""

    def console(message: ConsoleMessage) -> None:
        # On a link to a page, Streamlit first asks for its own files below that page and then finds them at the root.
        probing = "_stcore/" in message.location.get("url", "")
        if message.type == "error" and not probing:
            watched.complaints.append(message.text)

    page.on("console", console)
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    local = (url, url.replace("http", "ws", 1), "data:", "blob:")
    page.on("request", lambda request: None if request.url.startswith(local) else watched.foreign.append(request.url))


@pytest.fixture(scope="session")
def articles_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 articles whose sections have words of their own, and one whose words are payloads."""
    random.seed(0)
    themes = {
        "History": "king war century empire battle treaty revolt dynasty army throne",
        "Climate": "rain summer winter snow temperature wind storm humid dry season",
        "Economy": "trade market bank export industry price factory labour tax profit",
        "Sport": "team goal league coach stadium player season match cup champion",
        "Music": "song album guitar singer concert opera melody choir band drum",
        "Food": "bread rice soup spice cheese fish recipe oven sauce flavour",
    }
    path = tmp_path_factory.mktemp("text") / "towns <b>of<b> *words*.jsonl"
    if os.name == "nt":
        path = path.with_name("towns.jsonl")
    with path.open("w", encoding="utf-8") as out:
        for number in range(30):
            sections = [{"title": "", "level": 1, "paragraphs": [f"Town {number} is a town."]}]
            for title, words in themes.items():
                said = [
                    f"The {' '.join(random.sample(words.split(), 6))} of town {number} was known." for _ in range(3)
                ]
                sections.append({"title": title, "level": 2, "paragraphs": said})
            name = PAYLOAD if number == 0 else f"Town {number}"
            if number == 0:
                sections[1]["title"] = PAYLOAD
                sections[1]["paragraphs"][0] += " " + PAYLOAD
            out.write(json.dumps({"title": name, "source": "made", "url": "", "sections": sections}) + "\n")
    return path
