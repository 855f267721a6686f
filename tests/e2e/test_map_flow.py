"""Two maps of the same sentences in our own drawing: shapes, legend, search, link and files, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from core.types import Ids
from db.records import MapPoints
from tests.db.texts import article
from tests.e2e.conftest import PAYLOAD, App
from tests.e2e.hands import drawn_around, exported_ids, open_page, watching


def two_maps(app: App) -> Ids:
    """A corpus with two maps of 400 sentences, written directly; the ids of the sentences."""
    rng = np.random.default_rng(0)
    with app.store.writing() as w:
        corpus = w.corpora.create("Plains", "en")
        w.corpora.add_articles(corpus.id, [article(f"{PAYLOAD} {i}" if i == 0 else f"Plain {i}") for i in range(40)])
        w.corpora.finish(corpus.id, {})
        model = w.models.add(
            name="plain model", method="mean-vectors", config={}, seed=0, digest="plain", artifact="none"
        )
        ids = np.array([s.id for a in w.corpora.articles(corpus.id) for s in w.corpora.sentences(a.id)][:400])
        for name in ("first", "second"):
            points = MapPoints(ids, rng.normal(size=(len(ids), 2)).astype(np.float32))
            about = {"corpus_id": corpus.id, "model_id": model.id, "config": {}, "seed": 0, "faithfulness": 0.5}
            w.maps.add(**about, name=name, digest=f"plain {name}", sampled_from=480, points=points)
    return ids


def test_two_maps_are_read_together(page: Page, other_page: Page, app: App) -> None:
    ids = two_maps(app)
    open_page(page, app.url + "/map?corpus=Plains&map=first&beside=second", "Map")
    expect(page.locator(".map-view[data-ready]")).to_have_count(2)
    expect(page.get_by_text("400 sentences are on both maps")).to_be_visible()
    inside, kinds = drawn_around(page, "l")
    assert 5 < len(inside) < 395
    expect(page.get_by_text(f"{len(inside)} sentences selected")).to_be_visible()
    assert exported_ids(page) == {int(ids[row]) for row in inside}
    # What the legend hides is not selected.
    page.locator(".map-view").first.locator(".entry").first.click()
    expect(page).to_have_url(re.compile("map_hidden=0"))
    inside, kinds = drawn_around(page, "b")
    shown = {row for row in inside if kinds[row] != 0}
    assert 0 < len(shown) < len(inside)
    expect(page.get_by_text(f"{len(shown)} sentences selected")).to_be_visible()
    page.get_by_role("textbox", name="Search").fill("plain")
    page.get_by_role("textbox", name="Search").press("Enter")
    expect(page.get_by_text(re.compile(rf"found among {len(shown)} selected"))).to_be_visible()
    with page.expect_download() as picture:
        page.get_by_role("button", name="Save as PNG (P)").first.click()
    assert Path(picture.value.path()).read_bytes().startswith(b"\x89PNG")
    same_elsewhere(page, other_page, f"found among {len(shown)} selected")


def same_elsewhere(page: Page, other: Page, said: str) -> None:
    """The link shows the same to somebody else, and the file of the map needs nobody."""
    other.goto(page.url)
    expect(other.get_by_text(re.compile(said))).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="HTML", exact=True).click()
    saved = Path(download.value.path()).rename(Path(download.value.path()).with_suffix(".html"))
    alone = other.context.new_page()
    with watching(alone, saved.as_uri()):
        alone.goto(saved.as_uri())
        expect(alone.locator(".map-view[data-ready]")).to_have_count(1)
        stage = alone.locator(".map-view .stage").bounding_box()
        assert stage is not None
        x, y = alone.evaluate("[...window.themescopeViews][0].pixel(0)")
        alone.mouse.move(stage["x"] + x, stage["y"] + y)
        expect(alone.locator(".map-view .tip b")).to_be_visible()
    alone.close()
