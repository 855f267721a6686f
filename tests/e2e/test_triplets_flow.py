"""What a model makes of triplets, in a real browser: bars and rows that are clicked, words that are shaded."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import click_row, open_page
from tests.webapp.filled import CORPUS, HOSTILE
from tests.webapp.test_triplet_margins import NET, add_net, small_nets
from themescope.core.types import Split, TripletRows
from themescope.webapp.features.triplets.state import KEYS

SET, REVIEWED, LEARNED = "hostile triplets", "triplets to review", "net of rivers"
EACH, WRONG = 14, 5
MARGINS = np.array([-3.0, -1.0, 1.0, 2.0, 4.0, 5.0], np.float32)


@pytest.fixture(scope="module")
def evaluated(filled: App) -> App:
    """Triplets of an article whose every sentence is a payload, evaluated by a small network."""
    store = filled.store
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
    return filled


def address(app: App, **asked: str) -> str:
    return f"{app.url}/triplets?{urlencode(KEYS.address({'set': SET, **asked}))}"


def test_a_row_leads_to_the_triplets_with_such_margins(page: Page, evaluated: App) -> None:
    open_page(page, address(evaluated, view="Accuracy"), "Triplets")
    expect(page.get_by_text("6 triplets of the test split, 2 wrong")).to_be_visible()
    click_row(page, 0)
    expect(page.get_by_role("strong").filter(has_text="from −3")).to_be_visible()
    page.get_by_role("button", name="Open 1 triplet").click()
    expect(page.get_by_text("Triplet 1 of 1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Reset filter").click()
    expect(page.get_by_text("Triplet 1 of 6", exact=True)).to_be_visible()


def test_words_are_shaded_and_stay_letters(page: Page, evaluated: App) -> None:
    open_page(page, address(evaluated, attention="true", attention_model=NET), "Triplets")
    words = page.locator(".attention p span")
    expect(words.first).to_be_visible()
    shown = words.evaluate_all("all => all.map(e => [e.textContent, getComputedStyle(e).backgroundColor, e.title])")
    assert "<" in {text for text, _, _ in shown}
    assert len({colour for _, colour, _ in shown}) > 3
    assert all(re.match(r"attention 0\.\d+; margin [+−]", about) for _, _, about in shown)
    assert page.locator(".attention :is(img, a, strong)").count() == 0
    assert page.evaluate("window.pwned") is None
