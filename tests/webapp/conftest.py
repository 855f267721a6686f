"""Stores for pages: empty, and filled once and copied."""

import shutil
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from tests.homes import CopyHome, MakeHome
from tests.pages import PATIENCE_S
from tests.webapp.filled import danube, fill
from themescope.core.records.stored import LabellingRecord, Role
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared import components

APP = Path(__file__).parents[2] / "webapp" / "app.py"
SETTINGS = tomllib.loads((APP.parent / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
AS_THE_APP = ("server.address", "browser.gatherUsageStats", "runner.magicEnabled")


@pytest.fixture(autouse=True)
def files_are_read_here(read_here: None) -> None:
    """Processes that read are tested in test_reading.py."""


@pytest.fixture(autouse=True, scope="session")
def components_found_once() -> Iterator[None]:
    """Search the installed packages for components once: each simulated app does so anew, for most of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True)
def fresh_caches() -> Iterator[None]:
    """Each test has a data folder of its own, so nothing may be remembered from the last one."""
    st.cache_data.clear()
    st.cache_resource.clear()
    # A simulated app does not read the settings beside it.
    for name in AS_THE_APP:
        section, _, key = name.partition(".")
        st.config.set_option(name, SETTINGS[section][key])
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(scope="session")
def filled_file(tmp_path_factory: pytest.TempPathFactory, empty_sqlite_file: Path) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    shutil.copy(empty_sqlite_file, folder / "themescope.db")
    store = Store(Settings.in_folder(folder))
    fill(store)
    store.close()
    return folder / "themescope.db"


@pytest.fixture
def filled_store(settings: Settings, filled_file: Path) -> Iterator[Store]:
    """A store with something of everything; the environment points to it."""
    settings.home.mkdir(parents=True)
    shutil.copy(filled_file, settings.home / "themescope.db")
    store = Store(settings)
    yield store
    store.close()


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    return danube(filled_store)


def signing_in(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Let the pages of a store ask people to sign in; each role has somebody."""
    from tests.webapp.browsers import SECRET  # imported late: most tests of pages need no server

    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    for name, role in (("ada", Role.ADMIN), ("lea", Role.LABELLER), ("val", Role.VIEWER)):
        people.add(store, name, role, SECRET)
    return store


@pytest.fixture
def shared(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store whose pages ask people to sign in."""
    return signing_in(sqlite_store, monkeypatch)


@pytest.fixture
def filled_and_shared(filled_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A filled store whose pages ask people to sign in."""
    return signing_in(filled_store, monkeypatch)


@pytest.fixture
def import_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the test, whose files pages may read by their path."""
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def survey_home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a survey, a labelled sample of it, and predictions."""
    from tests.jobs.estimates.survey import survey

    return make_home(survey(tmp_path_factory.mktemp("answers"), predicted=True))


@pytest.fixture
def surveyed(copy_home: CopyHome, survey_home: Path) -> Store:
    return copy_home(survey_home)


@pytest.fixture(scope="session")
def wave_home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a list, its themes and a coding, and the wave “spring” that was placed."""
    from tests.jobs.test_kinds import do
    from tests.jobs.test_placed_waves import fill_with_wave

    folder = tmp_path_factory.mktemp("files")

    def fill(store: Store) -> None:
        fill_with_wave(store, folder)
        do(store, "place-wave", corpus="C")

    return make_home(fill)


@pytest.fixture
def waved(copy_home: CopyHome, wave_home: Path) -> Store:
    return copy_home(wave_home)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the pages that are opened afterwards come from a browser with this token in its cookie."""

    def use(token: str) -> None:
        monkeypatch.setattr("themescope.webapp.shared.people.browser_token", lambda cookies: token)

    return use


class Page(AppTest):
    """The app as a browser has it, which ends in no exception whatever is opened and pressed."""

    def _run(self, *args: Any, **options: Any) -> AppTest:
        at = super()._run(*args, **options)
        assert not at.exception, [element.value for element in at.exception]
        return at


@pytest.fixture
def open_page() -> Callable[..., AppTest]:
    """Run the app on one page, with query parameters, which are named without the prefix of the page.

    ``person`` is the name that the user gave, and ``parts`` are the session keys of folded parts that stand open.
    """

    def run(page: str, person: str = "", parts: Sequence[str] = (), **query: str) -> AppTest:
        at = Page(APP, default_timeout=PATIENCE_S)
        if person:
            at.session_state["person"] = person
        for key in parts:
            at.session_state[key] = True
        if page != "home":
            # As a browser that opens an address; switch_page() would know the addresses only after a run of Home.
            at._page_hash = calc_hash(page)
        keys = REGISTRY.get(page).page_keys()
        at.query_params.update(query if keys is None else keys.address(query))
        return at.run()

    return run


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], str | bytes]]:
    """The files that the page offers, by name."""
    offered: dict[str, Callable[[], str | bytes]] = {}
    monkeypatch.setattr(components, "_keep_download", lambda *file: None)
    monkeypatch.setattr(
        components.st, "download_button", lambda label, data, file_name, **more: offered.update({file_name: data})
    )
    return offered
