"""A real browser, a real server and a real worker on one data folder.

A server, a worker and a browser's tab cost seconds each before they do anything, so all tests share one of each. What
they write has names of its own, and each begins in a tab that has forgotten what the one before it did.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.hands import PATIENCE_MS, WINDOW, shown, using
from tests.homes import MakeHome
from tests.recorded_server import looked_up
from tests.servers import free_port
from tests.site import shared_site
from tests.webapp.compared import add_comparison
from tests.webapp.filled import CORPUS, MODEL, fill
from themescope.db.settings import Settings
from themescope.db.store import Store

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here as driving a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failure comes with what the pages show: why a thing is not there mostly stands beside its place."""
    report = yield
    if report.failed:
        funcargs = getattr(item, "funcargs", {})
        for name in ("page", "other_page"):
            if name in funcargs:
                report.sections.append((f"what {name} shows", shown(funcargs[name])))
    return report


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first does the same without a window's parts that nobody sees: an eighth less to do for every test."""


def chromium() -> str:
    """Path of Chromium; its absence skips on a developer's machine and fails in CI."""
    named = os.environ.get("CHROMIUM")
    found = named or next((p for p in map(shutil.which, BROWSERS) if p), None)
    if found is None:
        why = "no Chromium: on Debian or Ubuntu, sudo apt install chromium; elsewhere set CHROMIUM to its path"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return found


# --- processes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class App:
    """A running server: its data folder, its address, and the store behind its pages."""

    home: Path
    url: str
    store: Store


def start(command: list[str], environment: dict[str, str], home: Path) -> psutil.Popen:
    """Start a process whose words go to a log in ``home``."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "log.txt").open("ab") as log:
        return psutil.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)


def stop(process: psutil.Popen) -> None:
    """Ask a process to end; insist after ten seconds."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(10)


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
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=30):
            return True
    except OSError:
        return False


def environment_for(home: Path) -> dict[str, str]:
    """The environment of processes that live in ``home``."""
    kept = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"}
    return {**kept, "THEMESCOPE_HOME": str(home), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


@contextmanager
def serving(home: Path, **settings: str) -> Iterator[str]:
    """The address of a server on a data folder; ``settings`` are variables of its environment.

    Afterwards the server must have looked up no foreign host.
    """
    chromium()
    port = free_port()
    options = {"server.port": str(port), "server.address": "127.0.0.1", "server.headless": "true"}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    record = home / "looked-up.txt"
    command = [sys.executable, "-m", "tests.recorded_server", str(record), *flags]
    web = start(command, environment_for(home) | settings, home)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(
            lambda: answers(url) or web.poll() is not None, 300, "the web's answer"
        )  # a loaded machine takes minutes
        assert web.poll() is None, f"the web process ended: see {home / 'log.txt'}"
        yield url
    finally:
        stop(web)
    assert looked_up(record) == []


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, make_home: MakeHome) -> Iterator[App]:
    """A server on a fresh data folder. What a test writes there has a name of its own: all of them share it."""
    home = make_home(lambda store: None)
    store = Store(Settings.in_folder(home))
    site = shared_site(tmp_path_factory.getbasetemp())  # a test that reads it builds it
    with serving(home, DOCUMENTATION_SITE=str(site)) as url:
        yield App(home, url, store)
    store.close()


@pytest.fixture(scope="session")
def worker(app: App) -> Iterator[psutil.Popen]:
    """The process that does the jobs of the app."""
    process = start(
        [sys.executable, "-m", "themescope.jobs.cli", "worker", "--no-warm-up"], environment_for(app.home), app.home
    )
    yield process
    stop(process)


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    path = chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


def new_tab(browser: Browser) -> Page:
    """A tab that shares nothing with any other, as on another person's machine."""
    # Fades and slides take a tenth of all that the browser does, and every click waits for them.
    context = browser.new_context(viewport=WINDOW, accept_downloads=True, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Page:
    """The tab of all tests: it keeps the scripts of a page compiled, which a new one takes seconds for."""
    return new_tab(browser)


@pytest.fixture(scope="session")
def other_tab(browser: Browser) -> Page:
    """The tab of a second person."""
    return new_tab(browser)


@pytest.fixture
def page(app: App, tab: Page) -> Iterator[Page]:
    """A page; afterwards there was no error in the console and no foreign host was called."""
    with using(tab, app.url):
        yield tab


@pytest.fixture
def other_page(app: App, other_tab: Page) -> Iterator[Page]:
    """The page of a second person, watched in the same way."""
    with using(other_tab, app.url):
        yield other_tab


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def filled(app: App) -> App:
    """The app with something of everything in it, and a benchmark that several methods have clustered."""
    fill(app.store)
    add_comparison(app.store, CORPUS, MODEL)
    return app


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
