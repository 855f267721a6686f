"""What somebody sees who may not do what a page is for."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from themescope.core.records.stored import Role
from themescope.db.store import Store
from themescope.jobs.services import people

Open = Callable[..., AppTest]
FORMS = [
    ("Creating a map", "Create map", "map", {}),
    ("Building a triplet set", "Build set", "triplets", {"view": "Sets"}),
    ("Building benchmarks", "Build benchmark", "compare", {}),
]
OFFERS = [("compare", {}, "missing combination"), ("compare", {"tab": "Triplet accuracy"}, "Evaluate")]


@pytest.fixture
def ada_manages(filled_store: Store) -> Store:
    people.set_role(filled_store, "ada", Role.ADMIN)
    with filled_store.writing() as w:
        w.models.add(name="words", method="tfidf", config={}, seed=0, digest="m2", artifact="a2", metrics={})
    return filled_store


def test_forms_are_for_those_who_may_send_them(ada_manages: Store, open_page: Open) -> None:
    for what, send, page, address in FORMS:
        at = open_page(page, **address)
        at.session_state["map_dialog"] = "compute"
        at.session_state["triplets_new"] = at.session_state["compare_about"] = True
        at.run()
        assert any(f"{what} requires the admin role" in m.value for m in at.markdown)
        assert send not in [b.label for b in at.button]
        asked = " ".join(c.value for c in at.caption)
        assert "ask an admin" in asked and "ada" in asked and "enter your name in the menu" in asked
        at.text_input(key="person").set_value("ada").run()
        assert send in [b.label for b in at.button]


def test_deleting_is_for_those_who_may(ada_manages: Store, open_page: Open) -> None:
    at = open_page("texts")
    assert "Delete project …" not in at.menu_button(key="texts_menu").options
    at.text_input(key="person").set_value("ada").run()
    assert "Delete project …" in at.menu_button(key="texts_menu").options


@pytest.mark.parametrize(("page", "address", "head"), OFFERS)
def test_work_is_offered_to_who_may_ask_for_it(
    ada_manages: Store, open_page: Open, page: str, address: dict[str, str], head: str
) -> None:
    at = open_page(page, **address)
    assert not at.exception and not [b for b in at.button if head in b.label]
    at.text_input(key="person").set_value("ada").run()
    assert [b for b in at.button if head in b.label]
