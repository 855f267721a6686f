"""Pretrained models on the pages, and how forms offer models."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import BENCHMARK, CORPUS, MODEL
from tests.webapp.hands import jobs_of
from themescope.core.paths import DEFAULT, default_model, default_models, lacks_packages, pretrained_folders
from themescope.core.records.stored import ModelRecord
from themescope.db.store import Store
from themescope.jobs.common.models import find_model, pretrained_models
from themescope.webapp.shared.choose import grouped, grouped_by_method, model_label, with_tag

DEFAULT_MODEL, PRETRAINED = default_model(), set(pretrained_folders())

Open = Callable[..., AppTest]


@pytest.fixture
def untrained(filled_store: Store) -> Store:
    """The filled store without its model."""
    with filled_store.writing() as w:
        w.models.delete(w.models.by_name(MODEL).id)
    return filled_store


def press(at: AppTest, label: str) -> AppTest:
    pressed = next(b for b in at.button if label in b.label).click().run()
    assert not pressed.exception and not pressed.error
    return pressed


def test_a_map_is_queued(untrained: Store, open_page: Open) -> None:
    with untrained.reading() as r:
        assert r.maps.list() == []  # the form stands open
    press(open_page("map", corpus=CORPUS), "Create map")
    assert [args["model"] for args in jobs_of(untrained, "project")] == [DEFAULT_MODEL]


def test_another_method_builds_on_it(untrained: Store, open_page: Open) -> None:
    press(open_page("train", method="Hybrid of models and tf-idf"), "Train")
    assert [args["models"] for args in jobs_of(untrained, "train")] == [[DEFAULT_MODEL]]


def test_an_encoder_in_context_is_offered_thematic_encoders_alone(untrained: Store, open_page: Open) -> None:
    at = open_page("train", method="Thematic encoder in context")
    (base,) = [field for field in at.selectbox if field.label == "Base model"]
    assert set(base.options) == {model.name for model in pretrained_models() if model.method == "thematic-encoder"}
    base.set_value(DEFAULT_MODEL).run()
    press(at, "Train")
    assert [args["models"] for args in jobs_of(untrained, "train")] == [[DEFAULT_MODEL]]


def test_it_is_listed_before_and_after_it_is_stored(untrained: Store, open_page: Open) -> None:
    at = open_page("train")
    table = at.dataframe[0].value
    assert (set(table["Model"]), set(table["Created"])) == (PRETRAINED, {"pretrained"})
    assert not [b for b in at.button if "Delete" in b.label]
    find_model(untrained, DEFAULT)
    at = open_page("train", model=DEFAULT_MODEL)
    table = at.dataframe[0].value
    assert set(table["Model"]) == PRETRAINED
    assert (table["Created"][table["Model"] == DEFAULT_MODEL] != "pretrained").all()
    assert [b for b in at.button if "Delete" in b.label]


def test_forms_suggest_the_best_models_and_offer_all(filled_store: Store, open_page: Open) -> None:
    at = open_page("compare", benchmark=BENCHMARK)
    (models,) = [m for m in at.multiselect if m.label == "Models" and DEFAULT_MODEL in m.options]
    # The pretrained ones, the default first, then the stored one, whose benchmark has too few articles to count.
    assert models.value == [*(name for name in default_models() if not lacks_packages(name)), MODEL]
    assert set(models.options) == {MODEL, *PRETRAINED}


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
