"""The ways a person takes, in a real browser. A test uses what those above it made; run alone, it makes that itself."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App, wait_for
from tests.e2e.hands import at_rest, open_page
from themescope.core.records.stored import CorpusRecord
from themescope.jobs.queue.foreground import run_here
from themescope.webapp.features import REGISTRY

CORPUS = "Towns"
TRIPLETS = "town triplets"
MODEL, NET = "small mean", "small net"


def address(app: App, page: str, **asked: str) -> str:
    keys = REGISTRY.get(page).page_keys()
    return f"{app.url}/{page}?{urlencode(asked if keys is None else keys.address(asked))}"


def test_a_file_is_seen_before_it_is_imported(page: Page, app: App, worker: psutil.Popen, articles_file: Path) -> None:
    open_page(page, address(app, "corpora", view="Import"), "Data")
    at_rest(page)
    page.locator("input[type=file][multiple]").set_input_files(str(articles_file))
    expect(page.get_by_text("5 articles of")).to_be_visible()
    expect(page.get_by_role("combobox", name="Format (detected)")).to_have_value("JSON lines")
    name = page.get_by_label("Corpus name")
    name.fill(CORPUS)
    name.press("Enter")
    page.get_by_role("button", name="Import", exact=True).click()
    wait_for(lambda: any(c.name == CORPUS for c in corpora(app)), 60, "the import")
    open_page(page, address(app, "corpora", corpus=CORPUS, article="Town 7"), "Data")
    expect(page.get_by_role("heading", name="Town 7")).to_be_visible()
    expect(page.locator(".reader article .eligible")).to_have_count(18)
    assert page.locator(".reader nav button").all_inner_texts()[:3] == ["Introduction", "History", "Climate"]


def corpora(app: App) -> list[CorpusRecord]:
    with app.store.reading() as r:
        return r.corpora.list()


@pytest.fixture(scope="module")
def towns(app: App, articles_file: Path) -> None:
    """The corpus, where no test before has imported it."""
    if not any(c.name == CORPUS for c in corpora(app)):
        run_here(app.store, "import-corpus", {"files": [str(articles_file)], "corpus": CORPUS}, quiet=True)


@pytest.fixture(scope="module")
def learned(app: App, towns: None) -> None:
    """Triplets of the imported corpus, and a model."""
    rules = {"min_sections": 2, "profile": "all"}
    run_here(app.store, "build-triplets", {"corpus": CORPUS, "name": TRIPLETS, "rules": rules}, quiet=True)
    small = {"vocabulary_limit": 20_000}
    run_here(app.store, "train", {"method": "mean-vectors", "name": MODEL, "settings": small}, quiet=True)


def test_triplets_are_read_by_key(page: Page, app: App, learned: None) -> None:
    open_page(page, address(app, "triplets", set=TRIPLETS), "Triplets")
    expect(page.get_by_text("Triplet 1 of")).to_be_visible()
    expect(page.get_by_test_id("stDataFrame").last).to_be_visible()
    at_rest(page)
    page.keyboard.press("j")
    expect(page.get_by_text("Triplet 2 of")).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_text("Triplet 3 of")).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_text("Triplet 2 of")).to_be_visible()
    for key in "gbgag":  # faster than the page is drawn: each counts
        page.keyboard.press(key)
    expect(page.get_by_text("Triplet 7 of")).to_be_visible()
    expect(page.get_by_text("in this filter reviewed").filter(has_text="5 of")).to_be_visible()
    for _ in range(5):
        page.keyboard.press("u")
    expect(page.get_by_text("in this filter reviewed").filter(has_text="0 of")).to_be_visible()
