"""One project on all pages: by links, after a reload and in a new tab; jobs in the tray; a narrow window."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, open_page, turn_to
from tests.webapp.filled import CORPUS
from themescope.webapp.features import REGISTRY

SECOND = "A second project"
ALL = [card.title for card in REGISTRY if card.id != "people"]


@pytest.fixture
def two(filled: App) -> App:
    """A second project, without anything made of it."""
    with filled.store.writing() as w:
        if SECOND not in [corpus.name for corpus in w.corpora.list()]:
            w.corpora.finish(w.corpora.create(SECOND, "en").id, {})
    return filled


def project_of(page: Page) -> str:
    """The project in the address, which must be the one that the breadcrumb names."""
    at_rest(page)
    (named,) = parse_qs(urlsplit(page.url).query)["corpus"]
    expect(page.locator(".st-key-frame_project")).to_contain_text(named)
    return named


def choose_project(page: Page, name: str) -> None:
    page.locator(".st-key-frame_project button").first.click()
    page.get_by_test_id("stPopoverBody").get_by_role("button", name=name).click()
    expect(page.locator(".st-key-frame_project")).to_contain_text(name)


def test_the_project_stays_on_all_pages_after_a_reload_and_in_a_new_tab(two: App, page: Page) -> None:
    open_page(page, f"{two.url}/?corpus={CORPUS}", "Home")
    choose_project(page, SECOND)
    for title in ALL:
        turn_to(page, title)
        assert project_of(page) == SECOND
        current = page.locator("[aria-current=page]")
        assert title in ("Jobs",) or title in current.all_inner_texts()[-1] or current.count() == 1
    page.reload()
    assert project_of(page) == SECOND
    page.goto(f"{two.url}/compare")  # as in a new tab: no project in the address
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    assert project_of(page) == SECOND
    page.goto(f"{two.url}/compare?corpus={CORPUS}&compare_tab=One+article")
    assert project_of(page) == CORPUS
