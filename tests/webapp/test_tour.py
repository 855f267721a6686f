"""The tour of the demo: offered once, through six pages and back, left at any time, started again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS as RIVERS
from tests.webapp.hands import press, words_of
from themescope.db.store import Store
from themescope.jobs.services.installation.demo import CORPUS
from themescope.webapp.shared.frame.tour import STEPS

Open = Callable[..., AppTest]


@pytest.fixture
def demo(filled_store: Store) -> Store:
    """The filled store with a project that is called like the demo."""
    with filled_store.writing() as w:
        corpus = w.corpora.create(CORPUS, "en")
        w.corpora.finish(corpus.id, {})
    return filled_store


def shown(at: AppTest) -> list[str]:
    return [found.value for found in at.markdown if " of 6]" in found.value]


def test_it_leads_through_its_pages_and_back(demo: Store, open_page: Open) -> None:
    at = press(open_page("home"), "Start the tour")
    for number, step in enumerate(STEPS, 1):
        assert not at.exception
        assert shown(at) == [f":gray[{number} of 6] **{step.title}**  \n{step.text}"]
        assert at.session_state["navigation_current"] == step.page
        if number < len(STEPS):
            press(at, "Next")
    assert not any(b.label == "Next" for b in at.button)
    press(at, "Back")
    assert shown(at)[0].startswith(":gray[5 of 6]")
    press(at, "End the tour")
    assert shown(at) == []


def test_another_page_leads_back_to_it(demo: Store, open_page: Open) -> None:
    at = open_page("jobs")
    at.session_state["tour_step"] = 2
    at.run()
    assert "The tour is on another page." in words_of(at)
    press(at, "Return to the tour")
    assert shown(at)[0].startswith(":gray[3 of 6] **Themes**")


def test_who_does_not_want_it_is_not_asked_again(demo: Store, open_page: Open) -> None:
    at = press(open_page("home"), "Not now")
    assert not any(b.label == "Start the tour" for b in at.button)
    press(at, "Tour of the demo")
    assert shown(at)[0].startswith(":gray[1 of 6]")


def test_there_is_none_without_the_demo(filled_store: Store, open_page: Open) -> None:
    at = open_page("home", corpus=RIVERS)
    assert not any("tour" in b.label.lower() for b in at.button)
