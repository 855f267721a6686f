"""A real browser and a real server on one data folder.

A server and a browser's tab cost seconds each before they do anything, so all tests share one of each. What
they write has names of its own, and each begins in a tab that has forgotten what the one before it did.
"""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.db.texts import add_texts
from tests.e2e.hands import PATIENCE_MS, WINDOW, shown, using
from tests.homes import MakeHome
from tests.jobs.helpers import wait_for
from tests.recorded_server import looked_up
from tests.servers import answers, free_port
from tests.site import shared_site
from tests.webapp.filled import CORPUS, MODEL, add_comparison, fill
from themescope.core.records.stored import Role, Sharing
from themescope.core.types import Article, Ids
from themescope.db.records import MapPoints, NewLabelling
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.jobs.services.labelling import starts

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
LABELLING = "Rivers by keys"
SECRET = "correct horse battery"
HOSTILE_NAME = "<img src=x onerror='window.pwned=1'> **b** [x](x:y) :red[r]"
PEOPLE = {"val": Role.VIEWER, "lea": Role.LABELLER, "ada": Role.ADMIN, HOSTILE_NAME: Role.LABELLER}
"""Those who sign in."""


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


@dataclass(frozen=True)
class App:
    """A running server: its data folder, its address, and the store behind its pages."""

    home: Path
    url: str
    store: Store


def start(command: list[str], environment: dict[str, str], home: Path) -> psutil.Popen:
    home.mkdir(parents=True, exist_ok=True)
    with (home / "log.txt").open("ab") as log:
        return psutil.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)


def stop(process: psutil.Popen) -> None:
    """Ask a process to end, unless it has; insist after ten seconds."""
    if not process.is_running():
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(10)


def environment_for(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"}
    return {**kept, "THEMESCOPE_HOME": str(home), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


def flags_for(port: int) -> list[str]:
    return ["--server.address", "127.0.0.1", "--server.port", str(port), "--server.headless", "true"]


@contextmanager
def serving(home: Path, **settings: str) -> Iterator[str]:
    """The address of a server on a data folder; ``settings`` are variables of its environment.

    Afterwards the server must have looked up no foreign host.
    """
    chromium()
    port = free_port()
    record = home / "looked-up.txt"
    command = [sys.executable, "-m", "tests.recorded_server", str(record), *flags_for(port)]
    web = start(command, environment_for(home) | settings, home)
    try:
        url = f"http://127.0.0.1:{port}"
        # A loaded machine takes minutes.
        wait_for(lambda: answers(f"{url}/_stcore/health") or web.poll() is not None, 300, every=0.1)
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
def shared(make_home: MakeHome) -> Iterator[App]:
    """A server that asks people to sign in."""

    def add_people(store: Store) -> None:
        for name, role in PEOPLE.items():
            people.add(store, name, role, SECRET)

    home = make_home(add_people)
    store = Store(Settings.in_folder(home))
    with serving(home, THEMESCOPE_LOGIN="always") as url:
        yield App(home, url, store)
    store.close()
    log = (home / "log.txt").read_text(encoding="utf-8", errors="replace")
    assert SECRET not in log and "wrong password" not in log


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
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


@pytest.fixture(scope="session")
def filled(app: App) -> App:
    """The app with something of everything in it, and a benchmark that several methods have clustered."""
    fill(app.store)
    add_comparison(app.store, CORPUS, MODEL)
    return app


@pytest.fixture(scope="session")
def labelled(filled: App) -> App:
    with filled.store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
    starts.begin(filled.store, NewLabelling(corpus.id, LABELLING, "", Sharing.SHARED), starts.from_sections)
    return filled


def add_map(store: Store, name: str, articles: list[Article], places: np.ndarray, **config: int) -> Ids:
    """Add a corpus with a map, both by that name, and return the ids of the units, of which the first have places."""
    with store.writing() as w:
        corpus, ids = add_texts(w, name, articles)
        about = {"seed": 0, "digest": name}
        model = w.models.add(name=f"model of {name}", method="mean-vectors", config={}, artifact="none", **about)
        points = MapPoints(ids[: len(places)], places.astype(np.float32))
        of = {"corpus_id": corpus, "model_id": model.id, "config": config}
        w.maps.add(name=name, faithfulness=0.5, sampled_from=len(ids), points=points, **of, **about)
    return ids
