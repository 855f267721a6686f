"""Fixtures that every test may use: a home of its own, settings, stores on both engines, shared data."""

import gc
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from argon2 import PasswordHasher

from tests.homes import SETTINGS, CopyHome, MakeHome
from tests.servers import PostgresServer, postgres_server, s3_server
from tests.transactions import guard
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.db.tables import metadata

__all__ = ["postgres_server", "s3_server"]

# Ray reads both when it is imported first, in whichever test that is.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
ROOT = Path(__file__).resolve().parents[1]
BROWSER_TESTS, RAY_TESTS = "tests/e2e/", "tests/jobs/executors/"
BOTH_ENGINES = ("tests/db/", "tests/faults/", "tests/jobs/backups/", "tests/jobs/test_queue.py")
OWN_SERVERS = ("test_proxy_flow", "test_start", "test_tutorials")
"""Browser tests that share no server with others, so that another process can do them at the same time."""
MAP_AND_KEYS = ("test_accessibility", "test_hostile_text", "test_keyboard_flows", "test_map_at_size", "test_map_flow")
"""Browser tests of a second process with a server and a browser of its own: about half of the others."""

hypothesis.settings.register_profile(
    "themescope",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=30,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.register_profile("account", hypothesis.settings.get_profile("themescope"), max_examples=2_500)
hypothesis.settings.load_profile("themescope")


# Collecting the tests makes a million objects, which stay: searching them for garbage takes a third of that time.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of further garbage collections."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser tests come first: one process does most of them, and they take longest.

    Those of the documentation are the last of them, when another process has built the site.

    Both engines have the tests of the store, the queue and backups; no statement of SQL is written elsewhere.
    """
    items[:] = [item for item in items if item.nodeid.startswith(BOTH_ENGINES) or not _on_postgres(item)]
    documentation = f"{BROWSER_TESTS}test_documentation_site"
    items.sort(key=lambda item: (not item.nodeid.startswith(BROWSER_TESTS), item.nodeid.startswith(documentation)))


def _on_postgres(item: pytest.Item) -> bool:
    return getattr(getattr(item, "callspec", None), "params", {}).get("store") == "postgres"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each file goes to one process; two processes have the browser tests, and one those of Ray."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            def among(names: tuple[str, ...]) -> bool:
                return nodeid.startswith(tuple(f"{BROWSER_TESTS}{name}." for name in names))

            folder = next((one for one in (BROWSER_TESTS, RAY_TESTS) if nodeid.startswith(one)), None)
            if folder is None or among(OWN_SERVERS):
                return str(super()._split_scope(nodeid))
            return f"{folder}map and keys" if among(MAP_AND_KEYS) else folder

    return Together(config, log)


@pytest.fixture(autouse=True, scope="session")
def transactions_guarded() -> Iterator[None]:
    """No test writes a file or sends a message while a transaction is open."""
    with pytest.MonkeyPatch.context() as patch:
        guard(patch)
        yield


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Undo what AppTest does: it makes the page the main module, which processes that are started later would run."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Paths in a folder of this session; nothing is made there for a test that needs no home."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / f"home-{number}" for number in count())


@pytest.fixture(autouse=True)
def themescope_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own, also for the processes it starts."""
    home = next(homes)
    monkeypatch.setenv("THEMESCOPE_HOME", str(home))
    for name in SETTINGS - {"THEMESCOPE_HOME"}:
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def settings(themescope_home: Path) -> Settings:
    """Settings of a store on SQLite, in the test's own folder; nothing is made yet."""
    return Settings.from_environment()


@pytest.fixture
def read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files of every kind are read in this process: another one takes two seconds to begin."""
    if request.path.name != "test_reading.py":
        monkeypatch.setattr("themescope.jobs.common.reading._is_plain", lambda file: True)


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost next to nothing."""
    monkeypatch.setattr("themescope.db.passwords.HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture(scope="session")
def empty_sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy; migrating anew for each test would take ten times as long."""
    folder = tmp_path_factory.mktemp("template")
    store = Store(Settings.in_folder(folder))
    store.migrate()
    store.close()
    return folder / "themescope.db"


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PostgresServer) -> str:
    """The URL of a migrated database."""
    url = postgres_server.new_database()
    store = Store(Settings.in_folder(Path("unused"), url))
    store.migrate()
    store.close()
    return url


@pytest.fixture(scope="session")
def empty_postgres(migrated_postgres: str) -> Iterator[Callable[[], None]]:
    """Remove every row and start the ids anew; for a few rows five times as quick as TRUNCATE."""
    import psycopg

    deletes = [f'DELETE FROM "{table.name}"' for table in reversed(metadata.sorted_tables)]
    restart = "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'"
    statements = "; ".join([*deletes, restart])
    with psycopg.connect(migrated_postgres, autocommit=True) as connection:

        def empty() -> None:
            connection.execute(statements)

        yield empty


@pytest.fixture
def postgres_url(migrated_postgres: str, empty_postgres: Callable[[], None]) -> Iterator[str]:
    """A migrated database without rows; they are removed when the test is over."""
    yield migrated_postgres
    empty_postgres()


@pytest.fixture
def sqlite_store(settings: Settings, empty_sqlite_file: Path) -> Iterator[Store]:
    """An empty, migrated store on SQLite."""
    settings.home.mkdir(parents=True)
    shutil.copy(empty_sqlite_file, settings.home / "themescope.db")
    store = Store(settings)
    yield store
    store.close()


@pytest.fixture(scope="session")
def make_home(empty_sqlite_file: Path, tmp_path_factory: pytest.TempPathFactory) -> MakeHome:
    """A home with what ``fill`` puts into its store: made once for many tests, of which each takes a copy."""

    def make(fill: Callable[[Store], object]) -> Path:
        home = tmp_path_factory.mktemp("made")
        shutil.copy(empty_sqlite_file, home / "themescope.db")
        store = Store(Settings.in_folder(home))
        fill(store)
        store.close()
        return home

    return make


@pytest.fixture(scope="session")
def embedded_home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the corpus "C" of 12 articles, and their vectors by a pretrained model."""
    from tests.jobs.helpers import write_articles
    from themescope.jobs.queue.runner import run_here

    articles = write_articles(tmp_path_factory.mktemp("files"), 12, paragraphs=8)

    def fill(store: Store) -> None:
        run_here(store, "import-corpus", {"files": [str(articles)], "corpus": "C"}, quiet=True)
        run_here(store, "embed", {"corpus": "C", "model": "static-wikipedia"}, quiet=True)

    return make_home(fill)


@pytest.fixture
def copy_home(sqlite_store: Store) -> CopyHome:
    """The test's own store, with a copy of a home that :func:`make_home` made."""

    def copy(home: Path) -> Store:
        shutil.copytree(home, sqlite_store.settings.home, dirs_exist_ok=True)
        return sqlite_store

    return copy


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, themescope_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An empty, migrated store, on each engine in turn; the environment points to it."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_store")
        return
    url = request.getfixturevalue("postgres_url")
    monkeypatch.setenv("DATABASE_URL", url)
    store = Store(Settings.in_folder(themescope_home, url))
    yield store
    store.close()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the repository; skips where it is not."""
    folder = Path(os.environ.get("THEMESCOPE_SHARED_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("The shared data is not here. Set THEMESCOPE_SHARED_DATA to its folder.")
    return folder
