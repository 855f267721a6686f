"""From the table of methods to the sentences that moved, a link to it, and what axe finds on every page."""

from __future__ import annotations

import re
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import ROOT, App, Watched, at_rest, wait_for, watch
from tests.webapp.compared import SEVERAL, add_comparison
from tests.webapp.filled import CORPUS, MODEL, fill
from webapp.components.guard import BROKEN

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
# Streamlit's own list of pages has headings between its items, which is not ours to mend; what fades while the page
# is drawn anew is on its way out.
BARRIERS = """async () => (await axe.run(
  {exclude: [['[data-testid=stSidebarNav]'], ['[data-stale=true]']]},
  {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}
)).violations.filter(v => ['serious', 'critical'].includes(v.impact))
  .map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 160)).join(' | ')}`)"""
MOVED = ".partitions li.moved .said"


@pytest.fixture(scope="module")
def compared(app: App) -> App:
    """A store with something of everything, and a benchmark that several methods have clustered."""
    fill(app.store)
    add_comparison(app.store, CORPUS, MODEL)
    return app


def test_three_clicks_to_the_sentences_that_moved_and_a_link_to_them(
    page: Page, compared: App, browser: Browser
) -> None:
    page.goto(f"{compared.url}/compare?benchmark={SEVERAL.replace(' ', '+')}")
    click_row(page, 1)
    expect(page.get_by_text("Order of articles")).to_be_visible()
    expect(page.get_by_role("tab", name="Two methods")).to_have_attribute("aria-selected", "true")
    click_row(page, 0)
    expect(page.locator(MOVED).first).to_be_visible()
    moved = page.locator(MOVED).all_inner_texts()
    assert len(moved) > 4
    assert "right=mean" in page.url
    other = browser.new_context(viewport={"width": 1280, "height": 900})
    second, watched = other.new_page(), Watched()
    watch(second, watched, compared.url)
    second.goto(page.url)
    expect(second.locator(MOVED).first).to_be_visible()
    assert second.locator(MOVED).all_inner_texts() == moved
    other.close()
    assert (watched.complaints, watched.foreign) == ([], [])


def click_row(page: Page, row: int) -> None:
    """Click the second column of a row of the first table; rows and the head are 35 pixels high."""
    table = page.get_by_test_id("stDataFrame").first
    expect(table.locator("canvas").first).to_be_visible()
    at_rest(page)  # what is still being drawn above would push the row away from under the click
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 110, box["y"] + 35 * (row + 1.5))


PAGES = sorted(path.stem for path in (ROOT / "webapp" / "views").glob("*.py"))


@pytest.mark.parametrize("path", PAGES)
def test_every_page_stands_without_a_serious_barrier_in_light_and_dark(path: str, page: Page, compared: App) -> None:
    page.goto(f"{compared.url}/{path if path != 'home' else ''}")
    expect(page.locator("h1").first).to_be_visible()
    at_rest(page)
    page.add_script_tag(path=str(AXE))
    assert brightness(page) > 600
    assert page.evaluate(BARRIERS) == []
    page.emulate_media(color_scheme="dark")
    wait_for(lambda: brightness(page) < 150, 20, "the dark")
    at_rest(page)
    assert page.evaluate(BARRIERS) == []
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_text(BROKEN)).to_have_count(0)


def brightness(page: Page) -> int:
    """Red, green and blue of the ground, together."""
    colour = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3])
