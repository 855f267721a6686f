"""Two maps of the same sentences in our own drawing: shapes, legend, search, link and files, in a real browser."""

from __future__ import annotations

import re
from itertools import combinations
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


LABELS = """(labels) => labels.map((label) => {
  const box = label.getBoundingClientRect(), stage = label.closest(".stage").getBoundingClientRect();
  const [left, top] = [box.left - stage.left, box.top - stage.top];
  return [label.textContent, left, top, box.width, box.height, stage.width, stage.height];
})"""


def named_groups(app: App) -> None:
    """A corpus with a map of 300 sentences of 15 sections, each of which has a place of its own."""
    rng = np.random.default_rng(0)
    with app.store.writing() as w:
        corpus = w.corpora.create("Hills", "en")
        w.corpora.add_articles(corpus.id, [article("Hill", sections=15, paragraphs=10)])
        w.corpora.finish(corpus.id, {})
        model = w.models.add(
            name="hill model", method="mean-vectors", config={}, seed=0, digest="hill", artifact="none"
        )
        ids = np.array([s.id for a in w.corpora.articles(corpus.id) for s in w.corpora.sentences(a.id)])
        places = np.repeat(rng.normal(size=(15, 2)) * 3, 20, axis=0) + rng.normal(size=(300, 2)) * 0.3
        about = {"corpus_id": corpus.id, "model_id": model.id, "config": {}, "seed": 0, "faithfulness": 0.5}
        points = MapPoints(ids, places.astype(np.float32))
        w.maps.add(**about, name="hills", digest="hills", sampled_from=300, points=points)


def test_names_lie_in_the_view_without_overlaps(page: Page, app: App) -> None:
    named_groups(app)
    open_page(page, app.url + "/map?corpus=Hills&map=hills", "Map")
    expect(page.locator(".map-view[data-ready]")).to_have_count(1)
    expect(page.locator(".map-view .label").first).to_be_attached()
    for _ in range(3):
        labels = page.locator(".map-view .label").evaluate_all(LABELS)
        assert labels
        for name, left, top, width, height, stage_width, stage_height in labels:
            assert -1 <= left <= stage_width - width + 1 and -1 <= top <= stage_height - height + 1, name
        for (_, x, y, width, height, *_), (_, u, v, wide, high, *_) in combinations(labels, 2):
            assert x + width <= u or u + wide <= x or y + height <= v or v + high <= y
        _, left, top, width, height, *_ = labels[0]
        page.locator(".map-view .stage").hover(position={"x": left + width / 2, "y": top + height / 2})
        page.mouse.wheel(0, -400)
        expect(page.locator(".map-view .label")).not_to_have_count(len(labels))
    page.locator(".map-view .stage").press("n")
    expect(page.locator(".map-view .label")).to_have_count(0)
