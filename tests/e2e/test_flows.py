"""The ways a person takes, in a real browser. The tests of this file build on each other, top to bottom."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.records import JobStatus
from jobs import commands
from tests.e2e.conftest import App, wait_for

CORPUS = "Towns"
TRIPLETS = "town triplets"
MODEL = "small net"


@pytest.fixture(scope="module", autouse=True)
def demo(app: App) -> None:
    """The demo is queued before anybody comes, as the start does it."""
    commands.seed_demo(app.store)


def open_page(page: Page, app: App, path: str, heading: str) -> None:
    """Go to a page and wait until it stands."""
    page.goto(app.url + path)
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible(timeout=60_000)


def wait_for_job(app: App, job_id: int, seconds: float = 60) -> None:
    """Wait for the good end of a job."""

    def ended() -> bool:
        with app.store.reading() as r:
            job = r.jobs.get(job_id)
        assert job.status is not JobStatus.FAILED, job.error
        return job.status is JobStatus.DONE

    wait_for(ended, seconds, f"the end of job {job_id}")


def test_a_link_to_a_page_works_on_a_server_that_nobody_has_visited(page: Page, app: App) -> None:
    open_page(page, app, "/jobs", "Jobs")
    sidebar = page.get_by_test_id("stSidebarNav")
    expect(sidebar.get_by_role("link", name="Corpora")).to_be_visible()
    expect(sidebar.get_by_role("link", name="Jobs")).to_be_visible()  # the last one: the list is not folded


def test_the_demo_appears_by_itself(page: Page, app: App) -> None:
    open_page(page, app, "/", "Themescope")
    expect(page.get_by_text("Being built")).to_be_visible()
    # The door leads to the articles first, and to the map as soon as one is drawn: on a fast machine, at once.
    door = page.get_by_role("button", name=re.compile("Read the articles|Open the map"))
    expect(door).to_be_visible(timeout=90_000)
    expect(page.get_by_test_id("stMetric").filter(has_text="Articles")).to_contain_text(re.compile(r"9\d|10\d"))
    open_page(page, app, "/corpora", "Corpora")
    expect(page.locator(".reader nav button").first).to_be_visible()
    assert page.locator(".reader article .eligible").count() > 3
    with app.store.reading() as r:  # the other tests need the worker
        rest = [job.id for job in r.jobs.list(status=(JobStatus.QUEUED, JobStatus.RUNNING))]
    for job_id in reversed(rest):
        commands.cancel(app.store, job_id)


def test_a_file_is_seen_before_it_is_imported(page: Page, app: App, articles_file: Path) -> None:
    open_page(page, app, "/corpora?view=Import", "Corpora")
    page.locator("input[type=file][multiple]").set_input_files(str(articles_file))
    expect(page.get_by_text("the first 5 articles of")).to_be_visible()
    expect(page.get_by_role("combobox", name="Format (detected)")).to_have_value("JSON lines")
    name = page.get_by_label("Name of the corpus")
    name.fill(CORPUS)
    name.press("Enter")
    page.get_by_role("button", name="Import", exact=True).click()
    wait_for(lambda: any(c.name == CORPUS for c in corpora(app)), 60, "the import")
    open_page(page, app, f"/corpora?corpus={CORPUS}&article=Town+7", "Corpora")
    expect(page.get_by_role("heading", name="Town 7")).to_be_visible()
    expect(page.locator(".reader article .eligible")).to_have_count(18)
    assert page.locator(".reader nav button").all_inner_texts()[:3] == ["Introduction", "History", "Climate"]


def corpora(app: App) -> list:  # type: ignore[type-arg]
    with app.store.reading() as r:
        return r.corpora.list()


def test_words_of_others_do_nothing(page: Page, app: App) -> None:
    """Payloads in titles, sections and sentences are letters on every page that shows them."""
    open_page(page, app, f"/corpora?corpus={CORPUS}", "Corpora")
    expect(page.get_by_role("heading", name="<img src=x")).to_be_visible()
    expect(page.locator(".reader").get_by_text("<script>").first).to_be_visible()
    expect(page.locator(".reader")).to_contain_text("**bold**")
    assert page.locator("main img[src=x], .reader img, .reader a, .reader strong").count() == 0
    assert page.evaluate("window.pwned") is None


def test_a_model_is_trained_and_its_curve_moves(page: Page, app: App) -> None:
    rules = {"min_sections": 2, "profile": "all"}
    made = commands.enqueue(
        app.store, "build-triplets", {"corpus": CORPUS, "name": TRIPLETS, "rules_json": json.dumps(rules)}
    )
    wait_for_job(app, made.id)
    open_page(page, app, f"/train?method=Triplet+network+on+sentences&set={TRIPLETS.replace(' ', '+')}", "Train")
    expect(page.get_by_text("training triplets").first).to_be_visible()
    page.get_by_text("More settings").click()
    # Longer than anybody watches, on any machine; it is cancelled once its curve has moved.
    wanted = {"Name of the model": "endless", "Hidden": "24", "Epochs": "1000", "Patience stop": "1000"}
    for label, value in wanted.items():
        page.locator(f'input[aria-label="{label}"]').first.fill(value)
    page.get_by_role("button", name="Train", exact=True).click()
    chart = page.locator(".js-plotly-plot").first
    expect(chart).to_be_visible(timeout=60_000)
    lengths = set()
    deadline = time.monotonic() + 60
    while len(lengths) < 2 and time.monotonic() < deadline:
        lengths.add(page.evaluate("document.querySelector('.js-plotly-plot')?._fullData?.[0]?.x?.length ?? 0"))
        time.sleep(0.3)
    assert len(lengths - {0}) >= 1
    assert len(lengths) >= 2, "the curve did not move"
    with app.store.reading() as r:
        (running,) = r.jobs.list(status=(JobStatus.RUNNING,))
    commands.cancel(app.store, running.id)
    settings = {"hidden": 24, "attention": 16, "epochs": 2}
    args = {"method": "triplets-sen", "name": MODEL, "triplets": TRIPLETS, "settings_json": json.dumps(settings)}
    wait_for_job(app, commands.enqueue(app.store, "train", args).id, 90)
    open_page(page, app, f"/train?view=Models&model={MODEL.replace(' ', '+')}", "Train")
    expect(page.get_by_role("heading", name=MODEL)).to_be_visible()
    expect(page.get_by_test_id("stMetric").filter(has_text="Validation accuracy")).to_be_visible()


def test_triplets_are_read_by_key(page: Page, app: App) -> None:
    open_page(page, app, f"/triplets?set={TRIPLETS.replace(' ', '+')}", "Triplets")
    expect(page.get_by_text("Triplet 1 of")).to_be_visible()
    expect(page.get_by_test_id("stDataFrame").last).to_be_visible()
    time.sleep(1)  # the browser loads what listens to keys after it has painted the page
    page.keyboard.press("j")
    expect(page.get_by_text("Triplet 2 of")).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_text("Triplet 3 of")).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_text("Triplet 2 of")).to_be_visible()


POINTS = """() => {
  const plot = document.querySelector('.js-plotly-plot'), l = plot._fullLayout;
  return plot._fullData.flatMap(t => Array.from(t.customdata).map((id, i) =>
    [id, l.xaxis._offset + l.xaxis.l2p(t.x[i]), l.yaxis._offset + l.yaxis.l2p(t.y[i])]));
}"""


def test_a_lasso_shows_exactly_the_sentences_inside(page: Page, app: App) -> None:
    made = commands.enqueue(app.store, "project", {"corpus": CORPUS, "model": MODEL, "limit": 400})
    wait_for_job(app, made.id, 90)
    open_page(page, app, f"/map?corpus={CORPUS}", "Map")
    plot = page.locator(".js-plotly-plot .nsewdrag").first
    expect(plot).to_be_visible(timeout=60_000)
    time.sleep(1)
    inside = lasso(page, plot.bounding_box())
    assert 5 < len(inside) < 395
    expect(page.get_by_text(f"{len(inside)} sentences selected")).to_be_visible()
    assert exported_ids(page) == inside
    # Another colouring is another chart; the selection stays, and it stays the same sentences.
    page.get_by_role("combobox", name="Colour by").click()
    page.get_by_role("option", name="Article").click()
    expect(page.get_by_text("other articles")).to_be_visible()
    expect(page.get_by_text(f"{len(inside)} sentences selected")).to_be_visible()
    assert exported_ids(page) == inside
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.get_by_text("All sentences in view")).to_be_visible()


def lasso(page: Page, box: dict[str, float] | None) -> set[int]:
    """Draw a lasso over the middle of the map; the ids inside it, found without the page's help."""
    assert box is not None
    turns = np.linspace(0, 2 * np.pi, 25)
    path = [
        (box["x"] + box["width"] * (0.5 + 0.3 * np.cos(a)), box["y"] + box["height"] * (0.5 + 0.3 * np.sin(a)))
        for a in turns
    ]
    origin = page.locator(".js-plotly-plot").first.bounding_box()
    assert origin is not None
    points = page.evaluate(POINTS)
    page.mouse.move(*path[0])
    page.mouse.down()
    for place in path[1:]:
        page.mouse.move(*place)
    page.mouse.up()
    shape = np.array([(x - origin["x"], y - origin["y"]) for x, y in path])
    return {int(id) for id, x, y in points if is_inside(x, y, shape)}


def is_inside(x: float, y: float, polygon: np.ndarray) -> bool:
    """Whether a ray from the point crosses the edges an odd number of times."""
    (x1, y1), (x2, y2) = polygon[:-1].T, polygon[1:].T
    crossed = (y1 > y) != (y2 > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = x1 + (y - y1) * (x2 - x1) / (y2 - y1)
    return bool(np.count_nonzero(crossed & (x < at)) % 2)


def exported_ids(page: Page) -> set[int]:
    """The sentence ids in the CSV of the table."""
    if not page.get_by_role("button", name="CSV", exact=True).is_visible():
        page.get_by_role("button", name="Save", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    return {int(row["sentence_id"]) for row in csv.DictReader(io.StringIO(text, newline=""))}


def test_without_a_worker_the_page_says_so_within_ten_seconds(page: Page, app: App) -> None:
    open_page(page, app, "/", "Themescope")
    expect(page.get_by_text("No worker is running")).to_have_count(0)
    app.kill_worker()
    expect(page.get_by_text("No worker is running").first).to_be_visible(timeout=10_000)
    app.start_worker()
    expect(page.get_by_text("No worker is running")).to_have_count(0)
