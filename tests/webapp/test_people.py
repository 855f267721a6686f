"""The name in the menu."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from themescope.db.store import Store
from themescope.jobs.services.people import LONGEST_NAME, tidy
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared import people


@given(st.text())
def test_a_name_is_one_printable_line(name: str) -> None:
    tidied = tidy(name)
    assert tidied.isprintable()
    assert len(tidied) <= LONGEST_NAME
    assert tidy(tidied) == tidied


def test_without_a_name_a_person_is_me() -> None:
    assert people.shown("") == "me"
    assert people.shown("A*da") == r"A\*da"


def test_the_name_lives_through_a_change_of_page(sqlite_store: Store, open_page: Callable[..., AppTest]) -> None:
    at = open_page("home")
    at.text_input(key="person").set_value(" Ada \u202e ").run()
    at.switch_page(str(REGISTRY.get("train").script)).run()
    assert at.text_input(key="person").value == " Ada \u202e "
    assert tidy(str(at.session_state["person"])) == "Ada"
