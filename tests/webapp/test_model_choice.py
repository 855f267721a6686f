"""Choosing a model out of many."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, MODEL
from themescope.core.paths import default_models, pretrained_folders
from themescope.db.records import ModelRecord
from themescope.db.store import Store
from themescope.webapp.shared.choose import grouped, grouped_by_method, model_label, with_tag

Open = Callable[..., AppTest]


def model(number: int, method: str) -> ModelRecord:
    made = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(hours=number)
    return ModelRecord(number, f"model {number}", method, {}, 0, f"d{number}", None, None, {}, f"a{number}", made)


def test_models_of_one_method_stand_together_and_the_newest_first() -> None:
    methods = ("tfidf", "mean-vectors", "tfidf", "mean-vectors")
    found = grouped_by_method([model(number, method) for number, method in enumerate(methods, 1)])
    assert [m.id for m in found] == [4, 2, 3, 1]
    assert [m.id for m in with_tag(found, "sparse")] == [3, 1]


def test_groups_stand_as_the_first_of_each_does() -> None:
    assert grouped(["b2", "a1", "b1", "c1", "a2"], lambda name: name[0]) == ["b2", "b1", "a1", "a2", "c1"]


def test_a_model_says_what_it_is_and_one_of_an_unknown_method_its_id() -> None:
    assert model_label(model(1, "tfidf")) == "model 1 · Tf-idf"
    assert model_label(model(1, "from elsewhere")) == "model 1 · from elsewhere"


def test_a_map_is_drawn_by_the_model_that_was_chosen(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.models.add(name="words", method="tfidf", config={}, seed=0, digest="m2", artifact="a2", metrics={})
    at = open_page("map", corpus=CORPUS)
    at.session_state["map_new_map_False"] = at.session_state["map_new_map_True"] = True
    at.run()
    box = at.selectbox(key="map_new_map_model")
    assert box.value == default_models()[0]
    assert sum(option.endswith(" · pretrained") for option in box.options) == len(pretrained_folders())
    within_article, newest = "words · Tf-idf", f"{MODEL} · Mean of word vectors"
    assert box.options.index(newest) < box.options.index(within_article)
    box.set_value(MODEL).run()
    at.button(key=next(b.key for b in at.button if b.label == "Create map")).click().run()
    assert not at.exception
    with filled_store.reading() as r:
        assert [job.args["model"] for job in r.jobs.list() if job.kind == "project"] == [MODEL]
