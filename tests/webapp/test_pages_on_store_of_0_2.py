"""Every page on a store written by version 0.2."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.db.stores import unpack
from tests.webapp.hands import Open
from themescope.db.settings import Settings
from themescope.db.store import Store

LABELLING = "Places on the islands"

ADDRESSES: list[tuple[str, dict[str, str]]] = [
    *((page, {}) for page in ("home", "agreement", "people", "jobs")),
    *(("texts", {"view": view}) for view in ("Read", "Import report", "Edits", "Bundle and dataset")),
    ("import", {}),
    ("texts", {"corpus": "Islands", "article": "Nessa Island"}),
    *(("triplets", {"view": view, "set": "island triplets"}) for view in ("Browse", "Accuracy", "Sets")),
    ("train", {"model": "island triplets-sen-titles"}),
    *(("compare", {"tab": tab, "benchmark": "island sections"}) for tab in ("Clustering", "Pair", "Triplet accuracy")),
    ("map", {"map": "Islands by network", "colour": "Section"}),
    ("map", {"map": "Islands by words", "search": "ferry"}),
    *(("themes", {"view": view}) for view in ("Results", "Themes", "By column", "Files", "How they were found")),
    *(("code", {"view": view, "labelling": LABELLING}) for view in ("Suggestions", "History", "Files")),
    *(("code", {"labelling": LABELLING, "surface": surface}) for surface in ("Code", "Sort", "Table")),
    ("code", {"labelling": "Themes of the list"}),
]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The migrated data folder."""
    home = unpack(tmp_path_factory.mktemp("v0.2"))
    store = Store(Settings.in_folder(home))
    store.migrate()
    store.close()
    return home


@pytest.fixture(autouse=True)
def environment(unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages open the old store; they only look, so that all tests share it."""
    monkeypatch.setenv("THEMESCOPE_HOME", str(unpacked))
    yield


@pytest.mark.parametrize(
    ("page", "query"), ADDRESSES, ids=["-".join([page, *query.values()]) for page, query in ADDRESSES]
)
def test_a_page_opens(page: str, query: dict[str, str], open_page: Open) -> None:
    at = open_page(page, person="ada", **query)
    assert not at.error
    assert len(at.title) == 1


def test_a_person_without_a_name_sees_the_home_page(open_page: Open) -> None:
    at = open_page("home")
    assert not at.error
    assert any(caption.value.startswith("8 texts, 208 units") for caption in at.caption)
