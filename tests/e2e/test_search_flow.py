"""Search of everything by keys, and the tour, in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import open_page
from tests.webapp.filled import CORPUS
from themescope.jobs.services.installation.demo import CORPUS as DEMO


def test_keys_lead_from_any_page_to_a_sentence(page: Page, filled: App) -> None:
    open_page(page, f"{filled.url}/jobs?corpus={CORPUS}", "Jobs")
    expect(page.get_by_role("button", name="Search")).to_be_visible()
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    expect(box).to_be_focused()
    page.keyboard.type("danube history paragraph 1 sentence 0 has")
    options = page.get_by_role("option")
    expect(options.first).to_contain_text("Danube History paragraph 1 sentence 0 has some words.")
    page.keyboard.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator(".reader .focus")).to_have_text("Danube History paragraph 1 sentence 0 has some words.")
    expect(page.locator(".reader .focus")).to_be_in_viewport()


def test_the_key_can_be_switched_off(page: Page, filled: App) -> None:
    open_page(page, f"{filled.url}/jobs", "Jobs")
    page.locator(".st-key-frame-menu button").first.click()
    page.get_by_label("Shortcuts of a single key").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.get_by_role("button", name="Search").click()  # the button still works
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    assert page.evaluate("localStorage.getItem('themescope-single-keys-off')") == "1"


def test_the_tour_is_walked_by_keys_and_not_offered_again(page: Page, filled: App) -> None:
    with filled.store.writing() as w:
        corpus = w.corpora.create(DEMO, "en")
        w.corpora.finish(corpus.id, {})
    try:
        open_page(page, filled.url, "Home")
        page.get_by_role("button", name="Start the tour").press("Enter")
        expect(page.get_by_text("1 of 6")).to_be_visible()
        page.get_by_role("button", name="Next").press("Enter")
        expect(page.get_by_text("2 of 6")).to_be_visible()
        expect(page).to_have_url(re.compile("/corpora"))
        page.get_by_role("button", name="End the tour").press("Enter")
        expect(page.get_by_text("2 of 6")).to_be_hidden()
        open_page(page, filled.url, "Home")
        expect(page.get_by_role("button", name="Start the tour")).to_be_hidden()
    finally:
        with filled.store.writing() as w:
            w.corpora.delete(corpus.id)
