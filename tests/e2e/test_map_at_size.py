"""A map of more points than are sent at once: levels of detail, a lasso over all points, a picture without WebGL2."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from tests.e2e.conftest import App, add_map
from tests.e2e.hands import PATIENCE_MS, draw, open_page
from tests.jobs.helpers import wait_for
from tests.servers import free_port
from themescope.core.projection import inside
from themescope.core.types import Article, Paragraph, Section
from themescope.webapp.map_view.labels import WHOLE_POINTS
from themescope.webapp.map_view.scene import units_of

MANY, PER_ARTICLE = WHOLE_POINTS + 10_000, 2_000
VIEW = "[...window.themescopeViews][0]"
NO_WEBGL2 = """
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind === "webgl2" ? null : original.call(this, kind, ...rest);
};
"""


@pytest.fixture(scope="module")
def points(app: App) -> np.ndarray:
    """The (n, 2) points of a map that is written directly: nine clusters."""
    sentences = tuple(f"Number {i}." for i in range(PER_ARTICLE))
    articles = [
        Article(f"Many {i}", (Section("All", 2, (Paragraph("", sentences),), ("All",)),))
        for i in range(MANY // PER_ARTICLE)
    ]
    rng = np.random.default_rng(0)
    found = (8 * rng.integers(3, size=(MANY, 2)) + rng.normal(size=(MANY, 2))).astype(np.float32)
    add_map(app.store, "Multitude", articles, found, landmarks=50_000)
    return found


BUSY = """(view) => {
  const hover = (place) => view.sendNow("hover", { digest: view.data.digest, place });
  hover(1);
  setTimeout(() => view.selectCategory(0, "replace"), 30);
  for (let place = 2; place < 9; place++) setTimeout(() => hover(place), 40 + 15 * place);
}"""
"""Script that selects all while the server is busy."""


def test_tiles_are_loaded_and_a_lasso_selects_among_all_points(page: Page, app: App, points: np.ndarray) -> None:
    open_page(page, app.url + "/map?corpus=Multitude", "Map")
    said = page.locator(".map-view .drawn")
    expect(said).to_contain_text(f"{MANY:,} of {MANY:,} units: all in this part")
    tiles = page.evaluate(f"{VIEW}.scene.held")
    assert sorted(tiles) == list(range(page.evaluate(f"{VIEW}.scene.index.length"))) and len(tiles) > 5
    box = page.locator(".map-view .stage").bounding_box()
    assert box is not None
    x, y = box["width"] / 2, box["height"] / 2
    draw(page, box, [(x - 90, y - 70), (x + 100, y - 60), (x + 70, y + 80), (x - 60, y + 50)], steps=3)
    expect(page.locator(".st-key-map_drawer")).to_be_visible()
    page.wait_for_function(f"{VIEW}.data.shapes.length === 1")  # the drawer comes before the map
    shape = np.array(page.evaluate(f"{VIEW}.data.shapes[0]"), dtype=np.float64)
    inside_shape = np.count_nonzero(inside(units_of(points), shape))
    assert 0 < inside_shape < MANY
    expect(page.locator(".st-key-map_drawer").get_by_text(re.compile(f"^{inside_shape:,} units ·"))).to_be_visible()
    page.evaluate(f"({BUSY})({VIEW})")
    expect(page.locator(".st-key-map_drawer").get_by_text(re.compile(f"^{MANY:,} units"))).to_be_visible()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="About this map").click()
    expect(page.get_by_text(f"Positions fitted on 50,000 of {MANY:,} units")).to_be_visible()


def test_without_webgl2_a_picture_takes_the_place_of_the_map(page: Page, app: App, points: np.ndarray) -> None:
    alone = page.context.new_page()
    alone.add_init_script(NO_WEBGL2)
    open_page(alone, app.url + "/map?corpus=Multitude", "Map")
    expect(alone.get_by_role("img", name=re.compile(f"Picture of {MANY:,} units"))).to_be_visible()
    expect(alone.get_by_text("This is a picture, because this browser has no WebGL2.")).to_be_visible()
    alone.close()


BARS = "[view.stage, view.bar].map((part) => part.getBoundingClientRect().toJSON())"
FIRST_FRAME = f"""
const look = () => {{
  const view = [...(window.themescopeViews ?? [])][0];
  if (view?.stage.getBoundingClientRect().height > 100) window.firstBars = {BARS};
  else requestAnimationFrame(look);
}};
requestAnimationFrame(look);
"""


SIZES = [
    pytest.param(1280, 800, 1, id="1280"),
    pytest.param(1366, 768, 1, id="1366"),
    pytest.param(1920, 1080, 1, id="1920"),
    pytest.param(640, 400, 2, id="200 %"),
    pytest.param(390, 844, 3, id="390"),
]


COVERED = """(() => {
  const [view] = window.themescopeViews, stage = view.stage.getBoundingClientRect();
  const boxes = [...view.frame.querySelectorAll(".bar, .legend")].map((one) => one.getBoundingClientRect());
  let covered = 0;
  for (const row of view.drawing.rows) {
    const [x, y] = view.pixel(row).map((at, axis) => at + [stage.left, stage.top][axis]);
    covered += boxes.some((one) => one.left < x && x < one.right && one.top < y && y < one.bottom);
  }
  return covered / view.drawing.rows.length;
})()"""


def check_bars(boxes: list[dict[str, float]]) -> None:
    """Check that the toolbar is one row, in a narrow map at most two, and that the plot has the page."""
    stage, bar = boxes
    if stage["width"] >= 480:
        assert bar["height"] == 36 and bar["x"] >= stage["x"] and bar["width"] <= stage["width"], (stage, bar)
    else:
        assert bar["height"] <= 72 and bar["bottom"] <= stage["top"], (stage, bar)


@pytest.mark.parametrize(("width", "height", "scale"), SIZES)
def test_the_toolbar_is_one_row_from_the_first_frame_and_the_plot_has_the_page(
    browser: Browser, app: App, points: np.ndarray, width: int, height: int, scale: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale)
    context.set_default_timeout(PATIENCE_MS)
    alone = context.new_page()
    alone.add_init_script(FIRST_FRAME)
    open_page(alone, app.url + "/map?corpus=Multitude", "Map")
    expect(alone.locator(".map-view[data-ready]")).to_have_count(1)
    check_bars(alone.evaluate("window.firstBars"))
    stage, bar = alone.evaluate(f"(() => {{ const view = {VIEW}; return {BARS}; }})()")
    check_bars([stage, bar])
    main = alone.get_by_test_id("stMain").bounding_box()
    assert main is not None
    assert width < 480 or stage["width"] * stage["height"] >= 0.7 * main["width"] * (height - 52)
    assert alone.evaluate(COVERED) < 0.01  # outliers beside the frame
    context.close()


FIREFOX = next((path for path in map(shutil.which, ("firefox-esr", "firefox")) if path), None)


class Tab:
    """A tab of Firefox, driven by WebDriver BiDi, which needs no further program."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._sent = socket, 0
        self.call("session.new", capabilities={})
        self._context = {"context": self.call("browsingContext.create", type="tab")["context"]}

    def call(self, method: str, **params: Any) -> Any:
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while (answer := json.loads(self._socket.recv(timeout=PATIENCE_MS / 1_000))).get("id") != self._sent:
            pass
        assert answer["type"] == "success", answer
        return answer["result"]

    def open(self, url: str, width: int, height: int, scale: float) -> None:
        viewport = {"width": width, "height": height}
        self.call("browsingContext.setViewport", **self._context, viewport=viewport, devicePixelRatio=scale)
        self.call("browsingContext.navigate", **self._context, url=url, wait="complete")

    def value(self, expression: str) -> Any:
        """The value of an expression, as JSON; None while it throws."""
        about = {"expression": f"JSON.stringify({expression})", "awaitPromise": False, "target": self._context}
        found = self.call("script.evaluate", **about)
        return json.loads(found["result"].get("value", "null")) if found["type"] == "success" else None

    def wait(self, expression: str) -> Any:
        return wait_for(lambda: self.value(expression))

    def drag(self, *points: tuple[float, float]) -> None:
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 50} for x, y in points]
        down, up = ({"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp"))
        mouse = {"type": "pointer", "id": "mouse", "actions": [moves[0], down, *moves[1:], up]}
        self.call("input.performActions", **self._context, actions=[mouse])


def connected(port: int) -> ClientConnection | None:
    try:
        return connect(f"ws://127.0.0.1:{port}/session", max_size=None)
    except (OSError, WebSocketException):
        return None


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    assert FIREFOX is not None
    port, profile, quiet = free_port(), tmp_path_factory.mktemp("firefox"), subprocess.DEVNULL
    # Software rendering, which a machine without a graphics card has; without a screen, Firefox has none.
    (profile / "user.js").write_text('user_pref("webgl.force-enabled", true);\n', encoding="utf-8")
    xvfb = ["Xvfb", "-displayfd", "1", "-screen", "0", "1920x1200x24"]
    screen = subprocess.Popen(xvfb, stdout=subprocess.PIPE, stderr=quiet, text=True)
    assert screen.stdout is not None
    environment = {**os.environ, "DISPLAY": f":{screen.stdout.readline().strip()}"}
    command = [FIREFOX, "--profile", str(profile), f"--remote-debugging-port={port}", "about:blank"]
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
    try:
        with wait_for(lambda: connected(port)) as socket:
            tab = Tab(socket)
            tab.call("script.addPreloadScript", functionDeclaration=f"() => {{ {FIRST_FRAME} }}")
            yield tab
    finally:
        for one in (process, screen):
            one.terminate()
            one.wait(20)
        screen.stdout.close()


@pytest.mark.skipif(
    FIREFOX is None or not shutil.which("Xvfb"), reason="no Firefox: on Debian, sudo apt install firefox-esr xvfb"
)
@pytest.mark.usefixtures("points")
@pytest.mark.parametrize(("width", "height", "scale"), SIZES)
def test_in_firefox_the_toolbar_is_one_row_and_a_lasso_selects(
    firefox: Tab, app: App, width: int, height: int, scale: int
) -> None:
    firefox.open(app.url + "/map?corpus=Multitude", width, height, scale)
    boxes = f"(() => {{ const view = {VIEW}; return view.root.dataset.ready && {BARS}; }})()"
    stage = firefox.wait(boxes)
    check_bars(firefox.wait("window.firstBars"))
    check_bars(stage)
    if width < 1000:
        return
    before = None
    while stage != before:  # the sidebar has its width: a shape drawn while it moves may lie between the clusters
        time.sleep(0.4)
        before, stage = stage, firefox.wait(boxes)  # the view may be made anew
    box = stage[0]
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    firefox.drag((x - 90, y - 70), (x + 100, y - 60), (x + 70, y + 80), (x - 60, y + 50))
    said = firefox.wait("document.querySelector('.st-key-map_drawer')?.innerText.match(/[0-9,]+ units? ·/)")
    assert re.match("[1-9]", said[0])
