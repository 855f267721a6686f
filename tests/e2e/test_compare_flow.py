"""From the table of methods to the sentences that moved, and a link to them."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, click_row
from tests.webapp.compared import SEVERAL

MOVED = ".partitions li.moved .text"


def test_three_clicks_to_the_sentences_that_moved_and_a_link_to_them(page: Page, other_page: Page, filled: App) -> None:
    page.goto(f"{filled.url}/compare?compare_benchmark={SEVERAL.replace(' ', '+')}")
    click_row(page, 1)
    expect(page.get_by_text("Order of articles")).to_be_visible()
    expect(page.get_by_role("tab", name="Pair")).to_have_attribute("aria-selected", "true")
    click_row(page, 0)
    expect(page).to_have_url(re.compile("right=mean"))  # until then another pair is shown below
    expect(page.get_by_text(re.compile("and mean .* on several rivers: "))).to_be_visible()
    at_rest(page)
    expect(page.locator(MOVED).first).to_be_visible()
    moved = page.locator(MOVED).all_inner_texts()
    assert len(moved) > 4
    other_page.goto(page.url)
    expect(other_page.locator(MOVED)).to_have_text(moved)
