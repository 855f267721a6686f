"""The tour of the demo: offered once, through six pages and back, left at any time, started again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.hands import press
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
