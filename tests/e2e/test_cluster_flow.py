"""Re-clustering of one cluster, new name, sub-theme and export of the scheme, by keyboard only."""

import csv
import io
import re
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, open_page
from tests.e2e.test_keyboard_flows import FOCUSED, tab_to
from themescope.core.labelling import operations as op
from themescope.core.records.stored import Sharing
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling, VectorBlock
from themescope.db.store import Unit
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

CORPUS, NAME = "Streams", "Streams by keys"
THEMES = ("floods and dikes", "levees and floods", "fish and birds", "mills and power")
SIZE = 8
ANGLES = (*(0.0,) * SIZE, *(0.25,) * SIZE, *(1.9,) * (SIZE // 2), *(2.4,) * (SIZE // 2), *(4.2,) * SIZE)
"""Direction of each vector: the first two sections are nearly the same, and the third has two parts."""


@pytest.fixture(scope="module")
def labelling(app: App) -> App:
    """A labelling of one article by its sections, with vectors."""
    sections = tuple(
        Section(words, 2, (Paragraph("", tuple(f"{words.capitalize()} number {i}." for i in range(SIZE))),), (words,))
        for words in THEMES
    )
    random = np.random.default_rng(0)
    x = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]) + random.normal(scale=0.03, size=(len(ANGLES), 2))
    with app.store.writing() as w:
        corpus, article = add_article(w, Article("Streams", sections))
        model = w.models.add(name="angles", method="mean-vectors", config={}, seed=0, digest="angles", artifact="-")
        w.embeddings.add(model.id, [VectorBlock(article, x.astype(np.float32))])
    new = NewLabelling(corpus, NAME, "", Sharing.SHARED, False, article)
    session = LabellingSession(app.store, starts.begin(app.store, new, starts.from_sections).id, "")
    session.do(op.merge(session.partition, [1, 2], 1))
    return app


def add_article(w: Unit, article: Article) -> tuple[int, int]:
    corpus = w.corpora.create(CORPUS, "en")
    w.corpora.add_articles(corpus.id, [article])
    w.corpora.finish(corpus.id, {})
    (stored,) = w.corpora.articles(corpus.id)
    return corpus.id, stored.id


def said(page: Page, words: str | re.Pattern[str]) -> None:
    expect(page.locator(".coding_bar .status")).to_contain_text(words)


def check(app: App, scheme: str) -> None:
    """What the flow has done is in the store, and the scheme has the clusters with their levels and sizes."""
    with app.store.reading() as r:
        labelling = r.labellings.by_name(NAME)
        p = r.labellings.snapshot(labelling.id).partition
        steps = [step.operation for step in r.label_steps.list(labelling.id)]
    assert steps == ["merge", "re-cluster", "rename", "group"]
    by_name = {cluster.name: cluster for cluster in p.clusters.values()}
    assert len(p.clusters) == 5 and by_name["Wildlife"].parent == by_name["Nature"].number
    rows = {row["code"]: row for row in csv.DictReader(io.StringIO(scheme, newline=""))}
    assert {name: row["theme"] for name, row in rows.items() if row["theme"]} == {"Wildlife": "Nature"}
    assert {name: int(row["sentences"]) for name, row in rows.items()} == {
        cluster.name: len(p.members(number)) for number, cluster in p.clusters.items()
    }


@pytest.mark.slow
def test_clusters_by_keyboard_only(page: Page, labelling: App) -> None:
    query = {"corpus": CORPUS, "code_surface": "Sort", "code_labelling": NAME}
    open_page(page, f"{labelling.url}/code?{urlencode(query)}", "Code")
    at_rest(page)
    rows = page.locator(".panes .cluster")
    expect(rows).to_have_count(4)
    at_rest(page)
    tab_to(page, rows.first.get_attribute("aria-label") or "")
    for _ in range(5):
        if page.evaluate(FOCUSED).startswith(THEMES[2]):
            break
        page.keyboard.press("ArrowDown")
    expect(page.locator(".panes h2")).to_have_text(re.compile(THEMES[2], re.IGNORECASE))
    page.keyboard.press("Alt+g")
    expect(page.get_by_role("button", name="Divide into 2 codes")).to_be_visible()
    at_rest(page)
    tab_to(page, "Divide into 2 codes")
    page.keyboard.press("Enter")
    said(page, "in 2 codes")
    expect(rows).to_have_count(5)
    page.keyboard.press("F2")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Wildlife", delay=5)
    page.keyboard.press("Enter")
    said(page, "is now Wildlife")
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
    at_rest(page)
    tab_to(page, "⋯expand_more")
    page.keyboard.press("Enter")
    files = page.get_by_role("menuitem", name="Files")
    for _ in range(12):
        if files.evaluate("item => item === document.activeElement"):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Report and files").last.click()
    codebook = page.locator(".st-key-item-codebook").get_by_role("button", name="CSV")
    expect(codebook).to_be_visible()
    at_rest(page)
    codebook.focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    check(labelling, Path(download.value.path()).read_text(encoding="utf-8"))
