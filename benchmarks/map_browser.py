"""Measure the Map page with millions of points in a real browser.

    python -m benchmarks.map_browser [--points 1000000] [--like FILE.npy] [--home FOLDER] [--pictures FOLDER]

The store is synthetic: one sentence of a few words per point. ``--like`` names a file with the (n, 2) coordinates of a
real map, which are repeated with jitter until there are enough of them; without it the points are 30 normal clusters.
``--home`` keeps the store for later runs. Printed are the seconds until the first picture and until all points for the
whole map are drawn, the seconds of a lasso from its end to the list of the selected sentences, milliseconds per frame
while the map is dragged and for a full picture, and the bytes that the browser received.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import numpy as np
import psutil
from playwright.sync_api import Page, ViewportSize, WebSocket, sync_playwright

from benchmarks.pages import server, wait_for_script
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import MapPoints
from themescope.db.settings import Settings
from themescope.db.sql import batches
from themescope.db.store import Store

_BROWSERS = ("chromium", "chromium-browser", "chromium-headless-shell")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
_VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
_PER_ARTICLE, _SECTIONS, _TITLES = 1_000, 10, 18
_READY = "() => [...(window.themescopeViews ?? [])].some((view) => view.root.dataset.ready)"
_PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_LOADED = """() => {
  const { status } = [...window.themescopeViews][0];
  return status.hidden || (status.textContent && !status.textContent.includes("loading"));
}"""
_FULL_FRAME_MS = """() => {
  const view = [...window.themescopeViews][0], times = [];
  view.moving = false;
  for (let i = 0; i < 7; i++) {
    const start = performance.now();
    view.paintPoints();
    view.drawing.finish();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[3];
}"""
_COUNT_FRAMES = """() => {
  window.frames_ = [];
  const next = (now) => { window.frames_.push(now); requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""


def fill(home: Path, n: int, like: Path | None) -> None:
    """Fill the store of a folder with a corpus of ``n`` sentences and a map of it, unless it has one."""
    home.mkdir(parents=True, exist_ok=True)
    store = Store(Settings.in_folder(home))
    store.migrate()
    with store.reading() as r:
        if r.maps.list():
            return
    start = time.perf_counter()
    with store.writing() as w:
        corpus = w.corpora.create("mapped", "en")
        for articles in batches(range(-(-n // _PER_ARTICLE)), 100):
            w.corpora.add_articles(corpus.id, [_article(number) for number in articles])
        w.corpora.finish(corpus.id, {})
        model = w.models.add(
            name="plain", method="mean-vectors", config={}, seed=0, digest="plain", artifact="none"
        )  # fmt: skip
    with store.writing() as w:
        stored = MapPoints(w.corpora.sentence_ids(corpus.id)[:n], points(n, like))
        w.maps.add(corpus_id=corpus.id, model_id=model.id, name="large", config={"landmarks": 50_000}, seed=0,
                   digest="large", faithfulness=0.1, sampled_from=n, points=stored)  # fmt: skip
    print(f"Filled the store in {time.perf_counter() - start:.0f} s.", flush=True)


def _article(number: int) -> Article:
    sections = []
    for part in range(_SECTIONS):
        title = f"Part {(number + part) % _TITLES}"
        sentences = tuple(f"Sentence {i} of {title}." for i in range(_PER_ARTICLE // _SECTIONS))
        sections.append(Section(title, 2, (Paragraph("", sentences),), (title,)))
    return Article(f"Mapped {number}", tuple(sections))


def points(n: int, like: Path | None) -> np.ndarray:
    """Return (n, 2) coordinates: those of a file, repeated with jitter, or clusters."""
    random = np.random.default_rng(0)
    if like is None:
        middles = 6 * random.normal(size=(30, 2))
        return (middles[random.integers(30, size=n)] + random.normal(size=(n, 2))).astype(np.float32)
    known = np.load(like).astype(np.float32)
    rows = np.arange(n) % len(known)
    jitter = np.where(np.arange(n) < len(known), 0.0, 0.005) * float(known.std())
    return (known[rows] + jitter[:, None] * random.standard_normal((n, 2), dtype=np.float32)).astype(np.float32)


class Traffic:
    """Bytes that the browser receives on the websocket of the page."""

    def __init__(self, page: Page) -> None:
        self.total = 0
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._add)

    def _add(self, frame: bytes | str) -> None:
        self.total += len(frame)

    def taken(self) -> str:
        """Return the bytes since the last call."""
        total, self.total = self.total, 0
        return f"{total / 1e6:.2f} MB"


def measure(page: Page, url: str, pictures: Path | None, name: str) -> None:
    """Print the times of one visit."""
    traffic = Traffic(page)
    seconds = _visit(page, f"{url}/map")
    print(f"{name}: first picture {seconds[0]:.2f} s, loaded {seconds[1]:.2f} s, {traffic.taken()}", flush=True)
    print(f"  {page.locator('.map-view .drawn').text_content()}  {page.evaluate(_FULL_FRAME_MS):.0f} ms per full frame")
    wait_for_script(page)
    _keep(page, pictures, f"{name} whole")
    traffic.taken()
    seconds_of_lasso = _lasso(page)
    said = page.get_by_text("sentences selected").first.text_content()
    print(f"  lasso {seconds_of_lasso:.2f} s ({said}), {traffic.taken()}", flush=True)
    wait_for_script(page)
    _keep(page, pictures, f"{name} lasso")
    page.get_by_role("button", name="Clear selection").click()
    wait_for_script(page)
    print(f"  dragged: {_drag(page):.0f} ms per frame", flush=True)
    traffic.taken()
    start = time.perf_counter()
    for _ in range(6):
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(60)
    page.wait_for_timeout(300)
    page.wait_for_function(_LOADED)
    said = page.locator(".map-view .drawn").text_content()
    print(f"  zoomed in: {time.perf_counter() - start:.2f} s, {said} {traffic.taken()}", flush=True)
    wait_for_script(page)
    _keep(page, pictures, f"{name} zoomed")


def _visit(page: Page, url: str) -> tuple[float, float]:
    start = time.perf_counter()
    page.goto(url)
    page.wait_for_function(_READY)
    page.evaluate(_PAINTED)
    first = time.perf_counter() - start
    page.wait_for_function(_LOADED)
    return first, time.perf_counter() - start


def _lasso(page: Page) -> float:
    box = page.locator(".map-view .stage").bounding_box()
    assert box is not None
    angles = np.linspace(0, 2 * np.pi, 30)
    path = [(box["x"] + box["width"] * (0.5 + 0.2 * np.cos(a)), box["y"] + box["height"] * (0.5 + 0.3 * np.sin(a)))
            for a in angles]  # fmt: skip
    page.mouse.move(*path[0])
    page.mouse.down()
    for place in path[1:]:
        page.mouse.move(*place)
    start = time.perf_counter()
    page.mouse.up()
    page.get_by_text("sentences selected").first.wait_for()
    return time.perf_counter() - start


def _drag(page: Page) -> float:
    """Return the median milliseconds between frames while the map is dragged."""
    box = page.locator(".map-view .stage").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.locator(".map-view .stage").focus()
    page.keyboard.press("m")
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(_COUNT_FRAMES)
    for step in range(60):
        page.mouse.move(x + 40 * np.sin(step / 8), y + 20 * np.cos(step / 8))
    page.mouse.up()
    frames = np.diff(page.evaluate("() => window.frames_"))
    page.keyboard.press("l")
    return float(np.median(frames))


def _keep(page: Page, pictures: Path | None, name: str) -> None:
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=pictures / f"{name}.png")


def main() -> None:
    """Print the times of a first visit, and of a second one in a dark browser."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--like", type=Path, help="file with the (n, 2) coordinates of a real map")
    parser.add_argument("--home", type=Path, help="folder of the synthetic store; filled if empty, and kept")
    parser.add_argument("--pictures", type=Path, help="folder for screenshots")
    args = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    with ExitStack() as stack:
        home = args.home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="themescope-map-")))
        fill(home, args.points, args.like)
        url, process = stack.enter_context(server(home))
        playwright = stack.enter_context(sync_playwright())
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for visit, scheme in zip(("first visit", "second visit"), schemes, strict=True):
            browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
            page = browser.new_context(viewport=_VIEWPORT, color_scheme=scheme).new_page()
            page.set_default_timeout(300_000)
            measure(page, url, args.pictures, f"{args.points:,} points, {visit}")
            browser.close()
        print(f"server: {psutil.Process(process.pid).memory_info().rss / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
