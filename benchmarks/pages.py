"""Measure page load and interaction times in a real browser: Triplets, Compare and Map with large data.

    python -m benchmarks.pages [--home FOLDER] [--repeat 5]

The store is synthetic: 300,000 triplets with two evaluated models, a map of 100,000 sentences, and 20 methods on a
benchmark of 700 articles. ``--home`` keeps it for later runs. Each number is the median over repetitions of the
wall-clock time from the click until the expected content is visible, with the CPU time of the server and the browser,
because load on the machine increases the wall-clock time only. A first visit is measured with an empty browser cache
(8 MB of JavaScript to load) and a server without earlier visits, so each repetition starts a new server and a new
browser; all other measurements are repeated on the last pair. As a lower bound, the first visits of two minimal
Streamlit apps are measured too: one with a small table, one with a small table and a chart.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from playwright.sync_api import Page, Playwright, sync_playwright

from benchmarks._browser import FLAGS, VIEWPORT, browser_cpu_seconds, chromium, cpu_seconds, load_averages, server
from themescope.core.records.stored import ScoreRecord
from themescope.core.types import Article, BenchmarkItem, Paragraph, Section, Split, TripletRows
from themescope.db.records import MapPoints, Verdict
from themescope.db.settings import Settings
from themescope.db.store import Store

TRIPLETS, POINTS, MODELS, ARTICLES = 300_000, 100_000, 10, 700
_THEMES, _SENTENCES = 8, 5
_TRIPLET_SENTENCES = 16
_SHARES = {Split.TRAIN: 0.8, Split.VALIDATION: 0.1, Split.TEST: 0.1}
METRICS = ("mi", "ami", "ami-arithmetic", "ri", "ari", "v")

# ---------------------------------------------------------------- data


def fill_store(store: Store) -> None:
    """Fill an empty store with the synthetic data."""
    random = np.random.default_rng(0)
    _add_triplets(store, TRIPLETS, random)
    _add_map(store, random)
    _add_methods(store, random)


def _synthetic_article(number: int) -> Article:
    """Return an article with eight sections of two sentences of 20 words."""
    words = " ".join(f"word{(number * 7 + i) % 5_000}" for i in range(18))
    sections = tuple(
        Section(
            f"Theme {s % 40}", 2, (Paragraph("", (f"First {words} {s}.", f"Second {words} {s}.")),), (f"Theme {s}",)
        )
        for s in range(number, number + _TRIPLET_SENTENCES // 2)
    )
    return Article(f"Article {number}", sections)


def _add_triplets(store: Store, triplets: int, random: np.random.Generator) -> None:
    """Add a corpus, a triplet set, two evaluated models and 1,000 reviews."""
    with store.writing() as w:
        corpus = w.corpora.create("synthetic", "en")
        w.corpora.add_articles(corpus.id, [_synthetic_article(n) for n in range(max(10, triplets // 60))])
        w.corpora.finish(corpus.id, {})
        triplet_set = w.triplets.create(corpus.id, "synthetic", "sentences", {}, 0, "synthetic")
        sentences = np.array([s.id for _, _, listed in w.corpora.iterate(corpus.id) for s in listed])
        articles = np.array([a.id for a, _, _ in w.corpora.iterate(corpus.id)])
        for split, share in _SHARES.items():
            indices = np.sort(random.integers(len(articles), size=int(triplets * share)))
            first = indices * _TRIPLET_SENTENCES
            parts = [sentences[first + random.integers(_TRIPLET_SENTENCES, size=len(first))] for _ in range(3)]
            w.triplets.add(triplet_set.id, split, TripletRows(np.zeros(len(indices), int), articles[indices], *parts))
        w.triplets.finish(triplet_set.id, {})
        for name in ("first", "second"):
            model = w.models.add(name=name, method="tfidf", config={}, seed=0, digest=name, artifact="", metrics={})
            for split in Split:
                ids = w.triplets.ids(triplet_set.id, split)
                margins = {split: (ids, random.normal(0.2, 1, len(ids)).astype(np.float32))}
                w.runs.add(kind="triplets", digest=f"{name} {split}", model_id=model.id, triplet_set_id=triplet_set.id,
                           config={"split": split.value}, margins=margins)  # fmt: skip
        for triplet in random.choice(w.triplets.ids(triplet_set.id), 1_000, replace=False).tolist():
            w.reviews.add(triplet_set.id, triplet, "Ada", Verdict.BAD)


def _add_map(store: Store, random: np.random.Generator) -> None:
    """Add a corpus of 100,000 sentences in 2,500 articles, and a map of all of them."""
    with store.writing() as w:
        corpus, model = w.corpora.create("mapped", "en"), w.models.by_name("first")
        w.corpora.add_articles(corpus.id, [_long_article(n) for n in range(POINTS // (_THEMES * _SENTENCES))])
        w.corpora.finish(corpus.id, {})
        ids = np.array([s.id for _, _, listed in w.corpora.iterate(corpus.id) for s in listed])
        assert len(ids) == POINTS
        themes = random.normal(size=(30, 2)) * 6
        points = (themes[random.integers(30, size=len(ids))] + random.normal(size=(len(ids), 2))).astype(np.float32)
        w.maps.add(corpus_id=corpus.id, model_id=model.id, name="large", config={}, seed=0, digest="large",
                   faithfulness=0.3, sampled_from=len(ids), points=MapPoints(ids, points))  # fmt: skip


def _long_article(number: int) -> Article:
    """Return an article with eight sections of five sentences of about 20 words."""
    words = " ".join(f"word{(number * 7 + i) % 5_000}" for i in range(16))
    sections = []
    for theme in range(_THEMES):
        sentences = tuple(f"Sentence {i} of theme {theme} {words}." for i in range(_SENTENCES))
        title = f"Theme {(number + theme) % 60}"
        sections.append(Section(title, 2, (Paragraph("", sentences),), (title,)))
    return Article(f"Mapped {number}", tuple(sections))


def _add_methods(store: Store, random: np.random.Generator) -> None:
    """Add 20 methods evaluated on a benchmark of 700 articles."""
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
        for i in range(2 * MODELS):
            number, clusterer = divmod(i, 2)
            name, algorithm = f"model {'abcdefghij'[number]}", ("iclust", "kmeans")[clusterer]
            model = w.models.by_name(name) if clusterer else w.models.add(
                name=name, method="mean-vectors", config={"m": number}, seed=0, digest=name, artifact="",
                corpus_id=corpus.id, metrics={},
            )  # fmt: skip
            values = np.clip(hard + 0.01 * number - 0.03 * clusterer + random.normal(0, 0.08, len(items)), -0.1, 1)
            scores = [score for metric in METRICS for score in _scores(metric, items, values)]
            labels = {item.article_id: random.permutation(item.truth) for item in items}
            w.runs.add(kind="clustering", digest=f"{name} {algorithm}", model_id=model.id, benchmark_id=benchmark.id,
                       clusterer=algorithm, config={}, seconds=1.0, assignments=labels, scores=scores)  # fmt: skip


def _scores(metric: str, items: list[BenchmarkItem], values: np.ndarray) -> list[ScoreRecord]:
    mean = float(values.mean())
    by_article = [ScoreRecord(0, i.article_id, metric, float(v)) for i, v in zip(items, values, strict=True)]
    return [ScoreRecord(0, None, metric, mean, mean - 0.015, mean + 0.015, len(items)), *by_article]


def _article(number: int, random: np.random.Generator) -> Article:
    sections = tuple(
        Section(f"Part {s}", 2, (Paragraph("", tuple(f"Sentence {i} of part {s}." for i in range(8))),), (f"Part {s}",))
        for s in range(int(random.integers(5, 12)))
    )
    return Article(f"Compared {number}", sections)


# ---------------------------------------------------------------- server, browser, timer


class Timer:
    """Timer for repeated steps: wall-clock seconds, CPU seconds of the server and of the browser."""

    def __init__(self) -> None:
        self.server: psutil.Process | None = None
        self.times: dict[str, list[tuple[float, float, float]]] = {}

    def __call__(self, step: str, work: Callable[[], object]) -> None:
        """Run ``work`` and record its times."""
        assert self.server is not None
        before = time.perf_counter(), cpu_seconds(self.server), browser_cpu_seconds()
        work()
        after = time.perf_counter(), cpu_seconds(self.server), browser_cpu_seconds()
        self.times.setdefault(step, []).append(tuple(b - a for a, b in zip(before, after, strict=True)))  # type: ignore[arg-type]

    def table(self) -> str:
        """Return the medians as a table."""
        lines = [f"{'':44}{'n':>3}{'wall s':>9}{'worst':>8}{'server CPU s':>14}{'browser CPU s':>15}"]
        for step, rows in self.times.items():
            wall, server, browser = (statistics.median(column) for column in zip(*rows, strict=True))
            worst = max(row[0] for row in rows)
            lines.append(f"{step:44}{len(rows):>3}{wall:>9.2f}{worst:>8.2f}{server:>14.2f}{browser:>15.2f}")
        return "\n".join(lines)


# ---------------------------------------------------------------- pages


@dataclass(frozen=True, slots=True)
class MeasuredPage:
    """Page to measure; ``script`` is the source of an app to serve instead of Themescope."""

    name: str
    link: str
    """Label in the navigation."""
    query: str
    ready: tuple[str, ...]
    """Selectors that must be visible when the page is loaded."""
    steps: Callable[[Page, Timer], None] | None = None
    """Interactions to measure; None measures the first visit only."""
    script: str = ""


def triplet_steps(page: Page, timer: Timer) -> None:
    """Measure the step to the next triplet by key, without and with a verdict."""

    def follow(number: int, key: str) -> None:
        page.keyboard.press(key)
        page.get_by_text(f"Triplet {number} of {TRIPLETS:,}", exact=True).wait_for()

    for number, step, key in ((2, "next triplet (J)", "j"), (3, "verdict (G) and next triplet", "g")):
        timer(f"Triplets: {step}", partial(follow, number, key))
        wait_for_script(page)


def compare_steps(page: Page, timer: Timer) -> None:
    """Measure the comparison of two methods after a click on a row."""

    def click() -> None:
        box = page.get_by_test_id("stDataFrame").first.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 110, box["y"] + 35 * 3.5)
        page.get_by_text("Order of articles").wait_for()
        page.locator(CHART).first.wait_for()

    timer("Compare: select a row", click)
    wait_for_script(page)


def map_steps(page: Page, timer: Timer) -> None:
    """Measure a lasso selection, from the closed shape to the table of selected sentences."""
    table = page.locator("[class*=st-key-map_rows]")
    before = str(table.get_attribute("class"))
    box = page.locator(".map-view .stage").bounding_box()
    assert box is not None
    angles = np.linspace(0, 2 * np.pi, 25)
    path = [(0.5 + 0.2 * np.cos(a), 0.5 + 0.2 * np.sin(a)) for a in angles]
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in path]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point)

    def close() -> None:
        page.mouse.up()
        page.get_by_text("sentences selected").wait_for()
        page.wait_for_function(_TABLE_CHANGED, arg=before)

    timer("Map: lasso selection", close)
    wait_for_script(page)


TABLE = "[data-testid=stDataFrame] canvas"
_TABLE_CHANGED = """before => {
  const table = document.querySelector("[class*=st-key-map_rows]");
  return table && table.className !== before && table.querySelector("canvas");
}"""
CHART = ".js-plotly-plot .main-svg"
_TABLE_APP = "import pandas as pd\nimport streamlit as st\nst.dataframe(pd.DataFrame({'a': [1, 2]}))\n"
_CHART_APP = f"{_TABLE_APP}import plotly.graph_objects as go\nst.plotly_chart(go.Figure(go.Scatter(y=[1, 2])))\n"
PAGES = {
    "table": MeasuredPage("Streamlit alone, a table", "", "", (TABLE,), script=_TABLE_APP),
    "chart": MeasuredPage("Streamlit alone, a chart", "", "", (TABLE, CHART), script=_CHART_APP),
    "triplets": MeasuredPage("Triplets, 300,000", "Triplets", "triplets?set=synthetic", (TABLE,), triplet_steps),
    "compare": MeasuredPage(
        "Compare, 20 x 700", "Compare", "compare?benchmark=compared", (TABLE, CHART),
        compare_steps,
    ),
    "map": MeasuredPage(
        "Map, 100,000 points", "Map", "map?corpus=mapped&map=large", (TABLE, ".map-view[data-ready]"), map_steps
    ),
}  # fmt: skip


def visit(page: Page, measured: MeasuredPage, url: str) -> None:
    """Open the page by its URL and wait until it is loaded."""
    page.goto(f"{url}/{measured.query}")
    wait_until_loaded(page, measured)


def measure_visits(page: Page, measured: MeasuredPage, url: str, timer: Timer) -> None:
    """Measure a visit from another page, a visit by URL, and the interactions on the page."""
    navigation = page.get_by_test_id("stSidebarNav")

    def by_link() -> None:
        navigation.get_by_role("link", name=measured.link, exact=True).click()
        wait_until_loaded(page, measured)

    navigation.get_by_role("link", name="Jobs").click()
    page.get_by_role("heading", name="Jobs").wait_for()
    wait_for_script(page)
    timer(f"{measured.name}: from another page", by_link)
    wait_for_script(page)
    timer(f"{measured.name}: by URL", lambda: visit(page, measured, url))
    wait_for_script(page)
    assert measured.steps is not None
    measured.steps(page, timer)


def wait_until_loaded(page: Page, measured: MeasuredPage) -> None:
    """Wait until the page is loaded."""
    for selector in measured.ready:
        page.locator(selector).first.wait_for()


def wait_for_script(page: Page) -> None:
    """Wait until the script has finished."""
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(500)


def main() -> None:
    """Print the times of all pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="folder of the synthetic store; filled if empty, and kept")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--page", choices=PAGES, action="append", help="measure only this page (repeatable)")
    args = parser.parse_args()
    with ExitStack() as stack:
        home = args.home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="themescope-pages-")))
        ensure_filled(home)
        timer, started = Timer(), time.monotonic()
        print(f"{os.cpu_count()} cores, {load_averages()}", flush=True)
        playwright = stack.enter_context(sync_playwright())
        for name in args.page or PAGES:
            for remaining in reversed(range(args.repeat)):
                _repetition(playwright, home, PAGES[name], timer, 0 if remaining else args.repeat)
        print(f"{timer.table()}\n{time.monotonic() - started:.0f} s in total, {load_averages()}")


def _repetition(playwright: Playwright, home: Path, measured: MeasuredPage, timer: Timer, more: int) -> None:
    """Measure the first visit with a new server and browser, then ``more`` repetitions of the other steps."""
    with server(home, measured.script) as (url, timer.server):
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_context(viewport=VIEWPORT).new_page()
        page.set_default_timeout(120_000)
        page.wait_for_timeout(500)
        timer(f"{measured.name}: first visit", lambda: visit(page, measured, url))
        wait_for_script(page)
        for _ in range(more if measured.steps else 0):
            measure_visits(page, measured, url, timer)
        browser.close()


def ensure_filled(home: Path) -> None:
    """Create and fill the store in a folder, unless it has data."""
    home.mkdir(parents=True, exist_ok=True)
    store = Store(Settings.in_folder(home))
    store.migrate()
    with store.reading() as r:
        empty = not r.corpora.list()
    if empty:
        print("Filling the store …", flush=True)
        fill_store(store)
    store.close()


if __name__ == "__main__":
    main()
