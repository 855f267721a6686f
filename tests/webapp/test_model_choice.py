"""Choosing a model out of many."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from streamlit.testing.v1 import AppTest

from themescope.core.records.stored import ModelRecord
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
