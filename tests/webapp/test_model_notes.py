"""Notes on the language of a model, on the pages that choose one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import MODEL
from themescope.core.types import Article, Paragraph, Section
from themescope.db.store import Store
from themescope.jobs.common.model_choice import best_first
from themescope.webapp.features.themes import state as themes

Open = Callable[..., AppTest]
GERMAN = "Flüsse"
TFIDF = "words of the rivers"


@pytest.fixture
def store(filled_store: Store) -> Store:
    """The filled store with a German corpus and a model without a language."""
    texts = tuple(f"Der Fluss mündet nach {n} Kilometern ins Meer." for n in range(9))
    with filled_store.writing() as w:
        corpus = w.corpora.create(GERMAN, "de")
        w.corpora.add_articles(corpus.id, [Article("Donau", (Section("", 1, (Paragraph(sentences=texts),)),))])
        w.corpora.finish(corpus.id, {})
        w.models.add(name=TFIDF, method="tfidf", config={}, seed=0, digest="m3", artifact="a3", metrics={})
    return filled_store


def warnings(at: AppTest) -> str:
    assert not at.exception
    return " ".join(warning.value for warning in at.warning).replace("\\", "")


def choose(at: AppTest, label: str, value: str) -> AppTest:
    (box,) = [box for box in at.selectbox if box.label == label]
    box.set_value(value)
    return at.run()


def test_the_language_of_a_new_list_is_chosen_and_stored(store: Store, open_page: Open) -> None:
    at = open_page("themes", source=themes.PASTE)
    (area,) = at.text_area
    area.set_value("\n".join(f"Der Fluss {n} ist lang und mündet ins Meer." for n in range(6)))
    at.run()
    assert "for English text only" not in warnings(at)
    assert "this text is German" in warnings(choose(at, "Model", MODEL))
    assert "for English text only" not in warnings(choose(at, "Language", "en"))
    choose(at, "Language", "de")
    (button,) = [button for button in at.button if button.label == "Find themes"]
    button.click()
    at.run()
    with store.reading() as r:
        (job,) = [job for job in r.jobs.list(limit=9) if job.kind == "import-list"]
    assert job.args["language"] == "de"


def test_a_model_marked_as_multilingual_is_suggested_without_a_warning(store: Store, open_page: Open) -> None:
    at = open_page("train", view="Models", model=MODEL)
    (switch,) = [toggle for toggle in at.toggle if toggle.label == "Multilingual"]
    assert not switch.value
    switch.set_value(True).run()
    with store.reading() as r:
        assert r.models.by_name(MODEL).multilingual
    at = open_page("map", corpus=GERMAN)
    (box,) = [box for box in at.selectbox if box.label == "Model"]
    assert box.value == MODEL and "for English text only" not in warnings(at)
    assert best_first(store, {"de": 1.0})[0].name == MODEL != best_first(store, {"en": 1.0})[0].name
    (switch,) = [toggle for toggle in open_page("train", view="Models", model=MODEL).toggle if toggle.value]
    switch.set_value(False).run()
    with store.reading() as r:
        assert not r.models.by_name(MODEL).multilingual
