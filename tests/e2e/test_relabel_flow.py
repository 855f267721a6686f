"""Two people correct the clusters of one article in a real browser; nothing is lost, and everything comes back.

Dividing a code and grouping it are done by keyboard only.
"""

import re
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.db.texts import add_texts
from tests.e2e.conftest import PAYLOAD, App
from tests.e2e.hands import at_rest, name_is, open_page, said, turn_to
from tests.e2e.test_keyboard_flows import FOCUSED, tab_to
from themescope.core.labelling.partition import Partition
from themescope.core.types import Article, BenchmarkItem, Ids, Paragraph, Section
from themescope.db.records import VectorBlock

CORPUS, NAME = "Hamlets", "Hamlets, put right"
THEMES = ("kings and wars", "rain and snow", "banks and trade")
SIZE = 8
ANGLES = (*(0.0,) * SIZE, *(2.1,) * (SIZE - 3), *(3.1,) * 3, *(4.2,) * SIZE)
"""Directions of the vectors: the last three of the second section keep to themselves."""
BUSY_MS = 2_600
"""Longer than the page's timers wait: each of them then sends what is pending along with its own message."""


@pytest.fixture(scope="module")
def sentences(app: App) -> Ids:
    """One article by a hostile title, with vectors and a clustering that put three sentences into the wrong cluster."""
    sections = tuple(
        Section(title, 2, (Paragraph("", tuple(f"{title} {words} number {i}." for i in range(SIZE))),), (title,))
        for title, words in zip((PAYLOAD, "Climate", "Economy"), THEMES, strict=True)
    )
    truth = np.repeat(np.arange(3, dtype=np.int32), SIZE)
    found = truth.copy()
    found[2 * SIZE - 3 : 2 * SIZE] = 2
    random = np.random.default_rng(0)
    places = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]) + random.normal(scale=0.04, size=(3 * SIZE, 2))
    with app.store.writing() as w:
        corpus, ids = add_texts(w, CORPUS, [Article(PAYLOAD, sections)])
        (article,) = w.corpora.articles(corpus)
        model = w.models.add(name="places", method="mean-vectors", config={}, seed=0, digest="places", artifact="-")
        w.embeddings.add(model.id, [VectorBlock(article.id, places.astype(np.float32))])
        benchmark = w.benchmarks.add(corpus, "hamlets", {}, "hamlets", {}, [BenchmarkItem(article.id, ids, truth)])
        about = {"model_id": model.id, "benchmark_id": benchmark.id, "clusterer": "iclust", "seconds": 0.1}
        w.runs.add(kind="clustering", digest="hamlets", assignments={article.id: found}, **about)
    return ids


def state(app: App) -> Partition:
    with app.store.reading() as r:
        return r.labellings.snapshot(r.labellings.by_name(NAME).id).partition


def steps(app: App) -> list[tuple[str, str, str, str]]:
    with app.store.reading() as r:
        found = r.label_steps.list(r.labellings.by_name(NAME).id)
    return [(step.operation, step.kind.value, step.person, step.summary) for step in found]


def enter(page: Page, app: App, person: str) -> None:
    """Open the labelling in a new session; the tab is turned after the name, so what it shows is that person's."""
    open_page(page, f"{app.url}/code?code_view=History&code_labelling={quote(NAME)}", "Code")
    name_is(page, person)
    page.get_by_role("button", name="Back to Sort").click()
    expect(page.locator(".panes .unit").first).to_be_visible()
    at_rest(page)


def open_code(page: Page, number: int) -> None:
    row = page.locator(f".panes .cluster[data-number='{number}']")
    row.click()
    expect(page.locator(".panes h2")).to_have_text(row.locator(".name").inner_text())


def pick(page: Page, *texts: str) -> None:
    for text in texts:
        page.locator(".panes .unit", has_text=text).locator(".tick").click()


def menu_of_coding(page: Page, name: str) -> None:
    at_rest(page)
    page.locator("[class*=st-key-code_menu] button").locator("visible=true").click()
    page.get_by_role("menuitem", name=name).click()
    expect(page.get_by_role("heading", name=name, level=3)).to_be_visible()


def begin(page: Page, app: App) -> None:
    """From the article's Iclust run, for everybody."""
    open_page(page, f"{app.url}/code?{urlencode({'code_view': 'New coding', 'corpus': CORPUS})}", "Code")
    name_is(page, "Ada")
    page.get_by_role("textbox", name="Name", exact=True).fill(NAME)
    page.get_by_role("radio", name="Everyone").click()
    page.get_by_role("button", name="Create coding", exact=True).click()
    expect(page.locator(".panes .cluster")).to_have_count(4)


@pytest.mark.slow
def test_two_people_correct_one_article(page: Page, other_page: Page, app: App, sentences: Ids) -> None:
    begin(page, app)
    start = state(app)
    misplaced = list(range(2 * SIZE - 3, 2 * SIZE))
    rain, trade = (int(start.numbers[start.rows(sentences[[row]])][0]) for row in (SIZE, 2 * SIZE))
    assert start.numbers[start.rows(sentences[misplaced])].tolist() == [trade] * 3
    open_code(page, trade)
    pick(page, *(f"rain and snow number {SIZE - 1 - place}" for place in range(3)))
    page.keyboard.press(str(rain))  # at once: a key finds what was done before it
    said(page, "3 units →")
    assert state(app).numbers[start.rows(sentences[misplaced])].tolist() == [rain] * 3
    divide_by_keys(page, state(app).clusters[rain].name)
    expect(page.locator(".panes .cluster")).to_have_count(5)
    new, kept = (page.locator(".panes .cluster").nth(place) for place in (3, 0))
    new.drag_to(kept)
    page.get_by_role("menuitem", name=re.compile("^Merge into")).click()
    expect(page.locator(".panes .cluster")).to_have_count(4)
    open_code(page, rain)
    page.keyboard.press("F2")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Weather :smile:", delay=5)
    page.keyboard.press("Enter")
    said(page, "is now Weather")
    group_by_keys(page)
    busy(page)
    done = state(app)
    names = {cluster.name: number for number, cluster in done.clusters.items()}
    assert done.clusters[names["Weather :smile:"]].parent == names["Nature"]
    kinds = ["assign", "re-cluster", "merge", "rename", "group", "uncertain"]
    assert [operation for operation, *_ in steps(app)] == kinds
    for _ in kinds:
        page.keyboard.press("u")
    expect(page.locator(".coding_bar [data-action=undo]")).to_be_hidden()
    assert state(app).to_bytes() == start.to_bytes()
    enter(page, app, "Ada")  # a reload: a new session
    for _ in kinds:
        page.keyboard.press("y")
    expect(page.locator(".coding_bar [data-action=redo]")).to_be_hidden()
    said(page, "redo: 1 unit marked uncertain")
    assert state(app).to_bytes() == done.to_bytes()
    assert [kind for _, kind, *_ in steps(app)] == ["do"] * 6 + ["undo"] * 6 + ["redo"] * 6
    conflict(page, other_page, app)
    out_and_in(page, app)
    expect(other_page.get_by_text("This coding or its project was deleted")).to_be_visible()
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img[src=x]").count() == 0


def divide_by_keys(page: Page, name: str) -> None:
    at_rest(page)
    tab_to(page, page.locator(".panes .cluster[aria-selected=true]").get_attribute("aria-label") or "")
    for _ in range(4):
        if page.evaluate(FOCUSED).startswith(name):
            break
        page.keyboard.press("ArrowUp")
    expect(page.locator(".panes h2")).to_have_text(name, ignore_case=True)
    page.keyboard.press("Alt+g")
    expect(page.get_by_role("button", name="Divide into 2 codes")).to_be_visible()
    at_rest(page)
    tab_to(page, "Divide into 2 codes")
    page.keyboard.press("Enter")
    said(page, "in 2 codes")


def group_by_keys(page: Page) -> None:
    page.keyboard.press("Alt+s")
    expect(page.get_by_role("textbox", name="Name of the theme")).to_be_visible()
    at_rest(page)
    tab_to(page, "Name of the theme")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Nature", delay=5)
    page.keyboard.press("Tab")
    at_rest(page)
    tab_to(page, "Group codes")
    page.keyboard.press("Enter")
    said(page, "grouped as Nature")
    expect(page.locator(".panes .cluster[aria-level='2']")).to_have_count(1)


def busy(page: Page) -> None:
    """A key that is pressed while the browser is busy counts once, although its timers have fallen due meanwhile."""
    page.locator(".panes .unit").first.click()
    wait = f"const start = performance.now(); while (performance.now() - start < {BUSY_MS});"
    page.evaluate(f"() => {{ setTimeout(() => {{ {wait} }}, 20); }}")
    page.keyboard.press("x")
    said(page, "1 unit marked uncertain")
    # A name stays while it is typed, though the page is drawn anew meanwhile; none of its letters is a shortcut.
    page.keyboard.press("ArrowDown")  # of which the server is told a moment later
    page.keyboard.press("F2")
    page.keyboard.type("nexus", delay=60)
    page.wait_for_function("() => window.themescopeActions.actions.length === 0")
    page.keyboard.type(" e", delay=30)
    expect(page.get_by_role("textbox", name="Rename")).to_have_value("nexus e")
    page.keyboard.press("Escape")


def conflict(page: Page, second: Page, app: App) -> None:
    """Both choose one sentence; the second to write is shown both versions."""
    sentence = "banks and trade number 7"
    with app.store.reading() as r:
        shown = r.labellings.snapshot(r.labellings.by_name(NAME).id).partition
        (text,) = (s.id for s in r.corpora.sentences_by_id(shown.ids).values() if sentence in s.text)
    number = int(shown.numbers[shown.rows([text])[0]])
    open_code(page, number)
    pick(page, sentence)
    enter(second, app, "Ben")
    open_code(second, number)
    pick(second, sentence)
    second.keyboard.press("Backspace")
    said(second, "→ no code")
    before = state(app)
    key = next(n for n in sorted(before.clusters) if n != number)
    row = page.locator(f".panes .cluster[data-number='{key}']")
    page.keyboard.press(row.locator("kbd").inner_text())
    expect(page.get_by_text("Edit conflict.")).to_be_visible()
    expect(page.get_by_text("Ben chose")).to_be_visible()
    assert state(app).to_bytes() == before.to_bytes()
    page.get_by_role("button", name="Use my change").click()
    said(page, "1 unit →")
    assert state(app).to_bytes() != before.to_bytes()
    expect(second.get_by_text("Show 1 new change")).to_be_visible()


def out_and_in(page: Page, app: App) -> None:
    """History; export, delete and import: the same labelling with the same steps."""
    menu_of_coding(page, "History")
    expect(page.get_by_text("Showing 20 of 20 steps")).to_be_visible()
    menu_of_coding(page, "Files")
    page.get_by_role("link", name="Report and files").last.click()
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").filter(has_text="Whole coding").get_by_role("button").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    before, log = state(app), steps(app)
    with app.store.writing() as w:
        w.labellings.purge(w.labellings.by_name(NAME).id, "Ada")
    turn_to(page, "Code")
    page.get_by_role("link", name="Import codes").last.click()
    expect(page.get_by_role("heading", name="Import", exact=True, level=1)).to_be_visible()
    at_rest(page)  # what asks for an upload just as the script begins is not answered
    page.locator("[data-testid=stMain] input[type=file]").set_input_files(
        {"name": "../labelling.jsonl", "mimeType": "application/jsonl", "buffer": text.encode("utf-8")}
    )
    page.get_by_role("button", name="Add the codings").click()
    expect(page.locator(".panes .unit").first).to_be_visible()
    assert state(app).to_bytes() == before.to_bytes()
    assert steps(app) == log
