"""From the table of methods to the sentences that moved, a link to it, and what axe finds on every page."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import axe_playwright_python
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App, wait_for
from tests.e2e.hands import at_rest, click_row, open_page, turn_to
from tests.pages import PAGES
from tests.webapp.compared import SEVERAL
from webapp.features import REGISTRY
from webapp.shared.guard import BROKEN

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
# What fades while the page is drawn anew is on its way out.
BARRIERS = """async (rules) => (await axe.run(
  {exclude: [['[data-stale=true]']]},
  {resultTypes: ['violations'], runOnly: rules}
)).violations.filter(v => ['serious', 'critical'].includes(v.impact))
  .map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 160)).join(' | ')}`)"""
ALL_RULES, COLOUR_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], ["color-contrast", "link-in-text-block"]
MOVED = ".partitions li.moved .text"


def test_three_clicks_to_the_sentences_that_moved_and_a_link_to_them(page: Page, other_page: Page, filled: App) -> None:
    page.goto(f"{filled.url}/compare?benchmark={SEVERAL.replace(' ', '+')}")
    click_row(page, 1)
    expect(page.get_by_text("Order of articles")).to_be_visible()
    expect(page.get_by_role("tab", name="Two methods")).to_have_attribute("aria-selected", "true")
    click_row(page, 0)
    expect(page.locator(MOVED).first).to_be_visible()
    moved = page.locator(MOVED).all_inner_texts()
    assert len(moved) > 4
    assert "right=mean" in page.url
    other_page.goto(page.url)
    expect(other_page.locator(MOVED).first).to_be_visible()
    assert other_page.locator(MOVED).all_inner_texts() == moved


def test_every_page_stands_without_a_serious_barrier_in_light_and_dark(page: Page, filled: App) -> None:
    """By the links of the frame, in one session; every other page is seen in the dark first."""
    open_page(page, filled.url, "Home")
    page.evaluate(AXE.read_text("utf-8"))
    found = {}
    for path, schemes in zip(PAGES, cycle((("light", "dark"), ("dark", "light"))), strict=False):
        turn_to(page, REGISTRY.get(path).title)
        assert urlsplit(page.url).path == ("/" if path == "home" else f"/{path}")
        for scheme, rules in zip(schemes, (ALL_RULES, COLOUR_RULES), strict=True):  # the second differs in colours only
            paint(page, scheme)
            found[f"{path} in the {scheme}"] = barriers(page, rules)
    assert {where: what for where, what in found.items() if what} == {}


def paint(page: Page, scheme: str) -> None:
    """Let the system ask for light or dark, and wait until the page has followed."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    dark = scheme == "dark"
    wait_for(lambda: brightness(page) < 150 if dark else brightness(page) > 600, 20, f"a {scheme} page")
    at_rest(page)


def barriers(page: Page, rules: list[str]) -> list[str]:
    """What axe finds serious, and whether something broke."""
    broken = page.get_by_test_id("stException").or_(page.get_by_text(BROKEN)).all_inner_texts()
    return [*broken, *page.evaluate(BARRIERS, rules)]


def brightness(page: Page) -> int:
    """Red, green and blue of the ground, together."""
    colour = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3])
