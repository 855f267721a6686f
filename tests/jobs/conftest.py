import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.homes import CopyHome, MakeHome
from tests.jobs import toy
from tests.jobs.helpers import PatientRunner, write_articles
from themescope.core.records.stored import JobRecord
from themescope.core.types import Split
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common import language_models
from themescope.jobs.kinds import REGISTRY
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.runner import run_here


@pytest.fixture(autouse=True)
def files_are_read_here(read_here: None) -> None:
    """Processes that read are tested in test_reading.py."""


@pytest.fixture
def other(tmp_path: Path, empty_sqlite_file: Path) -> Iterator[Store]:
    """Another, empty store."""
    home = tmp_path / "other home"
    home.mkdir()
    shutil.copy(empty_sqlite_file, home / "themescope.db")
    store = Store(Settings.in_folder(home))
    yield store
    store.close()


@pytest.fixture(scope="session")
def home_of_twelve(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = [str(write_articles(tmp_path_factory.mktemp("files"), 12))]
    return make_home(lambda store: run_here(store, "import-corpus", {"files": files, "corpus": "C"}, quiet=True))


@pytest.fixture
def twelve(copy_home: CopyHome, home_of_twelve: Path) -> Store:
    """A store with the corpus "C" of twelve articles."""
    return copy_home(home_of_twelve)


@pytest.fixture(scope="session")
def thirty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of thirty articles."""
    return write_articles(tmp_path_factory.mktemp("files"), 30)


@pytest.fixture(scope="session")
def home(make_home: MakeHome, thirty: Path) -> Path:
    """A home with the corpus "C", triplets "T", a benchmark "B" over all splits and a model "M"."""

    def fill(store: Store) -> None:
        do = partial(run_here, store, quiet=True)
        do("import-corpus", {"files": [str(thirty)], "corpus": "C"})
        do("build-triplets", {"corpus": "C", "name": "T"})
        do("build-benchmark", {"corpus": "C", "name": "B", "splits": [split.value for split in Split]})
        do("train", {"method": "mean-vectors", "name": "M", "settings": {"vocabulary_limit": 2000}})

    return make_home(fill)


@pytest.fixture
def filled(copy_home: CopyHome, home: Path) -> Store:
    """A store of its own with what the nearest fixture ``home`` made."""
    return copy_home(home)


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the toy to the kinds of jobs, in place: a module that is first imported meanwhile keeps the registry."""
    monkeypatch.setitem(REGISTRY._cards, toy.CARD.id, toy.CARD)
    toy.RUNS.clear()


@pytest.fixture
def add(sqlite_store: Store, toys: None) -> Callable[..., JobRecord]:
    """Enqueue a toy."""

    def add_it(after: int | None = None, **args: object) -> JobRecord:
        return enqueue(sqlite_store, "toy", args, after=after)

    return add_it


@pytest.fixture
def runner(sqlite_store: Store) -> PatientRunner:
    """A runner in this process."""
    return PatientRunner(sqlite_store)


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Language models are asked twice, without waiting in between."""
    monkeypatch.setattr(language_models, "PAUSE_S", 0.001)
    monkeypatch.setattr(language_models, "ATTEMPTS", 2)
    monkeypatch.setattr(language_models, "_POLL_S", 0.01)
