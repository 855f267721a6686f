"""The correction loop in a real browser: questions are answered by single keys."""

from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import open_page
from themescope.core.labelling.answers import answers
from themescope.core.labelling.partition import Partition
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.records.stored import Sharing
from themescope.core.types import Article, Paragraph, Section
from themescope.db.label_records import NewLabelling
from themescope.db.records import VectorBlock
from themescope.jobs.services.labelling import starts

CORPUS, NAME = "Claims of debates", "By keys"
THEMES = {
    "nuclear power": "reactors are safe",
    "school uniforms": "pupils dress alike",
    "gambling": "casinos cost jobs",
    "gene therapy": "cures come sooner",
}
SIZE, KEYS = 9, 20
ASKED = ".questions"


@pytest.fixture(scope="module")
def themes(app: App) -> dict[str, int]:
    """Sentence → theme, of a list whose vectors put a third of the sentences near another theme."""
    texts = {f"On {theme}, {words}, says source {i}.": t for t, (theme, words) in enumerate(THEMES.items())
             for i in range(SIZE)}  # fmt: skip
    random = np.random.default_rng(0)
    truth = np.array(list(texts.values()))
    near = np.where(random.random(len(truth)) < 0.33, (truth + 1) % len(THEMES), truth)
    x = np.eye(len(THEMES))[near] + 0.4 * np.eye(len(THEMES))[truth] + 0.05 * random.normal(size=(len(truth), 4))
    with app.store.writing() as w:
        corpus = w.corpora.create(CORPUS, "en")
        sections = (Section("Claims", 2, tuple(Paragraph("", (text,)) for text in texts), ("Claims",)),)
        w.corpora.add_articles(corpus.id, [Article("Claims", sections)])
        w.corpora.finish(corpus.id, {})
        (article,) = w.corpora.articles(corpus.id)
        ids = np.array([s.id for s in w.corpora.sentences(article.id)], dtype=np.int64)
        model = w.models.add(name="claims", method="mean-vectors", config={}, seed=0, digest="claims", artifact="-")
        w.embeddings.add(model.id, [VectorBlock(article.id, x.astype(np.float32))])
    names = {t: theme for t, theme in enumerate(THEMES)}
    new = NewLabelling(corpus.id, NAME, "", Sharing.SHARED, False, None)
    starts.begin(app.store, new, starts.from_labels(ids, near.astype(np.int32), names, {"from": "run"}))
    return texts


def stored(app: App) -> Partition:
    with app.store.reading() as r:
        return r.labellings.snapshot(r.labellings.by_name(NAME).id).partition


def agreement(app: App, themes: dict[str, int]) -> float:
    """ARI of the stored clusters with the themes."""
    numbers = stored(app).numbers.astype(np.int32)
    return float(METRICS.build("ari", {}).score(np.array(list(themes.values()), np.int32), numbers))


def open_questions(page: Page, app: App) -> Locator:
    where = f"corpus={quote(CORPUS)}&code_labelling={quote(NAME)}&code_view=Questions"
    open_page(page, f"{app.url}/code?{where}", "Code")
    expect(page.locator(ASKED).get_by_role("button", name="Skip")).to_be_visible()
    return page.locator(ASKED)


def text_of(themes: dict[str, int], shown: Locator) -> int:
    """The theme of the sentence that an element shows."""
    words = shown.inner_text()
    return next(theme for text, theme in themes.items() if text in words)


def right_answer(asked: Locator, themes: dict[str, int]) -> Locator:
    """The button of the right answer to the question that is shown."""
    theme = text_of(themes, asked.locator(".sentence").first)
    for option in asked.locator(".options").first.get_by_role("button").all():
        if text_of(themes, option) == theme:
            return option
    return asked.get_by_role("button", name="None of these")


def answered(asked: Locator, before: int, more: int = 1) -> None:
    """Wait until the server has stored the answer, and the next question is shown."""
    expect(asked).to_have_attribute("data-answers", str(before + more))
    expect(asked).to_have_attribute("data-waiting", "0")


def test_questions_are_answered_by_keys(page: Page, app: App, themes: dict[str, int]) -> None:
    """Answer 20 questions by single keys, undo one, and go on after a reload."""
    asked = open_questions(page, app)
    before = agreement(app, themes)
    for number in range(KEYS):
        page.keyboard.press(right_answer(asked, themes).locator("kbd").inner_text())
        answered(asked, number)
    assert agreement(app, themes) > before + 0.2
    assert len(answers(stored(app))) == KEYS
    expect(page.get_by_text(f"{KEYS} of 50 answers")).to_be_visible()
    page.keyboard.press("u")
    answered(asked, KEYS, -1)
    sentence = asked.locator(".sentence").first.inner_text()
    asked = open_questions(page, app)
    expect(asked).to_have_attribute("data-answers", str(KEYS - 1))
    assert asked.locator(".sentence").first.inner_text() == sentence
