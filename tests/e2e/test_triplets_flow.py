"""What a model makes of triplets, in a real browser: bars and rows that are clicked, words that are shaded."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.records import JobStatus, TripletRows
from core.types import Split
from jobs import commands
from tests.e2e.conftest import App
from tests.e2e.test_flows import open_page
from tests.webapp.filled import CORPUS, HOSTILE, fill
from tests.webapp.test_triplet_science import NET, add_net, small_nets

SET = "hostile triplets"
MARGINS = np.array([-3.0, -1.0, 1.0, 2.0, 4.0, 5.0], np.float32)


@pytest.fixture(scope="module")
def filled(app: App) -> App:
    """Triplets of an article whose every sentence is a payload, evaluated by a small network."""
    store = app.store
    with store.reading() as r:  # the demo's jobs would keep the machine busy
        waiting = [job.id for job in r.jobs.list(status=(JobStatus.QUEUED, JobStatus.RUNNING))]
    for job_id in reversed(waiting):
        commands.cancel(store, job_id)
    fill(store)
    add_net(store, small_nets()[0], NET, "triplets-sen")
    with store.writing() as w:
        corpus, model = w.corpora.by_name(CORPUS), w.models.by_name(NET)
        (article,) = w.corpora.articles_by_title(corpus.id, HOSTILE)
        ids = np.array([s.id for s in w.corpora.sentences(article.id)])
        made = w.triplets.create(corpus.id, SET, "sentences", {}, 0, SET)
        n = len(MARGINS)
        columns = (np.full(n, article.id), ids[:n], ids[1 : n + 1], ids[-n:])
        w.triplets.add(made.id, Split.TEST, TripletRows(np.zeros(n, int), *columns))
        w.triplets.finish(made.id, {"triplets": {"train": 0, "validation": 0, "test": n}})
        rows = w.triplets.rows(made.id, Split.TEST)
        config, margins = {"split": "test"}, {Split.TEST: (rows.ids, MARGINS)}
        w.runs.add(
            kind="triplets", digest=SET, model_id=model.id, triplet_set_id=made.id, config=config, margins=margins
        )
    return app


def address(**asked: str) -> str:
    return "/triplets?" + urlencode({"set": SET, **asked})


def test_a_bar_leads_to_its_triplets(page: Page, filled: App) -> None:
    open_page(page, filled, address(view="Margins"), "Triplets")
    expect(page.get_by_text("6 triplets of the test split, 2 wrong")).to_be_visible()
    bars = page.locator(".js-plotly-plot .bars .point")
    expect(bars.first).to_be_attached(timeout=120_000)
    box = bars.first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_role("button", name=re.compile("Read the 1 from −3")).click()
    expect(page.get_by_text("Triplet 1 of 1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_text("Triplet 1 of 6", exact=True)).to_be_visible()


def test_a_row_leads_to_the_triplets_of_a_pair(page: Page, filled: App) -> None:
    open_page(page, filled, address(view="Sections confused"), "Triplets")
    table = page.get_by_test_id("stDataFrame").first
    expect(table).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=120_000)
    table.click(position={"x": 60, "y": 50})
    page.get_by_role("button", name=re.compile(r"Read the \d+ triplets?")).click()
    expect(page.get_by_text(re.compile(r"^Triplet 1 of \d$"))).to_be_visible()
    assert "pair=" in page.url


def test_words_are_shaded_and_stay_letters(page: Page, filled: App) -> None:
    open_page(page, filled, address(attention="true", reader=NET), "Triplets")
    words = page.locator(".words p span")
    expect(words.first).to_be_visible(timeout=120_000)
    shown = words.evaluate_all("all => all.map(e => [e.textContent, getComputedStyle(e).backgroundColor, e.title])")
    assert "<" in {text for text, _, _ in shown}
    assert len({colour for _, colour, _ in shown}) > 3
    assert all(re.match(r"attention 0\.\d+; margin [+−]", about) for _, _, about in shown)
    assert page.locator(".words :is(img, a, strong)").count() == 0
    assert page.evaluate("window.pwned") is None
