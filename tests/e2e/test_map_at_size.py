"""A map of more points than are sent at once: levels of detail, a lasso over all points, a picture without WebGL2."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import open_page
from themescope.core.projection.geometry import inside
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import MapPoints
from themescope.webapp.map_view.geometry import Grid
from themescope.webapp.map_view.levels import WHOLE_POINTS

MANY, PER_ARTICLE = WHOLE_POINTS + 10_000, 2_000
VIEW = "[...window.themescopeViews][0]"
NO_WEBGL2 = """
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind === "webgl2" ? null : original.call(this, kind, ...rest);
};
"""


@pytest.fixture(scope="module")
def points(app: App) -> np.ndarray:
    """The (n, 2) points of a map that is written directly: nine clusters."""
    sentences = tuple(f"Number {i}." for i in range(PER_ARTICLE))
    articles = [
        Article(f"Many {i}", (Section("All", 2, (Paragraph("", sentences),), ("All",)),))
        for i in range(MANY // PER_ARTICLE)
    ]
    rng = np.random.default_rng(0)
    found = (8 * rng.integers(3, size=(MANY, 2)) + rng.normal(size=(MANY, 2))).astype(np.float32)
    with app.store.writing() as w:
        corpus = w.corpora.create("Multitude", "en")
        w.corpora.add_articles(corpus.id, articles)
        w.corpora.finish(corpus.id, {})
        about = {"method": "mean-vectors", "config": {}, "seed": 0, "digest": "many", "artifact": "none"}
        model = w.models.add(name="many model", **about)
        map_points = MapPoints(w.corpora.sentence_ids(corpus.id), found)
        w.maps.add(
            corpus_id=corpus.id, model_id=model.id, name="many", config={"landmarks": 50_000}, seed=0, digest="many",
            faithfulness=0.5, sampled_from=MANY, points=map_points,
        )  # fmt: skip
    return found


def test_tiles_are_loaded_and_a_lasso_selects_among_all_points(page: Page, app: App, points: np.ndarray) -> None:
    open_page(page, app.url + "/map?corpus=Multitude", "Map")
    expect(page.get_by_text(f"Positions fitted on 50,000 of {MANY:,} sentences")).to_be_visible()
    said = page.locator(".map-view .drawn")
    expect(said).to_have_text(f"All points in this part are drawn: {MANY:,} of {MANY:,}.", timeout=30_000)
    tiles = page.evaluate(f"{VIEW}.scene.held")
    assert sorted(tiles) == list(range(page.evaluate(f"{VIEW}.scene.index.length"))) and len(tiles) > 5
    box = page.locator(".map-view .stage").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 90, y - 70)
    page.mouse.down()
    for dx, dy in ((100, -60), (70, 80), (-60, 50)):
        page.mouse.move(x + dx, y + dy, steps=3)
    page.mouse.up()
    expect(page.get_by_text(re.compile("sentences? selected"))).to_be_visible()
    shape = np.array(page.evaluate(f"{VIEW}.data.shapes[0]"), dtype=np.float64)
    inside_shape = np.count_nonzero(inside(Grid.around(points).units(points), shape))
    assert 0 < inside_shape < MANY
    expect(page.get_by_text(f"{inside_shape:,} sentences selected")).to_be_visible()


def test_without_webgl2_a_picture_takes_the_place_of_the_map(page: Page, app: App, points: np.ndarray) -> None:
    alone = page.context.new_page()
    alone.add_init_script(NO_WEBGL2)
    open_page(alone, app.url + "/map?corpus=Multitude", "Map")
    expect(alone.get_by_role("img", name=re.compile(f"Picture of {MANY:,} sentences"))).to_be_visible(timeout=30_000)
    expect(alone.get_by_text("This is a picture, because this browser has no WebGL2.")).to_be_visible()
    alone.close()
