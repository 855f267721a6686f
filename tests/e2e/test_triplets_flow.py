"""What a model makes of triplets, in a real browser: bars and rows that are clicked, words that are shaded."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, choose, click_row, open_page
from tests.webapp.filled import CORPUS, HOSTILE, MODEL
from tests.webapp.test_triplet_margins import NET, SMALL, add_net, small_nets
from themescope.core.models import REGISTRY
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


def test_a_row_leads_to_the_triplets_of_a_pair(page: Page, evaluated: App) -> None:
    open_page(page, address(evaluated, view="Accuracy", triplets_by="Section pair"), "Triplets")
    expect(page.get_by_text(re.compile("reach the minimums"))).to_be_visible()
    click_row(page, 0)
    page.get_by_role("button", name=re.compile(r"Open \d+ triplets?")).click()
    expect(page.get_by_text(re.compile(r"^Triplet 1 of \d$"))).to_be_visible()
    assert "triplets_pair=" in page.url


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


@pytest.fixture(scope="module")
def learned(evaluated: App) -> App:
    """Triplets that a small network learned from; about five of the training split it is wrong, the mean right.

    The test split has triplets of every article, so that their mean has an interval.
    """
    with evaluated.store.writing() as w:
        corpus = w.corpora.by_name(CORPUS)
        made = w.triplets.create(corpus.id, REVIEWED, "sentences", {}, 0, REVIEWED)
        articles = w.corpora.articles(corpus.id)
        for split, taken in ((Split.TRAIN, articles[:1]), (Split.VALIDATION, articles[1:2]), (Split.TEST, articles)):
            for article in taken:
                ids = np.array([s.id for s in w.corpora.sentences(article.id)])
                columns = np.full(EACH, article.id), ids[:EACH], ids[1 : EACH + 1], ids[-EACH:]
                w.triplets.add(made.id, split, TripletRows(np.zeros(EACH, int), *columns))
        counts = {"train": EACH, "validation": EACH, "test": EACH * len(articles)}
        made = w.triplets.finish(made.id, {"triplets": counts})
        net, mean = w.models.by_name(NET), w.models.by_name(MODEL)
        config = REGISTRY.configure("triplets-sen", SMALL).to_dict()
        net = w.models.add(
            name=LEARNED, method=net.method, config=config, seed=1, digest=LEARNED, metrics={}, artifact=net.artifact,
            triplet_set_id=made.id, corpus_id=corpus.id,
        )  # fmt: skip
        wrong = np.where(np.arange(EACH) < WRONG, -1.0, 1.0).astype(np.float32)
        for model, margins in ((net, wrong), (mean, np.ones(EACH, np.float32))):
            w.runs.add(
                kind="triplets", digest=f"train {model.name}", model_id=model.id, triplet_set_id=made.id,
                config={"split": "train"}, margins={Split.TRAIN: (w.triplets.ids(made.id, Split.TRAIN), margins)},
            )  # fmt: skip
    return evaluated


@pytest.mark.slow
def test_bad_triplets_are_found_left_out_and_the_difference_is_shown(page: Page, learned: App, worker: object) -> None:
    open_page(page, address(learned, set=REVIEWED, split="train"), "Triplets")
    at_rest(page)
    page.get_by_text("Filter and sort").click()
    choose(page, "Correct models", "one, not another")
    choose(page, "Correct", MODEL)
    choose(page, "Wrong", LEARNED)
    expect(page.get_by_text(f"Triplet 1 of {WRONG}", exact=True)).to_be_visible()
    for done, key in enumerate("bgba", start=1):  # each verdict is kept, and the next triplet comes
        page.keyboard.press(key)
        expect(page.get_by_text(f"Triplet {done + 1} of {WRONG}", exact=True)).to_be_visible()
        expect(page.get_by_text(f"{done} of {WRONG} in this filter reviewed")).to_be_visible()
    page.reload()
    expect(page.get_by_text(f"Triplet {WRONG} of {WRONG}", exact=True)).to_be_visible()
    at_rest(page)
    page.keyboard.press("b")
    expect(page.get_by_text(f"{WRONG} of {WRONG} in this filter reviewed")).to_be_visible()
    page.get_by_role("tab", name="Reviews").click()
    expect(page.get_by_text("Excludes triplets: 3 train, 0 validation.")).to_be_visible()
    choose(page, "Retrain", LEARNED)
    page.get_by_role("button", name="Build set").click()
    effect = page.get_by_text(re.compile("95 % interval .paired bootstrap over 3 articles"))
    expect(effect).to_be_visible(timeout=240_000)
    expect(page.get_by_text(re.compile("3 train, 0 validation, 0 test excluded"))).to_be_visible()
    page.get_by_role("button", name="Compare margins").click()
    expect(page.get_by_text(re.compile(f"On {3 * EACH} common triplets"))).to_be_visible()
