"""What the web process does before the first person comes."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from db.settings import Settings
from webapp import server as web
from webapp.shared import store as house


@pytest.fixture
def thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is set aside from collecting is this process's no longer than the test lasts; no server will come."""
    monkeypatch.setattr(web, "_START_S", 0.0)
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_the_first_page_finds_the_store_migrated(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_PARTS", ())
    web.warm()
    assert list(settings.home.iterdir())
    with house.store().reading() as r:
        assert r.corpora.list() == []  # a table that is not there would be an error
    assert gc.get_freeze_count() > 0


@pytest.mark.usefixtures("thawed")
def test_a_store_that_cannot_be_opened_is_the_pages_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "nonsense://nowhere")
    monkeypatch.setattr(web, "_PARTS", ())
    web.warm()
