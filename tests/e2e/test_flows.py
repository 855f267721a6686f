"""A file is imported in a real browser."""

import re
from pathlib import Path
from urllib.parse import urlencode

import psutil
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App, wait_for
from tests.e2e.hands import at_rest, open_page
from tests.webapp.filled import MODEL
from themescope.webapp.features import REGISTRY

CORPUS = "Towns"


def address(app: App, page: str, **asked: str) -> str:
    keys = REGISTRY.get(page).page_keys()
    return f"{app.url}/{page}?{urlencode(asked if keys is None else keys.address(asked))}"


def corpora(app: App) -> list[str]:
    with app.store.reading() as r:
        return [corpus.name for corpus in r.corpora.list()]


def test_phones_show_cards_in_place_of_tables(page: Page, filled: App) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, address(filled, "train"), "Train")
    card = page.locator(".table_cards").get_by_role("button").filter(has_text=MODEL)
    expect(page.get_by_test_id("stDataFrame").first).to_be_hidden()
    card.click()
    expect(page).to_have_url(re.compile("train_model="))
    page.set_viewport_size({"width": 1280, "height": 844})
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    expect(card).to_be_hidden()


def test_a_file_is_seen_before_it_is_imported(page: Page, app: App, worker: psutil.Popen, articles_file: Path) -> None:
    open_page(page, address(app, "import"), "Import")
    at_rest(page)
    page.locator("input[type=file][multiple]").set_input_files(str(articles_file))
    expect(page.get_by_text(re.compile(r"^30 texts = 570 units · JSON lines"))).to_be_visible()
    name = page.get_by_label("Project name")
    name.fill(CORPUS)
    name.press("Enter")
    page.get_by_role("button", name="Import", exact=True).click()
    wait_for(lambda: CORPUS in corpora(app), 180, "the import")
    open_page(page, address(app, "texts", corpus=CORPUS, article="Town 7"), "Texts")
    expect(page.get_by_role("heading", name="Town 7")).to_be_visible()
    sections = page.locator(".reader nav button")
    expect(sections.nth(2)).to_have_text("Climate")
    assert sections.all_inner_texts()[:3] == ["Introduction", "History", "Climate"]
