"""Seconds until a page stands in a real browser: the next triplet, Compare with many methods, a large map.

    python -m benchmarks.pages [--home FOLDER] [--repeat 5]

The store is made up: 300,000 triplets with two evaluated models, a map of 100,000 sentences, and 20 methods on a
benchmark of 700 articles. ``--home`` keeps it for the next time. Every figure is the median of the repetitions, on the
wall's clock from the click to what a person waits for, with the processor seconds of the server and of the browser
beside it, because a busy machine stretches the wall's clock alone. The first visit is that of a browser that has never
been there, and so has 8 MB of JavaScript to load, to a server that nobody has visited since its start: each repetition
of it starts a server and a browser. Everything else is repeated on the last of these. Beside it stands what Streamlit
takes for the first visit of a page with nothing but a small table, and with a small chart as well: nothing that is made
with it can be there sooner.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from playwright.sync_api import Page, Playwright, ViewportSize, sync_playwright

from benchmarks.triplet_page import fill
from core.types import Article, BenchmarkItem, Paragraph, Section
from db.records import MapPoints, ScoreRecord
from db.settings import Settings
from db.store import Store

TRIPLETS, POINTS, MODELS, ARTICLES = 300_000, 100_000, 10, 700
_THEMES, _SENTENCES = 8, 5
METRICS = ("mi", "ami", "ami-arithmetic", "ri", "ari", "v")
_WIDE: ViewportSize = {"width": 1280, "height": 900}
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync"]  # fmt: skip
_QUIET = 3
"""Looks in a row, a second each, in which a server does nothing: it has imported what its pages need."""


# ---------------------------------------------------------------- what is looked at


def make(store: Store) -> None:
    """Fill an empty store."""
    fill(store, TRIPLETS)
    random = np.random.default_rng(0)
    _mapped(store, random)
    _compared(store, random)


def _mapped(store: Store, random: np.random.Generator) -> None:
    """A corpus of 100,000 sentences in 2,500 articles, all of them on a map."""
    with store.writing() as w:
        corpus, model = w.corpora.create("mapped", "en"), w.models.by_name("first")
        w.corpora.add_articles(corpus.id, [_long(n) for n in range(POINTS // (_THEMES * _SENTENCES))])
        w.corpora.finish(corpus.id, {})
        ids = np.array([s.id for _, _, listed in w.corpora.iterate(corpus.id) for s in listed])
        assert len(ids) == POINTS
        themes = random.normal(size=(30, 2)) * 6
        points = (themes[random.integers(30, size=len(ids))] + random.normal(size=(len(ids), 2))).astype(np.float32)
        w.maps.add(corpus_id=corpus.id, model_id=model.id, name="large", config={}, seed=0, digest="large",
                   faithfulness=0.3, sampled_from=len(ids), points=MapPoints(ids, points))  # fmt: skip


def _long(number: int) -> Article:
    """Eight sections of five sentences of some twenty words."""
    words = " ".join(f"word{(number * 7 + i) % 5_000}" for i in range(16))
    sections = []
    for theme in range(_THEMES):
        said = tuple(f"Sentence {i} of theme {theme} {words}." for i in range(_SENTENCES))
        title = f"Theme {(number + theme) % 60}"
        sections.append(Section(title, 2, (Paragraph("", said),), (title,)))
    return Article(f"Mapped {number}", tuple(sections))


def _compared(store: Store, random: np.random.Generator) -> None:
    """Twenty methods on a benchmark of 700 articles."""
    with store.writing() as w:
        corpus = w.corpora.create("compared", "en")
        w.corpora.add_articles(corpus.id, [_article(n, random) for n in range(ARTICLES)])
        w.corpora.finish(corpus.id, {})
        items = [
            BenchmarkItem(a.id, np.array([s.id for s in listed]), np.array([s.section for s in listed], np.int32))
            for a, _, listed in w.corpora.iterate(corpus.id)
        ]
        benchmark = w.benchmarks.add(corpus.id, "compared", {"min_sections": 5}, "b", {"articles": len(items)}, items)
        hard = random.beta(2, 4, len(items))
        for place in range(2 * MODELS):
            number, clusterer = divmod(place, 2)
            name, how = f"model {'abcdefghij'[number]}", ("iclust", "kmeans")[clusterer]
            model = w.models.by_name(name) if clusterer else w.models.add(
                name=name, method="mean-vectors", config={"m": number}, seed=0, digest=name, artifact="",
                corpus_id=corpus.id, metrics={},
            )  # fmt: skip
            values = np.clip(hard + 0.01 * number - 0.03 * clusterer + random.normal(0, 0.08, len(items)), -0.1, 1)
            scores = [score for metric in METRICS for score in _scores(metric, items, values)]
            labels = {i.article_id: random.permutation(i.truth) for i in items}
            w.runs.add(kind="clustering", digest=f"{name} {how}", model_id=model.id, benchmark_id=benchmark.id,
                       clusterer=how, config={}, seconds=1.0, assignments=labels, scores=scores)  # fmt: skip


def _scores(metric: str, items: list[BenchmarkItem], values: np.ndarray) -> list[ScoreRecord]:
    mean = float(values.mean())
    of = [ScoreRecord(0, i.article_id, metric, float(v)) for i, v in zip(items, values, strict=True)]
    return [ScoreRecord(0, None, metric, mean, mean - 0.015, mean + 0.015, len(items)), *of]


def _article(number: int, random: np.random.Generator) -> Article:
    sections = tuple(
        Section(f"Part {s}", 2, (Paragraph("", tuple(f"Sentence {i} of part {s}." for i in range(8))),), (f"Part {s}",))
        for s in range(int(random.integers(5, 12)))
    )
    return Article(f"Compared {number}", sections)


# ---------------------------------------------------------------- server, browser, clock


@contextmanager
def server(home: Path, script: str = "") -> Iterator[tuple[str, psutil.Process]]:
    """A server of its own, of ``script`` or of the app, which has had the time to import what pages need."""
    if script:
        (home / "bare.py").write_text(script, encoding="utf-8")
    served = ["streamlit", "run", str(home / "bare.py")] if script else ["webapp.server"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    kept = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "QUEUE_URL")}
    environment = {**kept, "THEMESCOPE_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with (home / "log.txt").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", *served, *flags], env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _until_idle(url, psutil.Process(process.pid))
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(20)


def _until_idle(url: str, process: psutil.Process) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                break
        except OSError:
            time.sleep(0.1)
    quiet = 0
    while quiet < _QUIET:
        spent = _seconds(process)
        time.sleep(1)
        quiet = quiet + 1 if _seconds(process) - spent < 0.05 else 0


def _seconds(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def _browser_seconds() -> float:
    """Processor seconds of the browsers that this process has started."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            if "chrom" in child.name():
                total += _seconds(child)
        except psutil.NoSuchProcess:
            continue
    return total


class Clock:
    """Collects repetitions of some steps: seconds on the wall, of the server, of the browser."""

    def __init__(self) -> None:
        self.server: psutil.Process | None = None
        self.taken: dict[str, list[tuple[float, float, float]]] = {}

    def __call__(self, what: str, work: Callable[[], object]) -> None:
        """Do it and note what it took."""
        assert self.server is not None
        before = time.perf_counter(), _seconds(self.server), _browser_seconds()
        work()
        after = time.perf_counter(), _seconds(self.server), _browser_seconds()
        self.taken.setdefault(what, []).append(tuple(b - a for a, b in zip(before, after, strict=True)))  # type: ignore[arg-type]

    def table(self) -> str:
        """The medians."""
        lines = [f"{'':44}{'n':>3}{'wall s':>9}{'worst':>8}{'server CPU s':>14}{'browser CPU s':>15}"]
        for what, rows in self.taken.items():
            wall, own, shown = (statistics.median(column) for column in zip(*rows, strict=True))
            worst = max(row[0] for row in rows)
            lines.append(f"{what:44}{len(rows):>3}{wall:>9.2f}{worst:>8.2f}{own:>14.2f}{shown:>15.2f}")
        return "\n".join(lines)


# ---------------------------------------------------------------- what is waited for


@dataclass(frozen=True, slots=True)
class Look:
    """A page, what a person waits for on it, and what is done there; ``script`` is another app's whole program."""

    name: str
    link: str
    """In the list of pages."""
    query: str
    ready: tuple[str, ...]
    """Selectors of what must be seen."""
    steps: Callable[[Page, Clock], None] | None = None
    """None where only the first visit counts."""
    script: str = ""


def triplet_steps(page: Page, clock: Clock) -> None:
    """Step on by key, without and with a verdict."""

    def follow(number: int, key: str) -> None:
        page.keyboard.press(key)
        page.get_by_text(f"Triplet {number} of {TRIPLETS:,}", exact=True).wait_for()

    for number, what, key in ((2, "next by J", "j"), (3, "verdict by G, and next", "g")):
        clock(f"Triplets: {what}", partial(follow, number, key))
        rest(page)


def compare_steps(page: Page, clock: Clock) -> None:
    """Hold the best method against another by a click on its row."""

    def click() -> None:
        box = page.get_by_test_id("stDataFrame").first.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 110, box["y"] + 35 * 3.5)
        page.get_by_text("Order of articles").wait_for()
        page.locator(CHART).first.wait_for()

    clock("Compare: row to two methods", click)
    rest(page)


def map_steps(page: Page, clock: Clock) -> None:
    """Draw around points; the clock begins when the shape is closed, and ends with the table of what lies inside."""
    table = page.locator("[class*=st-key-rows-]")
    before = str(table.get_attribute("class"))
    box = page.locator(".map-view .stage").bounding_box()
    assert box is not None
    turns = np.linspace(0, 2 * np.pi, 25)
    path = [(0.5 + 0.2 * np.cos(a), 0.5 + 0.2 * np.sin(a)) for a in turns]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in path]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)

    def close() -> None:
        page.mouse.up()
        page.get_by_text("sentences selected").wait_for()
        page.wait_for_function(_ANOTHER_TABLE, arg=before)

    clock("Map: shape closed to table", close)
    rest(page)


TABLE = "[data-testid=stDataFrame] canvas"
_ANOTHER_TABLE = """before => {
  const table = document.querySelector("[class*=st-key-rows-]");
  return table && table.className !== before && table.querySelector("canvas");
}"""
CHART = ".js-plotly-plot .main-svg"
_PLAIN = "import pandas as pd\nimport streamlit as st\nst.dataframe(pd.DataFrame({'a': [1, 2]}))\n"
_DRAWN = f"{_PLAIN}import plotly.graph_objects as go\nst.plotly_chart(go.Figure(go.Scatter(y=[1, 2])))\n"
LOOKS = {
    "table": Look("Streamlit alone, a table", "", "", (TABLE,), script=_PLAIN),
    "chart": Look("Streamlit alone, a chart", "", "", (TABLE, CHART), script=_DRAWN),
    "triplets": Look("Triplets, 300,000", "Triplets", "triplets?set=synthetic", (TABLE,), triplet_steps),
    "compare": Look(
        "Compare, 20 x 700", "Compare", "compare?benchmark=compared", (TABLE, CHART),
        compare_steps,
    ),
    "map": Look(
        "Map, 100,000 points", "Map", "map?corpus=mapped&map=large", (TABLE, ".map-view[data-ready]"), map_steps
    ),
}  # fmt: skip


def visit(page: Page, look: Look, url: str) -> None:
    """Go there by the address and wait."""
    page.goto(f"{url}/{look.query}")
    ready(page, look)


def again(page: Page, look: Look, url: str, clock: Clock) -> None:
    """A visit from another page of the app, one by the address; then what is done on the page."""
    links = page.get_by_test_id("stSidebarNav")

    def by_link() -> None:
        links.get_by_role("link", name=look.link, exact=True).click()
        ready(page, look)

    links.get_by_role("link", name="Jobs").click()
    page.get_by_role("heading", name="Jobs").wait_for()
    rest(page)
    clock(f"{look.name}: from another page", by_link)
    rest(page)
    clock(f"{look.name}: by its address again", lambda: visit(page, look, url))
    rest(page)
    assert look.steps is not None
    look.steps(page, clock)


def ready(page: Page, look: Look) -> None:
    """Wait for what must be seen."""
    for selector in look.ready:
        page.locator(selector).first.wait_for()


def rest(page: Page) -> None:
    """Wait until nothing is under way."""
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(500)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="folder of the made-up store; filled where it is empty, and kept")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--page", choices=LOOKS, action="append", help="only this page; may be given again")
    args = parser.parse_args()
    with ExitStack() as stack:
        home = args.home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="themescope-pages-")))
        filled(home)
        clock, begun = Clock(), time.monotonic()
        print(f"{os.cpu_count()} cores, {load()}", flush=True)
        playwright = stack.enter_context(sync_playwright())
        for name in args.page or LOOKS:
            for left in reversed(range(args.repeat)):
                _repetition(playwright, home, LOOKS[name], clock, 0 if left else args.repeat)
        print(f"{clock.table()}\n{time.monotonic() - begun:.0f} s in all, {load()}")


def _repetition(playwright: Playwright, home: Path, look: Look, clock: Clock, more: int) -> None:
    """The first visit of a server and a browser that are new, then ``more`` repetitions of everything else."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with server(home, look.script) as (url, clock.server):
        browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        page = browser.new_context(viewport=_WIDE).new_page()
        page.set_default_timeout(120_000)
        page.wait_for_timeout(500)
        clock(f"{look.name}: first visit of both", lambda: visit(page, look, url))
        rest(page)
        for _ in range(more if look.steps else 0):
            again(page, look, url, clock)
        browser.close()


def filled(home: Path) -> None:
    """Make the store in a folder, unless it is there."""
    home.mkdir(parents=True, exist_ok=True)
    store = Store(Settings.in_folder(home))
    store.migrate()
    with store.reading() as r:
        empty = not r.corpora.list()
    if empty:
        print("Filling the store …", flush=True)
        make(store)
    store.close()


def load() -> str:
    """How busy the machine is: averages over 1, 5 and 15 minutes."""
    return f"load {' '.join(f'{x:.1f}' for x in os.getloadavg())}"


if __name__ == "__main__":
    main()
