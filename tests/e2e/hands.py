"""What a person at a page does, sees and waits for."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import ConsoleMessage, Error, FloatRect, Locator, Page, Request, ViewportSize, expect

from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import place_of

PATIENCE_MS = 150_000
"""Of every expectation and action, for a machine where twenty processes want each core; only what is wrong takes it."""
expect.set_options(timeout=PATIENCE_MS)
WINDOW: ViewportSize = {"width": 1280, "height": 900}
TRIES = 5
MOST_WORDS = 3_000


@contextmanager
def watching(page: Page, url: str) -> Iterator[None]:
    """In all that the tab shows of ``url`` there is no error in the console, and no other host is called."""
    complaints: list[str] = []
    foreign: list[str] = []
    local = (url, url.replace("http", "ws", 1), "data:", "blob:")

    def console(message: ConsoleMessage) -> None:
        # On a link to a page, Streamlit first asks for its own files below that page and then finds them at the root.
        # A wrong password is answered with status 401.
        if message.type == "error" and not any(p in message.location.get("url", "") for p in ("_stcore/", "/sign-in")):
            complaints.append(message.text)

    def broken(error: Error) -> None:
        complaints.append(str(error))

    def request(asked: Request) -> None:
        if not asked.url.startswith(local):
            foreign.append(asked.url)

    page.on("console", console)
    page.on("pageerror", broken)
    page.on("request", request)
    try:
        yield
    finally:
        page.remove_listener("console", console)
        page.remove_listener("pageerror", broken)
        page.remove_listener("request", request)
    assert foreign == [], foreign
    assert complaints == [], complaints


@contextmanager
def using(page: Page, url: str) -> Iterator[None]:
    """Use a tab for the pages of a server, watched; what it remembers of them is forgotten in the end."""
    try:
        with watching(page, url):
            yield
    finally:
        forget(page, url)


LATENCY = """(ms) => {
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) { setTimeout(() => send.call(this, data), ms); };
}"""
"""Script that sends what the page sends to the server later."""


def forget(page: Page, url: str) -> None:
    """End the session, and empty what a browser keeps for the site."""
    page.goto(f"{url}/_stcore/health")  # of the same site, so that its storage is at hand, and without scripts
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.context.clear_cookies()
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WINDOW)


def open_page(page: Page, url: str, heading: str) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", name=heading, exact=True, level=1)).to_be_visible()


@contextmanager
def menu(page: Page) -> Iterator[Locator]:
    """The open menu of the person; it is closed afterwards."""
    at_rest(page)
    page.locator(".st-key-frame-menu").get_by_role("button").click()
    body = page.get_by_test_id("stPopoverBody")
    expect(body).to_be_visible()
    yield body
    page.keyboard.press("Escape")
    expect(body).to_have_count(0)


def name_is(page: Page, person: str) -> None:
    with menu(page) as opened:
        opened.get_by_role("textbox", name="Your name").fill(person)
        opened.get_by_role("textbox", name="Your name").press("Enter")
        expect(page.locator(".st-key-frame-menu")).to_contain_text(person)


def turn_to(page: Page, name: str) -> None:
    """Go to a page by the links of the frame, in the same session, and wait until it stands."""
    card = next(card for card in REGISTRY if card.title == name)
    place = place_of(card)
    if page.get_by_role("heading", name=name, exact=True, level=1).is_visible():
        return  # the link of the open page would load it anew
    if place is None and name != "Home":
        with menu(page) as opened:
            opened.get_by_role("link", name=name, exact=True).click()
            expect(page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()
    elif place is None:
        page.get_by_test_id("stLogoLink").first.click()
    else:
        tab = page.locator(".st-key-frame-tabs").get_by_role("link", name=name, exact=True)
        if not tab.is_visible():  # in another place; the link of the open one would load its page anew
            page.get_by_test_id("stSidebar").get_by_role("link", name=place.title, exact=True).click()
            heading = page.get_by_role("heading", level=1).filter(has_text=re.compile(f"^{re.escape(name)}$"))
            expect(tab.or_(heading).first).to_be_visible()
        if not page.get_by_role("heading", name=name, exact=True, level=1).is_visible():
            tab.click()
    expect(page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()


def shown(page: Page) -> str:
    """The words of the page, without the sidebar, or why there are none."""
    try:
        return f"{page.url}\n{page.locator('[data-testid=stMain]').inner_text(timeout=2_000)[:MOST_WORDS]}"
    except Error as error:
        return str(error)


def at_rest(page: Page) -> None:
    """Wait until the script has run to its end, nothing stands for something that is still to come, and keys count.

    What listens to keys and clicks is attached once the browser has painted.
    """
    expect(page.locator(".stApp[data-test-script-state=notRunning]")).to_have_count(1)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.evaluate("() => new Promise(then => requestAnimationFrame(() => requestAnimationFrame(then)))")


def said(page: Page, words: str | re.Pattern[str]) -> None:
    expect(page.locator(".coding_bar .status")).to_contain_text(words)


def choose(page: Page, label: str, option: str) -> None:
    """Choose from a box, leave it, so that keys mean the page again, and wait until the page has followed."""
    box = page.get_by_role("combobox", name=label, exact=True)
    box.scroll_into_view_if_needed()
    for _ in range(TRIES):
        at_rest(page)
        box.click()
        box.fill(option)  # by letters: an open list closes when the page is drawn anew, before a mouse gets there
        box.press("Enter")
        box.blur()  # letters that chose nothing are gone with it
        at_rest(page)
        if box.input_value() == option:
            return
    raise AssertionError(f"“{label}” stays at “{box.input_value()}”, not “{option}”")


def draw(page: Page, box: FloatRect, path: Sequence[tuple[float, float]], steps: int) -> None:
    """Press at the first of these places of a box, go along them in steps, and let go at the last."""
    page.mouse.move(box["x"] + path[0][0], box["y"] + path[0][1])
    page.mouse.down()
    for x, y in path[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=steps)
    page.mouse.up()


def is_inside(x: float, y: float, polygon: np.ndarray) -> bool:
    """Whether a ray from the point crosses the edges an odd number of times."""
    (x1, y1), (x2, y2) = polygon[:-1].T, polygon[1:].T
    crossed = (y1 > y) != (y2 > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = x1 + (y - y1) * (x2 - x1) / (y2 - y1)
    return bool(np.count_nonzero(crossed & (x < at)) % 2)


PLACES = """() => {
  const left = (view) => view.stage.getBoundingClientRect().left;
  const view = [...window.themescopeViews].sort((a, b) => left(a) - left(b))[0];
  return { pixels: Array.from(view.scene.kinds, (_, row) => view.pixel(row)), kinds: Array.from(view.scene.kinds) };
}"""


def drawn_around(page: Page, tool: str) -> tuple[set[int], list[int]]:
    """Draw a shape on the first map; the rows inside it, found without the page's help, and the kind of every row."""
    at_rest(page)  # the stage has its size
    before, places = None, page.evaluate(PLACES)
    while places != before:  # the points have theirs a frame later
        page.wait_for_timeout(150)
        before, places = places, page.evaluate(PLACES)
    stage = page.locator(".map-view .stage").first
    box = stage.bounding_box()
    assert box is not None
    width, height = box["width"], box["height"]
    turns = np.linspace(0, 2 * np.pi, 30)
    path = [(width * (0.5 + 0.33 * np.cos(a)), height * (0.5 + 0.33 * np.sin(a))) for a in turns]
    if tool == "b":
        path = [(0.3 * width, 0.25 * height), (0.8 * width, 0.25 * height), (0.8 * width, 0.8 * height)]
        path += [(0.3 * width, 0.8 * height), path[0]]
    stage.focus()
    page.keyboard.press(tool)
    found = page.evaluate(PLACES)
    draw(page, box, path if tool == "l" else [path[0], path[2]], steps=2)
    shape = np.array(path)
    return {row for row, (x, y) in enumerate(found["pixels"]) if is_inside(x, y, shape)}, found["kinds"]


def exported_ids(page: Page) -> set[int]:
    """The sentence ids in the CSV of the selection in the drawer."""
    page.get_by_role("button", name="⋯", exact=True).click()
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name="CSV", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    text = Path(download.value.path()).read_text(encoding="utf-8")
    return {int(row["sentence_id"]) for row in csv.DictReader(io.StringIO(text, newline=""))}
