"""From a lasso on the map to a theme, and a link that shows somebody else the same sentences in the same view."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import Page, expect

from tests.db.texts import article
from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, choose, drawn_around, exported_ids, open_page
from themescope.db.records import MapPoints

NAME = "Meadows"


def mapped(app: App) -> None:
    """A corpus of 300 sentences with a map."""
    rng = np.random.default_rng(5)
    with app.store.writing() as w:
        corpus = w.corpora.create(NAME, "en")
        w.corpora.add_articles(corpus.id, [article("Meadow", sections=15, paragraphs=10)])
        w.corpora.finish(corpus.id, {})
        ids = np.array([s.id for a in w.corpora.articles(corpus.id) for s in w.corpora.sentences(a.id)])
        model = w.models.add(
            name="meadow model", method="mean-vectors", config={}, seed=0, digest="meadow", artifact="none"
        )
        points = MapPoints(ids, rng.normal(size=(len(ids), 2)).astype(np.float32))
        w.maps.add(
            corpus_id=corpus.id, model_id=model.id, name="meadows", config={}, seed=0,
            digest="meadows", faithfulness=0.5, sampled_from=len(ids), points=points,
        )  # fmt: skip


def test_a_lasso_becomes_a_theme_and_a_link(page: Page, other_page: Page, app: App) -> None:
    mapped(app)
    open_page(page, app.url + f"/map?corpus={NAME}", "Map")
    expect(page.locator(".map-view[data-ready]")).to_have_count(1)
    inside = drawn_around(page, "l")[0]
    expect(page.get_by_text(f"{len(inside)} sentences selected")).to_be_visible()
    at_rest(page)
    rows = page.locator(".sentence_view li")
    assert rows.first.locator(".text").inner_text().startswith("Meadow")
    expect(rows.first.locator(".place")).to_contain_text("Meadow › ")
    # More sentences come when the list is scrolled to its end.
    shown = page.locator(".sentence_view")
    shown.evaluate("view => { view.scrollTop = view.scrollHeight; }")
    expect(rows.nth(45)).to_be_attached()
    chosen = exported_ids(page)
    assert len(chosen) == len(inside)
    # With another colouring the same sentences stay selected.
    choose(page, "Colour by", "Article")
    expect(page.get_by_text(f"{len(inside)} sentences selected")).to_be_visible()
    assert exported_ids(page) == chosen
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Make it a theme").click()
    page.get_by_role("textbox", name="Name of the theme").fill("Grass")
    page.get_by_role("textbox", name="Name of the theme").press("Enter")
    at_rest(page)
    page.get_by_role("button", name="Create theme").click()
    expect(page.get_by_text(re.compile(f"Grass with {len(inside)} sentences"))).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Share").click()
    link = page.locator("[data-testid=stCode] code").first.inner_text()
    other_page.goto(link)
    expect(other_page.get_by_text(f"{len(inside)} sentences selected")).to_be_visible()
    at_rest(other_page)
    assert exported_ids(other_page) == chosen
    with app.store.reading() as r:
        record = r.labellings.by_name(f"{NAME} themes")
        found = r.labellings.snapshot(record.id).partition
        (number,) = found.clusters
        assert set(found.members(number).tolist()) == chosen
