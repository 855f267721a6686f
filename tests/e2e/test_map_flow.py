"""Two maps of the same sentences in our own drawing: shapes, legend, search, link and files, in a real browser."""

import io
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import FloatRect, Page, expect

from tests.db.texts import article
from tests.e2e.conftest import PAYLOAD, App, add_map
from tests.e2e.hands import at_rest, drawn_around, exported_ids, open_page, turn_to, watching
from tests.e2e.test_accessibility import ALL_RULES, AXE, violations
from tests.e2e.test_keyboard_flows import tab_to
from tests.webapp.columned import add_columns


def test_a_selection_is_what_is_drawn_around_and_not_hidden(page: Page, other_page: Page, app: App) -> None:
    articles = [article(f"{PAYLOAD} {i}" if i == 0 else f"Plain {i}") for i in range(40)]
    ids = add_map(app.store, "Plains", articles, np.random.default_rng(0).normal(size=(400, 2)))
    open_page(page, app.url + "/map?corpus=Plains", "Map")
    expect(page.locator(".map-view[data-ready]")).to_have_count(1)
    inside, kinds = drawn_around(page, "l")
    assert 5 < len(inside) < 400
    selected(page, len(inside))
    assert exported_ids(page) == {int(ids[row]) for row in inside}
    # What the legend hides is not selected. It is open where the map is wide, and has few groups.
    page.locator(".map-view .row").first.hover()
    page.locator(".map-view").first.locator(".eye").first.click()
    page.get_by_role("button", name="Legend").first.click()
    expect(page).to_have_url(re.compile("map_hidden=0"))
    inside, kinds = drawn_around(page, "b")
    shown = {row for row in inside if kinds[row] != 0}
    assert 0 < len(shown) < len(inside)
    selected(page, len(shown))
    searched(page, "plain")
    expect(page.get_by_text(re.compile(rf"found among {len(shown)} selected"))).to_be_visible()
    same_elsewhere(page, other_page, f"found among {len(shown)} selected")


def more(page: Page, entry: str) -> None:
    page.get_by_role("button", name="More", exact=True).first.click()
    page.get_by_role("menu", name="More").get_by_text(entry, exact=True).click()


def searched(page: Page, text: str) -> None:
    page.get_by_role("button", name=re.compile("^Filter")).click()
    field = page.locator(".st-key-map_panel").get_by_role("textbox", name="Search", exact=True)
    field.fill(text)
    field.press("Enter")
    page.locator(".st-key-map_panel").get_by_role("button", name="Close", exact=True).click()
    expect(page.locator(".st-key-map_panel")).to_have_count(0)


@pytest.mark.usefixtures("hills")
def test_columns_filter_the_map_and_a_link_shows_the_same(page: Page, other_page: Page, app: App) -> None:
    with app.store.reading() as r:
        corpus = r.corpora.by_name("Hills")
    add_columns(app.store, corpus.id)
    open_page(page, app.url + "/map?corpus=Hills", "Map")
    expect(page.locator(".map-view[data-ready]")).to_have_count(1)
    page.get_by_role("button", name="Filter", exact=True).click()
    panel = page.locator(".st-key-map_panel")
    side = panel.get_by_role("combobox", name="side")
    side.click()
    page.get_by_role("option", name=re.compile("^left")).click()
    expect(page.locator(".map-view .drawn")).to_contain_text("75 of 300 units")
    page.keyboard.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)  # they fade, and pale texts lack contrast
    page.evaluate(AXE.read_text("utf-8"))
    assert violations(page, ALL_RULES) == []
    # The status, all units and a lasso follow, and a link shows the same.
    panel.get_by_role("button", name="Close", exact=True).click()
    more(page, "Select all units")
    selected(page, 75)
    page.locator(".map-view .stage").focus()
    page.keyboard.press("0")
    drawn_around(page, "b")
    expect(page.locator(DRAWER).get_by_text(re.compile(r"^75 units"))).to_have_count(0)
    assert 0 < int(page.locator(DRAWER).get_by_text(re.compile("^[0-9]+ units? ·")).inner_text().split()[0]) < 75
    open_page(other_page, page.url, "Map")
    other_page.get_by_role("button", name="Filter (1)", exact=True).click()
    expect(other_page.locator(".map-view .drawn")).to_contain_text("75 of 300 units")


def same_elsewhere(page: Page, other: Page, said: str) -> None:
    """The link shows the same to somebody else, and the file of the map needs nobody."""
    other.goto(page.url)
    expect(other.get_by_text(re.compile(said))).to_be_visible()
    figure_for_print(page)
    more(page, "Figure and files")
    with page.expect_download() as download:
        page.get_by_role("button", name="HTML", exact=True).click()
    saved = Path(download.value.path()).rename(Path(download.value.path()).with_suffix(".html"))
    alone = other.context.new_page()
    with watching(alone, saved.as_uri()):
        alone.goto(saved.as_uri())
        expect(alone.locator(".map-view[data-ready]")).to_have_count(1)
        stage = alone.locator(".map-view .stage").bounding_box()
        assert stage is not None
        x, y = alone.evaluate("[...window.themescopeViews][0].pixel(0)")
        alone.mouse.move(stage["x"] + x, stage["y"] + y)
        expect(alone.locator(".map-view .tip b")).to_be_visible()
        alone.get_by_role("searchbox", name="Search", exact=True).fill("Plain 3")
        expect(alone.locator("#found")).to_have_text(re.compile("found"))
        expect(alone.locator(".map-view .pin").first).to_be_attached()
    alone.close()


def figure_for_print(page: Page) -> None:
    """The files have the size and the resolution that were asked for."""
    more(page, "Figure and files")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".figure_files img")).to_be_visible()
    written = {}
    for name in ("SVG", "PNG, 300 dpi", "PDF, 600 dpi"):
        with page.expect_download() as download:
            dialog.get_by_role("button", name=name, exact=True).click()
        written[name[:3]] = Path(download.value.path()).read_bytes()
    assert b'width="180mm" height="120mm"' in written["SVG"]
    picture = Image.open(io.BytesIO(written["PNG"]))
    assert picture.size == (2126, 1417) and picture.info["dpi"] == pytest.approx((300, 300), abs=0.01)
    assert b"/MediaBox [0 0 510.236 340.157]" in written["PDF"] and b"/Width 4252 /Height 2835" in written["PDF"]
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


PLACEMENT = """() => {
  const [view] = window.themescopeViews, panels = view.panels();
  return { labels: view.placeLabels(panels), panels, width: view.width, height: view.height };
}"""
ZOOM = """(magnification) => {
  const [view] = window.themescopeViews;
  view.fit();
  view.zoom(1 / magnification, view.width / 2, view.height / 2);
  view.moved();
}"""
INSIDE = """([[left, top], [right, bottom]]) => {
  const [view] = window.themescopeViews;
  const inside = ([x, y]) => left < x && x < right && top < y && y < bottom;
  return [...view.scene.kinds].filter((_, row) => inside(view.pixel(row))).length;
}"""


@pytest.fixture(scope="module")
def hills(app: App) -> None:
    """A map of 300 sentences of 15 sections, each of which has a place of its own."""
    rng = np.random.default_rng(0)
    places = np.repeat(rng.normal(size=(15, 2)) * 3, 20, axis=0) + rng.normal(size=(300, 2)) * 0.3
    add_map(app.store, "Hills", [article("Hill", sections=15, paragraphs=10)], places)


def placement(page: Page) -> list[str]:
    """The names that are shown; they lie inside the view, apart from each other and from the panels."""
    found = page.evaluate(PLACEMENT)
    for one in found["labels"]:
        assert one["left"] >= 0 and one["left"] + one["width"] <= found["width"], one
        assert one["top"] >= 0 and one["top"] + one["height"] <= found["height"], one
    boxes = found["labels"] + found["panels"]
    for one, other in combinations(boxes, 2):
        if one in found["panels"] and other in found["panels"]:
            continue
        across = one["left"] + one["width"] <= other["left"] or other["left"] + other["width"] <= one["left"]
        assert across or one["top"] + one["height"] <= other["top"] or other["top"] + other["height"] <= one["top"]
    return [one["text"] for one in found["labels"]]


@pytest.mark.usefixtures("hills")
def test_names_of_several_levels_every_tool_and_the_list(page: Page, app: App) -> None:
    open_page(page, app.url + "/map?corpus=Hills", "Map")
    expect(page.locator(".map-view[data-ready]")).to_have_count(1)
    at_rest(page)
    tab_to(page, page.locator(".map-view .stage").get_attribute("aria-label") or "")
    names_lie_in_the_view_without_overlaps(page)
    every_tool_selects_by_clicks_and_by_keys(page)
    the_map_is_a_list_and_results_have_pins(page)


def names_lie_in_the_view_without_overlaps(page: Page) -> None:
    expect(page.locator(".map-view .label").first).to_be_attached()
    seen = []
    for magnification in (1, 2.5, 6):
        page.evaluate(ZOOM, magnification)
        seen.append(placement(page))
        assert seen[-1]
    assert seen[0] != seen[2]
    page.locator(".map-view .stage").press("n")
    expect(page.locator(".map-view .label")).to_have_count(0)


def clicked(page: Page, box: FloatRect, places: list[tuple[float, float]]) -> None:
    for x, y in places:
        page.mouse.click(box["x"] + x, box["y"] + y)


DRAWER = ".st-key-map_drawer"


def selected(page: Page, n: int | str) -> None:
    expect(page.locator(DRAWER).get_by_text(re.compile(rf"^{n} units? ·"))).to_be_visible()


def every_tool_selects_by_clicks_and_by_keys(page: Page) -> None:
    stage, card = page.locator(".map-view .stage"), page.locator(".map-view .tip .sentence")
    stage.press("0")
    # All of a category, by its point. Escape clears it whether the card of the point had come before it or not.
    page.keyboard.press("t")
    for waits in (False, True):
        page.keyboard.press("ArrowRight")
        if waits:
            expect(card).to_be_visible()
        page.keyboard.press("Space")
        selected(page, 20)
        expect(page).to_have_url(re.compile("map_shape"))
        expect(card).to_be_hidden()
        page.keyboard.press("Escape")
        expect(page.locator(DRAWER)).to_have_count(0)
        expect(page).not_to_have_url(re.compile("map_shape"))
    # Another one is added by the legend.
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    selected(page, 20)
    chosen = page.evaluate("() => { const [view] = window.themescopeViews; return view.scene.kinds[view.over]; }")
    other = next(kind for kind in range(15) if kind != chosen)
    page.get_by_role("button", name="Legend").click()
    entry = page.locator(f'.map-view .entry[data-kind="{other}"]')
    entry.click(modifiers=["Shift"])
    selected(page, 40)
    stage.press("s")
    entry.click()
    selected(page, 20)
    page.get_by_role("button", name="Legend").click()
    stage.press("e")
    # A polygon and a box by clicks.
    box = stage.bounding_box()
    assert box is not None
    corners = [(60, 100), (box["width"] - 60, 100), (box["width"] - 60, box["height"] - 60), (60, box["height"] - 60)]
    stage.press("g")
    clicked(page, box, corners[:3])
    stage.press("Backspace")
    clicked(page, box, corners[2:])
    inside = page.evaluate(INSIDE, [corners[0], corners[2]])
    stage.press("Enter")
    selected(page, inside)
    stage.press("b")
    clicked(page, box, [corners[0], corners[2]])
    selected(page, inside)
    # The polygon from the menu, by keys.
    page.get_by_role("button", name="More", exact=True).press("ArrowDown")
    expect(page.get_by_role("menuitemradio", name="Polygon")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="More", exact=True)).to_be_focused()
    for key in ("Enter", "p", "Enter"):
        page.keyboard.press(key)
    clicked(page, box, corners)
    page.keyboard.press("Enter")
    selected(page, inside)
    # Escape closes the card first, then clears.
    at_rest(page)
    stage.press("ArrowLeft")
    expect(card).to_be_visible()
    stage.press("Escape")
    expect(page.locator(".map-view .tip")).to_be_hidden()
    stage.press("Escape")
    expect(page.locator(DRAWER)).to_have_count(0)


def the_map_is_a_list_and_results_have_pins(page: Page) -> None:
    more(page, "As a list")
    first = page.locator(".map-view .outline details").first
    first.locator("summary").press("Enter")
    first.get_by_role("button", name="Select all").press("Enter")
    selected(page, 20)
    first.locator("li .link").first.press("Enter")
    expect(page).to_have_url(re.compile("map_sentence="))
    # A list that is open stays so when the map is drawn anew, and one that is closed stays closed.
    for to in ("Themes", "Map"):
        turn_to(page, to)
    expect(page.locator(".map-view .outline summary").first).to_be_visible()
    page.get_by_role("button", name="Close the list").click()
    for to in ("Themes", "Map"):
        turn_to(page, to)
    expect(page.locator(".map-view[data-ready]")).to_have_count(1)
    expect(page.locator(".map-view .outline")).to_be_hidden()
    searched(page, "hill")
    expect(page.locator(".map-view .pin")).to_have_count(20)
    page.get_by_role("button", name=re.compile("^Result 3:")).press("Enter")
    row = "() => new URL(location).searchParams.get('map_sentence')"
    expect(page.locator(".map-view[data-ready]")).to_have_count(1)
    assert page.evaluate(row)
